"""Waits that may be struck at any step.

Ctrl-C and asynchronous exceptions land after any call that a user's thread makes. `threading.Condition` is written in
Python, so one may land when it has just taken its lock and nobody knows yet; the lock is then never given back, and
whoever wants to tell the waiter something, the reader above all, hangs for ever. `Event` and `Future` are built on it.
What a user's thread waits on is therefore made of plain locks alone, whose calls happen wholly or not at all.
"""

import contextlib
import threading
from collections import deque
from collections.abc import Callable

from claude_control.deadline import Deadline

__all__ = ["Flag", "Waiters"]


class Waiters:
    """The threads that wait for something to become true."""

    __slots__ = ("_waiters",)

    def __init__(self) -> None:
        self._waiters: deque[threading.Lock] = deque()  # one for each, held until it is woken

    def wait(self, ready: Callable[[], object], deadline: Deadline) -> bool:
        """Wait until `ready()`, which takes no lock, is true; False when the time is up first."""
        while not ready():
            if deadline.expired():
                return False
            waiter = threading.Lock()
            waiter.acquire()
            try:
                self._waiters.append(waiter)
                if not ready():  # `wake` may have been called before it could see this one
                    seconds = deadline.slice()
                    waiter.acquire(timeout=-1 if seconds is None else seconds)
            finally:
                with contextlib.suppress(ValueError):
                    self._waiters.remove(waiter)
        return True

    def wake(self) -> None:
        """Let all that wait look again; call it when something has become true. Never waits."""
        for waiter in list(self._waiters):
            with contextlib.suppress(RuntimeError):  # it has been woken just now
                waiter.release()


class Flag:
    """What `threading.Event` is, for user's threads."""

    __slots__ = ("_set", "_waiters")

    def __init__(self) -> None:
        self._set = False
        self._waiters = Waiters()

    def set(self) -> None:
        """Raise the flag, for good."""
        self._set = True
        self._waiters.wake()

    def is_set(self) -> bool:
        """Tell whether it is up."""
        return self._set

    def wait(self, deadline: Deadline) -> bool:
        """Wait until it is up; False when the time is up first."""
        return self._waiters.wait(self.is_set, deadline)
