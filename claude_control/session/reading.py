"""The reader thread: output to frames to their places. It runs no user code and waits for nothing but output."""

import sys
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any

from claude_control import log
from claude_control.errors import ClaudeControlError
from claude_control.process.read_size import READ_BYTES, WAITING_BYTES
from claude_control.process.standby import Standby
from claude_control.process.transport import SubprocessTransport, Transport
from claude_control.session.inbox import PART_BYTES, Item, MessageRun, One, Run
from claude_control.session.pending import PendingReplies
from claude_control.wire import envelope
from claude_control.wire.framing import DELTA, MESSAGE, Decoder, LineSplitter, LongLine, cut
from claude_control.wire.messages import BadLine, Message, OversizedLine, decode, decode_all

__all__ = ["Reader", "read_item", "read_run"]

_log = log.get(__name__)

KEPT_BAD_BYTES = 4096
"""How much of a line that is no JSON object is kept, to show it."""

FIRST_DOUBT, LITTLE_DOUBT, MUCH_DOUBT = 32, 3, 512
"""Control frames or deltas in a row up to which the reader does not stand by: at first, for what it takes (three
descriptors and the time of some five calls), and later. They double each time it has been in vain."""

_FAST_BYTES = WAITING_BYTES  # at least, of a chunk that another one is likely to follow at once
_MOST_BYTES = 16 * READ_BYTES  # of output that are handed over together if they come so fast

_LONE = {kind: b'{"type":"%b",' % kind.encode() for kind in ("control_response", "control_request")}
_NEXT_DELTA = b"\n" + DELTA
_TYPE = itemgetter("type")
_LONE_BEGINS = tuple(_LONE.values())
# A tuple, not a set: an odd frame's type may be a list, which has no hash.
_CONTROL = ("control_response", "control_request", "control_cancel_request")


