"""What every request record has in common."""

from typing import Any, ClassVar, Generic, TypeVar

import attrs

from claude_control.errors import ProtocolError
from claude_control.wire.support import OLDEST

ReplyT = TypeVar("ReplyT", covariant=True)


class Request(Generic[ReplyT]):
    """A request that we send; subclasses are frozen records named for their subtype."""

    __slots__ = ()

    subtype: ClassVar[str]

    def body(self) -> dict[str, Any]:
        """Return the `request` object of the wire: the subtype and its fields."""
        raise NotImplementedError

    def reply(self, response: dict[str, Any]) -> ReplyT:
        """Read the payload of the program's answer (`{}` if it sent none).

        Raises `ProtocolError` where a field has the wrong kind of container.
        """
        raise NotImplementedError

    def needs(self) -> tuple[str, str]:
        """Return what of this request is newest, and the oldest measured program that knows it."""
        return self.subtype, OLDEST


@attrs.frozen
class EmptyReply:
    """An answer that says only that the request was carried out."""

    raw: dict[str, Any] = attrs.field(factory=dict, repr=False)


def read_list(response: dict[str, Any], name: str, subtype: str) -> list[Any]:
    """Return the list `name` of a payload, empty if absent; raises `ProtocolError` if it is no list."""
    value = response.get(name)
    if value is None:
        return []
    if not isinstance(value, list):
        raise ProtocolError(f"{name} in the answer to {subtype} is not a list but {type(value).__name__}", raw=response)
    return value


def read_texts(response: dict[str, Any], name: str, subtype: str) -> tuple[str, ...]:
    """Return the list of texts `name` of a payload, without what is no text."""
    return tuple(item for item in read_list(response, name, subtype) if isinstance(item, str))


def read_text(response: dict[str, Any], name: str) -> str | None:
    """Return the text `name` of a payload, or None."""
    value = response.get(name)
    return value if isinstance(value, str) else None


def read_count(response: dict[str, Any], name: str) -> int | None:
    """Return the whole number `name` of a payload, or None."""
    value = response.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else None
