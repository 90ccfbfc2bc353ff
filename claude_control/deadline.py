"""One timeout carried through the several steps of an operation."""

import math
import threading
import time
from concurrent.futures import CancelledError, Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from typing import Any

SLICE = 0.25
"""Seconds a thread other than the main one waits at a stretch.

An asynchronous exception (Celery's limits, Jupyter, debuggers) reaches a thread only between two waits; 200 parked
threads at this rate cost 3 % of a core. The main thread's waits are interrupted by signals and need no slices.
"""


class Deadline:
    """The instant at which an operation's time is up; None as timeout means never.

    It is made once, at the entry of the operation, and handed to every step, so that no step starts the count again.
    """

    __slots__ = ("_end", "timeout")

    def __init__(self, timeout: float | None) -> None:
        self.timeout = timeout
        self._end = math.inf if timeout is None else time.monotonic() + timeout

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
        left = self.remaining()
        if threading.current_thread() is threading.main_thread():
            return None if left is None else min(left, threading.TIMEOUT_MAX)  # more is an OverflowError
        return SLICE if left is None else min(left, SLICE)

    def __repr__(self) -> str:
        return f"<Deadline {self.remaining()} s left>"


def wait_event(event: threading.Event, deadline: Deadline) -> bool:
    """Wait for the event; returns False when the time is up first."""
    while not event.wait(deadline.slice()):
        if deadline.expired():
            return False
    return True


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
