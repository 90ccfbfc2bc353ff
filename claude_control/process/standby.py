"""Who waits for an answer, or for the next pieces of text, reads by itself, while the reader of the pipe stands by.

Theory of operation. To hand an answer from one thread to another costs a wake, which takes longer than all the rest of
a call. So the reader, when nothing but answers is to be expected, waits for output without reading it (`wait`), and the
thread that waits for an answer reads (`lead`). While the reader stands by, to hold `_lead` is to be the one that may
read, until the reader takes that back (`_take_back`). Who holds it silences the pipe for the reader, waits for output
at an epoll object of its own, and asks the reader to watch the pipe again when it leaves. A reader that had got an
event before that cannot have the lock, and goes on to wait.

What who leads has read and cannot deal with is left to the reader, in `_left`, and the reader's bell is rung: so does
whoever is struck from outside in the middle, and nothing is lost, for to wait, to read and to put the bytes into
`_left` is one step, in C. To take them out again is one, too: what must be dealt with once, and is no answer that a map
of requests guards, goes from there to its place by `hand_over`.

Where more requests are out than the one that is waited for, who leads comes back in a moment, for the next one. Nobody
watches the pipe until then, but the reader looks every `_TICK` whether somebody came, and watches it again if not. That
saves having it vie for the interpreter with the thread that the answers are for. What else is put off on that account
is done by `look`, at each of these looks and at the end of standing by.

Where the last answers came at once, who leads looks for the next one again and again for a little (`SPIN`) before it
sleeps: to be woken takes as long as many an answer, for the processor has gone to sleep, too. Looks in vain make it
do so less often.

A signal handler in the leading thread may wait for what nobody else can read: what asks the session leaves all to the
reader first (`leave`). For a handler, or a finalizer, that waits without asking, the reader looks some times a second:
whether there is output that who leads has not come for, which the epoll object gives to one of them only, and whether
that one still deals with what it did a second before (`_held`), unless that must not be dealt with twice. A reader that
nobody leads for a second just reads.
"""

import contextlib
import os
import select
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from itertools import chain, repeat
from operator import itemgetter
from typing import Any

from claude_control.process import forks
from claude_control.process.descriptors import Descriptor

__all__ = ["Standby", "open_standby"]

ANSWER_BYTES = 12 * 1024
"""How much is read at once by who waits for it, some 40 deltas; a longer answer is left to the reader."""

ANSWERS_BYTES = 64 * 1024
"""The same for who waits for one of many answers, and then reads all that have come."""

SPIN = 100e-6
"""Seconds for which output is looked for without sleeping: twice what it takes to wake an idle processor."""

_MOST_QUICK = 512  # waits in a row that were over soon, before it is looked for so once more where that was in vain
_TICK = 0.002  # seconds after which the reader looks whether who left briefly has come back
_STEP = 0.02  # seconds that the reader waits at a stretch for somebody else to leave
_LOOK = 0.25  # seconds after which the reader looks whether who leads is held up
_PATIENCE = 1.0  # seconds for which nobody has to come, or who leads may deal with one thing
_NUMBER = itemgetter(0)
_ONCE = getattr(select, "EPOLLIN", 0) | getattr(select, "EPOLLONESHOT", 0)
_NEVER = getattr(select, "EPOLLET", 0)  # not 0, which tells of the end again and again


