#!/usr/bin/env python3
"""Answer many prompts, a few at a time: `python batch.py < prompts.txt > answers.ndjson`.

Each line of the input is a prompt and gets a session of its own, in one of four threads. Each answer is a line of JSON,
written as soon as it is there. A prompt that fails does not keep the others from going on; the exit code is then 1.
Ctrl-C ends all of them and leaves nothing running.
"""

import json
import sys
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Any

from claude_control import ClaudeControlError, Options, Session, close_all

THREADS = 4  # each session is a process of a few hundred megabytes
SECONDS = 600

# No callback, so that whatever needs a permission is denied: nobody watches.
OPTIONS = Options(model="haiku", allowed_tools=["Read", "Grep", "Glob"], max_turns=30)


def answer(prompt: str, sessions: set[Session]) -> dict[str, Any]:
    """Return what became of one prompt; never raises what the program or the model does."""
    session = Session(OPTIONS)
    sessions.add(session)
    try:
        with session:
            turn = session.ask(prompt)
            result = turn.result(timeout=SECONDS)
        return {"prompt": prompt, "answer": turn.text, "outcome": turn.outcome, "usd": result.total_cost_usd}
    except ClaudeControlError as error:
        return {"prompt": prompt, "error": type(error).__name__, "reason": str(error)}
    finally:
        sessions.discard(session)


def main() -> int:
    """Hand the prompts out, and print the answers as they come."""
    prompts = [line.strip() for line in sys.stdin if line.strip()]
    sessions: set[Session] = set()
    failed = 0
    with ThreadPoolExecutor(THREADS) as pool:
        try:
            for future in as_completed([pool.submit(answer, prompt, sessions) for prompt in prompts]):
                line = future.result()
                failed += "error" in line
                print(json.dumps(line), flush=True)
        except KeyboardInterrupt:
            pool.shutdown(wait=False, cancel_futures=True)
            close_all(list(sessions), timeout=10)  # which ends the waits in the threads
            return 130
    print(f"{len(prompts) - failed} answered, {failed} failed", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
