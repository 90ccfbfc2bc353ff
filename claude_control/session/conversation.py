"""The prompts, the turns, and the streams that messages go to."""

import math
import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import attrs

from claude_control.errors import AbortedError, SessionClosedError
from claude_control.process.launch import uninterrupted
from claude_control.session.changes import Changes
from claude_control.session.evidence import NOTED, Evidence, is_command
from claude_control.session.inbox import Inbox, Item, MessageRun, Newest, One, Run
from claude_control.session.ledger import COUNTED, Usage
from claude_control.session.notes import Notes
from claude_control.session.outcome import needs_evidence
from claude_control.session.routing import Decision, Place, Router
from claude_control.session.turn import TurnRecord
from claude_control.wire import envelope
from claude_control.wire.framing import encode

__all__ = ["Conversation", "Delivery"]

_OWED = 10_000  # runs and frames that may wait to be noted whatever becomes of them
_SETTLED_BYTES = 1 << 20  # of runs that the reader notes at a time: that takes some milliseconds

T = TypeVar("T")
Action = Callable[[], None]


@attrs.define(eq=False)
class Delivery:
    """What some items lead to: done in order, after the lock is released."""

    actions: list[Action] = attrs.field(factory=list)
    tapped: list[Item] = attrs.field(factory=list)
    next_prompt: TurnRecord | None = None
    _stream: Inbox | Newest | None = None
    _items: list[Item] = attrs.field(factory=list)

    def put(self, stream: Inbox | Newest, item: Item) -> None:
        """Add an item for a stream; neighbours for the same stream are handed over together."""
        if stream is not self._stream:
            self._stream, self._items = stream, []
            items = self._items
            self.actions.append(lambda: _hand_over(items, stream))
        self._items.append(item)

    def then(self, action: Action) -> None:
        """Add something to do after what was added so far."""
        self._stream = None
        self.actions.append(action)


