"""Our ends of a program's pipes: a reader that sees the exit, a writer that never hangs on a dead program."""

import errno
import os
import select
import signal
import threading
import time

# `signal.getsignal` makes an enum of what it finds, which takes as long as the write that it stands before.
from _signal import getsignal  # type: ignore[import-not-found]
from collections.abc import Callable
from operator import attrgetter

from claude_control.deadline import Latch
from claude_control.process import forks
from claude_control.process.capacity import INPUT_BYTES, OUTPUT_BYTES, capacity, enlarge, keep_memory
from claude_control.process.descriptors import Descriptor
from claude_control.process.read_size import ReadSize
from claude_control.process.standby import Standby, open_standby

__all__ = ["InputPipe", "OutputPipe"]

SILENCE = 0.2
"""Seconds without output after the exit that end the stream although a grandchild still holds the pipe.

What the program wrote before it ended is in the pipe already; the pause is for a child that is just finishing its line.
"""

DRAIN_LIMIT = 1.0
"""Seconds after the exit at which the stream ends even if a grandchild goes on writing."""

PIPE_BUF = select.PIPE_BUF if hasattr(select, "PIPE_BUF") else 512
"""Bytes up to which one write is whole or not at all (POSIX promises 512, Linux 4096)."""

_EXIT_SLICE = 0.25  # seconds between looks at the exit where a reader cannot be woken (macOS)
_ROOM_SLICE = 0.01  # seconds a writer waits for room at a stretch; bounds how long `close` waits for a blocked writer
_SIGPIPE, _DEFAULT = int(signal.SIGPIPE), int(signal.SIG_DFL)  # an enum's members take longer to look up
_WAKE = b"\0"  # stands in no line of JSON
_wakes: bool | None = None  # whether a reader can be woken, once that is known
_NEVER = Latch()  # the exit of nobody, for a pipe that is attached to no program


def _load_held_write() -> Callable[[int, bytes, int], int]:
    """Return `write(2)`, called with the interpreter's lock held.

    `os.write` lets go of it and takes it back, so that with many threads each short line makes two of them change
    places, twice: 64 threads then make half as many calls a second. It is for descriptors that do not block. Without
    the foreign function interface it says that it cannot, which is -1.
    """
    try:
        import ctypes

        write = ctypes.PyDLL(None).write
        write.argtypes, write.restype = (ctypes.c_int, ctypes.c_char_p, ctypes.c_size_t), ctypes.c_ssize_t
    except (ImportError, OSError, AttributeError):
        return lambda fd, data, size: -1
    return write


_held_write = _load_held_write()
_NUMBER = attrgetter("fd")


