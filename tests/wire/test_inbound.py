"""The requests that the program sends."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claude_control.wire.inbound import HookCallback, MCPMessage, PermissionRequest, UnknownRequest, read_request
from claude_control.wire.permissions import PermissionUpdate
from tests.wire.messages.samples import json_values


def ask(body: Any) -> dict[str, Any]:
    """Return a request of the program."""
    return {"type": "control_request", "request_id": "u1", "request": body}


# As 2.1.332 wrote it; tests/wire/test_permission_details.py looks at the rest of it.
PERMISSION = {
    "subtype": "can_use_tool",
    "tool_name": "Bash",
    "input": {"command": "touch x", "description": "d"},
    "permission_suggestions": [{"type": "setMode", "mode": "acceptEdits", "destination": "session"}],
    "agent_id": "a1",
    "tool_use_id": "toolu_1",
}


def test_permission_request_is_read() -> None:
    """A permission request has the tool, its input, and everything else in its details."""
    request = read_request(ask(PERMISSION))
    assert isinstance(request, PermissionRequest)
    assert (request.request_id, request.tool_name) == ("u1", "Bash")
    assert request.input == {"command": "touch x", "description": "d"}
    assert (request.details.tool_use_id, request.details.agent_id) == ("toolu_1", "a1")
    assert request.details.suggestions == (PermissionUpdate("setMode", mode="acceptEdits"),)
    assert request.details.raw == PERMISSION


def test_sparse_permission_request_is_read() -> None:
    """What 2.0.75 sends, which is little, is enough."""
    request = read_request(ask({"subtype": "can_use_tool", "tool_name": "Write", "input": {}}))
    assert isinstance(request, PermissionRequest)
    assert (request.details.suggestions, request.details.tool_use_id, request.details.agent_id) == ((), None, None)


def test_hook_callback_is_read() -> None:
    """A hook callback has its id and the event's input."""
    body = {"subtype": "hook_callback", "callback_id": "hook_0", "input": {"tool_name": "Bash"}, "tool_use_id": "t1"}
    request = read_request(ask(body))
    assert request == HookCallback("u1", "hook_0", {"tool_name": "Bash"}, "t1", body)


@pytest.mark.parametrize(
    ("body", "subtype"),
    [
        ({"subtype": "of_tomorrow"}, "of_tomorrow"),
        ({"subtype": "can_use_tool"}, "can_use_tool"),
        ({"subtype": "can_use_tool", "tool_name": 5}, "can_use_tool"),
        ({"subtype": "hook_callback", "input": {}}, "hook_callback"),
        ({}, ""),
    ],
    ids=repr,
)
def test_unknown_request_can_still_be_answered(body: dict[str, Any], subtype: str) -> None:
    """A request of an unknown kind or form keeps its id, so that it gets its one answer."""
    assert read_request(ask(body)) == UnknownRequest("u1", subtype, body)


@pytest.mark.parametrize("body", [None, [], "text", 5])
def test_request_without_a_body_can_still_be_answered(body: Any) -> None:
    """Even a request whose body is no object keeps its id."""
    frame = ask(body)
    assert read_request(frame) == UnknownRequest("u1", "", frame)


@pytest.mark.parametrize("request_id", [None, 5, [], {}])
def test_request_without_an_id_is_none(request_id: Any) -> None:
    """A request that cannot be answered is None."""
    assert read_request({**ask(PERMISSION), "request_id": request_id}) is None
    assert read_request({"type": "control_request", "request": PERMISSION}) is None


@given(key=st.sampled_from(sorted(PERMISSION)), value=json_values)
def test_no_value_raises(key: str, value: Any) -> None:
    """Any field may hold anything: the request is read, with the field's default, or is unknown."""
    request = read_request(ask({**PERMISSION, key: value}))
    if isinstance(request, PermissionRequest):
        assert isinstance(request.input, dict)
        assert all(isinstance(update, PermissionUpdate) for update in request.details.suggestions)
        assert isinstance(request.details.agent_id, str | None)
    else:
        assert isinstance(request, UnknownRequest)


# As 2.0.75, 2.1.7 and 2.1.332 wrote it.
CALL = {
    "method": "tools/call",
    "params": {
        "name": "echo",
        "arguments": {"x": "1"},
        "_meta": {"claudecode/toolUseId": "toolu_1", "progressToken": 2},
    },
    "jsonrpc": "2.0",
    "id": 2,
}


@pytest.mark.parametrize("message", [CALL, {"jsonrpc": "2.0", "method": "notifications/initialized"}, None, [], "x"])
def test_message_to_a_server_is_read(message: Any) -> None:
    """A message to a server in this process is handed on as it is, whatever it holds."""
    body = {"subtype": "mcp_message", "server_name": "lab", "message": message}
    assert read_request(ask(body)) == MCPMessage("u1", "lab", message, body)


@pytest.mark.parametrize("name", [None, 5, ["lab"]])
def test_message_to_no_server_is_unknown(name: Any) -> None:
    """A message that names no server is nothing that could be handed on."""
    body = {"subtype": "mcp_message", "server_name": name, "message": CALL}
    assert isinstance(read_request(ask(body)), UnknownRequest)
