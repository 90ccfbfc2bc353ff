"""What a server answers about itself."""

from typing import Any

import pytest

from claude_control.session.pool import CallbackPool
from claude_control.tools import Prompt, Resource, ToolServer
from tests.tools.peers import Peer

INITIALIZE = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "claude-code"}}


def hello() -> str:
    """Say hello."""
    return "hello"


@pytest.fixture
def peer(pool: CallbackPool) -> Peer:
    """A peer of a server that has one of everything."""
    resources, prompts = [Resource("a://", "a")], [Prompt(hello)]
    return Peer(
        ToolServer("lab", [hello], resources=resources, prompts=prompts, version="2", instructions="Be kind."), pool
    )


def test_handshake(peer: Peer) -> None:
    """The handshake names the server, its version, what it can do and what it is for."""
    assert peer.ask("initialize", INITIALIZE).result() == {
        "protocolVersion": "2025-11-25",
        "capabilities": {"tools": {"listChanged": True}, "resources": {}, "prompts": {}},
        "serverInfo": {"name": "lab", "version": "2"},
        "instructions": "Be kind.",
    }
    assert peer.send({"jsonrpc": "2.0", "method": "notifications/initialized"}).wait() is None


def test_handshake_of_a_server_of_tools(pool: CallbackPool) -> None:
    """A server without resources and prompts does not promise any."""
    result = Peer(ToolServer("lab"), pool).ask("initialize", INITIALIZE).result()
    assert result["capabilities"] == {"tools": {"listChanged": True}}
    assert "instructions" not in result


@pytest.mark.parametrize(
    ("asked", "answered"),
    [
        ("2025-11-25", "2025-11-25"),
        ("2025-06-18", "2025-06-18"),
        ("2025-03-26", "2025-03-26"),
        ("2024-11-05", "2024-11-05"),
        ("2031-01-01", "2025-11-25"),
        ("", "2025-11-25"),
    ],
)
def test_protocol_version_is_negotiated(peer: Peer, asked: str, answered: str) -> None:
    """A version that is known is taken, another is met with the newest; the peer decides whether to go on."""
    assert peer.ask("initialize", {**INITIALIZE, "protocolVersion": asked}).result()["protocolVersion"] == answered


def test_handshake_may_be_repeated(peer: Peer) -> None:
    """A second handshake, with ids from 0 again, is answered like the first (2.0.75 and 2.1.7 do that)."""
    first, second = (
        peer.send({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": INITIALIZE}).result() for _ in range(2)
    )
    assert first == second
    assert peer.call("hello").text() == "hello"


@pytest.mark.parametrize("params", [None, {}, {"protocolVersion": 3}])
def test_handshake_without_version_is_invalid(peer: Peer, params: Any) -> None:
    """A handshake that does not say which protocol it speaks has invalid parameters."""
    assert peer.ask("initialize", params).error()[0] == -32602


def test_ping(peer: Peer) -> None:
    """A ping is answered with nothing."""
    assert peer.ask("ping").result() == {}


@pytest.mark.parametrize(
    ("method", "key", "names"),
    [
        ("tools/list", "tools", ["hello"]),
        ("resources/list", "resources", ["a://"]),
        ("resources/templates/list", "resourceTemplates", []),
        ("prompts/list", "prompts", ["hello"]),
    ],
)
@pytest.mark.parametrize("params", [None, {}, {"cursor": None}, {"cursor": "page-2"}], ids=repr)
def test_lists_are_one_page(peer: Peer, method: str, key: str, names: list[str], params: Any) -> None:
    """Every list is whole, whatever cursor comes, and there is no next page."""
    result = peer.ask(method, params).result()
    assert [each["name"] for each in result[key]] == names
    assert set(result) == {key}


def test_cursor_is_a_text(peer: Peer) -> None:
    """A cursor of another kind is an invalid parameter."""
    assert peer.ask("tools/list", {"cursor": 3}).error()[0] == -32602


@pytest.mark.parametrize("method", ["nothing", "", "tools", "server/discover", "logging/setLevel", "notifications/x"])
def test_unknown_method_is_not_found(peer: Peer, method: str) -> None:
    """A method that there is not is told by the code for it, with its name."""
    code, text = peer.ask(method).error()
    assert (code, method in text) == (-32601, True)


@pytest.mark.parametrize(
    "message", [{"method": "notifications/anything"}, {"method": "tools/call"}, {"result": {}, "id": 1}]
)
def test_what_wants_no_answer_is_acknowledged(peer: Peer, message: dict[str, Any]) -> None:
    """A notification of any name and a response get no response, but whoever carried them is told that they came."""
    assert peer.send({"jsonrpc": "2.0", **message}).wait() is None


@pytest.mark.parametrize("message", [[{"jsonrpc": "2.0", "id": 1, "method": "ping"}], [], "ping", None])
def test_batch_is_refused(peer: Peer, message: Any) -> None:
    """A batch gets one error, and nothing in it is run."""
    assert peer.send(message).error()[0] == -32600