class OutputPipe:
    """The end from which we read what a program writes to stdout. One thread reads (see `stand_by`), any thread closes.

    The read itself is the wait, for to ask first costs every message a system call and another round of threads vying
    for the interpreter. What a grandchild that holds the pipe would keep from its end is woken by a byte of ours.
    """

    __slots__ = (
        "_busy",
        "_closing",
        "_drain_bytes",
        "_drain_until",
        "_end",
        "_may_grow",
        "_may_stand",
        "_outlived",
        "_over",
        "_poll",
        "_size",
        "_stands",
        "_woken",
        "standby",
    )

    def __init__(self, end: Descriptor) -> None:
        self._end = end
        self._busy = threading.Lock()  # held by whoever uses the descriptor: the reader during a read, then the closer
        self._closing = False
        self._over = False  # the end has been reported once, and it is final
        self._may_grow = self._may_stand = True
        self._size = ReadSize()
        self._outlived = False  # the program has ended, and somebody else holds the pipe
        self._woken = False  # a byte of ours is among the output, or about to be
        self._drain_until: float | None = None  # set when that is noticed
        self._drain_bytes = 0
        self._poll = select.poll()  # of the thread that reads
        self._poll.register(end.fd, select.POLLIN)
        self._stands = False  # whether the next read is left to others
        self.standby: Standby | None = None
        """Where others may read; None as long as the reader has never stood by."""

    def read(self) -> bytes:
        """Wait for output and return some; b"" at its end, which is soon after the exit whoever holds the pipe."""
        if self._end.fd < 0:  # as it is in a forked child, which thus is told so before any lock is taken
            forks.require_owner(self._end.owner, "this pipe")
        with self._busy:
            data = b"" if self._over or self._closing else self._read_some()
            self._over = not data
        if self._closing:
            self._close_now()
        return data

    def stand_by(self, look: Callable[[bool], bool]) -> Standby | None:
        """Let others read what comes next, where that can be; what they leave is what `read` returns. Of the reader.

        Returns where they may. `look` is that of `open_standby`.
        """
        if self.standby is None and self._may_stand and self._end.fd >= 0 and _can_wake():
            self.standby = open_standby(self._end.fd, look)
            self._may_stand = self.standby is not None
        self._stands = self.standby is not None
        return self.standby

    def readable(self) -> bool:
        """Tell whether `read` would return something at once. Of the thread that reads."""
        if self._end.fd < 0 or self._over or self._closing:
            return False
        return self._has_output(0.0)

    def close(self) -> None:
        """Close it; idempotent. While a thread is inside of `read`, that thread closes it when it leaves."""
        forks.require_owner(self._end.owner, "this pipe")
        self._closing = True
        # A reader that enters after the flag was set leaves at once; one that is inside looks at it when it leaves.
        if not self._busy.locked():
            self._close_now()

    def note_exit(self) -> bool:
        """The program has ended, so that only what a grandchild writes can still come. Does not wait.

        Returns False if the reader could not be told, for want of a descriptor: it is to be called again then.
        """
        with forks.steady():  # nobody closes the descriptor meanwhile
            fd = self._end.fd
            if fd < 0 or self._over:
                return True
            self._outlived = True  # before the look: whoever takes what is seen there sees the flag then
            poll = select.poll()
            poll.register(fd, select.POLLIN)
            ready = poll.poll(0)
            if ready and ready[0][1] & select.POLLHUP:
                self._outlived = False
                return True  # nobody holds it: the reader comes to the end by itself
            if self.standby is not None:
                self.standby.recall()
            can = _can_wake()
            if ready or can is False:
                return True  # the reader finds output, or looks from time to time, and then sees the flag
            self._woken = True
            return bool(can and _put_byte(fd))

    # -- private ----------------------------------------------------------------------------------------------------

    def _close_now(self) -> None:
        with self._busy:
            if self.standby is not None:
                self.standby.close()
            self._end.close()

    def _read_some(self) -> bytes:
        while not self._outlived:
            if not _can_wake() and not self._has_output(_EXIT_SLICE):
                continue
            if self._stands and self.standby is not None:
                self._stands = False
                data = self.standby.wait()
                if not data:
                    continue
            else:
                data = self._read_now()
            if not self._outlived or not data:
                return data  # nearly always
            data = self._without_wake(data)
            if data:
                return data
        return self._drain()

    def _read_now(self) -> bytes:
        data = os.read(self._end.fd, self._size.next)
        self._size.note(data)
        if self._may_grow and self._size.is_long:
            self._may_grow = False
            enlarge(self._end.fd, OUTPUT_BYTES)
            keep_memory()
        return data

    def _drain(self) -> bytes:
        """Return some of what is left, waiting a little for it; b"" at the end."""
        if self._drain_until is None:
            self._drain_until = time.monotonic() + DRAIN_LIMIT
            self._drain_bytes = capacity(self._end.fd)
        while True:
            left = self._drain_until - time.monotonic()
            # What the program itself left is no more than the pipe holds: that much is read however slow the reader is.
            if (left <= 0 and self._drain_bytes <= 0) or not self._has_output(max(0.0, min(left, SILENCE))):
                return b""
            data = self._read_now()
            self._drain_bytes -= len(data)
            if not data or (data := self._without_wake(data)):
                return data

    def _has_output(self, seconds: float) -> bool:
        """Wait for output, or its end."""
        return bool(self._poll.poll(seconds * 1000))

    def _without_wake(self, data: bytes) -> bytes:
        """Take our byte out. It stands behind all that the program wrote, in an empty pipe, so at the very start."""
        if self._woken and _WAKE in data:
            self._woken = False
            data = data.replace(_WAKE, b"", 1)
        return data


