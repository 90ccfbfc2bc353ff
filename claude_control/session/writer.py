"""Whole lines to the program's input, in the order in which they were handed over.

A torn line kills the program, so lines are written in one of two ways only: up to PIPE_BUF bytes in one atomic write,
if nothing waits before them; otherwise by the writer thread, which no exception of a user's thread can reach and which
never gives up a line that it has begun. Short lines that have gathered are written together, also in one atomic write:
by the writer thread, or, where another one was about to follow, by whoever comes next.
"""

import contextlib
import select
import threading
from collections import deque
from collections.abc import Callable
from operator import iadd
from typing import Any

from claude_control.deadline import Deadline, Latch, wait_event
from claude_control.process.transport import Transport

__all__ = ["Ticket", "Unwanted", "Writer"]

# What POSIX promises to be written whole or not at all; 512 is its minimum, Linux has 4096.
PIPE_BUF: int = getattr(select, "PIPE_BUF", 512)

KEPT_BYTES = 2048
"""Of lines that are kept to be written with the next one: some fifteen answers or twenty requests."""

LINGER = 1.0
"""Seconds that the writer thread stays for the next long line before it ends; starting one costs some 100 µs."""


class Ticket(Latch):
    """A line that waits for the writer thread, and whether that is over: `error` says then why it is not written.

    More lines may join it that are written with it (`grows`) while it waits.
    """

    __slots__ = ("begun", "error", "grows", "line", "on_error")

    def __init__(self, line: bytes, on_error: Callable[[OSError], object] | None = None) -> None:
        self._is_set, self._waiters = False, []  # as super() does, which takes longer
        self.line = line
        self.on_error = on_error
        self.begun = self.grows = False
        self.error: OSError | None = None

    def wait_for_write(self, deadline: Deadline) -> bool:
        """Wait until the line is written or has failed; False when the time is up first."""
        return wait_event(self, deadline)

    def finish(self, error: OSError | None = None) -> None:
        """Note that the line is written, or why not."""
        self.error = error
        self.set()
        if error is not None and self.on_error is not None:
            self.on_error(error)


class _Refused(BrokenPipeError):
    """Raised where a line cannot be written, and not by what strikes from outside: a time limit is an OSError, too."""


class Unwanted(Exception):
    """Raised instead of writing a line whose time has passed."""


