"""Servers of the `mcp` library behind the bridge: one answer for each request, whatever the server does."""

import asyncio
import os
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from claude_control import OptionsError, ToolServer
from claude_control.abort import AbortSignal
from claude_control.session.pool import CallbackPool
from claude_control.tools import bridge
from claude_control.tools.bridging import BridgedServer
from tests.tools.foreign import Context, highlevel, lowlevel
from tests.tools.peers import Exchange, Latch, Peer
from tests.waiting import wait_until

CLIENT = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "claude-code", "version": "2"}}

Connect = Callable[..., Peer]


async def echo(_name: str, arguments: dict[str, Any]) -> str:
    """Return the argument."""
    return str(arguments.get("x"))


def shake_hands(peer: Peer) -> dict[str, Any]:
    """Do what the program does first; returns what the server says of itself."""
    hello = peer.ask("initialize", CLIENT).result()
    peer.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
    return hello


def threads() -> list[str]:
    """The threads of servers."""
    return sorted(each.name for each in threading.enumerate() if each.name.startswith("claude-mcp-"))


class Listening:
    """A tool that waits until it is cancelled, and keeps whether it was."""

    def __init__(self) -> None:
        self.begun = threading.Event()
        self.cancelled = threading.Event()

    async def call(self, name: str, arguments: dict[str, Any]) -> str:
        """Wait if there is nothing to echo."""
        if arguments.get("x"):
            return await echo(name, arguments)
        self.begun.set()
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            self.cancelled.set()
            raise
        return "never"


@pytest.fixture
def connect(pool: CallbackPool) -> Iterator[Connect]:
    """A function that connects a peer to a server; the connections are closed at the end, and no thread is left."""
    peers: list[Peer] = []

    def make(server: Any, **settings: Any) -> Peer:
        bridged: Any = server if isinstance(server, BridgedServer) else bridge(server, **settings)
        peers.append(Peer(bridged, pool))
        return peers[-1]

    yield make
    for peer in peers:
        peer.connection.close()
    wait_until(lambda: threads() == [])


def test_lowlevel_server(connect: Connect) -> None:
    """The handshake, the list and a call of a low-level server arrive as they are."""
    peer = connect(lowlevel(echo))
    hello = shake_hands(peer)
    assert hello["serverInfo"]["name"] == "low"
    assert hello["protocolVersion"] in ("2025-11-25", "2025-06-18")  # the latter: mcp 1.23
    assert hello["capabilities"]["tools"] == {"listChanged": True}
    (tool,) = peer.ask("tools/list").result()["tools"]
    assert (tool["name"], tool["inputSchema"]["type"]) == ("echo", "object")
    assert peer.call("echo", {"x": "y"}).text() == "y"
    assert peer.ask("ping").result() == {}


def test_highlevel_server(connect: Connect) -> None:
    """So do those of a server that is made of functions, errors and structured results included."""
    server = highlevel("high")

    @server.tool()  # type: ignore[untyped-decorator]
    def add(a: int, b: int) -> int:
        return a + b

    peer = connect(server)
    assert shake_hands(peer)["serverInfo"]["name"] == "high"
    assert peer.call("add", {"a": 1, "b": 2}).result()["structuredContent"] == {"result": 3}
    wrong = peer.call("add", {"a": "x", "b": 2})
    assert wrong.result()["isError"] is True
    assert "validation error" in wrong.text()


def test_errors_are_those_of_json_rpc(connect: Connect) -> None:
    """What the server refuses keeps its code, under the id of the request."""
    peer = connect(lowlevel(echo))
    shake_hands(peer)
    code, _ = peer.ask("none/such").error()
    assert code in (-32601, -32602)  # 2.x, 1.x
    assert peer.ask("tools/call", {"arguments": {}}).error()[0] == -32602
    assert peer.call("echo", {"x": "y"}).text() == "y"


