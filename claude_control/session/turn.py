"""One prompt and its answer: iterate it, or wait for it."""

import copy
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any

import attrs

from claude_control.deadline import SLICE, Deadline, wait_event
from claude_control.errors import AbortedError, ConcurrencyError, WaitTimeoutError
from claude_control.process.standby import Standby
from claude_control.session.evidence import Evidence
from claude_control.session.inbox import Inbox, MessageRun, Run, Stream
from claude_control.session.ledger import Usage
from claude_control.session.outcome import Outcome, decide, error_for
from claude_control.session.reading import read_item, read_run
from claude_control.unset import UNSET, Unset
from claude_control.wire.content import wire_texts
from claude_control.wire.messages import Message, ResultMessage, decode

if TYPE_CHECKING:
    from claude_control.session.connection import Connection

__all__ = ["Turn", "TurnRecord"]

_FOREVER = Deadline(None)


@attrs.define(eq=False)
class TurnRecord:
    """What the session keeps of a turn; the user's `Turn` may be dropped before it ends."""

    uuid: str
    line: bytes | None  # until it is written
    inbox: Inbox
    state: str = "queued"
    outcome: Outcome | None = None
    result: dict[str, Any] | None = None
    error: Exception | None = None
    done: threading.Event = attrs.field(factory=threading.Event)
    evidence: Evidence = attrs.field(factory=Evidence)
    resets_at: float | None = None
    usage: Usage | None = None  # set at the end
    interrupt_owed: bool = False  # an interrupt came before the program had begun the turn, and must be repeated
    taken_by: Callable[[], object] | None = None  # returns None once the call is gone that was to write the prompt
    _ending: threading.Lock = attrs.field(factory=threading.Lock)  # the first end counts, whichever thread brings it
    _raises: bool = False  # iterating raises the error too
    _texts: list[str] = attrs.field(factory=list)  # of the newest message that has text: one frame each, n to a message
    _text_id: object = None

    def note(self, frame: dict[str, Any]) -> None:
        """Remember what `text` and the outcome need of a frame of one of the `NOTED` types."""
        if frame.get("type") == "assistant":
            self.note_messages([frame])
        else:
            self.evidence.note(frame)

    def note_messages(self, frames: Sequence[dict[str, Any]], owed: Any = None) -> None:
        """The same for several of the type "assistant"; what they were owed as is `noted` then."""
        self.evidence.note_messages(frames)
        texts, text_id = self._newest_texts(frames)
        # With no call in between: a strike from outside leaves this undone or done.
        self._texts, self._text_id = texts, text_id
        if owed is not None:
            owed.noted = True

    def _newest_texts(self, frames: Sequence[dict[str, Any]]) -> tuple[list[str], object]:
        """Return the texts of the newest message that has some, oldest first, and its id; one frame has one or more."""
        found: list[str] = []
        newest: object = None
        for frame in reversed(frames):
            if frame.get("parent_tool_use_id") is not None or not (texts := wire_texts(frame)):
                continue
            name = frame["message"].get("id")
            if found and (name is None or name != newest):
                return found, newest
            newest = name
            found[:0] = texts
        if not found:
            return self._texts, self._text_id
        same = newest is not None and newest == self._text_id
        return [*self._texts, *found] if same else found, newest

    def end(self, result: dict[str, Any] | None) -> None:
        """Note the result; None for a prompt that the program dropped before it began. Called by the reader."""
        if result is None:
            error = AbortedError("the prompt was dropped before the program began it", reason="cancelled")
            self._finish(Outcome.CANCELLED, error=error)
            return
        outcome = decide(result, self.evidence)
        if outcome is Outcome.RATE_LIMITED:
            self.resets_at = self.evidence.reset_time(result, time.time())
        self._finish(outcome, result=result)

    def drop(self, error: Exception) -> None:
        """End a turn whose prompt was never written: iterating yields nothing, waiting raises `error`."""
        self._finish(Outcome.CANCELLED, error=error)

    def fail(self, error: Exception) -> None:
        """End the turn because the session ended; a turn that has ended already stays as it is."""
        self._finish(Outcome.FAILED, error=error, raises=True)

    def _finish(
        self,
        outcome: Outcome,
        *,
        result: dict[str, Any] | None = None,
        error: Exception | None = None,
        raises: bool = False,
    ) -> None:
        """End once; `raises` says that iterating raises the error too."""
        with self._ending:
            if self.state != "done":
                self.outcome, self.result, self.error, self._raises = outcome, result, error, raises
                self.state, self.line = "done", None
        # By the second one too: the first may have been struck before it came here.
        self.inbox.finish(self.error if self._raises else None)
        self.done.set()

    @property
    def answer(self) -> str:
        """The text of the result; "" before it is there, or if it has none."""
        text = self.result.get("result") if self.result is not None else ""
        return text if isinstance(text, str) else ""

    @property
    def text(self) -> str:
        """The answer so far, as far as it was noted."""
        return self.answer or "".join(self._texts)


