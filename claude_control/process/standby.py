"""Who waits for one answer, or for the next pieces of text, reads by itself, while the reader of the pipe stands by.

Theory of operation. To hand an answer from one thread to another costs a wake, which takes longer than all the rest of
a call. So the reader, when nothing but an answer is to be expected, waits for output without reading it (`wait`), and
so does the thread that waits for the answer (`lead`). Both ask one epoll object, which gives each event to one thread
only, the one that came last, and gives none again until somebody asks for it: to have got the pipe's event is to be the
one that may read. Who leads gives that back if it has found its answer. Otherwise it leaves what it has read to the
reader, in `_left`, and rings: so does whoever is struck from outside in the middle, and nothing is lost, for to wait,
to read and to put the bytes into `_left` is one step, in C. To take them out again is one, too: what must be dealt with
once, and is no answer that a map of requests guards, goes from there to its place by `hand_over`.

The bell is for the reader (something is left to it) or for who leads (what it waits for has come by another way), and
either may hear it instead of the other: each rings again then. A signal handler in the leading thread may wait for what
nobody else can read: what asks the session leaves all to the reader first (`leave`), and the reader looks by itself
when a handler, or a finalizer, waits without asking: whether the thread still deals with what it did a second before
(`_held`). A reader that nobody leads for a second just reads.
"""

import contextlib
import os
import select
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain, repeat
from operator import itemgetter
from typing import Any

from claude_control.process import forks
from claude_control.process.descriptors import Descriptor

__all__ = ["Standby", "open_standby"]

ANSWER_BYTES = 12 * 1024
"""How much is read at once by who waits for it, some 40 deltas; a longer answer is left to the reader."""


_STEP = 0.02  # seconds that the reader waits at a stretch for somebody else to leave
_LOOK = 1.0  # seconds after which the reader looks whether anybody still comes, and whether who leads is held up
_NUMBER = itemgetter(0)