def test_progress_comes_before_the_result(connect: Connect) -> None:
    """Reports carry the caller's own token, in order, and none comes after the result."""
    server = highlevel("high")

    async def work(ctx: Any) -> str:
        for step in range(3):
            await ctx.report_progress(step, 3)
        return "done"

    work.__annotations__["ctx"] = Context
    server.tool()(work)
    peer = connect(server)
    shake_hands(peer)
    assert peer.call("work", progressToken="mine").text() == "done"
    said = [message["params"] for message in peer.sent]
    assert [(each["progressToken"], each["progress"], each["total"]) for each in said] == [
        ("mine", step, 3) for step in range(3)
    ]


def test_cancelling_reaches_the_server(connect: Connect) -> None:
    """A call that the program withdraws is cancelled in the server, which goes on; nothing counts as late."""
    listening = Listening()
    peer = connect(lowlevel(listening.call))
    shake_hands(peer)
    call = peer.call("echo")
    assert listening.begun.wait(10)
    assert peer.cancel(call).wait() is None
    assert call.wait() is None
    assert listening.cancelled.wait(10)
    assert peer.call("echo", {"x": "y"}).text() == "y"
    assert peer.connection.late == 0


def test_time_limit_cancels_too(connect: Connect) -> None:
    """A call whose time is up is an error for the model, and the server is told."""
    listening = Listening()
    peer = connect(lowlevel(listening.call), timeout=0.2)
    shake_hands(peer)
    assert peer.call("echo").text() == "echo did not answer within 0.2 seconds."
    assert listening.cancelled.wait(10)


def test_closing_ends_the_server(connect: Connect) -> None:
    """At the end open calls are answered and cancelled, the lifespan is left, and the thread ends."""
    listening, left = Listening(), threading.Event()

    @asynccontextmanager
    async def lifespan(_server: Any) -> AsyncIterator[dict[str, Any]]:
        try:
            yield {}
        finally:
            await asyncio.sleep(0)
            left.set()

    peer = connect(lowlevel(listening.call, lifespan))
    shake_hands(peer)
    call = peer.call("echo")
    assert listening.begun.wait(10)
    peer.connection.close("closed")
    assert "was closed" in call.text()
    assert listening.cancelled.wait(10)
    assert left.wait(10)
    wait_until(lambda: threads() == [])
    assert peer.ask("initialize", CLIENT).error()[1] == "the connection to low was closed"
    assert peer.connection.late == 0


def test_mute_server_is_given_up(connect: Connect) -> None:
    """A server that never gets ready is answered for in time, at the handshake and at every later request."""

    @asynccontextmanager
    async def lifespan(_server: Any) -> AsyncIterator[dict[str, Any]]:
        await asyncio.sleep(60)
        yield {}

    mute, good = connect(lowlevel(echo, lifespan), handshake_timeout=0.2), connect(lowlevel(echo))
    hello = mute.ask("initialize", CLIENT)
    shake_hands(good)
    assert hello.error() == (-32603, "initialize of low did not answer within 0.2 seconds.")
    assert "did not answer" in mute.ask("tools/list").error()[1]
    assert good.call("echo", {"x": "y"}).text() == "y"


def test_blocked_loop_holds_up_no_other_server(connect: Connect, latch: Latch) -> None:
    """A server that blocks its own loop is answered for in time; another one, and closing, are as quick as ever."""

    async def block(_name: str, _arguments: dict[str, Any]) -> str:
        latch.hold()
        return "late"

    blocked, good = connect(lowlevel(block), timeout=0.2, handshake_timeout=0.2), connect(lowlevel(echo))
    shake_hands(blocked)
    shake_hands(good)
    call = blocked.call("echo")
    wait_until(lambda: latch.inside == 1)
    assert good.call("echo", {"x": "y"}).text() == "y"
    assert call.text() == "echo did not answer within 0.2 seconds."
    assert "did not answer" in blocked.ask("initialize", CLIENT).error()[1]
    blocked.connection.close()
    assert latch.inside == 1
    latch.open()