class Consumer:
    """Takes messages from a stream one by one, for one thread at a time."""

    def __init__(self, stream: Stream, connection: "Connection") -> None:
        self._stream = stream
        self._connection = connection
        self._ready: Iterator[Message] = iter(())  # read, and not yet given
        self._taken: list[Any] = []  # and not yet read, the next one last: things and runs
        self._reading = False  # whether a thread reads or waits for more

    def __iter__(self) -> Iterator[Message]:
        return self

    def __next__(self) -> Message:
        """Return the next message, waiting for it.

        Raises `ProcessExitedError` or `SessionClosedError` when the session ends before the turn, and
        `ConcurrencyError` in a callback of the session or beside another reader.
        """
        for message in self._ready:
            return message
        return self._read_more()

    def _read_more(self) -> Message:
        """Read the next item or run of lines, waiting for one; returns its first message, and keeps the others."""
        self._connection.check_owner()
        if self._reading:
            raise ConcurrencyError("another thread reads these messages; use session.subscribe() for a second reader")
        self._reading = True  # with no call since the look, so that nobody comes between, and no strike before the try
        try:
            for message in self._ready:  # another thread has read them since this one looked
                return message
            while True:
                if not self._taken:
                    self._take()
                    continue
                taken, item = self._taken, self._taken[-1]
                ready = iter(self._read(item))
                # With no call in between: who is struck from outside has read all of this or nothing.
                self._ready = ready
                del taken[-1:]
                for message in ready:
                    return message
        finally:
            self._reading = False

    def _take(self) -> None:
        self._connection.forbid_waiting()
        with self._connection.interruptible:
            self._lead()
            if self._taken:  # read in this thread
                return
            taken = self._stream.take(_FOREVER)
            if taken is None:
                raise StopIteration
            taken = taken[::-1]
            self._taken, self._stream.handed = taken, []  # with no call in between: it is here now, or still there

    def _lead(self) -> None:
        """Read what comes in this thread, where the reader leaves that to others; here it does not."""

    def _read(self, item: Any) -> list[Message]:
        """Return the messages that an item of the stream stands for."""
        reader = self._connection.reader
        if item.__class__ is bytes and item.endswith(b"\n"):  # as it was read in this thread, perhaps many lines
            return read_run(Run((item[:-1],), item.count(b"\n")), reader.late_decoder)[0]
        if not isinstance(item, Run):
            return [read_item(item, reader.late_decoder.decode)]
        if not isinstance(item, MessageRun) or item.noted:
            return read_run(item, reader.late_decoder)[0]
        messages, frames = read_run(item, reader.message_decoder)
        self._connection.conversation.settle_run(item, frames)
        return messages

    def _forget(self) -> None:
        """Drop what was taken and not given."""
        self._ready, self._taken = iter(()), []


