"""The reader thread: output to frames to their places. It runs no user code and waits for nothing but output."""

from collections.abc import Callable
from typing import Any

from claude_control import log
from claude_control.errors import ClaudeControlError
from claude_control.process.transport import Transport
from claude_control.session.inbox import Item, One
from claude_control.wire.framing import DELTA, Decoder, LineSplitter, LongLine
from claude_control.wire.messages import BadLine, Message, OversizedLine, decode

__all__ = ["Reader", "read_item"]

_log = log.get(__name__)

KEPT_BAD_BYTES = 4096
"""How much of a line that is no JSON object is kept, to show it."""

# A tuple, not a set: an odd frame's type may be a list, which has no hash.
_CONTROL = ("control_response", "control_request", "control_cancel_request")


class Reader:
    """Reads until the output ends.

    What is no control frame is handed over chunk by chunk, in order, and before the next control frame is dealt with.
    Deltas are handed over as they came.
    """

    def __init__(
        self,
        transport: Transport,
        *,
        max_line_bytes: int,
        deliver: Callable[[list[Item]], None],
        control: Callable[[str, dict[str, Any]], None],
        lost_control: Callable[[LongLine], None],
    ) -> None:
        self._transport = transport
        self._splitter = LineSplitter(max_line_bytes)
        self._decoder = Decoder()
        self.late_decoder = Decoder(counted=DELTA)
        """For whoever reads what was handed over; other lines than deltas were decoded before."""
        self._deliver = deliver
        self._control = control
        self._lost_control = lost_control
        self.bytes_read = 0
        self.frames = 0
        self.long_lines = 0

    @property
    def flawed_lines(self) -> int:
        """Lines that only the tolerant decoder could read."""
        return self._decoder.flawed + self.late_decoder.flawed

    @property
    def bad_lines(self) -> int:
        """Lines that were no JSON object."""
        return self._decoder.bad + self.late_decoder.bad

    def run(self) -> None:
        """Read to the end. Raises what ends the session: OSError when the transport fails, or what a message led to."""
        while self._take(self._read_chunk()):
            pass
        self._read_lines(self._splitter.finish())

    def _take(self, chunk: bytes) -> bool:
        """Deal with some output, and let go of it before the next wait; returns False at the end."""
        self.bytes_read += len(chunk)
        self._read_lines(self._splitter.feed(chunk))
        return bool(chunk)

    def _read_chunk(self) -> bytes:
        """Read some output; a transport of the user's own may raise or return anything."""
        try:
            chunk = self._transport.read()
        except (OSError, ClaudeControlError):
            raise
        except Exception as error:
            raise OSError(f"{type(self._transport).__name__}.read() failed: {error!r}") from error
        if not isinstance(chunk, bytes):
            raise OSError(f"{type(self._transport).__name__}.read() returned {type(chunk).__name__}, not bytes")
        return chunk

    def _read_lines(self, lines: list[bytes | LongLine]) -> None:
        items: list[Item] = []
        run: list[bytes] = []
        decode = self._decoder.decode
        for line in lines:
            if isinstance(line, LongLine):
                run, items = [], [*items, self._long_line(line)]
                continue
            self.frames += 1
            if line.startswith(DELTA):
                if not run:
                    items.append(run)
                run.append(line)
                continue
            run = []
            frame = decode(line)
            if frame is None:
                self.frames -= 1
                items += self._bad_line(line)
            elif frame.get("type") not in _CONTROL:
                items.append((len(line), frame, line))
            else:
                if items:
                    self._deliver(items)
                    items = []
                try:
                    self._control(frame["type"], frame)
                except RecursionError:  # nested about 1000 levels deep: not even its text can be shown
                    items += self._bad_line(line)
        if items:
            self._deliver(items)

    def decoded(self, line: bytes) -> list[One]:
        """Return a delta as an item that can be looked into."""
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
