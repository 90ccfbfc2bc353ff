"""What is done in a thread of its own: because nothing may interrupt it, or because it may never end."""

import contextvars
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Generic, TypeVar

from claude_control import log
from claude_control.deadline import Deadline, wait_future
from claude_control.process.transport import SubprocessTransport, Transport

__all__ = ["Apart", "ask", "finish"]

T = TypeVar("T")
_log = log.get(__name__)


class Apart(Generic[T]):
    """A function that, once begun, runs to its end, whatever strikes whoever waits for it.

    Ctrl-C and asynchronous exceptions land between any two steps of a user's thread, and would leave half of it undone.
    """

    def __init__(self, function: Callable[[], T], name: str) -> None:
        self._function = function
        self._future: Future[T] = Future()
        context = contextvars.copy_context()
        self._thread = threading.Thread(target=context.run, args=(self._run,), name=name, daemon=True)

    def start(self) -> None:
        """Begin. Raises RuntimeError where no thread can be started: the interpreter is shutting down."""
        self._thread.start()

    def drop(self) -> bool:
        """Keep it from beginning; False if it has begun."""
        return self._future.cancel()

    def wait(self, deadline: Deadline) -> bool:
        """Wait for its end; False when the time is up first."""
        return wait_future(self._future, deadline)

    def result(self) -> T:
        """Wait for its end and return what it returned, or raise what it raised."""
        try:
            self.wait(Deadline(None))
            return self._future.result()
        finally:
            del self  # the exception's traceback holds this frame, and the future the exception

    def _run(self) -> None:
        future, function = self._future, self._function
        del self._function, self  # as above; and what it holds is not ours to keep
        if not future.set_running_or_notify_cancel():
            return
        try:
            future.set_result(function())
        except BaseException as error:
            future.set_exception(error)
            del future


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
