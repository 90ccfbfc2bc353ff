"""A pipe whose reader stands by."""

import os
import threading
from collections.abc import Callable

from claude_control.process.standby import Standby
from tests.waiting import wait_until


class Pipe:
    """A pipe, and a reader that stands by in a thread of its own when it is told to."""

    def __init__(self) -> None:
        self.reading, self.writing = os.pipe()
        self.looks = 0
        self.standby = Standby(self.reading, self._look)
        self.was_left: list[bytes] = []
        self._thread: threading.Thread | None = None

    def _look(self, last: bool) -> bool:
        self.looks += 1
        return True

    def stand(self, how: Callable[[], bytes] | None = None) -> None:
        """Begin to stand by; what `wait` returns, or the next output, is in `was_left` then."""

        def run() -> None:
            self.was_left.append((how or self.standby.wait)() or os.read(self.reading, 100))

        self._thread = threading.Thread(target=run, daemon=True)
        self._thread.start()
        if how is None:
            wait_until(lambda: self.standby._standing)

    def read(self) -> bytes:
        """Wait for the reader to come back, and return what it has read."""
        assert self._thread is not None
        self._thread.join(10)
        assert not self._thread.is_alive(), "the reader stands by for ever"
        return self.was_left.pop()

    def write(self, data: bytes) -> None:
        """Write some output."""
        os.write(self.writing, data)

    def close(self) -> None:
        """Close all of it."""
        if self._thread is not None and self._thread.is_alive():
            self.write(b"end")
            self._thread.join(10)
            assert not self._thread.is_alive(), "the reader stands by for ever"
        self.standby.close()
        os.close(self.reading)
        os.close(self.writing)
