"""The base of the program's messages about itself."""

from typing import Any

import attrs

from claude_control.records import frozen
from claude_control.wire.messages.message import Message

__all__ = ["SystemMessage"]


@frozen(repr=False)
class SystemMessage(Message):
    """News of the program itself, told apart by `subtype`; `data` is the whole decoded object, as `raw` is.

    A known subtype arrives as a subclass with typed fields, any other as this class.
    """

    subtype: str = ""
    data: dict[str, Any] = attrs.field(factory=dict, repr=False)

    def __repr__(self) -> str:
        if type(self) is SystemMessage:
            return f"SystemMessage(subtype={self.subtype!r}, data={self.data!r})"
        return super().__repr__()