class Standby:
    """What the reader of one pipe and one other thread at a time wait at."""

    __slots__ = (
        "__weakref__",
        "_arming",
        "_bell",
        "_enough",
        "_fd",
        "_held",
        "_lead",
        "_leader",
        "_leaders",
        "_led_at",
        "_left",
        "_look",
        "_may_overtake",
        "_over",
        "_quick",
        "_readers",
        "_recalled",
        "_returns",
        "_rung",
        "_standing",
        "_ticks",
        "leading",
    )

    def __init__(self, fd: int, look: Callable[[bool], bool]) -> None:
        self._fd = fd
        self._look = look
        self._lead = threading.Lock()  # held by who leads
        self.leading, self._leader = False, 0  # whether somebody does, and which thread did last
        self._led_at = 0.0  # when somebody began to lead, or else the reader to stand by, on the monotonic clock
        self._standing = False  # whether the reader stands by and nobody has left anything to it
        self._held: bytes | None = None  # what who leads deals with
        self._returns: Callable[[], bool] | None = None  # of who leads
        self._may_overtake = True  # whether the reader may deal with that if who leads does not come back
        self._arming = 0  # how many have led, and still use the epoll objects
        self._recalled = False
        self._rung = False  # whether who leads is to leave
        self._ticks = False  # whether the reader looks every few milliseconds
        self._over = False
        self._left: deque[bytes] = deque()  # what was read by who led, and is the reader's
        self._quick, self._enough = 0, 1  # waits in a row that were over soon, and how many make it worth to look
        with forks.steady():
            self._readers, self._leaders = select.epoll(2), select.epoll(2)
            forks.on_fork_in_child(self._abandon)
            self._bell = Descriptor(os.eventfd(1, os.EFD_CLOEXEC | os.EFD_NONBLOCK))  # readable for ever
        try:
            for epoll in (self._readers, self._leaders):
                epoll.register(self._bell.fd, 0)
                epoll.register(fd, _NEVER)
        except OSError:  # not a pipe
            self._bell.close()
            raise

    def wait(self) -> bytes:
        """Wait until there is something to read; returns what was read already, perhaps nothing. Of the reader."""
        if self._recalled or self._lead.locked():  # who leads has been told to leave
            return b""
        try:
            self._stand()
        except OSError:  # the system has no memory for it
            return b""
        return self._watch()

    @property
    def ticks(self) -> bool:
        """Whether the reader looks every few milliseconds: what is put off then is done so soon."""
        return self._ticks and self._standing

    def lead(
        self,
        waits: Callable[[], bool],
        take: Callable[[bytes], bytes],
        seconds: float,
        *,
        may_overtake: bool = True,
        returns: Callable[[], bool] | None = None,
    ) -> None:
        """Read while the reader stands by, and `waits()`; `take` deals with some output, and returns what it cannot.

        That is then the reader's. Returns without anything, too, after so many seconds or after `release`. If `take`
        is held up for seconds, the reader deals with its output, too, unless it must not (`may_overtake`). While
        `returns()` this thread is the only one that waits, and likely to come back at once for more.
        """
        if not self._standing:
            return
        here, led = threading.get_ident(), False
        try:
            if self.leading:  # between this look and the lock nothing is called, so that no thread comes between
                return
            with self._lead:
                try:
                    led = self.leading = True
                    self._leader, self._may_overtake, self._returns = here, may_overtake, returns
                    self._read_for(waits, take, seconds)
                except BaseException as error:
                    self._standing = False
                    if not self._over:
                        _modify(self._readers, self._bell.fd)
                    if not isinstance(error, OSError | ValueError) or not _is_ours(error):
                        raise  # else the reader meets it, too, or this is a forked child
                finally:
                    self.leading = self._rung = False
                    self._held = None
                    self._arming += 1
        finally:
            if led:
                try:
                    if self._standing:  # behind the lock, for a reader that does not get it goes on to wait
                        self._leave_the_pipe(returns is not None and not waits() and returns())
                finally:
                    self._arming -= 1
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
            with contextlib.suppress(ValueError, OSError):
                self._leaders.unregister(self._fd)  # it may be inside of its wait, and would read when it goes on
            self._standing = False  # then only, for this may be struck, too
            _modify(self._readers, self._bell.fd)

    def release(self) -> None:
        """Wake who leads, if anybody does: what it waits for has come by another way."""
        if self._lead.locked():
            self._rung = True
            _modify(self._leaders, self._bell.fd)

    def recall(self) -> None:
        """Have the reader read from now on, whatever comes. Does not wait."""
        self._recalled = True
        self.release()
        _modify(self._readers, self._bell.fd)

    def close(self) -> None:
        """Close it; idempotent. While a thread leads, that one closes it when it leaves. Not while the reader waits."""
        self._standing, self._over = False, True
        if self._lead.locked() or self._arming:
            _modify(self._leaders, self._bell.fd)
            if not self._lead.acquire(timeout=_STEP):
                return
            self._lead.release()
            if self._arming:
                return
        with self._lead:
            self._readers.close()
            self._leaders.close()
            self._bell.close()

    # -- private: of the reader ----------------------------------------------------------------------------------------

    def _stand(self) -> None:
        try:
            self._leaders.modify(self._fd, _ONCE)
        except FileNotFoundError:  # since one has left
            self._leaders.register(self._fd, _ONCE)
        self._led_at = time.monotonic()
        _modify(self._readers, self._fd)
        self._standing = True

    def _watch(self) -> bytes:
        held, since = None, time.monotonic()
        look = since + _LOOK
        while self._standing:
            events = dict(self._readers.poll(_TICK if self._ticks else _LOOK, 2))
            if self._fd in events:
                self._stand_no_longer()
            elif events and self._recalled:
                self._stand_no_longer(_STEP)  # not for ever: who leads may wait for what only the reader can read
            now = time.monotonic()
            ticked = self._ticks
            if ticked and now - self._led_at > _TICK:
                self._watch_again()
            if (ticked or now > look) and not self._look(False):
                self._ticks = True  # it cannot be done just now
            if now < look:
                continue
            look = now + _LOOK  # however often the bell rings meanwhile
            before, held = held, (*self._left, self._held)[0]
            if held is not before:
                since = now
            if now - self._led_at > _PATIENCE:
                self._stand_no_longer()
            begun = self._held is not None
            if held is not None and now - since > _PATIENCE and (self._may_overtake or not begun):
                break
            if self._lead.locked():
                self._take_back()
        self._standing = self._ticks = False
        self._look(True)
        return b"".join(self._take_left())

    def _watch_again(self) -> None:
        """Watch the pipe again, since nobody has come for it. Who leads just now sees to it when it leaves."""
        self._ticks = False
        if not self._lead.locked():
            _modify(self._readers, self._fd)

    def _take_back(self) -> None:
        """Take the event of output that who leads has not come for: then the reader is the one that may read."""
        events = dict(self._leaders.poll(0, 2))
        if self._fd in events:
            self._standing = False
            self.release()  # it may not be held up, but have been about to come
        elif events:
            _modify(self._leaders, self._bell.fd)

    def _stand_no_longer(self, seconds: float = 0.0) -> None:
        """Be the one to read, unless another thread is and does not leave in time."""
        if self._lead.acquire(timeout=seconds):
            self._standing = False
            self._lead.release()

    def _take_left(self) -> Iterator[bytes]:
        """Yield what was left, one by one, so that a thread that led and comes back just now has none of it, too."""
        with contextlib.suppress(IndexError):
            while True:
                yield self._left.popleft()

    def _abandon(self) -> None:
        self._standing, self._over = False, True
        self._readers.close()
        self._leaders.close()

    # -- private: of who leads -----------------------------------------------------------------------------------------

    def _read_for(self, waits: Callable[[], bool], take: Callable[[bytes], bytes], seconds: float) -> None:
        # A signal handler may `leave` wherever something is called, so `_standing` is looked at just before each step.
        if self._standing:
            self._readers.modify(self._fd, _NEVER)
        self._led_at = time.monotonic()
        until, first = self._led_at + seconds, True
        while self._standing and not self._recalled and waits() and (first or time.monotonic() < until):
            first = False
            self._wait_for_more(waits, until)
            if not self._left or not self._standing:
                break
            self._held = chunk = self._left[0]
            rest = take(chunk)
            if rest or not chunk:  # the end of output, too, is the reader's
                with contextlib.suppress(IndexError):  # it has become the reader's as a whole
                    self._left[0] = rest
                break
            self._left.clear()
            _modify(self._leaders, self._fd)
            self._held = None
        if (self._left or self._recalled or not self._standing) and not self._over:
            self._standing = False
            _modify(self._readers, self._bell.fd)

    def _leave_the_pipe(self, briefly: bool) -> None:
        """See to it that the pipe is watched, at once, or soon."""
        if not briefly:
            _modify(self._readers, self._fd)
            return
        self._led_at = time.monotonic()
        ticked, self._ticks = self._ticks, True
        if not ticked:  # the reader sleeps for longer
            _modify(self._readers, self._bell.fd)

    def _wait_for_more(self, waits: Callable[[], bool], until: float) -> None:
        """Put the next output into `_left`, if there is some in time, and before the bell rings."""
        began = time.monotonic()
        alone = self._returns is None or self._returns()  # to spin would keep others that wait from their work
        if self._quick >= self._enough and alone and (self._spin(waits, began + SPIN) or not waits()):
            return
        if self._standing and not self._rung:  # to look takes the bell's event, too
            self._left.extend(self._next_chunk(max(0.0, until - began)))
            self._quick = self._quick + 1 if time.monotonic() - began < 2 * SPIN else 0

    def _spin(self, waits: Callable[[], bool], until: float) -> bool:
        """Look for output without sleeping, as long as somebody waits for it; returns whether there was some."""
        while self._standing and not self._rung and waits():
            self._left.extend(self._next_chunk(0.0))
            if self._left:
                self._enough = 1
                return True
            if time.monotonic() > until:
                self._quick, self._enough = 0, min(2 * self._enough, _MOST_QUICK)
                break
        return False

    def _next_chunk(self, seconds: float) -> Iterator[bytes]:
        """Return what waits for output and reads it if there is some, all in C when it is asked for its first item."""
        ready = map(_NUMBER, chain.from_iterable(map(self._leaders.poll, (seconds,), (1,))))
        return map(
            os.read, filter(self._fd.__eq__, ready), repeat(ANSWER_BYTES if self._returns is None else ANSWERS_BYTES)
        )


def _modify(epoll: select.epoll, fd: int) -> None:
    """Ask for one event; it may have been closed just now."""
    try:  # noqa: SIM105  # it is called for each answer, and `suppress` takes as long as the system call
        epoll.modify(fd, _ONCE)
    except (ValueError, OSError):
        pass


def _is_ours(error: BaseException) -> bool:
    """Tell whether an error was raised in here, and not by a signal handler, or by `take`."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace is not None and trace.tb_frame.f_globals is globals()


def open_standby(fd: int, look: Callable[[bool], bool]) -> Standby | None:
    """Return what lets others than the reader read this pipe; None where the system has no such thing, or no more.

    `look` is called by the reader, and must not wait: every few milliseconds while it `ticks`, else some times a
    second, and with True at the end of standing by. It returns False to be called again soon.
    """
    if not hasattr(select, "epoll") or not hasattr(os, "eventfd"):
        return None
    try:
        return Standby(fd, look)
    except OSError:
        return None
