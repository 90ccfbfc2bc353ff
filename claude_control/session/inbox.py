"""What the reader hands over to one consumer; it never makes the reader wait.

Items are frames as decoded (dicts) or ready messages. Two policies: `Inbox` keeps everything, in memory up to a number
of bytes and beyond it in an unlinked temporary file; `Newest` keeps the newest and says how many it dropped.
"""

import os
import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from claude_control.deadline import Deadline
from claude_control.wire.framing import Decoder, LineSplitter
from claude_control.wire.messages import MessagesDropped

__all__ = ["Inbox", "Item", "Newest", "Stream"]

Item = tuple[int, Any, bytes]
"""Size in bytes, the frame or message, and its line (kept only where it goes to a file.

Empty for what came on no line).
"""

KEPT_NEWEST = 10_000
"""How many messages that nobody reads are kept."""

READ_BACK = 1 << 20
"""Bytes read from the file at once.

About what is in memory twice, as bytes and decoded, while the consumer catches up.
"""


class Stream(Protocol):
    """What both policies offer."""

    def put(self, items: Sequence[Item]) -> None:
        """Hand items over. Called by the reader; never waits."""

    def take(self, deadline: Deadline) -> list[Any] | None:
        """Return what is there, waiting for something to come; [] when the time is up, None at the end.

        Raises what ended the stream.
        """

    def finish(self, error: Exception | None = None) -> None:
        """Say that no more comes; `error` is raised to the consumer after what is left."""


class _Waiting:
    """One consumer's wait, and the end of the stream."""

    def __init__(self) -> None:
        self._changed = threading.Condition(threading.Lock())  # guards everything in the subclasses
        self._finished = False
        self._error: Exception | None = None

    def finish(self, error: Exception | None = None) -> None:
        """Say that no more comes; the first call counts."""
        with self._changed:
            if not self._finished:
                self._finished, self._error = True, error
                self._changed.notify_all()

    def _wait(self, ready: Callable[[], bool], deadline: Deadline) -> bool:
        """Wait, with the lock held, until there is something or the end; False when the time is up."""
        while not ready() and not self._finished:
            if deadline.expired():
                return False
            self._changed.wait(deadline.slice())
        return True

    def _end(self) -> None:
        if self._error is not None:
            raise self._error


class Inbox(_Waiting):
    """Keeps every item in order.

    Up to `budget` bytes of unread lines in memory, further ones in a file until it has been read up.
    """

    def __init__(self, budget: int, open_file: Callable[[], int]) -> None:
        super().__init__()
        self._budget = budget
        self._open_file = open_file  # returns the descriptor of a file without a name
        self._items: list[Item] = []
        self._size = 0
        self._discarding = False
        self._spill: _Spill | None = None

    def put(self, items: Sequence[Item]) -> None:
        """Hand items over. Called by the reader."""
        if self._discarding:
            return
        with self._changed:
            for item in items:
                self._keep(item)
            self._changed.notify()

    def take(self, deadline: Deadline) -> list[Any] | None:
        """Return what is there as one batch."""
        with self._changed:
            if not self._wait(self._ready, deadline):
                return []
            if self._items:
                batch = [item[1] for item in self._items]
                self._items, self._size = [], 0
                return batch
            if self._spill is not None:
                return self._read_back()
            self._end()
            return None

    def discard(self) -> None:
        """Drop what is there and what comes. Takes no lock, since the garbage collector may call it anywhere."""
        self._discarding = True
        self._items = []
        self._spill = None

    @property
    def spilled(self) -> bool:
        """Whether part of the backlog is in a file."""
        return self._spill is not None

    def _ready(self) -> bool:
        return bool(self._items) or self._spill is not None

    def _keep(self, item: Item) -> None:
        size, _, line = item
        spill = self._spill  # read once: discard() may take it away meanwhile
        if spill is None and (not self._items or self._size + size <= self._budget):
            self._items.append((size, item[1], b""))  # the line itself is not needed any more
            self._size += size
            return
        if spill is None:
            spill = self._spill = _Spill(self._open_file())
        if line:
            spill.write(line)
        else:
            spill.insert(item[1])

    def _read_back(self) -> list[Any]:
        spill = self._spill
        batch = [] if spill is None else spill.read()
        if spill is None or spill.empty:
            self._spill = None  # the file goes with it
        return batch


class _Spill:
    """The lines in the file, and the few items in between that came on no line."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._start = self._end = 0
        self._splitter = LineSplitter(1 << 62)
        self._decoder = Decoder()
        self._inserted: deque[tuple[int, Any]] = deque()  # (position in the file, item)

    @property
    def empty(self) -> bool:
        return self._start == self._end and not self._inserted

    def write(self, line: bytes) -> None:
        data = line + b"\n"
        view = memoryview(data)
        while view:
            written = os.pwrite(self._descriptor, view, self._end)
            self._end += written
            view = view[written:]

    def insert(self, item: Any) -> None:
        self._inserted.append((self._end, item))

    def read(self) -> list[Any]:
        """Return the next items, at least one."""
        batch: list[Any] = []
        while not batch and not self.empty:
            if self._inserted and self._inserted[0][0] <= self._start:
                return [self._inserted.popleft()[1]]
            stop = self._inserted[0][0] if self._inserted else self._end
            chunk = os.pread(self._descriptor, min(READ_BACK, stop - self._start), self._start)
            self._start += len(chunk)
            batch = [self._decoder.decode(line) for line in self._splitter.feed(chunk) if isinstance(line, bytes)]
        return batch

    def __del__(self) -> None:
        os.close(self._descriptor)


class Newest(_Waiting):
    """Keeps the newest 10,000 items, and no more than `budget` bytes of them.

    A `MessagesDropped` stands where older ones were dropped.
    """

    def __init__(self, budget: int, limit: int = KEPT_NEWEST) -> None:
        super().__init__()
        self._budget = budget
        self._limit = limit
        self._items: deque[Item] = deque()
        self._size = 0
        self._dropped = 0

    def put(self, items: Sequence[Item]) -> None:
        """Hand items over. Called by the reader."""
        with self._changed:
            for item in items:
                self._items.append((item[0], item[1], b""))
                self._size += item[0]
            while len(self._items) > self._limit or (self._size > self._budget and len(self._items) > 1):
                self._size -= self._items.popleft()[0]
                self._dropped += 1
            self._changed.notify()

    def take(self, deadline: Deadline) -> list[Any] | None:
        """Return what is there as one batch."""
        with self._changed:
            if not self._wait(lambda: bool(self._items), deadline):
                return []
            if not self._items:
                self._end()
                return None
            batch: list[Any] = [MessagesDropped(count=self._dropped)] if self._dropped else []
            batch += [item[1] for item in self._items]
            self._items.clear()
            self._size = self._dropped = 0
            return batch
