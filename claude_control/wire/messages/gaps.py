"""What the SDK itself says in a stream, where something is missing from it."""

from claude_control.records import frozen
from claude_control.wire.messages.message import Message

__all__ = ["BadLine", "MessagesDropped", "OversizedLine"]


@frozen(repr=False)
class MessagesDropped(Message):
    """`count` messages stood here and were dropped, because nobody read them."""

    count: int = 0


@frozen(repr=False)
class OversizedLine(Message):
    """A line of `size` bytes stood here, longer than the limit; `head` is how it began."""

    size: int = 0
    head: str = ""


@frozen(repr=False)
class BadLine(Message):
    """A line stood here that is no JSON object; `reason` says what is wrong with it."""

    line: str = ""
    reason: str = ""
