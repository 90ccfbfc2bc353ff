"""The base of all messages, and the message of a type that is not known here."""

from typing import TYPE_CHECKING, Any, ClassVar

import attrs

from claude_control.records import frozen
from claude_control.wire.reading import late_reader
from claude_control.wire.record import WireRecord

__all__ = ["Message", "UnknownMessage", "read_origin"]


@frozen(repr=False)
class Message(WireRecord):
    """One message of a session's stream.

    A base class and not a union, so that `isinstance(message, Message)` holds for every message, those of later
    programs included. Most have a `uuid` and the `session_id` they belong to.
    """

    reads_late: ClassVar[bool] = True

    uuid: str | None = attrs.field(default=None, kw_only=True)
    session_id: str | None = attrs.field(default=None, kw_only=True)

    if not TYPE_CHECKING:  # a type checker would take it for leave to ask for any name

        def __getattr__(self, name: str) -> Any:
            """Read a field that was left for later; called for what is not set yet."""
            value = late_reader(type(self), name)(self.raw)
            object.__setattr__(self, name, value)
            return value


@frozen(repr=False)
class UnknownMessage(Message):
    """A message of a type that is not known here; `raw` has it as it came."""

    type: str = ""
    raw: dict[str, Any] = attrs.field(factory=dict)


def read_origin(value: Any) -> dict[str, Any] | None:
    """Read where a message comes from: an object with a `kind`, such as "task-notification"; None without one."""
    return value if isinstance(value, dict) and isinstance(value.get("kind"), str) else None
