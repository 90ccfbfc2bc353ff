"""Our control requests: written, matched with their answers, waited for or given up."""

import contextlib
import copy
import math
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any, Generic, TypeGuard, TypeVar

from claude_control import log
from claude_control.deadline import SLICE, Deadline, wait_lock
from claude_control.errors import (
    AbortedError,
    ClaudeControlError,
    ControlRequestError,
    ControlTimeoutError,
    WaitTimeoutError,
)
from claude_control.process.standby import Standby
from claude_control.session.pending import PLAIN_FIELDS, Awaited, First, PendingReplies, is_echo
from claude_control.session.reading import Reader
from claude_control.session.writer import Ticket, Writer
from claude_control.unset import UNSET, Unset
from claude_control.wire import envelope
from claude_control.wire.framing import encode
from claude_control.wire.requests.base import Request, encode_body

__all__ = ["Calls", "PendingReply"]

T = TypeVar("T")

MANY = 2
"""Requests without an answer beyond which `submit` leaves its line for the writer thread to write with others.

To write each by itself wakes the program for each, which takes longer than all the rest of it. To begin with they are
written at once, for a thread is started for the others.
"""

CROWD = 16
"""Waits by one thread alone after which it is taken for the only one that waits for answers."""

_GIVEN_UP = "the request is given up; `timeout`, or the option `control_timeout`, lets it take longer"


class PendingReply(Awaited, Generic[T]):
    """A control request that was sent and whose answer may not be there yet."""

    __slots__ = ("__weakref__", "_calls", "_request", "_ticket")

    def __init__(self, calls: "Calls", request: Request[T]) -> None:
        self.request_id, self._outcome, self._waiters = "", None, []  # as super() does, which takes longer
        self._calls = calls
        self._request = request
        self._ticket: Ticket | None = None

    def done(self) -> bool:
        """Tell whether the answer, or the end of the session, is there."""
        return self._outcome is not None

    def cancel(self) -> bool:
        """Give the request up; returns False if it was answered before. `result()` then raises `AbortedError`."""
        with self._calls.interruptible:
            return self._calls.give_up(self)

    def result(self, timeout: float | Unset | None = UNSET) -> T:
        """Wait for the answer and return it.

        `timeout` is in seconds; not given, it is the session's `control_timeout`. Raises `WaitTimeoutError` when the
        time is up (the request goes on), `ControlRequestError` for an answer that says error, and what ended the
        session if it ended.
        """
        if self._outcome is None:
            seconds = self._calls.timeout if timeout is UNSET else timeout
            with self._calls.interruptible:
                if not self._calls.wait(self, Deadline(seconds)):
                    what = self._request.subtype
                    text = f"{what} has no answer within {seconds:g} seconds; it goes on: wait again, or cancel() it"
                    raise WaitTimeoutError(text, timeout=seconds)
        return self._read()

    def _read(self) -> T:
        outcome, request = self._outcome, self._request
        if outcome.__class__ is dict:
            body = outcome["response"]
            if body.get("subtype") == "success" and (response := body.get("response")).__class__ is dict:
                return request.reply(response)  # nearly always; what follows says the same with all exceptions
        if isinstance(outcome, Exception):
            raise copy.copy(outcome) from outcome.__cause__  # each waiter gets its own traceback
        assert outcome is not None
        response, error, code = envelope.read_reply(outcome)
        if error is not None:
            said, subtype = str(log.redact(error)), request.subtype
            text = f"the program answered {subtype} with an error: {said}"
            raise ControlRequestError(text, subtype=subtype, text=said, code=code)
        if response.__class__ is not dict:
            raise envelope.odd_payload(response, request.subtype)
        return request.reply(response)

    def __repr__(self) -> str:
        return f"<PendingReply {self._request.subtype} {self.request_id} {'done' if self.done() else 'waiting'}>"


