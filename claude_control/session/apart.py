"""What is done in a thread of its own: because nothing may interrupt it, or because it may never end."""

import contextvars
import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from claude_control import log
from claude_control.deadline import Deadline
from claude_control.process.transport import SubprocessTransport, Transport
from claude_control.session.waiting import Flag

__all__ = ["Apart", "ask", "finish"]

T = TypeVar("T")
_log = log.get(__name__)


class Apart(Generic[T]):
    """A function that, once begun, runs to its end, whatever strikes whoever waits for it.

    Ctrl-C and asynchronous exceptions land between any two steps of a user's thread, and would leave half of it undone.
    """

    def __init__(self, function: Callable[[], T], name: str) -> None:
        self._function: Callable[[], T] | None = function  # None: begun, or dropped
        self._lock = threading.Lock()  # guards _function
        self._done = Flag()
        self._returned: list[T] = []
        self._raised: BaseException | None = None
        context = contextvars.copy_context()
        self._thread = threading.Thread(target=context.run, args=(self._run,), name=name, daemon=True)

    def start(self) -> None:
        """Begin. Raises RuntimeError where no thread can be started: the interpreter is shutting down."""
        self._thread.start()

    def drop(self, error: Exception) -> bool:
        """Keep it from beginning, so that `result` raises `error`; False if it has begun."""
        if self._take() is None:
            return False
        self._raised = error
        self._done.set()
        return True

    def wait(self, deadline: Deadline) -> bool:
        """Wait for its end; False when the time is up first."""
        return self._done.wait(deadline)

    def result(self) -> T:
        """Wait for its end and return what it returned, or raise what it raised."""
        self.wait(Deadline(None))
        error, self._raised = self._raised, None
        try:
            if error is not None:
                raise error
        finally:
            del error  # its traceback holds this frame: the two would keep each other alive
        return self._returned[0]

    def _take(self) -> Callable[[], T] | None:
        with self._lock:
            function, self._function = self._function, None
        return function

    def _run(self) -> None:
        function = self._take()
        if function is None:
            return
        try:
            self._returned.append(function())
        except BaseException as error:  # raised again by `result`
            self._raised = error
        self._done.set()


def finish(function: Callable[[], T], name: str) -> T:
    """Run the function apart and wait for it; where no thread can be started, run it here and now."""
    work = Apart(function, name)
    try:
        work.start()
    except RuntimeError:
        return function()
    return work.result()


def ask(transport: Transport, method: str, *arguments: Any, patience: float) -> Any:
    """Call a method of a transport and return what it returns; None where there is no such method.

    One of the user's own may fail, which is logged, and may hang: after `patience` seconds it is left alone. Then None
    is returned too.
    """
    function = getattr(transport, method, None)
    if function is None or isinstance(transport, SubprocessTransport):
        return None if function is None else function(*arguments)
    try:
        work: Apart[Any] = Apart(lambda: function(*arguments), "claude-stop")
        work.start()
        return work.result() if work.wait(Deadline(patience)) else None
    except Exception as error:
        _log.warning("transport.call_failed", transport=type(transport).__name__, method=method, error=repr(error))
        return None
