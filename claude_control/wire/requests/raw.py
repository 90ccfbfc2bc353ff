"""A request made by hand: a subtype and its fields as on the wire."""

from collections.abc import Mapping
from typing import Any

import attrs

from claude_control.errors import OptionsError
from claude_control.records import frozen
from claude_control.wire.requests.base import Request, newest, wire_fields
from claude_control.wire.requests.catalogue import RECORDS

__all__ = ["RawRequest"]

_RESERVED = frozenset({"initialize", "mcp_message"})  # open() and the tool servers send these, at the right time


@frozen
class RawRequest(Request[dict[str, Any]]):
    """Any subtype with its fields as on the wire; the reply is the payload as it came.

    A subtype that has a record is checked by it, so that nothing passes here that would not pass there.
    """

    subtype: str = attrs.field()  # type: ignore[misc]  # a class variable in every other request
    fields: Mapping[str, Any] = attrs.field(factory=dict, repr=False)

    @fields.validator
    def _object(self, _attribute: object, value: object) -> None:
        if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
            text = f"the fields of {self.subtype} must be a dict with texts as keys, not a {type(value).__name__}"
            raise OptionsError(f"{text} of another kind", field="fields")  # they may hold secrets

    @subtype.validator
    def _text(self, _attribute: object, value: object) -> None:
        if not isinstance(value, str) or not value or value in _RESERVED:
            raise OptionsError(f"{value!r} is not a control request that can be sent by hand", field="subtype")

    def typed(self) -> Request[Any] | None:
        """Return the record of this subtype with these fields, or None if there is none.

        Raises `OptionsError` for wrong fields.
        """
        record = RECORDS.get(self.subtype)
        if record is None:
            return None
        known = wire_fields(record)
        unknown = [name for name in self.fields if name not in known and name != "subtype"]
        if unknown:
            text = f"{self.subtype} has no field {unknown[0]!r}; it has {', '.join(known) or 'none'}"
            raise OptionsError(text, field="fields")
        try:
            return record(**{known[name].name: value for name, value in self.fields.items() if name in known})
        except TypeError as error:
            raise OptionsError(f"fields of {self.subtype}: {error}", field="fields") from error

    def body(self) -> dict[str, Any]:
        """Return the wire form."""
        return {**self.fields, "subtype": self.subtype}

    def reply(self, response: dict[str, Any]) -> dict[str, Any]:
        """Return the payload."""
        return response

    def needs(self) -> tuple[str, str]:
        """Return what its record says, or the oldest program that answers the subtype."""
        typed = self.typed()
        return newest(self.body()) if typed is None else typed.needs()