class Standby:
    """The epoll object of one pipe: its reader and one other thread at a time wait here."""

    __slots__ = (
        "__weakref__",
        "_bell",
        "_epoll",
        "_fd",
        "_held",
        "_lead",
        "_leader",
        "_left",
        "_letting",
        "_may_overtake",
        "_over",
        "_recalled",
        "_ring",
        "_standing",
        "leading",
    )

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._lead = threading.Lock()  # held by who leads
        self.leading, self._leader = False, 0  # whether somebody does, and which thread did last
        self._letting = False  # whether the reader waits for that one to leave
        self._standing = False  # whether the reader stands by and nobody has left anything to it
        self._held: bytes | None = None  # what who leads deals with, until the pipe is asked for again
        self._may_overtake = True  # whether the reader may deal with that if who leads does not come back
        self._recalled = False
        self._over = False
        self._left: deque[bytes] = deque()  # what was read by who led, and is the reader's
        with forks.steady():
            self._epoll = select.epoll(2)
            forks.on_fork_in_child(self._abandon)
            self._bell = Descriptor(os.eventfd(1, os.EFD_CLOEXEC | os.EFD_NONBLOCK))  # readable for ever
        try:
            self._epoll.register(self._bell.fd, 0)
            self._epoll.register(fd, 0)
        except OSError:  # not a pipe
            self._bell.close()
            raise
        # To ask for it once more is an event, for one thread that waits or will. In C: nothing strikes in there.
        self._ring = partial(self._epoll.modify, self._bell.fd, select.EPOLLIN | select.EPOLLONESHOT)

    def wait(self) -> bytes:
        """Wait until there is something to read; returns what was read already, perhaps nothing. Of the reader."""
        if self._recalled or self._lead.locked():  # who leads was rung for, and must not be robbed of that event
            return b""
        self._stand()
        return self._watch()

    def lead(
        self, waits: Callable[[], bool], take: Callable[[bytes], bool], seconds: float, *, may_overtake: bool = True
    ) -> None:
        """Read while the reader stands by, and `waits()`; `take` deals with some output, or says that it cannot.

        That is then the reader's. Returns without anything, too, after so many seconds or after `release`. If `take`
        is held up for seconds, the reader deals with its output, too, unless it must not (`may_overtake`).
        """
        if not self._standing:
            return
        here = threading.get_ident()
        try:
            # Between this look and the lock nothing is called, so that no thread comes between.
            if self.leading or self._letting:
                return
            with self._lead:
                try:
                    self.leading, self._leader, self._may_overtake = True, here, may_overtake
                    self._read_for(waits, take, seconds)
                except BaseException as error:
                    self._standing = False
                    if not self._over:
                        self._ring()
                    if not isinstance(error, OSError):  # else the reader meets it, too
                        raise
                finally:
                    self.leading, self._held = False, None
        finally:
            if self._over:
                self.close()

    def hand_over(self, to: list[Any]) -> bool:
        """Move what `take` was given to the end of a list; False if it has become the reader's. In there only.

        It is one step, in C, so that nothing strikes in the middle: it is here or there, and not lost, nor in both.
        """
        if not self._standing:
            return False
        try:
            to.extend(map(deque.popleft, (self._left,)))
        except IndexError:
            return False
        return True

    def leave(self) -> None:
        """Leave all to the reader if this thread leads: a signal handler runs in it, and is going to wait."""
        if self.leading and self._leader == threading.get_ident():
            self._standing = False
            with contextlib.suppress(ValueError, OSError):
                self._epoll.modify(self._fd, 0)  # it may be inside of its wait, and would read when it goes on
            self._ring_safely()

    def release(self) -> None:
        """Wake who leads, if anybody does: what it waits for has come by another way."""
        if self._lead.locked():
            self._ring_safely()

    def recall(self) -> None:
        """Have the reader read from now on, whatever comes. Does not wait."""
        self._recalled = True
        self._ring_safely()

    def close(self) -> None:
        """Close it; idempotent. While a thread leads, that one closes it when it leaves. Not while the reader waits."""
        self._standing, self._over = False, True
        if self._lead.locked():
            self._ring_safely()
            if not self._lead.acquire(timeout=_STEP):
                return
            self._lead.release()
        with self._lead:
            self._epoll.close()
            self._bell.close()

    # -- private ----------------------------------------------------------------------------------------------------

    def _stand(self) -> None:
        self._arm()
        self._standing = True

    def _watch(self) -> bytes:
        events: dict[int, int] = {}
        seen: bytes | None = None
        look = time.monotonic() + _LOOK
        while self._standing:
            events = dict(self._epoll.poll(_LOOK, 2))
            if self._fd in events:
                break
            if events and self._standing and (self._recalled or self._lead.locked()):
                self._let_lead()
            if time.monotonic() >= look:  # however often the bell has rung meanwhile
                look = time.monotonic() + _LOOK
                seen, before = self._held_up(), seen
                if seen is not None and seen is before:
                    break
        self._standing = False
        if self._bell.fd in events and self._lead.locked():
            self._ring()  # who leads is to have that one, and leave
        return b"".join(self._take_left())

    def _take_left(self) -> Iterator[bytes]:
        """Yield what was left, one by one, so that a thread that led and comes back just now has none of it, too."""
        with contextlib.suppress(IndexError):
            while True:
                yield self._left.popleft()

    def _let_lead(self) -> None:
        """Give the bell's event to who leads, who may not have come to wait for it yet; and go, if recalled."""
        self._ring()
        # Not for ever: a signal handler in that thread may wait for what only the reader can read.
        self._letting = True
        if self._lead.acquire(timeout=_STEP):
            if self._recalled:
                self._standing = False
            self._lead.release()
        self._letting = False

    def _held_up(self) -> bytes | None:
        """Return what another thread has read and not yet dealt with; stand by no longer if nobody has come to lead.

        If it is still that at the next look, a signal handler or a finalizer waits there that did not `leave`, since it
        asks nothing of the session. The reader then deals with it.
        """
        if self._lead.acquire(blocking=False):
            self._standing = False
            self._lead.release()
        return self._held if self._may_overtake else None

    def _read_for(self, waits: Callable[[], bool], take: Callable[[bytes], bool], seconds: float) -> None:
        # A signal handler may `leave` wherever something is called, so `_standing` is looked at just before each step.
        until = time.monotonic() + seconds
        while waits() and self._standing and not self._recalled:
            self._left.extend(self._next_chunk(max(0.0, until - time.monotonic())))
            if not self._left or not self._standing:
                break
            self._held = chunk = self._left[0]
            if not take(chunk):
                break
            self._left.clear()
            if self._standing:
                self._arm()
            self._held = None
        if (self._left or self._recalled or not self._standing) and not self._over:
            self._standing = False
            self._ring()  # this thread may have had the bell's event that was meant for the reader

    def _next_chunk(self, seconds: float) -> Iterator[bytes]:
        """Return what waits for output and reads it if there is some, all in C when it is asked for its first item."""
        ready = map(_NUMBER, chain.from_iterable(map(self._epoll.poll, (seconds,), (1,))))
        return map(os.read, filter(self._fd.__eq__, ready), repeat(ANSWER_BYTES))

    def _ring_safely(self) -> None:
        with contextlib.suppress(ValueError, OSError):  # it was closed just now, by who led
            self._ring()

    def _arm(self) -> None:
        self._epoll.modify(self._fd, select.EPOLLIN | select.EPOLLONESHOT)

    def _abandon(self) -> None:
        self._standing, self._over = False, True
        self._epoll.close()


def open_standby(fd: int) -> Standby | None:
    """Return what lets others than the reader read this pipe; None where the system has no such thing, or no more."""
    if not hasattr(select, "epoll") or not hasattr(os, "eventfd"):
        return None
    try:
        return Standby(fd)
    except OSError:
        return None