class Writer:
    """Serialises the lines of every thread.

    With `direct=False` no caller's thread ever writes: the transport's own `try_write` may wait after all.
    """

    def __init__(self, transport: Transport, name: str, *, direct: bool = True) -> None:
        self._transport = transport
        self._name = name
        self._try_write: Callable[[bytes], bool] | None = getattr(transport, "try_write", None) if direct else None
        self._write_once: Callable[[bytes, list[object]], bool] | None = None
        if self._try_write is not None:
            self._write_once = getattr(transport, "write_once", None)
        # Guards the ten below; held over one non-blocking write at most. Taken by itself, never by way of the
        # condition, whose __enter__ is Python: Ctrl-C could land in there with the lock taken, and it would stay so.
        self._lock = threading.Lock()
        self._resting: threading.Condition | None = None  # what the thread waits for while there is nothing to write
        self._queue: deque[Ticket] = deque()
        self._dropped: list[Ticket] = []  # that are still to be told
        self._kept = b""  # lines to be written with the next one
        self._kept_on_error: Callable[[OSError], object] | None = None
        self._kept_done: list[object] = []  # not empty once the kept lines are written, and still to be let go of
        self._thread: threading.Thread | None = None
        self._may_start = True
        self._closed: OSError | None = None
        self.bytes_written = 0

    def put(
        self,
        line: bytes,
        direct: bool = True,
        on_error: Callable[[OSError], object] | None = None,
        wanted: Callable[[], bool] | None = None,
        *,
        ticket: Ticket | None = None,
        follows: Callable[[], bool] | None = None,
    ) -> Ticket | None:
        """Hand a line over; returns None if it is written already, or kept, else the ticket to wait for.

        With `direct=False` (the reader, timers) this thread writes nothing itself. `wanted` is asked when no other line
        can come before this one any more. Raises `Unwanted` if it says no, OSError when the program no longer reads.
        Who must know whether the line goes out, even if struck from outside in here, brings a `ticket`, lets the thread
        write it, and asks `has`. Where `follows()`, asked under the lock, says so, a short line is kept to be written
        with the next one; whoever makes that untrue calls `release` then.
        """
        with self._lock:
            if self._closed is not None:
                raise BrokenPipeError(str(self._closed))
            if wanted is not None and not wanted():
                raise Unwanted
            if follows is not None and direct and self._keep(line, on_error, follows):
                return None
            if self._kept:
                self._write_kept(direct)
            try_write = self._try_write if direct and not self._queue and len(line) <= PIPE_BUF else None
            if try_write is not None and try_write(line):
                self.bytes_written += len(line)
                return None
            else:
                ticket = ticket or Ticket(line, on_error)
                self._enqueue(ticket)
        return ticket  # outside: the lock is let go of at each strike then

    def gather(
        self, line: bytes, direct: bool = True, on_error: Callable[[OSError], object] | None = None
    ) -> Ticket | None:
        """Leave a line for the writer thread to write with others, or do as `put` where there is no such thread.

        They have one ticket, and the `on_error` of the first.
        """
        ticket = None
        with self._lock:
            if self._closed is None and (self._thread or self._has_thread()):
                if self._kept:
                    self._write_kept(direct)
                ticket = self._queue[-1] if self._queue else None
                if ticket and ticket.grows and not ticket.begun and len(ticket.line) + len(line) <= PIPE_BUF:
                    ticket.line += line
                else:
                    ticket = Ticket(line, on_error)
                    ticket.grows = True
                    self._enqueue(ticket)
        return ticket or self.put(line, direct, on_error)

    def note_written(self, size: int) -> None:
        """Count bytes that were written before there was a writer."""
        with self._lock:
            self.bytes_written += size

    def release(self) -> None:
        """Write the lines that wait for another one; `on_error` of the last one is told if that cannot be."""
        if self._kept:
            failed: tuple[Any, OSError] | None = None
            with self._lock:
                try:
                    self._write_kept()
                except _Refused as error:
                    failed = self._kept_on_error, error
                    self._let_go()
            if failed is not None and failed[0] is not None:
                failed[0](failed[1])

    def release_now(self) -> bool:
        """Do as `release`, but return False where that is to be done later. Of a thread that nothing strikes.

        Another thread may be at work here, held up by a signal handler, or none is to be had for what finds no room.
        """
        if not self._kept:
            return True
        if not self._lock.acquire(blocking=False):
            return False
        try:
            self._write_kept()
        except _Refused:
            return False
        finally:
            self._lock.release()
        return True

    def has(self, ticket: Ticket) -> bool:
        """Tell whether the writer thread has written the ticket's line, writes it, or will."""
        with self._lock:
            return ticket.begun or ticket in self._queue

    def withdraw(self, ticket: Ticket, begin: bytes = b"") -> bool:
        """Take a line back; False if it is being written, has been, or has failed.

        Of lines with one ticket it is the one that begins with `begin`.
        """
        with self._lock:
            if ticket.begun or ticket not in self._queue:
                return False
            lines = ticket.line.splitlines(keepends=True)
            rest = [line for line in lines if not line.startswith(begin)]
            if rest:
                ticket.line = b"".join(rest)
                return len(rest) < len(lines)
            self._queue.remove(ticket)
            ticket.error = BrokenPipeError("the line was taken back")
            ticket.set()  # nobody waits for it any longer
        return True

    def flush(self, deadline: Deadline) -> bool:
        """Wait until every line handed over so far is written or dropped; False when the time is up first."""
        self.release()
        if not self._queue:
            return True
        with self._lock:
            waiting = list(self._queue)
        return all(ticket.wait_for_write(deadline) for ticket in waiting)

    def close(self) -> None:
        """Refuse further lines and drop those not begun; the thread ends after the one that it writes. Idempotent."""
        self._fail(BrokenPipeError("the session's input is closed"))

    def start_no_thread(self) -> None:
        """From now on refuse what would need a thread that does not run: the interpreter is shutting down."""
        with self._lock:
            self._may_start = False

    def join(self, deadline: Deadline) -> bool:
        """Wait for the thread to end after `close()`; False when the time is up first.

        A transport of the user's may never return; then nobody waits for its line any longer.
        """
        thread = self._thread
        if thread is None or thread is threading.current_thread():
            return True
        thread.join(deadline.remaining())
        if not thread.is_alive():
            return True
        for ticket in list(self._queue):
            ticket.finish(BrokenPipeError("the session was closed while the line was being written"))
        return False

    def _fail(self, error: OSError) -> None:
        with self._lock:
            if self._kept:  # written while there is time, or told of with the others
                try:
                    self._write_kept()
                except _Refused:
                    self._dropped.append(Ticket(self._kept, self._kept_on_error))
                    self._let_go()
            self._closed = self._closed or error
            if self._thread is None and not self._queue and not self._dropped:
                return
            for ticket in self._queue:
                if not ticket.begun and ticket.error is None:
                    self._dropped.append(ticket)
                    ticket.error = error  # under the lock: who cannot withdraw it any more must see why
            self._queue = deque(ticket for ticket in self._queue if ticket.begun)
            if self._resting is not None:
                self._resting.notify()
        for ticket in list(self._dropped):  # whoever is struck in here leaves the rest to the next one
            ticket.finish(error)
            with contextlib.suppress(ValueError):
                self._dropped.remove(ticket)

    def _keep(self, line: bytes, on_error: Callable[[OSError], object] | None, follows: Callable[[], bool]) -> bool:
        """Keep a line for the next one, or write it with those that are kept; False if it is not to be done so."""
        if self._kept_done:
            self._let_go()
        before, lines = self._kept, self._kept + line
        if self._try_write is None or self._queue or len(lines) > PIPE_BUF:
            return False
        self._kept_on_error, self._kept = on_error, lines
        if len(lines) >= KEPT_BYTES or not follows():  # asked now that `release` finds the line
            try:
                self._write_kept()
            except _Refused:
                self._kept = before  # whoever handed this one over is told
                raise
        return True

    def _write_kept(self, direct: bool = True) -> None:
        """Write what is kept, or leave it to the thread, where there is no room or this one must not.

        That it is done is noted in the same step, so that who is struck then leaves nothing to be written once more. A
        transport of the user's own cannot note that, and only answers are kept for one: a second one means nothing to
        the program (2.0.75, 2.1.7 and 2.1.332), and one that is lost would hang its turn.
        """
        lines, done = self._kept, self._kept_done
        if lines and not done:
            if direct and not self._queue and self._write_at_once(lines):
                self.bytes_written += len(lines)
            else:
                self._enqueue(Ticket(lines, self._kept_on_error), done)
        self._let_go()

    def _write_at_once(self, lines: bytes) -> bool:
        if self._write_once is not None:
            return self._write_once(lines, self._kept_done)
        try:
            return self._try_write is not None and self._try_write(lines)
        except OSError as error:
            raise _Refused(str(error)) from error

    def _let_go(self) -> None:
        self._kept = b""  # first: who is struck behind it has nothing more to let go of
        self._kept_done.clear()

    def _enqueue(self, ticket: Ticket, done: list[object] | None = None) -> None:
        if self._thread is None:
            self._start_thread()
        enqueued = map(iadd, (self._queue,), ((ticket,),))
        (done if done is not None else list[object]()).extend(enqueued)  # one step, in C
        if self._resting is not None:
            self._resting.notify()
            self._resting = None  # once is enough, and not before that: who is struck in between has told nobody

    def _has_thread(self) -> bool:
        with contextlib.suppress(_Refused):
            if self._thread is None:
                self._start_thread()
        return self._thread is not None

    def _start_thread(self) -> None:
        if not self._may_start:
            raise _Refused("no thread can be started to write the line: the interpreter is shutting down")
        thread = threading.Thread(target=self._run, name=self._name, daemon=True)
        try:
            thread.start()
        except RuntimeError as error:  # the interpreter is shutting down, or the system has no more threads
            raise _Refused(f"no thread can be started to write the line: {error}") from error
        self._thread = thread

    def _run(self) -> None:
        changed = threading.Condition(self._lock)
        while (ticket := self._next(changed)) is not None:
            error = self._write(ticket.line)
            with self._lock:
                self._queue.popleft()
                self.bytes_written += 0 if error else len(ticket.line)
                self._closed = self._closed or error  # a part of the line may be out: nothing can follow it
            ticket.finish(error)
            if error is not None:
                self._fail(error)

    def _write(self, line: bytes) -> OSError | None:
        try:
            self._transport.write(line)
        except OSError as error:
            return error
        except Exception as error:  # a transport of the user's own: a closed file raises ValueError
            return BrokenPipeError(f"the line could not be written: {error!r}")
        return None

    def _next(self, changed: threading.Condition) -> Ticket | None:
        """Return the next line to write; what can be written without waiting is written in here. None at the end."""
        while True:
            with self._lock:
                if self._thread is not threading.current_thread():
                    return None  # Ctrl-C struck while it was being started, so that nobody knows of it
                if not self._queue and self._closed is None:
                    self._resting = changed
                    changed.wait(LINGER)
                    self._resting = None
                if not self._queue:
                    self._thread = None
                    return None
                written = self._write_together()
                if not written:
                    self._queue[0].begun = True  # it stays in the queue, so that no short line overtakes it
                    return self._queue[0]
            for ticket in written:
                ticket.set()

    def _write_together(self) -> list[Ticket]:
        """Write the short lines at the head of the queue at once, and take them out; returns none if there is no room.

        Under the lock, as every write that does not wait.
        """
        tickets: list[Ticket] = []
        size = 0
        for ticket in self._queue:
            size += len(ticket.line)
            if size > PIPE_BUF:
                break
            tickets.append(ticket)
        if len(tickets) < 2 or self._try_write is None:
            return []
        lines = b"".join([ticket.line for ticket in tickets])
        try:
            if not self._try_write(lines):
                return []
        except OSError:  # the write of the first one alone tells
            return []
        for ticket in tickets:
            ticket.begun = True
            self._queue.popleft()
        self.bytes_written += len(lines)
        return tickets
