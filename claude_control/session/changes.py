"""News for those who wait: something has changed, look again."""

import contextlib
import threading

__all__ = ["Changes"]


class Changes:
    """A count of changes, and a way to wait for the next one.

    Whoever waits takes the count first, then looks, then waits for a change since that count: so no change between the
    look and the wait is lost. No lock is held: as in a `Latch`, each who waits has one of its own.
    """

    def __init__(self) -> None:
        self._count = 0
        self._waiters: list[threading.Lock] = []  # one for each thread that waits, which nobody else takes

    @property
    def count(self) -> int:
        """How many changes there have been."""
        return self._count

    def tell(self) -> None:
        """Count a change and wake those who wait; there are none for nearly every message."""
        self._count += 1  # two at a time may count as one, but never as none
        if self._waiters:  # who comes now sees the new count
            for waiter in tuple(self._waiters):
                with contextlib.suppress(RuntimeError):  # it was told before
                    waiter.release()

    def wait(self, since: int, seconds: float | None) -> None:
        """Wait for a change since the count `since`, for so many seconds at the most; None for ever."""
        waiter = threading.Lock()
        waiter.acquire()
        try:
            self._waiters.append(waiter)
            if self._count == since:
                waiter.acquire(timeout=-1 if seconds is None else seconds)
        finally:
            if waiter in self._waiters:  # else it was struck before
                self._waiters.remove(waiter)
