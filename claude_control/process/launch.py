"""Starting a process so that neither Ctrl-C nor a failure leaves one behind that nobody knows of."""

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Generic, TypeVar

from claude_control.deadline import Deadline, Latch, wait_event
from claude_control.process import watch
from claude_control.process.descriptors import Descriptor

__all__ = ["OwnThread", "launch", "uninterrupted"]

T = TypeVar("T")


class OwnThread(threading.Thread):
    """A thread that no Ctrl-C or asynchronous exception strikes: no user knows of it."""


def launch(
    argv: Sequence[str],
    *,
    env: Mapping[str, str],
    cwd: str | None,
    stdin: Descriptor,
    stdout: Descriptor | None,
    stderr: Descriptor | None,
) -> int:
    """Start a program in a session of its own and return its pid; None as an output is the null device.

    It inherits nothing but the three. Raises OSError or ValueError as `subprocess.Popen` does. Call it by way of
    `uninterrupted`.
    """
    import subprocess

    # No preexec_fn, user or group: each would cost vfork, and with it 50 ms in a host of 1 GiB.
    process = subprocess.Popen(
        argv,
        stdin=stdin.fd,
        stdout=subprocess.DEVNULL if stdout is None else stdout.fd,
        stderr=subprocess.DEVNULL if stderr is None else stderr.fd,
        env=env,
        cwd=cwd,
        close_fds=True,
        start_new_session=True,
    )
    process.returncode = 0  # the watch collects it; otherwise Popen would do so behind its back when it is freed
    return process.pid


def uninterrupted(make: Callable[[], T], undo: Callable[[T], None]) -> T:
    """Return `make()`, called where no Ctrl-C or asynchronous exception lands: here, or else in the watch thread.

    Python runs signal handlers right after the fork returned and before its pid is stored, so an interrupted `Popen`
    leaves a child that nobody knows of. If this wait is interrupted, what `make` made is undone by whoever learns of
    it last.
    """
    if isinstance(threading.current_thread(), OwnThread):
        return make()
    birth = _Birth(make, undo)
    try:
        watch.call_later(0, birth.run)
        wait_event(birth.done, Deadline(None))
    except BaseException:
        birth.abandon()
        raise
    return birth.take()


class _Birth(Generic[T]):
    """Something that is made in one thread and wanted in another, until that one gives up."""

    def __init__(self, make: Callable[[], T], undo: Callable[[T], None]) -> None:
        self._make = make
        self._undo = undo
        self._lock = threading.Lock()  # guards the three fields below: made and abandoned meet under it
        self._made: list[T] = []
        self._error: BaseException | None = None
        self._abandoned = False
        self.done = Latch()

    def run(self) -> None:
        """Make it; in the watch thread."""
        try:
            made = self._make()
        except BaseException as error:  # raised again by `take`, in the thread that asked for it
            self._error = error
        else:
            with self._lock:
                self._made.append(made)
        self.done.set()
        self._undo_if_unwanted()

    def take(self) -> T:
        """Return what was made, or raise what was raised instead."""
        error, self._error = self._error, None
        try:
            if error is not None:
                raise error
        finally:
            del error  # its traceback holds this frame: the two would keep each other alive
        return self._made.pop()

    def abandon(self) -> None:
        """Nobody wants it any more."""
        with self._lock:
            self._abandoned = True
        self._undo_if_unwanted()

    def _undo_if_unwanted(self) -> None:
        with self._lock:
            unwanted = self._made.pop() if self._abandoned and self._made else None
        if unwanted is not None:
            self._undo(unwanted)
