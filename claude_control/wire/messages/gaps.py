"""What the SDK itself says in a stream, where something is missing from it."""

import attrs

from claude_control.wire.messages.message import Message

__all__ = ["BadLine", "MessagesDropped", "OversizedLine"]


@attrs.frozen(repr=False)
class MessagesDropped(Message):
    """`count` messages stood here and were dropped, because nobody read them."""

    count: int = 0


@attrs.frozen(repr=False)
class OversizedLine(Message):
    """A line of `size` bytes stood here, longer than the limit; `head` is how it began."""

    size: int = 0
    head: str = ""


@attrs.frozen(repr=False)
class BadLine(Message):
    """A line stood here that is no JSON object; `reason` says what is wrong with it."""

    line: str = ""
    reason: str = ""