class Conversation:
    """Holds the queue of prompts and sends every message to one place.

    The reader delivers; user threads ask, send and drop. One lock guards the router, the queue and the turn that runs.
    """

    def __init__(
        self,
        router: Router,
        *,
        inbox_bytes: int,
        open_file: Callable[[], int],
        decoded: Callable[[bytes], list[One]],
        decode_message: Callable[[bytes], dict[str, Any] | None],
        tap: Callable[[list[Item]], None],
    ) -> None:
        self.router = router
        self.program = Newest(inbox_bytes)
        """What belongs to no turn of ours."""
        self.changes = Changes()
        """Told whenever a turn, a prompt or a message of the program may have changed what somebody waits for."""
        self._inbox_bytes = inbox_bytes
        self._open_file = open_file
        self._decoded = decoded  # returns a line of a run as an item of its own, or nothing for a blank one
        self._tap = tap  # hands items to the subscribers
        self._lock = threading.Lock()
        self._queue: deque[TurnRecord] = deque()
        self._current: TurnRecord | None = None
        self._held: list[One] = []
        self._delivering = False  # what a chunk leads to is decided, and not all of it done
        self._notes = Notes(decode_message)
        self.noted_by: int | None = None  # the thread that has the lock, to note what it has read
        self._ended: Callable[[], Exception] | None = None  # makes what every later prompt raises
        self.on_begin: Callable[[TurnRecord], None] = lambda record: None

    # -- user threads --------------------------------------------------------------------------------------------------

    def ask(
        self,
        content: str | list[dict[str, Any]],
        uuid: str,
        fields: dict[str, Any],
        taken_by: Callable[[], object] | None = None,
    ) -> tuple[TurnRecord, TurnRecord | None]:
        """Queue a prompt; returns its record, and the one that the caller must write now, if any.

        `taken_by` returns something as long as the caller can be counted on to do so.
        """
        line = encode(envelope.user_message(content, uuid, **fields))
        evidence = Evidence(is_command=is_command(content))
        record = TurnRecord(uuid, line, Inbox(self._inbox_bytes, self._open_file), evidence=evidence)
        with self._lock:
            if self._ended is not None:
                raise self._ended()
            self._queue.append(record)
            return record, self._begin_next(taken_by)

    def go_on(self) -> TurnRecord | None:
        """Complete what somebody who was struck from outside has begun; returns the turn whose prompt is to be out."""
        with self._lock:
            self._begin_next()
            return self._current

    def note_sent(self, uuid: str) -> None:
        """Note a prompt that is written without a turn of its own."""
        with self._lock:
            self.router.written(uuid, ours=False)

    def withdraw(self, uuid: str) -> TurnRecord | None:
        """Forget a prompt that could not be written.

        Returns the record whose prompt is to be written instead, if any.
        """
        with self._lock:
            self.router.withdraw(uuid)
            if self._current is not None and self._current.uuid == uuid:
                self._current = None
            following = self._begin_next()
        self.changes.tell()
        return following

    def drop(self, record: TurnRecord) -> bool:
        """Take a queued prompt out; False if it has been written."""
        if record.state != "queued":
            return False
        return _whole(lambda: bool(self._drop([record], _dropped())))

    def drop_queued(self) -> list[TurnRecord]:
        """Take every queued prompt out."""
        return _whole(lambda: self._drop(list(self._queue), _dropped())) if self._queue else []

    def refuse(self) -> None:
        """Fail every queued prompt, and every later one: the session is being closed."""
        with self._lock:
            self._ended = self._ended or _unsent
        if self._queue:
            _whole(lambda: self._drop(list(self._queue), _unsent()))

    def note_stop(self, hook_event: str | None = None) -> None:
        """Note that our side asks for the end of the turn that runs: by a hook at this event, or otherwise."""
        record = self._current
        if record is None or (hook_event == "Stop" and not self.router.running):  # it is about a turn of the program's
            return
        if hook_event is None:
            record.evidence.stopped = True
        else:
            record.evidence.hooks.add(hook_event)

    def usage_of(self, record: TurnRecord) -> Usage | None:
        """Return what a turn has spent, so far if it runs."""
        self.settle()
        with self._lock:
            self._notes.settle(math.inf)  # what came since: the turn's end may be among it
            return self._notes.ledger.since_result() if record is self._current else record.usage

    def usage(self) -> Usage | None:
        """Return what the whole session has spent."""
        self.settle()
        with self._lock:
            self._notes.settle(math.inf)
            return self._notes.ledger.total()

    def runs(self, record: TurnRecord) -> bool:
        """Tell whether what comes is the turn's, as long as it is deltas; see `_place_run`. Takes no lock."""
        return self.router.running and self._current is record

    def settle(self) -> None:
        """Note all that came until now and is not noted yet, run by run: the reader waits for none but one of them."""
        for _ in range(self._notes.owed):
            with self._lock:
                self._notes.settle(1)

    def settle_run(self, run: MessageRun, frames: Sequence[dict[str, Any] | None]) -> None:
        """Note a run that the caller has decoded."""
        caller = threading.get_ident()
        with self._lock:
            self.noted_by = caller  # with nothing called before it, where a signal handler could come
            try:
                self._notes.settle_run(run, frames)
            finally:
                self.noted_by = None

    @property
    def current(self) -> TurnRecord | None:
        """The turn whose prompt was written and that has no result yet."""
        return self._current

    @property
    def queued(self) -> int:
        """How many prompts wait in the SDK."""
        return len(self._queue)

    @property
    def busy(self) -> bool:
        """Whether a turn of ours is out, waits, or the program says or shows that it is at work."""
        return self._current is not None or bool(self._queue) or not self.router.free or self.router.own_turn

    def at_rest(self) -> bool:
        """Tell whether nothing is out, waits or runs, and no thread is just about to change that.

        All that was said until then is handed over: the turns are done, the messages in their streams.
        """
        with self._lock:
            return not self._delivering and not self.busy

    # -- the reader ----------------------------------------------------------------------------------------------------

    def deliver(self, items: list[Item]) -> TurnRecord | None:
        """Send each item to its place; returns the record whose prompt is to be written next, if any.

        Raises `SessionClosedError` if there is no room for the backlog.
        """
        delivery = Delivery()
        with self._lock:
            self._delivering = True
            for item in items:
                if isinstance(item, Run):
                    self._place_run(item, delivery)
                else:
                    self._place(item, delivery)
            delivery.next_prompt = self._begin_next()
        failure: Exception | None = None
        for action in delivery.actions:
            try:
                action()
            except Exception as error:  # the others are due all the same: the end of a turn may be among them
                failure = failure or error
        if delivery.tapped:
            self._tap(delivery.tapped)
        self._settle_unkept()
        self._delivering = False  # before it is told
        self.changes.tell()
        if failure is not None:
            raise failure
        return delivery.next_prompt

    def end(self, make: Callable[[], Exception], *, closed: bool) -> None:
        """End every stream and turn.

        Turns without a result raise an error that `make` makes, and so does `messages()`, which just ends if the
        session was `closed`.
        """
        with self._lock:
            self._ended = make
            self._notes.settle(math.inf)
            if self._current is not None:
                self._current.usage = self._notes.ledger.since_result()
            records = [record for record in (self._current, *self._queue) if record is not None]
            held, self._held = self._held, []
        if held:
            self.program.put(held)
        for record in records:
            record.fail(make())
        self.program.finish(None if closed else make())
        with self._lock:  # not before: who is struck in the middle leaves the rest to the next one who ends it
            self._queue.clear()
            self._current = None
        self.changes.tell()

    def _begin_next(self, taken_by: Callable[[], object] | None = None) -> TurnRecord | None:
        """Begin the next turn, if it may; returns the record whose prompt is then to be written.

        The queue lets go of it last: who is struck from outside before that leaves the rest to whoever comes next.
        """
        if self._current is None:
            if not self._queue or not self.router.free or self._ended is not None:
                return None
            self._current = self._queue[0]
        elif not self._queue or self._queue[0] is not self._current:
            return None
        record = self._current
        record.state, record.taken_by = "running", taken_by
        self.router.written(record.uuid, ours=True)
        self._queue.popleft()
        return record

    def _drop(self, records: list[TurnRecord], error: Exception) -> list[TurnRecord]:
        """Take these out of the queue, as far as they are still in it, and end them."""
        with self._lock:
            dropped = [each for each in records if each in self._queue and each is not self._current]
            for record in dropped:
                self._queue.remove(record)
        for record in dropped:
            record.drop(error)
        return dropped

    def _place_run(self, run: Run, delivery: Delivery) -> None:
        """Send lines to their place: undecoded to our turn once it runs, for no frame but a result ends that."""
        if self.router.running and self._current is not None:
            delivery.tapped.append(run)
            delivery.put(self._current.inbox, run)
            if isinstance(run, MessageRun):
                self._notes.owe(self._current, run)
            return
        lines = run.lines()
        for number, line in enumerate(lines, 1):
            for item in self._decoded(line):
                self._place(item, delivery)
            if self.router.running and self._current is not None and number < len(lines):
                self._place_run(type(run)((b"\n".join(lines[number:]),), len(lines) - number), delivery)
                return

    def _place(self, item: One, delivery: Delivery) -> None:
        frame = item[1]
        if type(frame) is not dict:  # a message of the SDK's own: it stands where it would have stood
            decision = Decision(Place.TURN if self.router.running else Place.PROGRAM)
        else:
            decision = self.router.route(frame)
            if frame.get("type") in COUNTED:
                self._notes.add(self._current if decision.ends else None, frame)
        if decision.place is not Place.ECHO:
            delivery.tapped.append(item)
        if decision.release is not None:
            held, self._held = self._held, []
            for one in held:
                self._put(decision.release, one, delivery)
        if decision.begins and self._current is not None:
            record = self._current
            delivery.then(lambda: self.on_begin(record))
        if decision.place is Place.HELD:
            self._held.append(item)
        else:
            self._put(decision.place, item, delivery)
        if decision.ends:
            self._end_turn(frame if decision.ended_by_result else None, delivery)

    def _put(self, place: Place, item: One, delivery: Delivery) -> None:
        if place is Place.TURN and self._current is not None:
            delivery.put(self._current.inbox, item)
            frame = item[1]
            if type(frame) is dict and frame.get("type") in NOTED:
                self._notes.add(self._current, frame)
        elif place in (Place.TURN, Place.PROGRAM):
            delivery.put(self.program, item)

    def _end_turn(self, result: dict[str, Any] | None, delivery: Delivery) -> None:
        record, self._current = self._current, None
        if record is not None:
            if result is not None and needs_evidence(result):
                self._notes.settle(math.inf)
            delivery.then(lambda: record.end(result))

    def _settle_unkept(self) -> None:
        """Note some, more than comes at once, if nobody else may: the turn's reader, for it is not in memory for him.

        So what is not noted takes no memory that nothing bounds, and the reader never stops for long.
        """
        notes = self._notes
        if not notes.owed:
            return
        records = (notes.oldest, notes.newest)
        unkept = any(record is not None and not record.inbox.keeps for record in records)
        if unkept or notes.bytes > self._inbox_bytes or notes.owed > _OWED:
            with self._lock:
                notes.settle(_SETTLED_BYTES)


def _hand_over(items: list[Item], stream: Inbox | Newest) -> None:
    try:
        stream.put(items)
    except OSError as error:
        text = f"unread messages could not be kept in a temporary file: {error}; read turns as they come"
        failure = SessionClosedError(text)
        stream.finish(failure)  # a part is missing: nothing may follow it
        raise failure from error


def _whole(work: Callable[[], T]) -> T:
    """Do something where nothing strikes, and wait for it: half of it would leave somebody waiting for ever."""
    try:
        return uninterrupted(work, lambda _: None)
    except RuntimeError as error:
        if type(error).__module__ != "builtins":  # what struck this thread
            raise
        return work()  # the interpreter is shutting down, or the system has no more threads


def _unsent() -> SessionClosedError:
    return SessionClosedError("the session was closed before the prompt was sent", phase="closing")


def _dropped() -> AbortedError:
    text = "an interrupt dropped the prompt while it waited, so it was never sent; ask again to have it answered"
    return AbortedError(text, reason="cancelled")
