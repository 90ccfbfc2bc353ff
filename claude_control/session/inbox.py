"""What the reader hands over to one consumer; it never makes the reader wait.

A consumer gets frames (dicts), ready messages, single lines, and runs of lines that nobody has decoded yet: most of
what comes, for lines take a quarter of the memory, and no time of the reader. `Item` is what comes in. Two policies:
`Inbox` keeps everything, in memory up to a number of bytes and beyond it in an unlinked temporary file; `Newest` keeps
the newest and says how many it dropped.
"""

import contextlib
import os
import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from claude_control.deadline import Deadline, Waiter
from claude_control.wire.framing import Piece, cut
from claude_control.wire.messages import MessagesDropped

__all__ = ["PART_BYTES", "Inbox", "Item", "MessageRun", "Newest", "One", "Run", "Stream"]

One = tuple[int, Any, bytes]
"""A frame or message with its size in bytes before it, and behind it its line, empty for what came on none."""

KEPT_NEWEST = 10_000
"""How many messages that nobody reads are kept."""

PART_BYTES = 12 * 1024
"""The bytes, up to the end of the line, of a run whose messages exist all at once: some 40 deltas.

The garbage collector comes for every 700 objects; with 200 deltas it took half of the time.
"""

READ_BACK = 1 << 20
"""Bytes read from the file at once: what is in memory while the consumer catches up."""


class Run:
    """Lines that nobody has decoded yet: at least one, with newlines between them.

    `pieces` are their bytes in order, `size` is how many, and `count` the number of lines.
    """

    __slots__ = ("count", "pieces", "size")

    def __init__(self, pieces: Sequence[Piece], count: int) -> None:
        self.pieces = pieces
        self.count = count
        self.size = sum(map(len, pieces))

    @property
    def block(self) -> bytes:
        """All of them in one piece."""
        return b"".join(self.pieces)

    def lines(self) -> list[bytes]:
        """Return the lines by themselves."""
        return self.block.split(b"\n") if self.count > 1 else [self.block]


class MessageRun(Run):
    """Lines of whole messages of the model's; `noted` once somebody has noted what they say of the turn."""

    __slots__ = ("noted",)

    def __init__(self, pieces: Sequence[Piece], count: int) -> None:
        super().__init__(pieces, count)
        self.noted = False


Item = One | Run
"""One frame or message, or else a run of lines."""


class Stream(Protocol):
    """What both policies offer."""

    handed: list[Any]
    """What `take` has returned; to be emptied by the caller once he has it, or else it is returned again.

    So nothing is lost with a thread that is struck from outside on its way back from there.
    """

    def put(self, items: Sequence[Item]) -> None:
        """Hand items over. Called by the reader; never waits."""

    def take(self, deadline: Deadline) -> list[Any] | None:
        """Return what is there, waiting for something to come; [] when the time is up, None at the end.

        Raises what ended the stream.
        """

    def finish(self, error: Exception | None = None) -> None:
        """Say that no more comes; `error` is raised to the consumer after what is left."""


class _Waiting:
    """The consumer's wait, and the end of the stream."""

    def __init__(self) -> None:
        self._lock = threading.Lock()  # guards everything here and in the subclasses; nobody waits with it
        self.handed: list[Any] = []
        self._waiters: list[Waiter] = []  # a lock for each thread that waits, let go of once something has come
        self._finished = False
        self._error: Exception | None = None

    def finish(self, error: Exception | None = None) -> None:
        """Say that no more comes; the first call counts."""
        with self._lock:
            if not self._finished:
                self._finished, self._error = True, error
        self._wake()

    def _ready(self) -> bool:
        """Whether there is something to take."""
        raise NotImplementedError

    def _empty(self) -> list[Any] | None:
        """Return what to return if there is nothing, with the lock held: [], or None at the end."""
        if not self._finished:
            return []  # it was taken or discarded just now
        if self._error is not None:
            raise self._error
        return None

    def _wake(self) -> None:
        if self._waiters:
            with self._lock:
                waiters, self._waiters = self._waiters, []
            for waiter in waiters:
                with contextlib.suppress(RuntimeError):  # it was told a moment ago, and has not yet come round
                    waiter.release()

    def _wait(self, deadline: Deadline) -> bool:
        """Wait until there is something or the end; False when the time is up."""
        waiter = None
        while not self._ready() and not self._finished:
            if deadline.expired():
                return False
            if waiter is None:
                waiter = threading.Lock()
                waiter.acquire()
            with self._lock:
                if waiter not in self._waiters:  # it may still be there after a slice of the time
                    # Nothing is called: a signal handler could come there, and wait for who needs the lock.
                    self._waiters = [*self._waiters, waiter]
            if not self._ready() and not self._finished:  # what came before is not told any more
                seconds = deadline.slice()
                waiter.acquire(timeout=-1 if seconds is None else seconds)
        return True


