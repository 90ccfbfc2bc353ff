"""News for those who wait: something has changed, look again."""

import threading

__all__ = ["Changes"]


class Changes:
    """A count of changes, and a way to wait for the next one.

    Whoever waits takes the count first, then looks, then waits for a change since that count: so no change between the
    look and the wait is lost, and nothing that is looked at needs this lock.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()  # held for a moment only, so the reader may take it
        self._count = 0
        self._waiting = 0  # changed with the lock held

    @property
    def count(self) -> int:
        """How many changes there have been."""
        return self._count

    def tell(self) -> None:
        """Count a change and wake those who wait; takes no lock while there is none, as for nearly every message."""
        self._count += 1  # two at a time may count as one, but never as none
        if self._waiting:  # who comes now sees the new count
            with self._changed:
                self._changed.notify_all()

    def wait(self, since: int, seconds: float | None) -> None:
        """Wait for a change since the count `since`, for so many seconds at the most; None for ever."""
        with self._changed:
            self._waiting += 1
            try:
                if self._count == since:
                    self._changed.wait(seconds)
            finally:
                self._waiting -= 1
