"""The reader thread: output to frames to their places. It runs no user code and waits for nothing but output."""

from collections.abc import Callable
from typing import Any

from claude_control import log
from claude_control.errors import ClaudeControlError
from claude_control.process.transport import Transport
from claude_control.session.inbox import Item
from claude_control.wire.framing import Decoder, LineSplitter, LongLine
from claude_control.wire.messages import BadLine, OversizedLine

__all__ = ["Reader"]

_log = log.get(__name__)

KEPT_BAD_BYTES = 4096
"""How much of a line that is no JSON object is kept, to show it."""

# A tuple, not a set: an odd frame's type may be a list, which has no hash.
_CONTROL = ("control_response", "control_request", "control_cancel_request")


class Reader:
    """Reads until the output ends.

    What is no control frame is handed over chunk by chunk, in order, and before the next control frame is dealt with.
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
        self._deliver = deliver
        self._control = control
        self._lost_control = lost_control
        self.bytes_read = 0
        self.frames = 0
        self.long_lines = 0

    @property
    def flawed_lines(self) -> int:
        """Lines that only the tolerant decoder could read."""
        return self._decoder.flawed

    @property
    def bad_lines(self) -> int:
        """Lines that were no JSON object."""
        return self._decoder.bad

    def run(self) -> None:
        """Read to the end. Raises what ends the session: OSError when the transport fails, or what a message led to."""
        while chunk := self._read_chunk():
            self.bytes_read += len(chunk)
            self._read_lines(self._splitter.feed(chunk))
        self._read_lines(self._splitter.finish())

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
        decode = self._decoder.decode
        for line in lines:
            if isinstance(line, LongLine):
                items.append(self._long_line(line))
                continue
            frame = decode(line)
            if frame is None:
                items += self._bad_line(line)
                continue
            self.frames += 1
            kind = frame.get("type")
            if kind in _CONTROL:
                if items:
                    self._deliver(items)
                    items = []
                try:
                    self._control(kind, frame)
                except RecursionError:  # nested about 1000 levels deep: not even its text can be shown
                    items += self._bad_line(line)
            else:
                items.append((len(line), frame, line))
        if items:
            self._deliver(items)

    def _long_line(self, line: LongLine) -> Item:
        self.long_lines += 1
        _log.warning("line.too_long", size=line.size, control=line.is_control)
        if line.is_control:
            self._lost_control(line)
        return len(line.head), OversizedLine(size=line.size, head=line.head.decode("utf-8", "replace")), b""

    def _bad_line(self, line: bytes) -> list[Item]:
        if not line.strip():
            return []  # blank lines mean nothing
        _log.warning("line.bad", size=len(line))
        text = line[:KEPT_BAD_BYTES].decode("utf-8", "replace")
        return [(len(text), BadLine(line=text, reason="not a JSON object"), b"")]