def test_failed_start_is_told_and_tried_again(connect: Connect) -> None:
    """Why a server could not start is in the answer, and the next handshake starts it anew."""
    tried: list[int] = []

    @asynccontextmanager
    async def lifespan(_server: Any) -> AsyncIterator[dict[str, Any]]:
        tried.append(1)
        if len(tried) == 1:
            raise OSError("no database")
        yield {}

    peer = connect(lowlevel(echo, lifespan))
    code, said = peer.ask("initialize", CLIENT).error()
    assert (code, "no database" in said) == (-32603, True)
    shake_hands(peer)
    assert peer.call("echo", {"x": "y"}).text() == "y"


def test_tool_that_leaves_python(connect: Connect) -> None:
    """A tool that calls `sys.exit()` ends its own server only: the call is answered, and a handshake starts it anew."""

    async def leave(name: str, arguments: dict[str, Any]) -> str:
        if not arguments:
            sys.exit(3)
        return await echo(name, arguments)

    server = lowlevel(leave)
    peer, other = connect(server), connect(server)
    for each in (peer, other):
        shake_hands(each)
    assert "SystemExit" in str(peer.call("echo").wait())
    shake_hands(peer)
    for each in (peer, other):
        assert each.call("echo", {"x": "y"}).text() == "y"


class Deaf:
    """A server whose program does not read what the server says by itself."""

    def __init__(self, server: Any, latch: Latch) -> None:
        self._server = server
        self._latch = latch

    def connect(self, run: Any, _send: Any) -> Any:
        """Connect it."""
        return self._server.connect(run, lambda _message: self._latch.hold())


def test_program_that_does_not_read_holds_up_no_other_one(connect: Connect, pool: CallbackPool, latch: Latch) -> None:
    """Reports to one session wait for its pipe, and a session with the same server does not wait with them."""
    server = highlevel("high")

    async def work(ctx: Any) -> str:
        await ctx.report_progress(1, 2)
        return "done"

    work.__annotations__["ctx"] = Context
    server.tool()(work)
    bridged: Any = bridge(server)
    deaf: Any = Deaf(bridged, latch)
    first, second = Peer(deaf, pool), connect(bridged)
    shake_hands(first)
    shake_hands(second)
    call = first.call("work", progressToken=1)
    wait_until(lambda: latch.inside == 1)
    assert second.call("work").text() == "done"
    assert latch.inside == 1
    latch.open()
    assert call.text() == "done"
    first.connection.close()


@pytest.mark.parametrize("late", [False, True])
def test_signal_alone_ends_a_call(connect: Connect, late: bool) -> None:
    """A call whose carrier fires its signal, even before the server has it, is cancelled there, and nothing is kept."""
    listening = Listening()
    peer = connect(lowlevel(listening.call))
    shake_hands(peer)
    signal = AbortSignal()
    if not late:
        signal.fire("cancelled")
    message = {"jsonrpc": "2.0", "id": 99, "method": "tools/call", "params": {"name": "echo", "arguments": {}}}
    peer.connection.receive(message, Exchange(message).reply, signal)
    if late:
        assert listening.begun.wait(10)
        signal.fire("cancelled")
    assert len(peer.connection) == 0
    assert peer.call("echo", {"x": "y"}).text() == "y"  # the server takes one message after the other
    wait_until(lambda: listening.cancelled.is_set() == listening.begun.is_set())


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_forked_child_has_threads_of_its_own(connect: Connect) -> None:
    """A server that runs in the parent can be used in a child, where none of the parent's threads are."""
    server = lowlevel(echo)
    shake_hands(connect(server))
    pid = os.fork()
    if pid == 0:
        try:
            bridged: Any = bridge(server)
            peer = Peer(bridged, CallbackPool("claude-child"))
            shake_hands(peer)
            os._exit(len(peer.call("echo", {"x": "12345"}).text()))
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 5


