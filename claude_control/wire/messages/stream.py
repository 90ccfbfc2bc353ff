"""Pieces of an answer while the model still writes it."""

from typing import Any

import attrs

from claude_control.records import frozen
from claude_control.wire.messages.message import Message

__all__ = ["StreamEvent"]


@frozen(repr=False)
class StreamEvent(Message):
    """One event of the Messages API's stream, as `event`; sent with `include_partial_messages` only.

    The one message that comes thousands of times a second (4600/s measured on 2.1.332), so `event` stays a dict, and
    what few will ever ask for is in `raw` alone.
    """

    uuid: str = ""
    session_id: str = ""
    event: dict[str, Any] = attrs.field(factory=dict)
    parent_tool_use_id: str | None = None
    user_message_uuid: str | None = None
    user_message_uuids: list[str] | None = None
    ttft_ms: float | None = None
    """Time to the first token, on `message_start`."""
    api_message_id: str | None = None

    @property
    def text(self) -> str:
        """The text of a text delta; "" for every other event."""
        raw = self.raw
        try:
            delta = (raw["event"] if raw else self.event)["delta"]  # `event` is not read for this alone
            if delta["type"] == "text_delta":
                text = delta["text"]
                if text.__class__ is str:
                    return text
        except (KeyError, TypeError):  # another event, or nothing like one
            pass
        return ""
