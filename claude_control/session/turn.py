"""One prompt and its answer: iterate it, or wait for it."""

import contextlib
import copy
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Any

import attrs

from claude_control.deadline import Deadline, wait_event
from claude_control.errors import AbortedError, ConcurrencyError, WaitTimeoutError
from claude_control.session.evidence import Evidence
from claude_control.session.inbox import Inbox, Stream
from claude_control.session.ledger import Usage
from claude_control.session.outcome import Outcome, decide, error_for
from claude_control.session.reading import read_item
from claude_control.unset import UNSET, Unset
from claude_control.wire.messages import Message, ResultMessage, decode

if TYPE_CHECKING:
    from claude_control.session.connection import Connection

__all__ = ["Turn", "TurnRecord"]


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
        """Remember what `text` and the outcome need of a frame of one of the `NOTED` types. Called by the reader."""
        self.evidence.note(frame)
        message = frame.get("message")
        if frame.get("type") != "assistant" or frame.get("parent_tool_use_id") is not None or type(message) is not dict:
            return
        content = message.get("content")
        for block in content if content.__class__ is list else ():
            if block.__class__ is dict and block.get("type") == "text":
                self._note_text(message.get("id"), block.get("text"))

    def _note_text(self, message_id: object, text: object) -> None:
        if message_id is None or message_id != self._text_id:
            self._texts, self._text_id = [], message_id
        if text.__class__ is str:
            self._texts.append(text)

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
    def text(self) -> str:
        """The answer so far."""
        if self.result is not None and isinstance(self.result.get("result"), str) and self.result["result"]:
            return str(self.result["result"])
        return "".join(self._texts)


class Consumer:
    """Takes messages from a stream one by one, for one thread at a time."""

    def __init__(self, stream: Stream, connection: "Connection") -> None:
        self._stream = stream
        self._connection = connection
        self._decode_line = connection.reader.late_decoder.decode
        self._batch: deque[Any] = deque()
        self._taking = threading.Lock()  # held by who waits for more

    def __iter__(self) -> Iterator[Message]:
        return self

    def __next__(self) -> Message:
        """Return the next message, waiting for it.

        Raises `ProcessExitedError` or `SessionClosedError` when the session ends before the turn, and
        `ConcurrencyError` in a callback of the session or beside another reader.
        """
        try:
            item = self._batch.popleft()
        except IndexError:
            item = self._take()
        return read_item(item, self._decode_line)

    def _take(self) -> Any:
        if not self._taking.acquire(blocking=False):
            raise ConcurrencyError("another thread reads these messages; use session.subscribe() for a second reader")
        try:
            while True:
                self._connection.forbid_waiting()
                with self._connection.interruptible:
                    taken = self._stream.take(Deadline(None))
                    if taken is None:
                        raise StopIteration
                    self._batch.extend(taken)
                with contextlib.suppress(IndexError):  # cleared meanwhile, or nothing came
                    return self._batch.popleft()
        finally:
            self._taking.release()


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
        self._batch.clear()
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
