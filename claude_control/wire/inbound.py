"""The requests that the program sends us."""

from typing import Any

from claude_control.records import define
from claude_control.wire.dialogs import DialogRequest
from claude_control.wire.elicitation import ElicitationRequest
from claude_control.wire.permission_details import PermissionDetails
from claude_control.wire.reading import reader

__all__ = [
    "Elicitation",
    "HookCallback",
    "InboundRequest",
    "MCPMessage",
    "PermissionRequest",
    "UnknownRequest",
    "UserDialog",
    "read_request",
]


@define
class PermissionRequest:
    """The program asks whether a tool may run (`can_use_tool`); `raw` has what it tells beside tool and input."""

    request_id: str
    tool_name: str
    input: dict[str, Any]
    raw: dict[str, Any]

    @property
    def details(self) -> PermissionDetails:
        """What it tells, read anew at each call: few callbacks look at it."""
        return reader(PermissionDetails)(self.raw)


@define
class HookCallback:
    """The program runs a hook that was registered as `callback_id`; `input` is the event's own data."""

    request_id: str
    callback_id: str
    input: dict[str, Any]
    tool_use_id: str | None
    raw: dict[str, Any]


@define
class MCPMessage:
    """A message of MCP to a server in this process; `message` is any JSON value, and meant to be JSON-RPC."""

    request_id: str
    server_name: str
    message: Any
    raw: dict[str, Any]


@define
class Elicitation:
    """An MCP server outside of this process asks a person something."""

    request_id: str
    request: ElicitationRequest


@define
class UserDialog:
    """The program wants a dialog shown to a person."""

    request_id: str
    request: DialogRequest


@define
class UnknownRequest:
    """A request of a kind, or of a form, that is not known here."""

    request_id: str
    subtype: str
    raw: dict[str, Any]


InboundRequest = PermissionRequest | HookCallback | MCPMessage | Elicitation | UserDialog | UnknownRequest
"""Whatever the program may ask."""


def read_request(frame: dict[str, Any]) -> InboundRequest | None:
    """Read a `control_request` frame; None if it has no request id, so that it cannot be answered."""
    request_id, body = frame.get("request_id"), frame.get("request")
    if request_id.__class__ is not str:
        return None
    if body.__class__ is not dict:
        return UnknownRequest(request_id, "", frame)
    subtype = body.get("subtype")
    if subtype == "can_use_tool" and body.get("tool_name").__class__ is str:
        return PermissionRequest(request_id, body["tool_name"], _object(body, "input"), body)
    if subtype == "hook_callback" and body.get("callback_id").__class__ is str:
        event_input = _object(body, "input")
        return HookCallback(request_id, body["callback_id"], event_input, _text(body, "tool_use_id"), body)
    if subtype == "mcp_message" and body.get("server_name").__class__ is str:
        return MCPMessage(request_id, body["server_name"], body.get("message"), body)
    if subtype == "elicitation":
        return Elicitation(request_id, reader(ElicitationRequest)(body))
    if subtype == "request_user_dialog":
        return UserDialog(request_id, reader(DialogRequest)(body))
    return UnknownRequest(request_id, str(body.get("subtype", "")), body)


def _object(body: dict[str, Any], name: str) -> dict[str, Any]:
    value = body.get(name)
    return value if value.__class__ is dict else {}


def _text(body: dict[str, Any], name: str) -> str | None:
    value = body.get(name)
    return value if value.__class__ is str else None