class Inbox(_Waiting):
    """Keeps every item in order.

    Up to `budget` bytes of unread lines in memory, further ones in a file until it has been read up.
    """

    def __init__(self, budget: int, open_file: Callable[[], int]) -> None:
        super().__init__()
        self._budget = budget
        self._open_file = open_file  # returns the descriptor of a file without a name
        self._items: list[Any] = []
        self._size = 0
        self._discarding = False
        self._spill: _Spill | None = None

    def put(self, items: Sequence[Item]) -> None:
        """Hand items over. Called by the reader."""
        if self._discarding:
            return
        with self._lock:
            self._keep(items)
        self._wake()
        if self._discarding:  # since just now
            self.discard()

    def take(self, deadline: Deadline) -> list[Any] | None:
        """Return what is there as one batch."""
        if not self.handed and not self._wait(deadline):
            return []
        with self._lock:
            if self._items and not self.handed:
                self.handed, self._items, self._size = self._items, [], 0
            if self.handed:
                return self.handed
            spill = self._spill
            if spill is None:
                return self._empty()
        return self._read_back(spill)  # not under the lock: the reader must not wait for a file to be decoded

    def discard(self) -> None:
        """Drop what is there and what comes. Takes no lock, since the garbage collector may call it anywhere."""
        self._discarding = True
        self._items = []
        self.handed = []
        self._spill = None

    def is_dry(self) -> bool:
        """Tell whether the consumer has to wait."""
        return not self.handed and not self._finished and not self._ready()

    def tell_too(self, waiter: Waiter) -> None:
        """Tell somebody else once, too, when something comes or the end: `is_dry` is to be looked at after that."""
        with self._lock:
            if waiter not in self._waiters:
                self._waiters = [*self._waiters, waiter]  # see `_wait`

    @property
    def keeps(self) -> bool:
        """Whether everything that is unread is in memory, and wanted."""
        return self._spill is None and not self._discarding

    @property
    def spilled(self) -> bool:
        """Whether part of the backlog is in a file."""
        return self._spill is not None

    def _ready(self) -> bool:
        return bool(self._items) or self._spill is not None

    def _keep(self, items: Sequence[Item]) -> None:
        for item in items:
            if isinstance(item, Run):
                self._keep_run(item)
                continue
            size, thing, line = item
            if self._spill is None and self._size + size <= self._budget:
                self._items.append(thing)
                self._size += size
            else:
                self._overflow(size, thing, line)

    def _overflow(self, size: int, item: Any, line: bytes) -> None:
        """Keep an item in memory if it is the only one there, else in the file."""
        spill = self._spill  # read once: discard() may take it away meanwhile
        if spill is None and not self._items:
            self._items.append(item)
            self._size += size
            return
        if spill is None:
            spill = self._spill = _Spill(self._open_file())
        if line:
            spill.write(line)
        else:
            spill.insert(item)

    def _keep_run(self, run: Run) -> None:
        spill, size = self._spill, run.size
        if spill is not None:
            spill.write(run.block)
        elif self._size + size <= self._budget:
            self._items.append(run)
            self._size += size
        else:
            self._keep([(len(line), line, line) for line in run.lines()])

    def _read_back(self, spill: "_Spill") -> list[Any]:
        batch, position = spill.peek()
        self.handed, spill.position = batch, position
        with self._lock:
            if spill is self._spill and spill.empty:
                self._spill = None  # the file goes with it
        return batch


class _Spill:
    """The lines in the file, and the few items in between that came on no line.

    The reader writes at the end while the consumer reads from `position`; neither waits for the other.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._end = 0  # of the last whole line
        self._inserted: list[tuple[int, Any]] = []  # (where in the file, item)
        self.position = (0, 0)
        """How far it has been read: bytes of the file, and items in between."""

    @property
    def empty(self) -> bool:
        """Whether everything has been read."""
        return self.position == (self._end, len(self._inserted))

    def write(self, lines: bytes) -> None:
        """Add a line, or several with newlines between them. Raises OSError, and has then added nothing."""
        view, end = memoryview(lines + b"\n"), self._end
        while view:
            written = os.pwrite(self._descriptor, view, end)
            end += written
            view = view[written:]
        self._end = end

    def insert(self, item: Any) -> None:
        """Add an item that came on no line."""
        self._inserted.append((self._end, item))

    def peek(self) -> tuple[list[Any], tuple[int, int]]:
        """Return the next items, at least one if there are any, and the position behind them."""
        start, index = self.position
        end = self._end  # before the look at what stands in between: what comes meanwhile stands behind it
        if index < len(self._inserted):
            where, item = self._inserted[index]
            if where <= start:
                return [item], (start, index + 1)
            end = min(end, where)
        data = self._read_lines(start, end)
        parts = cut(data[:-1], {b"": PART_BYTES}) if data else ()
        return [Run((part,), count) for _, part, count in parts], (start + len(data), index)

    def _read_lines(self, start: int, end: int) -> bytes:
        """Return some whole lines, at least one if there are any."""
        size = READ_BACK
        while start < end:
            chunk = os.pread(self._descriptor, min(size, end - start), start)
            whole = chunk.rfind(b"\n") + 1
            if whole:
                return chunk[:whole]
            size *= 2
        return b""

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
        self._items: deque[tuple[int, Any]] = deque()
        self._size = 0
        self._dropped = 0

    def put(self, items: Sequence[Item]) -> None:
        """Hand items over. Called by the reader."""
        with self._lock:
            for item in items:
                for kept in [(len(line), line) for line in item.lines()] if isinstance(item, Run) else [item[:2]]:
                    self._items.append(kept)
                    self._size += kept[0]
            while len(self._items) > self._limit or (self._size > self._budget and len(self._items) > 1):
                self._size -= self._items.popleft()[0]
                self._dropped += 1
        self._wake()

    def take(self, deadline: Deadline) -> list[Any] | None:
        """Return what is there as one batch."""
        if not self.handed and not self._wait(deadline):
            return []
        with self._lock:
            if not self._items and not self.handed:
                return self._empty()
            if not self.handed:
                batch: list[Any] = [MessagesDropped(count=self._dropped)] if self._dropped else []
                batch += [item[1] for item in self._items]
                left: deque[tuple[int, Any]] = deque()
                self.handed, self._items, self._size, self._dropped = batch, left, 0, 0
            return self.handed

    def _ready(self) -> bool:
        return bool(self._items)
