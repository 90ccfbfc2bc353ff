"""Runs what the user gave us for one request of the program at a time, on the threads of the pool."""

import threading
from collections.abc import Callable
from typing import Any

from claude_control import log
from claude_control.abort import AbortSignal
from claude_control.errors import ConcurrencyError
from claude_control.log import error_text
from claude_control.session.answers import Answers, Handler, OpenRequest
from claude_control.session.pool import CallbackPool

__all__ = ["Runner", "forbid_striking", "forbid_waiting", "name_of"]

_log = log.get(__name__)


class Runner:
    """What permissions, hooks and elicitations share: an entry in the book of answers, and a thread to answer on."""

    def __init__(self, answers: Answers, pool: CallbackPool) -> None:
        self.answers = answers
        self.pool = pool
        self._abort = self.run_on_abort  # bound once, for every signal

    def open(self, request_id: str, handler: Handler, asked: Any) -> OpenRequest | None:
        """Note a request of the program, for the pool to run; None once the session is over. Called by the reader."""
        request = OpenRequest(request_id, AbortSignal(self._abort), handler, asked)
        return request if self.answers.add(request) else None

    def run_on_abort(self, function: Callable[[], None]) -> None:
        """Run what a user wants to happen when a signal fires."""

        def run() -> None:
            try:
                function()
            except BaseException as error:  # there is nobody to raise to
                _log.warning("on_abort.failed", function=name_of(function), error=error_text(error))

        if not self.pool.submit(run):
            _log.debug("on_abort.skipped", function=name_of(function))


def name_of(function: Any) -> str:
    """Return what a function is called in logs."""
    return str(getattr(function, "__qualname__", None) or type(function).__name__)


def forbid_striking(holder: int | None) -> None:
    """Raise `ConcurrencyError` in a signal handler that has struck the thread which holds a lock it would wait for."""
    if holder == threading.get_ident():
        raise ConcurrencyError(
            "a signal handler cannot wait for the session where it has struck the thread that reads a message of it; "
            "raise an exception there or set a flag, and go on where the turn is iterated"
        )


def forbid_waiting(pool: CallbackPool) -> None:
    """Raise `ConcurrencyError` in a callback: the turn it would wait for waits for the callback itself."""
    if pool.owns_this_thread():
        raise ConcurrencyError(
            "a callback cannot wait for a turn of its own session, because the turn waits for the callback; "
            "control calls such as set_model() work here"
        )