class Reader:
    """Reads until the output ends.

    What is no control frame is handed over chunk by chunk, or some at a time where they come fast, in order, and before
    the next control frame is dealt with. Deltas are handed over as they came, and so are whole messages of the model's
    after `hand_messages_over`.
    """

    def __init__(
        self,
        transport: Transport,
        *,
        max_line_bytes: int,
        deliver: Callable[[list[Item]], None],
        ask: Callable[[Sequence[dict[str, Any]]], None],
        control: Callable[[str, dict[str, Any]], None],
        lost_control: Callable[[LongLine], None],
        pending: PendingReplies,
        look: Callable[[bool], bool],
    ) -> None:
        self._transport = transport
        self._splitter = LineSplitter(max_line_bytes)
        self._decoder = Decoder()
        self.late_decoder = Decoder(counted=DELTA)
        """For whoever reads what was handed over; other lines than deltas were decoded before."""
        self.message_decoder = Decoder()
        """For whoever is the first to decode messages that were handed over as they came."""
        self._deliver = deliver
        self.ask = ask
        """Deals with requests, which it never fails at."""
        self._control = control  # deals with any other control frame
        self._lost_control = lost_control
        self._kinds = {DELTA: PART_BYTES}  # how lines begin that are handed over as they came, and in runs of how much
        self._items: list[Item] = []  # not yet handed over
        self._fast = False  # whether the last chunk was a large one
        self._handed_over = 0  # of the bytes that were read
        self._pending = pending  # our requests that wait for their answer
        self._look = look  # does what is put off while others may read
        self._frames_before = 0  # the last chunk
        self.wanted = False
        """Whether one who waits for one of several answers would have read."""
        self._singles = 0  # control frames, and chunks that were one delta
        self._singles_before = 0  # the last chunk
        self._calm = 0  # chunks in a row that were one of these each
        self._doubt = FIRST_DOUBT  # how many of them are too few to stand by
        self._stood = False  # whether it was waited so for the last chunk
        self._read_by_others = self._read_before = 0  # lines: in all, and when that was looked at last
        self.kept_id: str | None = None
        """The request whose answer is to be kept as it comes, until then."""
        self.kept_answer: bytes | None = None
        """The line that has answered it."""
        self.standby: Standby | None = None
        """Where others may read while the reader stands by; None as long as it has never done so."""
        self.bytes_read = 0
        self.frames = 0
        self.long_lines = 0

    def hand_messages_over(self) -> None:
        """Hand over whole messages of the model's as they came, too, from now on.

        For a program of which nothing follows from them but what their turn and the account note (2.1.332).
        """
        self._kinds = {**self._kinds, MESSAGE: sys.maxsize}

    @property
    def flawed_lines(self) -> int:
        """Lines that only the tolerant decoder could read."""
        return self._decoder.flawed + self.late_decoder.flawed + self.message_decoder.flawed

    @property
    def bad_lines(self) -> int:
        """Lines that were no JSON object."""
        return self._decoder.bad + self.late_decoder.bad + self.message_decoder.bad

    def run(self) -> None:
        """Read to the end. Raises what ends the session: OSError when the transport fails, or what a message led to."""
        try:
            while self._take(self._read_chunk()):
                if self._items and not self._more():
                    self._hand_over()
            if rest := self._splitter.finish():
                self._read_lines(rest)
        finally:
            self._hand_over()

    def _take(self, chunk: bytes) -> bool:
        """Deal with some output, and let go of it before the next wait; returns False at the end."""
        if not chunk:
            return False
        self.bytes_read += len(chunk)
        self._frames_before = self.frames
        self._fast = _FAST_BYTES <= len(chunk) <= READ_BYTES
        end = chunk.rfind(b"\n") + 1  # looked for once: in the middle of a long line it takes its time
        if MESSAGE in self._kinds and (found := self._splitter.feed_alike(chunk, end, MESSAGE)):
            run = MessageRun(*found)
            self.frames += run.count
            self._items.append(run)
            return True
        block = self._splitter.feed_block(chunk, end)
        if block is None:
            self._read_lines(self._splitter.feed(chunk))
        elif block or chunk.startswith(b"\n"):  # or one empty line
            self._read_block(block, self._splitter.whole)
        return True

    def _more(self) -> bool:
        """Tell whether the program writes faster than we read, so that the next chunk may be handed over with this one.

        To wake the one who waits costs as much as to read a chunk, and often as much as to make messages of it; but not
        of a long line, behind which it waits no longer.
        """
        if not self._fast or self.bytes_read - self._handed_over >= _MOST_BYTES:
            return False
        return isinstance(self._transport, SubprocessTransport) and self._transport.readable()

    def _hand_over(self) -> None:
        self._handed_over = self.bytes_read
        items, self._items = self._items, []
        if items:
            self._deliver(items)

    def _read_chunk(self) -> bytes:
        """Read some output; a transport of the user's own may raise or return anything."""
        if self._singles != self._singles_before:
            self._stand_by()
        else:
            self._calm = 0
        try:
            chunk = self._transport.read()
        except (OSError, ClaudeControlError):
            raise
        except Exception as error:
            raise OSError(f"{type(self._transport).__name__}.read() failed: {error!r}") from error
        if not isinstance(chunk, bytes):
            raise OSError(f"{type(self._transport).__name__}.read() returned {type(chunk).__name__}, not bytes")
        return chunk

    def _stand_by(self) -> None:
        """Leave the next frame to who waits for it, if the last chunks were one each and no answer is due.

        Or if they were control frames alone, and one who waits for an answer wants to read.
        """
        count, self._singles_before = self._singles - self._singles_before, self._singles
        many = self.wanted and count == self.frames - self._frames_before
        if many and not self._splitter.is_empty:
            return  # the rest of it is about to come
        lone = count == 1 and self._splitter.is_empty and not self._pending
        self._calm = self._calm + 1 if (many or lone) and not self._items else 0
        if self._stood:
            self._stood = False
            # Where threads vie for the interpreter, those who wait come too late, and it was done in vain.
            vain, self._read_before = self._read_by_others == self._read_before, self._read_by_others
            self._calm, self._doubt = (0, min(2 * self._doubt, MUCH_DOUBT)) if vain else (self._calm, LITTLE_DOUBT)
        if self._calm > self._doubt and self.kept_id is None and isinstance(self._transport, SubprocessTransport):
            self._stood, self.wanted = True, False
            self.standby = self._transport.stand_by(self._look)

    def control_in(self, chunk: bytes) -> dict[str, Any] | None:
        """Return the request or the answer that the chunk is, if it is one and no more.

        Of who reads while the reader stands by, and then tells the reader with `count_read` if it has dealt with it.
        """
        size = len(chunk)
        whole = chunk.startswith(_LONE_BEGINS) and chunk.find(b"\n") == size - 1 and size <= self._splitter.limit
        decoder = Decoder()  # the reader counts what is odd, for that is left to it
        frame = decoder.decode(chunk) if whole else None
        return None if decoder.flawed else frame

    def answers_in(self, chunk: bytes) -> tuple[Sequence[dict[str, Any]], bytes]:
        """Return the answers of a chunk that begins with whole ones and has nothing else, and what is behind them.

        There are none if it has anything else. As for `control_in`.
        """
        kind = "control_response"
        size, begin = chunk.rfind(b"\n"), _LONE[kind]
        ends = chunk.count(b"\n", 0, size)
        if size < 0 or len(chunk) > self._splitter.limit or not chunk.startswith(begin):
            return (), chunk
        if chunk.count(b"\n" + begin, 0, size) < ends:
            return (), chunk
        frames = Decoder().decode_block((chunk[:size],), ends + 1)
        return (frames, chunk[size + 1 :]) if frames is not None and _are(kind, frames) else ((), chunk)

    def deltas_in(self, chunk: bytes) -> int:
        """Return how many lines the chunk is if all are handed over as they came, whatever they say, or else 0.

        As for `control_in`.
        """
        if not chunk.startswith(DELTA) or not chunk.endswith(b"\n") or len(chunk) > self._splitter.limit:
            return 0
        lines = chunk.count(b"\n")
        return lines if lines == 1 or chunk.count(_NEXT_DELTA) == lines - 1 else 0

    def count_read(self, size: int, lines: int = 1) -> None:
        """Count lines, and their bytes, that another one has read."""
        self.bytes_read += size  # with nothing called in the middle: the reader may count meanwhile
        self.frames += lines
        self._read_by_others += lines

    def _read_block(self, block: bytes, whole: int) -> None:
        """Read lines with newlines between them, none of them in the first `whole` bytes."""
        if block.find(b"\n", whole) < 0:
            self._singles += block.startswith(DELTA)
            self._read_part(self._beginning_of(block), block, 1)
        elif not self._read_controls(block, whole):
            for part in cut(block, self._kinds, whole):
                self._read_part(*part)

    def _read_controls(self, block: bytes, whole: int) -> bool:
        """Deal with lines that are all answers or all requests, as they come where many are out; False if any is not.

        That takes a quarter of the time less than line by line.
        """
        kind = next((kind for kind, begin in _LONE.items() if block.startswith(begin)), "")
        if not kind or self.kept_id is not None:
            return False
        ends = block.count(b"\n", whole)
        if block.count(b"\n" + _LONE[kind], whole) < ends:
            return False
        asks = kind == "control_request"
        frames = self._decoder.decode_block((block,), ends + 1, exact=asks)
        if frames is None or not _are(kind, frames):
            return False
        if self._items:
            self._hand_over()
        self.frames += len(frames)
        if asks:
            self._singles += len(frames)
            self.ask(frames)
            return True
        done = self._pending.settle(frames)
        self._singles += done
        for number, frame in enumerate(frames[done:], done):
            if not self._did_control(frame):
                self._items += self._bad_line(block.split(b"\n")[number])
        return True

    def _read_lines(self, lines: Sequence[bytes | LongLine]) -> None:
        """Read lines of which one may be too long."""
        for line in lines:
            if isinstance(line, LongLine):
                self._items.append(self._long_line(line))
            else:
                self._read_part(self._beginning_of(line), line, 1)

    def _beginning_of(self, line: bytes) -> bytes | None:
        """Return what the line begins with if it is one to be handed over as it came."""
        if line.startswith(DELTA):
            return DELTA
        return MESSAGE if line.startswith(MESSAGE) and MESSAGE in self._kinds else None

    def _read_part(self, begin: bytes | None, lines: bytes, count: int) -> None:
        """Read lines that begin like those that are handed over as they came, or one that does not."""
        self.frames += count
        if begin is DELTA:
            self._items.append(Run((lines,), count))
        elif begin is MESSAGE:
            self._items.append(MessageRun((lines,), count))
        else:
            self._read_line(lines)

    def _read_line(self, line: bytes) -> None:
        frame = self._decoder.decode(line)
        if frame is None:
            self.frames -= 1
            self._items += self._bad_line(line)
        elif frame.get("type") not in _CONTROL:
            self._items.append((len(line), frame, line))
        else:
            if self._items:
                self._hand_over()
            kept = self.kept_id
            if kept is not None and frame["type"] == "control_response" and envelope.answered(frame) == kept:
                self.kept_id, self.kept_answer = None, line  # before anybody is told
            if not self._did_control(frame):
                self._items += self._bad_line(line)

    def _did_control(self, frame: dict[str, Any]) -> bool:
        """Deal with a control frame; False if it is nested so deeply, about 1000 levels, that it cannot be."""
        self._singles += 1
        kind = frame["type"]
        if kind == "control_request":
            self.ask((frame,))
            return True
        if kind == "control_response" and self._pending.settle((frame,)):
            return True
        try:
            self._control(kind, frame)
        except RecursionError:
            return False
        return True

    def decoded(self, line: bytes) -> list[One]:
        """Return a line of a run as an item that can be looked into."""
        frame = self._decoder.decode(line)
        return self._bad_line(line) if frame is None else [(len(line), frame, line)]

    def _long_line(self, line: LongLine) -> One:
        self.long_lines += 1
        _log.warning("line.too_long", size=line.size, control=line.is_control)
        if line.is_control:
            self._lost_control(line)
        return len(line.head), OversizedLine(size=line.size, head=line.head.decode("utf-8", "replace")), b""

    def _bad_line(self, line: bytes) -> list[One]:
        if not line.strip():
            return []  # blank lines mean nothing
        bad = _bad_line(line)
        return [(len(bad.line), bad, b"")]


