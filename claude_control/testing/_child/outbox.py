"""What is still to be written to stdout; queueing never stops the reading of stdin.

The real program does the same: with its stdout unread it goes on reading and working, and it does not exit before
everything is taken (2.1.332).
"""

from __future__ import annotations

import collections
import json
import os
import select

TYPE_CHECKING = False
if TYPE_CHECKING:
    from . import Frame
    from .journal import Journal


def encode(frame: Frame) -> bytes:
    """Return a frame as its line, compact, in UTF-8; a lone surrogate is escaped, as Node does it."""
    try:
        return json.dumps(frame, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"
    except UnicodeEncodeError:
        return json.dumps(frame, separators=(",", ":")).encode() + b"\n"


class Outbox:
    """The queue in front of one non-blocking descriptor; every piece put is its own write."""

    __slots__ = ("_descriptor", "_gone", "_journal", "_pieces")

    def __init__(self, descriptor: int, journal: Journal) -> None:
        self._descriptor = descriptor
        self._journal = journal
        self._pieces: collections.deque[memoryview] = collections.deque()
        self._gone = False
        os.set_blocking(descriptor, False)

    @property
    def waiting(self) -> bool:
        """Whether something is still to be written."""
        return bool(self._pieces)

    def put(self, *pieces: bytes) -> None:
        """Queue pieces, and write what the pipe takes now."""
        self._pieces.extend(memoryview(piece) for piece in pieces if piece)
        self.flush()

    def flush(self) -> None:
        """Write until the queue is empty or the pipe is full; when nobody reads any more, drop what is left.

        A real program does not notice that its stdout was closed either, and works on.
        """
        while self._pieces:
            piece = self._pieces[0]
            try:
                written = 0 if self._gone else os.write(self._descriptor, piece)
            except BlockingIOError:
                return
            except OSError as error:
                self._gone = True
                self._journal.note("stdout_gone", error=str(error))
            if self._gone or written == len(piece):
                self._pieces.popleft()
            else:
                self._pieces[0] = piece[written:]

    def drain(self) -> None:
        """Write everything, however long the other side takes to read it."""
        poller = select.poll()
        poller.register(self._descriptor, select.POLLOUT)
        while self._pieces:
            poller.poll()
            self.flush()

    def close(self) -> None:
        """Write everything and give the descriptor up, so that the other side sees the end of output."""
        self.drain()
        give_up(self._descriptor, os.O_WRONLY)
        self._gone = True


def give_up(descriptor: int, flags: int) -> None:
    """Close a standard descriptor and put the null device in its place, so that no other file takes its number."""
    null = os.open(os.devnull, flags)
    os.dup2(null, descriptor)
    os.close(null)