def test_repeated_handshake(connect: Connect) -> None:
    """The program may shake hands again, with the same ids, while a call runs: both answers go where they belong."""
    gate = threading.Event()

    async def call(_name: str, arguments: dict[str, Any]) -> str:
        if "wait" in arguments:
            await asyncio.to_thread(gate.wait, 20)
        return str(arguments)

    peer = connect(lowlevel(call))
    shake_hands(peer)
    old = peer.send({"id": 7, "method": "tools/call", "params": {"name": "echo", "arguments": {"wait": 1}}})
    shake_hands(peer)
    new = peer.send({"id": 7, "method": "tools/call", "params": {"name": "echo", "arguments": {"x": "y"}}})
    assert new.text() == "{'x': 'y'}"
    gate.set()
    assert old.text() == "{'wait': 1}"


def test_many_calls_at_once(connect: Connect) -> None:
    """Fifty calls that wait for each other are answered, one hung one beside them."""
    listening, inside, all_in = Listening(), list[int](), asyncio.Event()

    async def meet(name: str, arguments: dict[str, Any]) -> str:
        if not arguments:
            return await listening.call(name, arguments)
        inside.append(1)
        if len(inside) == 49:
            all_in.set()
        await all_in.wait()
        return str(arguments["x"])

    peer = connect(lowlevel(meet))
    shake_hands(peer)
    hung = peer.call("echo")
    calls: list[Exchange] = [peer.call("echo", {"x": str(number)}) for number in range(49)]
    assert [call.text() for call in calls] == [str(number) for number in range(49)]
    assert hung.answers == []


def test_sessions_share_the_thread_of_a_server(connect: Connect) -> None:
    """Two clients of one server run on one loop, which ends with the second of them."""
    loops: list[Any] = []

    async def note(_name: str, _arguments: dict[str, Any]) -> str:
        loops.append(asyncio.get_running_loop())
        return ""

    server = lowlevel(note)
    first, second = connect(server), connect(server)
    for peer in (first, second):
        shake_hands(peer)
        peer.call("echo").result()
    assert loops[0] is loops[1]
    assert threads() == ["claude-mcp-low"]
    first.connection.close()
    assert second.call("echo").text() == ""
    assert loops[2] is loops[0]


def test_what_a_server_asks_and_tells(connect: Connect) -> None:
    """A request of the server's own is refused, so that its tool goes on; news of its list goes to the program."""
    server = highlevel("high")

    async def curious(ctx: Any) -> str:
        await ctx.session.send_tool_list_changed()
        try:
            await ctx.session.list_roots()
        except Exception as error:
            return f"refused: {error}"
        return "answered"

    curious.__annotations__["ctx"] = Context
    server.tool()(curious)
    peer = connect(server)
    shake_hands(peer)
    assert peer.call("curious").text().startswith("refused")
    wait_until(lambda: peer.sent == [{"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}])


@pytest.mark.parametrize("other", [ToolServer("lab"), highlevel, "text", None, object()])
def test_only_servers_are_bridged(other: Any) -> None:
    """Anything else, the class instead of an object included, is refused with what would do."""
    with pytest.raises(OptionsError, match="is no server of the mcp library or of FastMCP"):
        bridge(other)


def test_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the extra the error says how to get it."""
    server = lowlevel(echo)
    monkeypatch.setitem(sys.modules, "mcp", None)
    with pytest.raises(OptionsError, match=r"pip install 'claude-control-sdk\[mcp\]'"):
        bridge(server)


@pytest.mark.parametrize("field", ["timeout", "handshake_timeout"])
@pytest.mark.parametrize("seconds", [0, -1, "1", float("inf")])
def test_time_limits_are_seconds(field: str, seconds: Any) -> None:
    """A limit that is none is refused."""
    server = lowlevel(echo)
    with pytest.raises(OptionsError, match=field):
        bridge(server, **{field: seconds})
