"""One timeout carried through the several steps of an operation."""

import contextlib
import math
import threading
import time
from concurrent.futures import CancelledError, Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from typing import Any, Protocol

SLICE = 0.25
"""Seconds a thread other than the main one waits at a stretch.

An asynchronous exception (Celery's limits, Jupyter, debuggers) reaches a thread only between two waits; 200 parked
threads at this rate cost 3 % of a core. The main thread's waits are interrupted by signals and need no slices.
"""


class Deadline:
    """The instant at which an operation's time is up; None as timeout means never.

    It is made once, at the entry of the operation, and handed to every step, so that no step starts the count again.
    Where most operations need none, it is made when one does, of the instant `since` on the monotonic clock.
    """

    __slots__ = ("_end", "timeout")

    def __init__(self, timeout: float | None, since: float | None = None) -> None:
        self.timeout = timeout
        self._end = math.inf if timeout is None else (time.monotonic() if since is None else since) + timeout

    def remaining(self) -> float | None:
        """Seconds left, never below 0; None when there is no end."""
        if self._end == math.inf:
            return None
        return max(0.0, self._end - time.monotonic())

    def expired(self) -> bool:
        """Tell whether the time is up."""
        return self._end != math.inf and time.monotonic() >= self._end

    def sooner(self, seconds: float | None) -> "Deadline":
        """Return a deadline `seconds` from now that is never later than this one."""
        made = Deadline(seconds)
        made._end = min(made._end, self._end)
        return made

    def slice(self) -> float | None:
        """Seconds to wait in one stretch in this thread.

        What is left, but at most `SLICE` outside of the main thread.
        """
        left = self._end - time.monotonic()
        if threading.current_thread() is threading.main_thread():
            # More than the maximum is an OverflowError.
            return None if left == math.inf else max(0.0, min(left, threading.TIMEOUT_MAX))
        return SLICE if left > SLICE else max(0.0, left)

    def __repr__(self) -> str:
        return f"<Deadline {self.remaining()} s left>"


class Waiter(Protocol):
    """What is let go of, or told, when something has come or ended: a lock that somebody waits for, for instance."""

    def release(self) -> None:
        """Tell it."""


class Latch:
    """Something that happens once and that any number of threads may wait for.

    As `threading.Event`, which takes 1.3 KiB and some microseconds, and a session has several. Each thread that waits
    has a lock of its own, so that none is harmed by what strikes another.
    """

    __slots__ = ("_is_set", "_waiters")

    def __init__(self) -> None:
        self._is_set = False
        self._waiters: list[threading.Lock] = []

    def is_set(self) -> bool:
        """Tell whether it has happened."""
        return self._is_set

    def set(self) -> None:
        """Say that it has happened; idempotent, and to be said again by whoever was struck in here."""
        self._is_set = True
        for waiter in tuple(self._waiters):
            with contextlib.suppress(RuntimeError):  # it was told before
                waiter.release()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until it has happened; returns False when `timeout` seconds (None: for ever) pass first."""
        if self._is_set:
            return True
        waiter = threading.Lock()
        waiter.acquire()
        self._waiters.append(waiter)
        # Who sets it looks for waiters afterwards; here it is the other way round.
        if not self._is_set and not waiter.acquire(timeout=-1 if timeout is None else timeout):
            self._waiters.remove(waiter)
        return self._is_set


def wait_event(event: threading.Event | Latch, deadline: Deadline) -> bool:
    """Wait for the event; returns False when the time is up first."""
    while not event.wait(deadline.slice()):
        if deadline.expired():
            return False
    return True


def wait_lock(lock: "threading.Lock", deadline: Deadline) -> bool:
    """Wait until another thread lets go of the lock, and take it; returns False when the time is up first.

    The cheapest thing that one thread can wait for, once: making and setting an Event costs some microseconds.
    """
    while True:
        seconds = deadline.slice()
        if lock.acquire(timeout=-1 if seconds is None else seconds):
            return True
        if deadline.expired():
            return False


def wait_future(future: "Future[Any]", deadline: Deadline) -> bool:
    """Wait until the future is done; returns False when the time is up first. Its exception is not raised here."""
    while not future.done():
        try:
            future.exception(deadline.slice())
        except CancelledError:
            return True
        except FutureTimeoutError:
            if deadline.expired():
                return future.done()
    return True
