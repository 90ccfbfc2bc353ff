#!/usr/bin/env python3
"""The back of a web service: questions in, answers out, each within a time.

`answer()` is what a view of Flask or Django, or a Celery task, would call. `application` is the same as plain WSGI, for
any server that has a thread for each request; `python service.py` serves it on this machine:

    curl -d '{"question": "What is a mutex?"}' localhost:8000
"""

import json
import time
from collections.abc import Callable, Iterable
from socketserver import ThreadingMixIn
from typing import Any
from wsgiref.simple_server import WSGIServer, make_server

from claude_control import ClaudeControlError, OptionsError, RateLimitedError, Session, StartError, WaitTimeoutError

LONGEST = 100_000  # bytes of a request


def answer(question: str, conversation: str | None = None, seconds: float = 60.0) -> dict[str, Any]:
    """Return the answer, or as much of it as there is after `seconds`.

    `conversation` goes on with an earlier one: it takes the id that came with its answer. Raises what a session raises.
    """
    end = time.monotonic() + seconds
    # No tools and no settings of this machine's user: the model talks, and that is all it does.
    with Session(resume=conversation, tools=[], setting_sources=[], initialize_timeout=seconds) as session:
        turn = session.ask(question)
        try:
            turn.result(timeout=max(0.0, end - time.monotonic()))
        except WaitTimeoutError:
            turn.interrupt()  # nobody waits for the rest, so nobody pays for it
        return {"answer": turn.text, "complete": turn.outcome == "completed", "conversation": session.session_id}


def respond(body: bytes) -> tuple[str, dict[str, Any]]:
    """Return the status and the JSON for a request's body."""
    try:
        asked = json.loads(body)
        return "200 OK", answer(asked["question"], asked.get("conversation"))
    except (ValueError, KeyError, TypeError, AttributeError) as error:  # OptionsError is a ValueError
        reason = str(error) if isinstance(error, OptionsError) else 'send {"question": "…"}'
        return "400 Bad Request", {"error": reason}
    except RateLimitedError:
        return "429 Too Many Requests", {"error": "try again later"}
    except StartError as error:
        return "503 Service Unavailable", {"error": str(error)}
    except ClaudeControlError as error:
        return "502 Bad Gateway", {"error": str(error)}


def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    """Answer one request of a WSGI server."""
    length = min(int(environ.get("CONTENT_LENGTH") or 0), LONGEST)
    status, reply = respond(environ["wsgi.input"].read(length))
    start_response(status, [("Content-Type", "application/json")])
    return [json.dumps(reply).encode()]


class Server(ThreadingMixIn, WSGIServer):
    """A thread for each request, and none that outlives the server."""

    daemon_threads = True


if __name__ == "__main__":
    with make_server("127.0.0.1", 8000, application, server_class=Server) as server:
        server.serve_forever()