class Calls:
    """Makes requests.

    `check` raises for what the running program does not know, and returns whether it need not be asked again about
    requests of this kind; `knows_cancel` tells whether the program knows a withdrawal.
    """

    def __init__(
        self,
        writer: Writer,
        pending: PendingReplies,
        *,
        timeout: float | None,
        write_timeout: float | None,
        check: Callable[[Request[Any]], bool],
        knows_cancel: Callable[[], bool],
        broken_pipe: Callable[[OSError], ClaudeControlError],
        elsewhere: Callable[[Callable[[], None]], bool],
        interruptible: Any,
    ) -> None:
        self.pending = pending
        self.timeout = timeout
        self.interruptible = interruptible
        self._writer = writer
        self._write_timeout = write_timeout
        self._check = check
        self.reader: Reader | None = None
        """Who reads the answers, and may let others read them."""
        self._blocked: dict[object, None] = {}  # a mark of each thread that waits for one of several answers
        self._crowded = 0  # how many more waits it takes until one thread is taken for the only one
        self._rests: dict[type, bytes] = {}  # what is written behind the id for requests that are always the same
        self._knows_cancel = knows_cancel
        self._broken_pipe = broken_pipe
        self._elsewhere = elsewhere

    def submit(
        self, request: Request[T], *, direct: bool = True, wanted: Callable[[], bool] | None = None
    ) -> PendingReply[T]:
        """Send a request and return at once; `direct` and `wanted` are those of `Writer.put`."""
        reply = PendingReply(self, request)
        self._send(reply, direct, wanted, MANY)
        return reply

    def _send(
        self, reply: PendingReply[Any], direct: bool, wanted: Callable[[], bool] | None, alone: float = math.inf
    ) -> int:
        """Register a request and write it, and return how many wait; if it cannot be written, it is as if never made.

        Where more than `alone` wait then, it is written with others.
        """
        rest = self._rests.get(reply._request.__class__) or self._rest_of(reply._request)
        try:
            waiting = self.pending.register(reply)
            line = envelope.request(reply.request_id, rest)
            if waiting > alone and wanted is None:
                if self._follows():
                    reply._ticket = self._writer.put(line, direct, self._broken_pipe, follows=self._follows)
                else:
                    reply._ticket = self._writer.gather(line, direct, self._broken_pipe)
            else:
                reply._ticket = self._writer.put(line, direct, self._broken_pipe, wanted)
            return waiting
        except BaseException as error:  # written in vain, or struck from outside
            self.pending.pop(reply.request_id)
            if direct and _tells_of_the_pipe(error):
                raise self._broken_pipe(error) from error
            raise

    def _rest_of(self, request: Request[Any]) -> bytes:
        """Check a request, and return what is written behind its id."""
        passes = self._check(request)
        rest = envelope.rest_of_request(encode_body(request))
        if passes:
            self._rests[type(request)] = rest
        return rest

    def send_first(self, first: First, waiter: threading.Lock, lost: Callable[[OSError], object]) -> PendingReply[Any]:
        """Send the first request, if it is not out, from the thread that then reads; `finish()` waits for the answer.

        That is kept as it comes, and `waiter` is let go of at the end of the request. `lost` is told when it cannot be
        written: what the program's end was is not known before something is read.
        """
        reply = PendingReply(self, first.request)
        reply.request_id = first.request_id
        reply.release_too(waiter)
        self.pending.register(reply)
        if self.reader is not None:
            self.reader.kept_id = reply.request_id
        if first.written:
            self._writer.note_written(len(first.line))
            return reply
        try:
            reply._ticket = self._writer.put(first.line, on_error=lost)
        except OSError as error:
            lost(error)
        return reply

    def finish(self, reply: PendingReply[T], seconds: float | None) -> T:
        """Wait for the answer to what was sent before; raises as `call()`."""
        if reply.done():  # nearly always, for who waits for the handshake is woken by its end
            return reply._read()
        waiter = threading.Lock()
        waiter.acquire()
        try:
            reply.release_too(waiter)
            if not reply.done():  # looked at after that: see `Awaited`
                self._wait(reply, waiter, Deadline(seconds))
        except BaseException:
            self.give_up(reply)
            raise
        return reply._read()

    def post(self, request: Request[Any]) -> None:
        """Send a request whose answer nobody asks for; returns when it is written, or has waited its time for that."""
        reply = PendingReply(self, request)
        self._send(reply, True, None)
        if reply._ticket is not None:
            reply._ticket.wait_for_write(Deadline(self._write_timeout))

    def wait(self, reply: PendingReply[Any], deadline: Deadline) -> bool:
        """Wait for an answer that may be one of several; returns False when the time is up first."""
        mark = object()
        try:
            self._blocked[mark] = None  # first: who reads and is about to leave looks whether anybody waits
            self._writer.release()
            self._lead_for_all(reply, deadline)
            answered = reply._wait(deadline)
        finally:
            self._blocked.pop(mark, None)
        return answered  # outside: a strike behind the wait, too, comes to the line before

    def _follows(self) -> bool:
        """Tell whether a line may be kept for the next one: until this thread waits, or the reader looks."""
        standby = self._standby()
        return standby is not None and standby.ticks

    def _standby(self) -> Standby | None:
        """Return where this thread may read, if the reader has ever stood by."""
        return self.reader.standby if self.reader is not None else None

    def look(self, last: bool) -> bool:
        """Write the lines that were kept; returns False if that is still to be done, the `last` time by another thread.

        Of the reader, and waits for nobody.
        """
        done = self._writer.release_now()
        if not done and last:
            self._elsewhere(self._writer.release)
        return done

    def call(
        self,
        request: Request[T],
        timeout: float | Unset | None = UNSET,
        wanted: Callable[[], bool] | None = None,
    ) -> T:
        """Send a request and wait for its answer.

        Raises `ControlTimeoutError` when the time (seconds) is up: the request is then given up. `wanted` is that of
        `Writer.put`.
        """
        seconds = self.timeout if timeout is UNSET else timeout
        since = time.monotonic()
        reply = PendingReply(self, request)
        # Before the line is written, because the answer may be there before the write returns: whatever this thread
        # does then, it and the reader pass the interpreter's lock back and forth for.
        waiter = threading.Lock()
        waiter.acquire()
        reply._waiters.append(waiter)
        try:
            waiting = self._send(reply, True, wanted)
            try:
                # Nearly always the answer is there within the first slice.
                patience = SLICE if reply._ticket is None and (seconds is None or seconds > SLICE) else 0
                if patience and waiting == 1 and not self._crowded and self._lead(reply, patience):
                    patience = 0
                if reply._outcome is None:
                    self._wait_among(reply, waiter, patience, seconds, since)
            except KeyboardInterrupt:
                self.interruptible.interrupt()
                raise
        except BaseException:
            self.give_up(reply)
            raise
        return reply._read()

    def _wait_among(
        self, reply: PendingReply[Any], waiter: threading.Lock, patience: float, seconds: float | None, since: float
    ) -> None:
        """Wait for an answer that the reader reads, or another thread that waits for one; first `patience` seconds."""
        mark = object()
        try:
            self._blocked[mark] = None  # first, as in `wait`
            if len(self._blocked) > 1:
                self._crowded = CROWD
            elif self._crowded or self._follows():
                self._lead_for_all(reply, Deadline(seconds, since))
                patience = 0  # it may have waited as long already
            if reply._outcome is None and not waiter.acquire(True, patience):
                self._wait(reply, waiter, Deadline(seconds, since))
        finally:
            self._blocked.pop(mark, None)

    def _lead(self, reply: PendingReply[Any], seconds: float) -> bool:
        """Read an answer in the thread that waits for it, if the reader has ever stood by; returns whether it has."""
        standby = self._standby()
        if standby is None:
            return False
        reply._waiters.append(standby)
        standby.lead(lambda: reply._outcome is None, partial(self._take, reply), seconds)
        return True

    def _take(self, reply: PendingReply[Any], chunk: bytes) -> bytes:
        """Settle a request if the chunk is its answer and no more; echoes may come before it."""
        assert self.reader is not None
        frame = self.reader.control_in(chunk)
        if frame is None or frame["type"] != "control_response":
            return chunk
        if not is_echo(frame):
            if envelope.answered(frame) != reply.request_id or len(frame["response"]) > PLAIN_FIELDS:
                return chunk
            if self.pending.pop(reply.request_id) is None:
                return chunk  # the reader has dealt with it, or counts it as late
            reply._outcome = frame
        self.reader.count_read(len(chunk))
        return b""

    def _lead_for_all(self, reply: PendingReply[Any], deadline: Deadline) -> None:
        """Read the answers to all requests in the thread that waits for one of them, if it is the only one.

        Beside others it would keep them from the interpreter, and have to hand over to them.
        """
        self._crowded = CROWD if len(self._blocked) > 1 else max(0, self._crowded - 1)
        standby = self._standby()
        if self._crowded and not self._follows():
            return
        if standby is not None:
            reply._waiters.append(standby)
            left = deadline.remaining()
            seconds = SLICE if left is None else min(SLICE, left)
            take = partial(self._take_all, reply, standby)
            try:
                standby.lead(lambda: reply._outcome is None, take, seconds, returns=self._returns)
            finally:
                with contextlib.suppress(ValueError):
                    reply._waiters.remove(standby)
        if self.reader is not None and reply._outcome is None:
            self.reader.wanted = True

    def _returns(self) -> bool:
        """Tell whether the thread that has just read is the only one that waits, and more answers are due."""
        return len(self._blocked) == 1 and not self._crowded and len(self.pending) > 0

    def _take_all(self, reply: PendingReply[Any], standby: Standby, chunk: bytes) -> bytes:
        """Settle all requests that a chunk answers, if it begins with such answers and is no more."""
        assert self.reader is not None
        frames, rest = self.reader.answers_in(chunk)
        if not frames:
            return chunk
        with contextlib.suppress(ValueError):
            reply._waiters.remove(standby)  # it is this thread that would be woken
        settled = self.pending.settle_all(frames)
        if reply._outcome is None:
            reply._waiters.append(standby)
        if not settled:
            return chunk
        self.reader.count_read(len(chunk) - len(rest), len(frames))
        return rest

    def _wait(self, reply: PendingReply[Any], waiter: threading.Lock, deadline: Deadline) -> None:
        subtype, seconds = reply._request.subtype, deadline.timeout
        if reply._ticket is not None and not reply._ticket.wait_for_write(deadline.sooner(self._write_timeout)):
            text = f"{subtype} could not be written in time: the program does not read its input; {_GIVEN_UP}"
            raise ControlTimeoutError(text, subtype=subtype, timeout=seconds)
        if not wait_lock(waiter, deadline) and not reply.done():
            text = f"the program did not answer {subtype} within {seconds:g} seconds; {_GIVEN_UP}"
            raise ControlTimeoutError(text, subtype=subtype, timeout=seconds)

    def give_up(self, reply: PendingReply[Any]) -> bool:
        """Forget a request, and withdraw it where the program knows that; returns False if it was answered."""
        if self.pending.pop(reply.request_id) is None:
            return False
        reply._settle(AbortedError("the request was given up", reason="cancelled"))
        begin = envelope.request(reply.request_id, b"")
        if reply._ticket is not None and self._writer.withdraw(reply._ticket, begin):
            return True  # never written: there is nothing to withdraw
        if self._knows_cancel():
            with contextlib.suppress(OSError):  # a program that is gone has forgotten the request by itself
                self._writer.put(encode(envelope.cancel(reply.request_id)))
        return True


def _tells_of_the_pipe(error: BaseException) -> TypeGuard[OSError]:
    """Tell whether a write failed: what time limits raise from outside is an OSError, too, but no system call's."""
    return isinstance(error, BrokenPipeError) or (isinstance(error, OSError) and error.errno is not None)