def _are(kind: str, frames: Sequence[Any]) -> bool:
    """Tell whether frames are of a kind; another one may have the key "type" twice, or a line be torn."""
    try:
        return [*map(_TYPE, frames)].count(kind) == len(frames)
    except (KeyError, TypeError):
        return False


def read_run(run: Run, decoder: Decoder) -> tuple[list[Message], Sequence[dict[str, Any] | None]]:
    """Return the messages of a run, and their frames: None for a line that is no JSON object."""
    frames = decoder.decode_block(run.pieces, run.count)
    if frames is not None:
        return decode_all(frames), frames
    lines = run.lines()
    odd = [decoder.decode(line) for line in lines]
    return [_bad_line(line) if frame is None else decode(frame) for line, frame in zip(lines, odd, strict=True)], odd


def read_item(item: Any, decode_line: Callable[[bytes], dict[str, Any] | None]) -> Message:
    """Return the message that something stands for which a stream has given: a line, a frame, or the message itself."""
    if item.__class__ is bytes:
        line, item = item, decode_line(item)
        if item is None:
            return _bad_line(line)
    return decode(item) if item.__class__ is dict else item


def _bad_line(line: bytes) -> BadLine:
    _log.warning("line.bad", size=len(line))
    return BadLine(line=line[:KEPT_BAD_BYTES].decode("utf-8", "replace"), reason="not a JSON object")
