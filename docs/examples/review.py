#!/usr/bin/env python3
"""Review what has changed since a commit: `python review.py [BASE]`, by default since HEAD.

Claude may read everything and run git's commands that only look. For any other shell command you are asked, where there
is a terminal; nothing is ever written. The exit code is 1 if there is something to fix, 2 if there is no verdict.
"""

import sys
import threading
from dataclasses import dataclass
from typing import Any

from claude_control import Allow, ClaudeControlError, Deny, PermissionContext, run

PROMPT = """Review the changes that `git diff {base}` shows. Read the code around them where you need it.
Report what is wrong: bugs, missing tests, names that mislead. Do not report what is a matter of taste."""

# What runs unasked. The program itself sees to it that nothing hides behind the command, such as `git log; rm -rf .`.
ALLOWED = ["Read", "Grep", "Glob", "Bash(git diff:*)", "Bash(git log:*)", "Bash(git show:*)"]


@dataclass
class Finding:
    """One thing to fix."""

    file: str
    line: int
    problem: str


@dataclass
class Review:
    """What Claude is made to answer with."""

    summary: str
    findings: list[Finding]


one_question = threading.Lock()  # two subagents may ask at the same time


def decide(tool_name: str, tool_input: dict[str, Any], context: PermissionContext) -> Allow | Deny:
    """Ask about shell commands, and deny the rest."""
    if tool_name != "Bash":
        return Deny("This is a review: change nothing.")
    if not sys.stdin.isatty():
        return Deny("Nobody is here to be asked. Do without this command.")
    with one_question:
        answer = input(f"Run {tool_input['command']!r}? [y/N] ")  # !r: no escape code reaches the terminal
    return Allow() if answer.strip().lower() == "y" else Deny("Do without this command.")


def main() -> int:
    """Print the findings as an editor or CI understands them."""
    base = sys.argv[1] if len(sys.argv) > 1 else "HEAD"
    prompt = PROMPT.format(base=base)
    try:
        review = run(prompt, output_type=Review, allowed_tools=ALLOWED, can_use_tool=decide, max_turns=50, timeout=900)
    except ClaudeControlError as error:
        print(f"no review: {error}", file=sys.stderr)
        return 2
    for finding in review.findings:
        print(f"{finding.file}:{finding.line}: {finding.problem}")
    print(review.summary, file=sys.stderr)
    return 1 if review.findings else 0


if __name__ == "__main__":
    sys.exit(main())
