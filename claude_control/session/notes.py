"""What turns and the account of a session note of the frames, in their order, and often late.

The reader hands whole messages of the model's over as lines. They are decoded by who reads the turn, and noted then;
whatever is to be noted after them waits until then too. Who asks before that, for the text so far or for the usage, has
it all noted first.
"""

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from claude_control.session.inbox import MessageRun
from claude_control.session.ledger import Ledger
from claude_control.session.turn import TurnRecord

__all__ = ["Notes"]

Frame = dict[str, Any]


class _OwedFrame:
    """A frame that is to be noted; `noted` as of a run."""

    __slots__ = ("frame", "noted")

    def __init__(self, frame: Frame) -> None:
        self.frame = frame
        self.noted = False


class Notes:
    """Not thread-safe: the caller holds a lock.

    A call that was struck from outside is made again: nothing is lost, and nothing counts twice.
    """

    def __init__(self, decode: Callable[[bytes], Frame | None]) -> None:
        self.ledger = Ledger()
        self._decode = decode
        self.newest: TurnRecord | None = None
        """The turn of the newest run, if it is not yet noted."""
        self.bytes = 0
        """The size of the runs that are not yet noted."""
        # Begins with a run, if with anything.
        self._owed: deque[tuple[TurnRecord | None, MessageRun | _OwedFrame]] = deque()

    @property
    def owed(self) -> int:
        """How many runs and frames are not yet noted."""
        return len(self._owed)

    @property
    def oldest(self) -> TurnRecord | None:
        """The turn of the oldest run that is not yet noted."""
        return self._owed[0][0] if self._owed else None

    def add(self, record: TurnRecord | None, frame: Frame) -> None:
        """Note a frame: for the account, or for a turn one of its messages, or for both of them the turn's result."""
        if self._owed:
            self._owed.append((record, _OwedFrame(frame)))
        else:
            self._note(record, _OwedFrame(frame))

    def owe(self, record: TurnRecord, run: MessageRun) -> None:
        """Note a run of messages later."""
        self._owed.append((record, run))
        self.bytes += run.size
        self.newest = record

    def settle(self, most: float) -> None:
        """Note what has been owed longest: runs of so many bytes, at least one if any, and the frames behind them."""
        while self._owed:
            record, thing = self._owed[0]
            if isinstance(thing, MessageRun):
                if not thing.noted:
                    if most <= 0:
                        return
                    most -= thing.size
                    self._note_run(record, thing, [self._decode(line) for line in thing.lines()])
            elif not thing.noted:
                self._note(record, thing)
            self._drop_first()
        self.newest = None

    def _drop_first(self) -> None:
        self._owed.popleft()
        if not self._owed:
            self.bytes = 0  # exactly, whatever was struck

    def settle_run(self, run: MessageRun, frames: Sequence[Frame | None]) -> None:
        """Note a run that was decoded, and whatever is owed from before it."""
        while self._owed and not run.noted:
            record, thing = self._owed[0]
            if thing is run:
                self._note_run(record, run, frames)
            else:
                self.settle(1)
        self.settle(0)

    def _note(self, record: TurnRecord | None, owed: _OwedFrame) -> None:
        if record is None:
            self.ledger.note(owed.frame)
        elif owed.frame["type"] == "result":
            record.usage = self.ledger.note(owed.frame)
        elif owed.frame["type"] == "assistant":
            record.note_messages([owed.frame], owed)
        else:
            record.note(owed.frame)

    def _note_run(self, record: TurnRecord | None, run: MessageRun, frames: Sequence[Frame | None]) -> None:
        found = list(filter(None, frames))
        self.ledger.note_messages(found)
        assert record is not None
        record.note_messages(found, run)
        self.bytes -= run.size
