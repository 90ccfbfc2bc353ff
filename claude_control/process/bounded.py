"""Calls into a transport, none of which may hold us up: one that is the user's own may fail, or never return."""

import threading
from concurrent.futures import Future
from typing import Any

from claude_control import log
from claude_control.deadline import Deadline, wait_future
from claude_control.process.transport import SubprocessTransport, Transport

__all__ = ["CALL_SECONDS", "call_bounded"]

CALL_SECONDS = 2.0
"""Seconds that a call into a transport of the user's may take before it is left alone: ssh needs a second to say so."""

_log = log.get(__name__)


def call_bounded(transport: Transport, method: str, *arguments: Any, seconds: float = CALL_SECONDS) -> Any:
    """Call a method of a transport and return what it returns.

    None is returned where there is no such method, and for a transport of the user's also when the method raises, which
    is logged, or takes longer than `seconds`.
    """
    function = getattr(transport, method, None)
    if function is None or isinstance(transport, SubprocessTransport):
        return None if function is None else function(*arguments)
    future: Future[Any] = Future()

    def run() -> None:
        try:
            future.set_result(function(*arguments))
        except Exception as error:
            _log.warning("transport.call_failed", transport=type(transport).__name__, method=method, error=repr(error))
            future.set_result(None)

    try:
        threading.Thread(target=run, name="claude-stop", daemon=True).start()
    except RuntimeError:  # the interpreter is shutting down: only the transport's own bounds are left
        run()
    return future.result() if wait_future(future, Deadline(seconds)) else None
