"""The requests that the program sends us."""

from typing import Any

import attrs

from claude_control.wire.permissions import PermissionUpdate, read_suggestions

__all__ = ["HookCallback", "InboundRequest", "MCPMessage", "PermissionRequest", "UnknownRequest", "read_request"]


@attrs.frozen
class PermissionRequest:
    """The program asks whether a tool may run (`can_use_tool`); `suggestions` fit into `Allow(updated_permissions=…)`.

    `agent_id` is set for a subagent's tool, `blocked_path` for a file outside of the allowed directories; `raw` has the
    rest.
    """

    request_id: str
    tool_name: str
    input: dict[str, Any]
    tool_use_id: str | None
    suggestions: tuple[PermissionUpdate, ...]
    agent_id: str | None
    blocked_path: str | None
    decision_reason: str | None
    decision_reason_type: str | None
    title: str | None
    display_name: str | None
    description: str | None
    raw: dict[str, Any] = attrs.field(repr=False)


@attrs.frozen
class HookCallback:
    """The program runs a hook that was registered as `callback_id`; `input` is the event's own data."""

    request_id: str
    callback_id: str
    input: dict[str, Any]
    tool_use_id: str | None
    raw: dict[str, Any] = attrs.field(repr=False)


@attrs.frozen
class MCPMessage:
    """A message of MCP to a server in this process; `message` is any JSON value, and meant to be JSON-RPC."""

    request_id: str
    server_name: str
    message: Any
    raw: dict[str, Any] = attrs.field(repr=False)


@attrs.frozen
class UnknownRequest:
    """A request of a kind, or of a form, that is not known here."""

    request_id: str
    subtype: str
    raw: dict[str, Any] = attrs.field(repr=False)


InboundRequest = PermissionRequest | HookCallback | MCPMessage | UnknownRequest
"""Whatever the program may ask."""


def read_request(frame: dict[str, Any]) -> InboundRequest | None:
    """Read a `control_request` frame; None if it has no request id, so that it cannot be answered."""
    request_id, body = frame.get("request_id"), frame.get("request")
    if not isinstance(request_id, str):
        return None
    if not isinstance(body, dict):
        return UnknownRequest(request_id, "", frame)
    if body.get("subtype") == "can_use_tool" and isinstance(body.get("tool_name"), str):
        return _read_permission(request_id, body)
    if body.get("subtype") == "hook_callback" and isinstance(body.get("callback_id"), str):
        event_input = _object(body, "input")
        return HookCallback(request_id, body["callback_id"], event_input, _text(body, "tool_use_id"), body)
    if body.get("subtype") == "mcp_message" and isinstance(body.get("server_name"), str):
        return MCPMessage(request_id, body["server_name"], body.get("message"), body)
    return UnknownRequest(request_id, str(body.get("subtype", "")), body)


def _read_permission(request_id: str, body: dict[str, Any]) -> PermissionRequest:
    return PermissionRequest(
        request_id=request_id,
        tool_name=body["tool_name"],
        input=_object(body, "input"),
        tool_use_id=_text(body, "tool_use_id"),
        suggestions=read_suggestions(body.get("permission_suggestions")),
        agent_id=_text(body, "agent_id"),
        blocked_path=_text(body, "blocked_path"),
        decision_reason=_text(body, "decision_reason"),
        decision_reason_type=_text(body, "decision_reason_type"),
        title=_text(body, "title"),
        display_name=_text(body, "display_name"),
        description=_text(body, "description"),
        raw=body,
    )


def _object(body: dict[str, Any], name: str) -> dict[str, Any]:
    value = body.get(name)
    return value if isinstance(value, dict) else {}


def _text(body: dict[str, Any], name: str) -> str | None:
    value = body.get(name)
    return value if isinstance(value, str) else None
