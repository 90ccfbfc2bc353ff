"""Requests about the MCP servers of a session."""

from typing import Any

import pytest

from claude_control.errors import OptionsError, ProtocolError
from claude_control.wire.requests import MCPServerStatus, MCPSetServers, MCPStatus
from tests.wire.requests.replies import exchanges


@pytest.mark.parametrize("version", ["2.0.75", "2.1.7", "2.1.332"])
def test_failed_server_is_read(version: str) -> None:
    """A server that could not be started is found by its name, with the reason where the program gives one."""
    payloads = [
        one.reply.response for one in exchanges() if one.version == version and one.name.startswith("mcp_status")
    ]
    failed = next(payload for payload in payloads if "failed" in str(payload))
    server = MCPStatus().reply(failed)["bad"]
    assert (server.name, server.status) == ("bad", "failed")
    assert bool(server.error) is (version != "2.0.75")


def test_connected_server_is_read() -> None:
    """A connected server has its info, scope and tools (2.1.332)."""
    payload = next(one.reply.response for one in exchanges() if '"connected"' in str(one.answers).replace("'", '"'))
    server = MCPStatus().reply(payload)["lab"]
    assert (server.status, server.scope) == ("connected", "dynamic")
    assert server.server_info == {"name": "lab", "version": "1"}
    assert [tool["name"] for tool in server.tools] == ["echo", "slow"]


def test_unknown_name_is_a_key_error() -> None:
    """A server that is not there is a KeyError with its name."""
    with pytest.raises(KeyError, match="none"):
        MCPStatus().reply({"mcpServers": []})["none"]


@pytest.mark.parametrize("item", [None, [], "lab", 5], ids=repr)
def test_server_that_is_no_object_is_a_protocol_error(item: Any) -> None:
    """A server of the wrong kind is refused with the whole answer."""
    payload = {"mcpServers": [{"name": "good"}, item]}
    with pytest.raises(ProtocolError) as caught:
        MCPStatus().reply(payload)
    assert caught.value.raw is payload


def test_odd_server_is_read() -> None:
    """Fields of other types are their defaults; tools that are no objects are left out."""
    odd: dict[str, Any] = {
        "name": 5,
        "status": None,
        "error": [],
        "scope": {},
        "serverInfo": None,
        "tools": ["a", {"name": "b"}],
    }
    server = MCPStatus().reply({"mcpServers": [odd]}).servers[0]
    assert server == MCPServerStatus(tools=({"name": "b"},), raw=odd)


@pytest.mark.parametrize(
    ("servers", "told"),
    [
        (None, "servers must map names"),
        ([], "servers must map names"),
        ({"": {"command": "x"}}, "keys are server names"),
        ({5: {"command": "x"}}, "keys are server names"),
        ({"lab": None}, "'lab'"),
        ({"lab": {}}, "needs 'command'"),
        ({"lab": {"command": ""}}, "needs 'command'"),
        ({"lab": {"type": "http", "command": "x"}}, "needs 'url'"),
        ({"lab": {"type": 5, "url": "x"}}, "'lab'"),
        ({"lab": {"type": "sdk", "name": "other"}}, "set_mcp_servers"),
        ({"lab": {"type": "sdk", "name": "lab", "instance": object()}}, "set_mcp_servers"),
    ],
    ids=repr,
)
def test_malformed_servers_are_refused(servers: Any, told: str) -> None:
    """Servers that would end 2.0.75 and 2.1.7, or that cannot run, are refused and never sent."""
    with pytest.raises(OptionsError, match=told) as caught:
        MCPSetServers(servers)
    assert caught.value.field == "servers"


def test_servers_are_completed() -> None:
    """A server on stdio is sent with `args`, without which 2.1.332 fails; the others as they are given."""
    given: dict[str, dict[str, Any]] = {
        "a": {"command": "x"},
        "b": {"type": "http", "url": "u"},
        "c": {"command": "x", "args": ["y"]},
    }
    sent = MCPSetServers(given).body()["servers"]
    assert sent == {**given, "a": {"command": "x", "args": []}}
    assert "args" not in given["a"]


def test_server_in_the_sdks_process_is_sent_by_its_name() -> None:
    """A server of this process is no more than its name on the wire."""
    request = MCPSetServers({"lab": {"type": "sdk", "name": "lab"}})
    assert request.body()["servers"] == {"lab": {"type": "sdk", "name": "lab"}}