class InputPipe:
    """The end into which we write what a program reads from stdin. One thread writes at a time, any thread closes."""

    __slots__ = ("_busy", "_end", "_ended", "_exited", "_may_grow", "_poll")

    def __init__(self, end: Descriptor) -> None:
        os.set_blocking(end.fd, False)
        self._end = end
        self._may_grow = True
        # Held while the descriptor is used: its number is never reused under a writer. Reentrant, because a signal
        # handler may close the session in the very thread that is inside.
        self._busy = threading.RLock()
        self._ended = False
        self._exited = _NEVER
        self._poll = select.poll()
        self._poll.register(end.fd, select.POLLOUT)

    def attach(self, exited: Latch) -> None:
        """Say whose input it is by the event of the exit. Before the first write."""
        self._exited = exited

    def write(self, data: bytes) -> None:
        """Write all of it, waiting for room.

        Raises `BrokenPipeError` when the program is gone or `close` is called meanwhile.
        """
        forks.require_owner(self._end.owner, "this pipe")
        rest = memoryview(data)
        with self._busy:
            while rest:
                sent = self._push(rest)
                rest = rest[sent:]
                if not sent:
                    self._poll.poll(_ROOM_SLICE * 1000)

    def try_write(self, data: bytes) -> bool:
        """Write at most `PIPE_BUF` bytes, all or nothing, without waiting; returns False if there is no room.

        Raises `BrokenPipeError` when the program is gone or the pipe is closed.
        """
        if self._end.fd < 0:  # as it is in a forked child, which thus is told so before any lock is taken
            forks.require_owner(self._end.owner, "this pipe")
        size = len(data)
        if size > PIPE_BUF:
            raise ValueError(f"{size} bytes can not be written at once, only {PIPE_BUF}")
        with self._busy:
            usual = not self._ended and not self._exited.is_set() and getsignal(_SIGPIPE) != _DEFAULT
            # Nothing may be called between the look at the number and the call: a signal handler that closes it could
            # run there. What `_held_write` cannot do is done again, to see what is wrong.
            return (usual and _held_write(self._end.fd, data, size) > 0) or not size or self._push(data) > 0

    def write_once(self, data: bytes, done: list[object]) -> bool:
        """Do as `try_write`, and put the number of bytes into `done` in the same step: nothing can strike in between.

        Returns False, too, where that cannot be, and at the end.
        """
        if self._end.fd < 0:
            forks.require_owner(self._end.owner, "this pipe")
        with self._busy:
            if len(data) > PIPE_BUF or self._ended or self._exited.is_set() or getsignal(_SIGPIPE) == _DEFAULT:
                return False
            written = map(_held_write, map(_NUMBER, (self._end,)), (data,), (len(data),))  # looked at in the same step
            done.extend(filter(len(data).__eq__, written))
        return bool(done)

    def close(self) -> None:
        """Close it, which is the end of the program's input; idempotent. A blocked writer gets `BrokenPipeError`."""
        forks.require_owner(self._end.owner, "this pipe")
        self._ended = True  # seen by a blocked writer within a slice
        if self._end.fd >= 0:
            with self._busy:
                self._end.close()

    def _push(self, data: bytes | memoryview) -> int:
        if self._ended or self._exited.is_set():
            # Asked before every write: a grandchild that holds the other end would keep the pipe intact.
            raise BrokenPipeError(errno.EPIPE, "the input was ended" if self._ended else "the program has ended")
        try:
            return write_quietly(self._end.fd, data)
        except BlockingIOError:
            pass
        if not self._may_grow:
            return 0
        self._may_grow = False  # first: the system may not allow it
        enlarge(self._end.fd, INPUT_BYTES)
        return self._push(data)


def write_quietly(fd: int, data: bytes | memoryview) -> int:
    """Write some of `data`, without SIGPIPE even where the host program gave that signal its deadly default back."""
    if getsignal(_SIGPIPE) != _DEFAULT:
        return os.write(fd, data)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGPIPE})
    try:
        return os.write(fd, data)
    except BrokenPipeError:
        if signal.SIGPIPE in signal.sigpending():  # sent to this thread by this write: taken back before it strikes
            signal.sigwait({signal.SIGPIPE})
        raise
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _can_wake() -> bool | None:
    """Tell whether a pipe's reading end can be opened for writing: with /proc, and where no sandbox forbids it.

    None: not just now, for want of descriptors.
    """
    global _wakes
    if _wakes is None:
        with forks.steady():
            try:
                reading, writing = os.pipe()
            except OSError:
                return None
            try:
                _wakes = _put_byte(reading)
            finally:
                os.close(reading)
                os.close(writing)
    return _wakes


def _put_byte(fd: int) -> bool | None:
    """Write a byte into the pipe whose reading end this is, without waiting.

    Returns False if that is impossible, None if it is just now, for want of descriptors.
    """
    try:
        writing = os.open(f"/proc/self/fd/{fd}", os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            os.write(writing, _WAKE)
        finally:
            os.close(writing)
    except BlockingIOError:  # it is full, so that whoever reads is awake
        return True
    except OSError as error:
        return None if error.errno in (errno.EMFILE, errno.ENFILE) else False
    return True
