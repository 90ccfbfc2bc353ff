"""A request of a kind that this package has no record for."""

from collections.abc import Mapping
from typing import Any

import attrs

from claude_control.errors import OptionsError
from claude_control.wire.requests.base import Request
from claude_control.wire.requests.files import RewindFiles
from claude_control.wire.requests.mcp import MCPStatus
from claude_control.wire.requests.steering import Interrupt, SetMaxThinkingTokens, SetModel, SetPermissionMode
from claude_control.wire.support import CURRENT, OLD_SUBTYPES, OLDEST

_RESERVED = frozenset({"initialize", "mcp_message"})  # open() and the tool servers send these, at the right time
_RECORDS: dict[str, type[Request[Any]]] = {
    record.subtype: record
    for record in (Interrupt, SetPermissionMode, SetModel, SetMaxThinkingTokens, MCPStatus, RewindFiles)
}


@attrs.frozen
class RawRequest(Request[dict[str, Any]]):
    """Any subtype with its fields as on the wire; the reply is the payload as it came.

    A subtype that has a record is checked by it, so that nothing passes here that would not pass there.
    """

    subtype: str = attrs.field()  # type: ignore[misc]  # a class variable in every other request
    fields: Mapping[str, Any] = attrs.field(factory=dict)

    @fields.validator
    def _object(self, _attribute: object, value: object) -> None:
        if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
            raise OptionsError(
                f"the fields of {self.subtype} must be a dict with texts as keys, not {value!r}", field="fields"
            )
        if self.subtype == "mcp_set_servers":  # malformed, it kills 2.0.75 and 2.1.7
            servers = value.get("servers")
            if not isinstance(servers, Mapping) or not all(isinstance(config, Mapping) for config in servers.values()):
                raise OptionsError("mcp_set_servers needs `servers`, a dict of configurations (dicts)", field="servers")

    @subtype.validator
    def _text(self, _attribute: object, value: object) -> None:
        if not isinstance(value, str) or not value or value in _RESERVED:
            raise OptionsError(f"{value!r} is not a control request that can be sent by hand", field="subtype")

    def typed(self) -> Request[Any] | None:
        """Return the record of this subtype with these fields, or None if there is none.

        Raises `OptionsError` for wrong fields.
        """
        record = _RECORDS.get(self.subtype)
        if record is None:
            return None
        try:
            return record(**self.fields)
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
        if typed is not None:
            return typed.needs()
        return self.subtype, OLDEST if self.subtype in OLD_SUBTYPES else CURRENT
