"""The program's answer to the handshake, kept small."""

import marshal

from claude_control.wire.requests import Initialize, InitializeReply

__all__ = ["Greeting"]


class Greeting:
    """What the program said of itself at the start; decoded when it is asked for.

    Decoded it would be the largest thing that a session holds, and hardly anybody looks at it: 8 KiB of JSON become 32
    KiB of objects. As bytes of `marshal`, which keeps every value exactly, it takes 6.
    """

    __slots__ = ("_payload", "_reply", "capabilities")

    def __init__(self, reply: InitializeReply) -> None:
        self.capabilities = reply.capabilities
        self._payload = marshal.dumps(reply.raw)
        self._reply: InitializeReply | None = None

    def read(self) -> InitializeReply:
        """Return it."""
        if self._reply is None:
            self._reply = Initialize().reply(marshal.loads(self._payload))
        return self._reply
