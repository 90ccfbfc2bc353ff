"""A transport over a real pipe, whose other end the test reads as slowly as it likes."""

import os
import select
import threading
from collections.abc import Iterator

from claude_control.process.exits import Exit

_ROOM = 0.02  # seconds between two looks at whether there is room, or the input was ended


class PlainPipeTransport:
    """The members that every transport has; output and process are not what it is about."""

    def __init__(self) -> None:
        self.reading, self._writing = os.pipe()
        os.set_blocking(self._writing, False)
        self._ended = threading.Event()
        self._lock = threading.Lock()  # held while the descriptor is used
        self.writers: set[str] = set()  # names of the threads that wrote
        self.received = b""  # what was left in the pipe when the reading end was closed

    def read(self) -> bytes:
        """Return the end of the output."""
        return b""

    def write(self, data: bytes) -> None:
        """Write all of it, waiting for room."""
        self.writers.add(threading.current_thread().name)
        rest = memoryview(data)
        while rest:
            with self._lock:
                rest = rest[self._push(rest) :]
            if rest and not self._ended.is_set():
                select.select([], [self._writing], [], _ROOM)

    def end_input(self) -> None:
        """Close the writing end; a writer that waits gets BrokenPipeError."""
        self._ended.set()
        with self._lock:
            if self._writing >= 0:
                os.close(self._writing)
                self._writing = -1

    def wait(self, timeout: float | None) -> Exit | None:
        """Say that the program has ended."""
        return Exit(0)

    def terminate(self) -> None:
        """Do nothing: there is no program."""

    def kill(self) -> None:
        """Do nothing: there is no program."""

    def _push(self, data: bytes | memoryview) -> int:
        if self._ended.is_set():
            raise BrokenPipeError("the input was ended")
        try:
            return os.write(self._writing, data)
        except BlockingIOError:
            return 0

    # -- the program's side -----------------------------------------------------------------------------------------

    def fill(self) -> int:
        """Fill the pipe to the brim, page by page; returns how many bytes that were."""
        total = 0
        for size in (4096, 1):
            while written := self._push(b"." * size):
                total += written
        return total

    def take(self, count: int) -> bytes:
        """Read exactly so many bytes."""
        data = b""
        while len(data) < count:
            chunk = os.read(self.reading, count - len(data))
            assert chunk, "the input has ended"
            data += chunk
        return data

    def lines(self, chunk: int = 65536) -> Iterator[bytes]:
        """Read lines until the input ends, in reads of at most so many bytes; the last may be torn."""
        tail = b""
        while data := os.read(self.reading, chunk):
            *whole, tail = (tail + data).split(b"\n")
            yield from whole
        if tail:
            yield tail

    def stop_reading(self) -> None:
        """Close the reading end, as a program that dies does."""
        if self.reading >= 0:
            if self._ended.is_set():
                self.received = b"".join(iter(lambda: os.read(self.reading, 65536), b""))
            os.close(self.reading)
            self.reading = -1


class PipeTransport(PlainPipeTransport):
    """The same with the one non-blocking write."""

    def try_write(self, data: bytes) -> bool:
        """Write all of it or nothing, without waiting."""
        self.writers.add(threading.current_thread().name)
        with self._lock:
            return self._push(data) > 0


class CountingTransport(PipeTransport):
    """Notes the writes that do not wait, and can refuse them."""

    def __init__(self) -> None:
        super().__init__()
        self.written: list[bytes] = []
        self.refuses = False

    def try_write(self, data: bytes) -> bool:
        """Write all of it or nothing, without waiting."""
        if self.refuses:
            return False
        self.written.append(data)
        return super().try_write(data)
