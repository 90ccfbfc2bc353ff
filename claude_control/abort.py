"""AbortSignal: how a callback learns that its answer is no longer wanted."""

import threading
from collections.abc import Callable

from claude_control.deadline import Deadline, wait_event
from claude_control.errors import AbortedError

__all__ = ["AbortSignal"]


class AbortSignal:
    """A flag that is raised once, with a reason, and that any thread can look at, wait for or listen to.

    Reasons: "cancelled" (the program withdrew its request, which an interrupt makes it do), "timeout", "closed" (the
    session was closed), "exited" (the program ended).
    """

    __slots__ = ("_event", "_functions", "_lock", "_reason", "_run")

    def __init__(self, run: Callable[[Callable[[], None]], None] | None = None) -> None:
        # `run` executes the on_abort functions elsewhere (a callback thread); without it they run where the signal is
        # fired.
        self._run = run
        self._lock = threading.Lock()  # guards the three below
        self._functions: list[Callable[[], None]] | None = None
        self._event: threading.Event | None = None  # made by the first that waits: nearly every signal has none
        self._reason: str | None = None  # not None: fired

    @property
    def aborted(self) -> bool:
        """Whether the signal has been fired."""
        return self._reason is not None

    @property
    def reason(self) -> str | None:
        """Why it was fired, or None."""
        return self._reason

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the signal is fired; returns False when `timeout` seconds (None: for ever) pass first."""
        if self._reason is not None:
            return True
        with self._lock:
            if self._event is None:
                self._event = threading.Event()
                if self._reason is not None:
                    self._event.set()
            event = self._event
        return wait_event(event, Deadline(timeout))

    def raise_if_aborted(self) -> None:
        """Raise `AbortedError` if the signal has been fired."""
        if self._reason is not None:
            raise AbortedError(f"the request was aborted: {self._reason}", reason=self._reason)

    def on_abort(self, function: Callable[[], None]) -> None:
        """Call `function()` once when the signal is fired, at once if it has been.

        On a callback thread of the session.
        """
        with self._lock:
            if self._reason is None:
                if self._functions is None:
                    self._functions = []
                self._functions.append(function)
                return
        self._call(function)

    def fire(self, reason: str) -> bool:
        """Raise the flag; returns False if it was up already. Called by the session; a caller's own use is harmless."""
        with self._lock:
            if self._reason is not None:
                return False
            self._reason = reason
            functions, self._functions = self._functions, None
            if self._event is not None:
                self._event.set()
        for function in functions or ():
            self._call(function)
        return True

    def _call(self, function: Callable[[], None]) -> None:
        if self._run is None:
            function()
        else:
            self._run(function)

    def __repr__(self) -> str:
        return f"<AbortSignal {'aborted: ' + str(self._reason) if self.aborted else 'not aborted'}>"
