"""The program's answer to the handshake, kept small."""

from claude_control.wire import envelope
from claude_control.wire.framing import Decoder
from claude_control.wire.requests import Initialize, InitializeReply

__all__ = ["Greeting"]


class Greeting:
    """What the program said of itself at the start; decoded again when it is asked for.

    Decoded it would be the largest thing that a session holds, and hardly anybody looks at it: 8 KiB of JSON become 32
    KiB of objects.
    """

    __slots__ = ("_line", "_reply")

    def __init__(self, line: bytes) -> None:
        self._line = line  # as it came
        self._reply: InitializeReply | None = None

    def read(self) -> InitializeReply:
        """Return it."""
        if self._reply is None:
            frame = Decoder().decode(self._line)
            assert frame is not None  # it was read before
            self._reply = Initialize().reply(envelope.read_reply(frame)[0])
        return self._reply
