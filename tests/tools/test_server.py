"""A server is put together from functions and tools, and refuses what the program would trip over."""

import pickle
from typing import Any

import pytest

from claude_control.errors import OptionsError
from claude_control.session.pool import CallbackPool
from claude_control.tools import Prompt, Resource, ToolServer, tool
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