class Turn(Consumer):
    """One prompt and its answer.

    Iterate it for its messages, the last of which is its own `ResultMessage`, or wait for `result()`. Leaving the loop
    early leaves the turn running; leaving a `with session.ask(…) as turn:` block interrupts it.
    """

    def __init__(self, record: TurnRecord, connection: "Connection", session: Any) -> None:
        super().__init__(record.inbox, connection)
        self._record = record
        self._session = session  # a turn that somebody holds keeps its session open
        # A running turn that nobody holds has its messages discarded as they come.
        weakref.finalize(self, record.inbox.discard).atexit = False

    @property
    def uuid(self) -> str:
        """The prompt's uuid: what `rewind_files(turn.uuid)` takes."""
        return self._record.uuid

    @property
    def state(self) -> str:
        """Where the turn is: "queued" in the SDK, "running" from when its prompt is written, or "done"."""
        return self._record.state

    @property
    def outcome(self) -> Outcome | None:
        """How the turn ended, in one word; None until it has."""
        return self._record.outcome

    @property
    def text(self) -> str:
        """The answer's text so far, without waiting: the newest assistant message's, and in the end the result's."""
        noted_by = self._connection.conversation.noted_by
        if not self._record.answer and noted_by != threading.get_ident():  # else a signal handler has struck that one
            self._connection.check_owner()
            self._connection.conversation.settle()
        return self._record.text

    @property
    def resets_at(self) -> float | None:
        """When the limit that ended the turn is lifted, in Unix seconds; see `RateLimitedError`."""
        return self._record.resets_at

    @property
    def usage(self) -> Usage | None:
        """The tokens of this turn, its subagents' too: so far while it runs, all of them once it has ended.

        A turn that was interrupted or failed, or whose program died, has what is known of it. None while nothing is.
        """
        self._connection.check_owner()
        return self._connection.conversation.usage_of(self._record)

    @property
    def cost_usd(self) -> float | None:
        """What the turn has cost by the program's own estimate, in dollars.

        None until its result is there, and for ever if the program ends before it. `ResultMessage.total_cost_usd`
        counts from the start of the session on all measured versions; this is the turn's part of it.
        """
        usage = self.usage
        return usage.cost_usd if usage is not None else None

    def result(self, timeout: float | Unset | None = UNSET, check: bool = True) -> ResultMessage:
        """Wait for the turn to end and return its result; messages that were not iterated are dropped.

        `timeout` is in seconds; not given and None both mean for ever. Raises `WaitTimeoutError` when the time is up
        (the turn goes on), with `check` a `ResultError` for a turn that ended in an error, `AbortedError` for a prompt
        that was dropped, and what ended the session if it ended first.
        """
        self._connection.forbid_waiting()
        record = self._record
        record.inbox.discard()
        self._forget()
        seconds = None if timeout is UNSET else timeout
        with self._connection.interruptible:
            if not wait_event(record.done, Deadline(seconds)):
                text = f"the turn has not ended within {seconds:g} seconds; it goes on: wait again, or interrupt() it"
                raise WaitTimeoutError(text, timeout=seconds)
        return self._result(check)

    def _result(self, check: bool) -> ResultMessage:
        record = self._record
        if record.error is not None:
            raise copy.copy(record.error) from record.error.__cause__
        assert record.result is not None and record.outcome is not None
        message = decode(record.result)
        assert isinstance(message, ResultMessage)
        resets_at = record.resets_at
        error = error_for(record.outcome, message, record.evidence, resets_at=resets_at) if check else None
        if error is not None:
            raise error
        return message

    def _lead(self) -> None:
        standby, inbox, taken = self._connection.reader.standby, self._record.inbox, self._taken
        if standby is not None and inbox.is_dry():
            inbox.tell_too(standby)
            standby.lead(lambda: not taken and inbox.is_dry(), partial(self._take_deltas, standby, taken), SLICE)
            self._connection.check_owner()  # a signal handler may have forked

    def _take_deltas(self, standby: Standby, taken: list[Any], chunk: bytes) -> bytes:
        """Take deltas of this turn that this thread has read, behind all others, unless they are for others, too."""
        connection, record = self._connection, self._record
        lines = connection.reader.deltas_in(chunk)
        if not lines or connection.subscriptions.wanted:
            return chunk
        if not connection.conversation.runs(record) or not record.inbox.keeps or not standby.hand_over(taken):
            return chunk
        connection.reader.count_read(len(chunk), lines)
        return b""

    def interrupt(self) -> None:
        """Stop this turn.

        A queued one is dropped, a running one interrupted, and of one that is done nothing is asked.
        """
        self._connection.check_owner()
        self._connection.prompting.interrupt_turn(self._record)

    def __enter__(self) -> "Turn":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.interrupt()

    def __repr__(self) -> str:
        outcome = f", {self.outcome.value}" if self.outcome else ""
        return f"<Turn {self.uuid} {self.state}{outcome}>"
