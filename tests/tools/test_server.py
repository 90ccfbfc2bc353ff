"""A server is put together from functions and tools, and refuses what the program would trip over."""

import pickle
from typing import Any

import pytest

from claude_control.errors import OptionsError
from claude_control.session.pool import CallbackPool
from claude_control.tools import Prompt, Resource, ResourceTemplate, ToolServer, tool
from tests.tools.peers import Peer


@tool
def add(a: int, b: int) -> int:
    """Add."""
    return a + b


def minus(a: int, b: int) -> int:
    """Subtract."""
    return a - b


def test_functions_become_tools(pool: CallbackPool) -> None:
    """Tools and plain functions may be mixed; each is called under its name."""
    peer = Peer(ToolServer("calc", [add, minus]), pool)
    assert peer.call("add", {"a": 3, "b": 2}).text() == "5"
    assert peer.call("minus", {"a": 3, "b": 2}).text() == "1"


def test_manifest_is_what_would_be_asked(pool: CallbackPool) -> None:
    """The manifest has the very answers to `initialize` and `tools/list`."""
    server = ToolServer("calc", [add, minus], instructions="i")
    peer = Peer(server, pool)
    assert server.manifest() == {
        "initializeResult": peer.ask("initialize", {"protocolVersion": "2025-11-25"}).result(),
        "toolsListResult": peer.ask("tools/list").result(),
    }


def test_server_pickles() -> None:
    """A server travels to another process with its tools, for options do."""
    server = pickle.loads(pickle.dumps(ToolServer("calc", [add, minus], timeout=3)))
    assert list(server.tools) == ["add", "minus"]
    assert (server.name, server.timeout) == ("calc", 3)
    assert repr(server) == "<ToolServer calc: add, minus>"


def test_templates_beside_resources(pool: CallbackPool) -> None:
    """An address is read as the resource that has it, else by the first template that it fits, else not at all."""
    whole, pattern = Resource("n://a", "whole"), ResourceTemplate("n://{x}", lambda x: f"any {x}", name="any")
    peer = Peer(ToolServer("lab", resources=[whole, pattern]), pool)
    assert peer.ask("initialize", {"protocolVersion": "2025-11-25"}).result()["capabilities"]["resources"] == {}
    assert [each["uri"] for each in peer.ask("resources/list").result()["resources"]] == ["n://a"]
    (listed,) = peer.ask("resources/templates/list").result()["resourceTemplates"]
    assert listed == {"uriTemplate": "n://{x}", "name": "any"}
    read = [peer.ask("resources/read", {"uri": uri}).result()["contents"][0]["text"] for uri in ("n://a", "n://b")]
    assert read == ["whole", "any b"]
    assert peer.ask("resources/read", {"uri": "m://a"}).error()[0] == -32002


def test_tools_are_added_and_removed(pool: CallbackPool) -> None:
    """Peers that are connected are told, those whose connection is closed are not, and the list changes at once."""
    server = ToolServer("calc", [add])
    peer, gone = Peer(server, pool), Peer(server, pool)
    gone.connection.close()
    server.add_tool(minus)
    assert [each["name"] for each in peer.ask("tools/list").result()["tools"]] == ["add", "minus"]
    assert peer.call("minus", {"a": 3, "b": 2}).text() == "1"
    server.remove_tool("add")
    assert "calc has no tool 'add'; it has minus" in peer.call("add", {"a": 3, "b": 2}).error()[1]
    assert [message["method"] for message in peer.sent] == ["notifications/tools/list_changed"] * 2
    assert gone.sent == []


def test_wrong_changes_are_refused() -> None:
    """A second tool of one name and the removal of none are errors, and change nothing."""
    server = ToolServer("calc", [add])
    with pytest.raises(OptionsError, match="twice"):
        server.add_tool(add)
    with pytest.raises(OptionsError, match="JSON"):
        server.add_tool(tool("f", meta={"x": object()})(minus))
    with pytest.raises(OptionsError, match="no tool 'minus' to remove"):
        server.remove_tool("minus")
    assert list(server.tools) == ["add"]


@pytest.mark.parametrize("name", ["", "a b", "a__b", "x" * 65, "a.b", 3, None])
def test_wrong_name_is_refused(name: Any) -> None:
    """A name that would not survive in "mcp__name__tool" is an error."""
    with pytest.raises(OptionsError, match="name"):
        ToolServer(name)


@pytest.mark.parametrize(
    "more",
    [
        {"tools": [add, tool("add")(minus)]},
        {"resources": [Resource("a:", ""), Resource("a:", "")]},
        {"prompts": [Prompt(lambda: "", name="p"), Prompt(lambda: "", name="p")]},
    ],
    ids=lambda more: next(iter(more)),
)
def test_names_are_unique(more: dict[str, Any]) -> None:
    """Two of one name are an error that says which."""
    with pytest.raises(OptionsError, match="twice"):
        ToolServer("lab", **more)


@pytest.mark.parametrize("timeout", [0, -1, float("inf"), "3"])
def test_wrong_timeout_is_refused(timeout: Any) -> None:
    """A time limit is a number of seconds above zero."""
    with pytest.raises(OptionsError, match="timeout"):
        ToolServer("lab", timeout=timeout)


@pytest.mark.parametrize(
    "more",
    [
        {"tools": [tool("f", "", {"type": "object", "x": object()})(lambda args: args)]},
        {"tools": [tool("f", meta={"x": object()})(lambda: 1)]},
        {"resources": [Resource("a:", "", title=object())]},  # type: ignore[arg-type]  # that is the point
        {"instructions": object()},
    ],
    ids=str,
)
def test_what_json_cannot_say_is_refused(more: dict[str, Any]) -> None:
    """A server that could not tell the program what it is, is refused when it is made."""
    with pytest.raises(OptionsError, match="cannot be sent as JSON"):
        ToolServer("lab", **more)
