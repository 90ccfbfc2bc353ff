"""Tool servers in a session: the program's messages reach them, and one answer goes back for each."""

import threading
from collections.abc import Mapping
from typing import Any

import pytest

from claude_control import (
    ConcurrencyError,
    ControlTimeoutError,
    OptionsError,
    ProcessExitedError,
    Session,
    ToolContext,
    ToolServer,
    tool,
)
from claude_control.testing.scripted_cli import ScriptedCLI, ScriptedCLIFactory
from claude_control.testing.steps import Step, ask, crash, reply, unanswered, wait_answers, wait_gate
from claude_control.tools import bridge
from claude_control.wire import requests
from tests.session.conftest import OpenScripted
from tests.tools.foreign import lowlevel
from tests.tools.peers import Latch
from tests.waiting import wait_until

ALL = pytest.mark.parametrize("program", ["2.0.75", "2.1.7", "2.1.332"])
HELLO = {"method": "initialize", "id": 0, "params": {"protocolVersion": "2025-11-25", "capabilities": {}}}


def echo(x: str = "") -> str:
    """Return it."""
    return x


def message(body: Mapping[str, Any], *, server: str = "lab", wait: bool = True) -> Step:
    """Send one message of MCP."""
    request = {"subtype": "mcp_message", "server_name": server, "message": {"jsonrpc": "2.0", **body}}
    return ask(request, wait=wait)


def call(name: str, request_id: int, *, wait: bool = True, **arguments: Any) -> Step:
    """Call a tool as the program does."""
    meta = {"claudecode/toolUseId": f"toolu_{request_id}", "progressToken": request_id}
    params = {"name": name, "arguments": arguments, "_meta": meta}
    return message({"method": "tools/call", "id": request_id, "params": params}, wait=wait)


def answers(cli: ScriptedCLI) -> list[Any]:
    """What the servers answered, in order; each answer must be a success of the control protocol."""
    responses = [frame["response"] for frame in cli.received() if frame["type"] == "control_response"]
    assert all(response["subtype"] == "success" for response in responses)
    return [response["response"]["mcp_response"] for response in responses]


@pytest.fixture
def latch() -> Any:
    """A latch that is opened at the end, whatever the test did."""
    made = Latch()
    yield made
    made.open()


@ALL
def test_handshake_and_call(scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted, program: str) -> None:
    """The handshake with its notification and a call are each answered, under their own ids."""
    steps = [
        message(HELLO),
        message({"method": "notifications/initialized"}),
        message({"method": "tools/list", "id": 1}),
    ]
    cli = scripted_cli(program=program, prompts=[[*steps, call("echo", 2, x="y"), reply()]])
    open_scripted(cli, mcp_servers={"lab": ToolServer("lab", [echo])}).ask("x").result()
    hello, initialized, listed, called = answers(cli)
    assert (hello["id"], hello["result"]["serverInfo"]["name"]) == (0, "lab")
    assert initialized == {"jsonrpc": "2.0", "result": {}}
    assert [each["name"] for each in listed["result"]["tools"]] == ["echo"]
    assert called == {"jsonrpc": "2.0", "id": 2, "result": {"content": [{"type": "text", "text": "y"}]}}


@ALL
def test_initialize_names_the_servers(
    scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted, program: str
) -> None:
    """The first request carries the names and manifests; the command line has the servers of other processes only."""
    server = ToolServer("anything", [echo])
    cli = scripted_cli(program=program)
    servers = {"lab": server, "two": {"type": "sdk", "name": "two", "instance": server}, "out": {"command": "server"}}
    open_scripted(cli, mcp_servers=servers)
    (request,) = (frame["request"] for frame in cli.received() if frame["type"] == "control_request")
    assert request["sdkMcpServers"] == ["lab", "two"]
    assert request["sdkMcpServerManifests"] == {"lab": server.manifest(), "two": server.manifest()}
    (config,) = (each for each in cli.argv if each.startswith("--mcp-config="))
    assert "lab" not in config


def test_servers_here_need_no_configuration(scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted) -> None:
    """Where all servers are in this process, the command line has none."""
    cli = scripted_cli()
    open_scripted(cli, mcp_servers={"lab": ToolServer("lab", [echo])})
    assert not any(each.startswith("--mcp-config") for each in cli.argv)


def test_unknown_server_is_an_error_of_mcp(scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted) -> None:
    """A message to nobody is answered, so that neither a handshake nor a call hangs; a notification is acknowledged."""
    steps = [message(HELLO, server="none"), message({"method": "notifications/initialized"}, server="none")]
    cli = scripted_cli(prompts=[[*steps, reply()]])
    open_scripted(cli).ask("x").result()
    failed, acknowledged = answers(cli)
    assert failed["id"] == 0
    assert "no server 'none'" in failed["error"]["message"]
    assert "error" not in acknowledged


@pytest.mark.parametrize("bad", [[], "text", 5, None, {"id": 3}])
def test_malformed_message_is_answered(scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted, bad: Any) -> None:
    """Whatever stands in the place of a message, the control request is answered and the session goes on."""
    request = {"subtype": "mcp_message", "server_name": "lab", "message": bad}
    cli = scripted_cli(prompts=[[ask(request), call("echo", 1, x="y"), reply()]])
    open_scripted(cli, mcp_servers={"lab": ToolServer("lab", [echo])}).ask("x").result()
    assert answers(cli)[0]["error"]["code"] == -32600
    assert answers(cli)[1]["result"]["content"][0]["text"] == "y"


class Broken:
    """A server of somebody's own making, whose connection raises."""

    name = "broken"

    def manifest(self) -> dict[str, Any]:
        return {}

    def connect(self, *_arguments: Any) -> "Broken":
        return self

    def receive(self, *_arguments: Any) -> None:
        raise RuntimeError("no")

    def close(self, reason: str) -> None: ...

    late = 0


def test_broken_server_harms_nobody_else(scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted) -> None:
    """A server that raises is answered for, and the session goes on."""
    cli = scripted_cli(prompts=[[message(HELLO, server="broken"), call("echo", 1, x="y"), reply("done")]])
    session = open_scripted(cli, mcp_servers={"broken": Broken(), "lab": ToolServer("lab", [echo])})
    assert session.ask("x").result().result == "done"
    failed, called = answers(cli)
    assert (failed["id"], "RuntimeError" in failed["error"]["message"]) == (0, True)
    assert called["result"]["content"][0]["text"] == "y"


def test_cancelled_call(scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted) -> None:
    """`notifications/cancelled` fires the tool's signal; the call is acknowledged and its late result is counted."""
    begun, reasons = threading.Event(), list[str | None]()

    def listen(context: ToolContext) -> str:
        begun.set()
        context.signal.wait(10)
        reasons.append(context.signal.reason)
        return "too late"

    cancelled = {"method": "notifications/cancelled", "params": {"requestId": 1, "reason": "AbortError"}}
    steps = [call("listen", 1, wait=False), wait_gate("begun"), message(cancelled), wait_answers(), reply()]
    cli = scripted_cli(prompts=[steps])
    session = open_scripted(cli, mcp_servers={"lab": ToolServer("lab", [listen])})
    turn = session.ask("x")
    assert begun.wait(10)
    cli.open_gate("begun")
    turn.result(timeout=10)
    wait_until(lambda: session.stats.late_answers == 1)
    assert reasons == ["cancelled"]
    assert answers(cli) == [{"jsonrpc": "2.0", "result": {}}] * 2


def test_tool_may_steer_its_session(scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted) -> None:
    """A tool gets the session and its tool use's id, and control calls work in it."""
    seen: list[Any] = []

    def steer(context: ToolContext) -> str:
        seen.append((context.session, context.tool_use_id))
        context.session.set_model("sonnet")
        return "steered"

    cli = scripted_cli(prompts=[[call("steer", 7), reply()]])
    session = open_scripted(cli, mcp_servers={"lab": ToolServer("lab", [steer])})
    session.ask("x").result(timeout=10)
    assert seen == [(session, "toolu_7")]
    assert answers(cli)[0]["result"]["content"][0]["text"] == "steered"


def test_progress_goes_to_the_program(scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted) -> None:
    """Reports are requests of ours that nobody waits for, and come before the result."""

    def work(context: ToolContext) -> str:
        context.progress(1, 2, "half")
        return ""

    cli = scripted_cli(prompts=[[call("work", 3), reply()]])
    session = open_scripted(cli, mcp_servers={"lab": ToolServer("lab", [work])})
    session.ask("x").result(timeout=10)
    (request,) = (
        frame["request"]
        for frame in cli.received()
        if frame["type"] == "control_request" and frame["request"]["subtype"] == "mcp_message"
    )
    assert request["server_name"] == "lab"
    assert request["message"]["params"] == {"progressToken": 3, "progress": 1, "total": 2, "message": "half"}
    assert session.stats.late_replies == 0


def test_hung_call_holds_up_nothing(
    scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted, latch: Latch
) -> None:
    """Of fifty calls in flight one hangs: the others are answered, and interrupt and close are as quick as ever."""
    barrier = threading.Barrier(49)

    def hang() -> None:
        latch.hold()

    def meet() -> str:
        barrier.wait(10)
        return "met"

    calls = [call("hang", 0, wait=False), *(call("meet", each, wait=False) for each in range(1, 50))]
    cli = scripted_cli(prompts=[[*calls, wait_gate("never")]])
    session = open_scripted(cli, mcp_servers={"lab": ToolServer("lab", [hang, meet])})
    session.ask("x")
    wait_until(lambda: len(answers(cli)) == 49)
    wait_until(lambda: latch.inside == 1)
    assert {answer["id"] for answer in answers(cli)} == set(range(1, 50))
    session.interrupt(timeout=5)
    closing = threading.Thread(target=session.close)
    closing.start()
    closing.join(10)
    assert not closing.is_alive()
    latch.open()
    wait_until(lambda: latch.inside == 0)


@pytest.mark.parametrize("crashes", [False, True], ids=["closed", "exited"])
def test_end_of_the_session_fires_the_signals(
    scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted, crashes: bool
) -> None:
    """A tool that runs when the session ends is told how it ended, and its timer is gone with it."""
    begun, ended, reasons = threading.Event(), threading.Event(), list[str | None]()

    @tool(timeout=600)
    def listen(context: ToolContext) -> None:
        begun.set()
        context.signal.wait(10)
        reasons.append(context.signal.reason)
        ended.set()

    cli = scripted_cli(prompts=[[call("listen", 1, wait=False), wait_gate("begun"), *([crash()] if crashes else [])]])
    session = open_scripted(cli, mcp_servers={"lab": ToolServer("lab", [listen])}, interrupt_grace=0.1)
    session.ask("x")
    assert begun.wait(10)
    if crashes:
        cli.open_gate("begun")
        assert ended.wait(10)
    session.close()
    assert ended.wait(10)
    assert reasons == ["exited" if crashes else "closed"]


def set_servers(cli: ScriptedCLI) -> list[Any]:
    """The sets of servers that the program was told."""
    requests = [frame["request"] for frame in cli.received() if frame["type"] == "control_request"]
    return [request["servers"] for request in requests if request["subtype"] == "mcp_set_servers"]


def test_servers_are_added_and_removed(scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted) -> None:
    """A set always has the servers of the options too; one that is no longer in it answers no more."""
    lab, more = ToolServer("lab", [echo]), ToolServer("more", [echo])
    hello = message(HELLO, server="more")
    cli = scripted_cli(prompts=[[hello, message(HELLO), reply()], [hello, message(HELLO), reply()]])
    session = open_scripted(cli, mcp_servers={"lab": lab})
    session.set_mcp_servers({"more": more, "out": {"command": "server"}})
    session.ask("x").result()
    session.set_mcp_servers({})
    session.ask("y").result()
    inside = {name: {"type": "sdk", "name": name} for name in ("lab", "more")}
    assert set_servers(cli) == [{**inside, "out": {"command": "server", "args": []}}, {"lab": inside["lab"]}]
    assert ["result" in answer for answer in answers(cli)] == [True, True, False, True]


def test_same_server_may_be_set_again(scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted) -> None:
    """A server that is there already stays as it is, in any form."""
    lab, more = ToolServer("lab", [echo]), ToolServer("more", [echo])
    session: Session = open_scripted(scripted_cli(), mcp_servers={"lab": lab})
    for each in (more, {"type": "sdk", "name": "more", "instance": more}):
        session.set_mcp_servers({"more": each, "lab": lab})


@pytest.mark.parametrize("other", [ToolServer("lab"), {"command": "server"}], ids=["server", "command"])
def test_name_is_taken(scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted, other: Any) -> None:
    """Another server under a name that one in this process has is refused, and nothing is sent."""
    cli = scripted_cli()
    session = open_scripted(cli, mcp_servers={"lab": ToolServer("lab", [echo])})
    with pytest.raises(OptionsError, match="in this process already"):
        session.set_mcp_servers({"lab": other})
    assert set_servers(cli) == []


def test_servers_of_a_failed_set_are_let_go(scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted) -> None:
    """When the program does not take a set, the servers that it brought are as if they had never been in it."""
    more = ToolServer("more", [echo])
    steps = [message(HELLO, server="more"), message(HELLO), reply()]
    cli = scripted_cli(prompts=[steps], reactions=[unanswered("mcp_set_servers")])
    session = open_scripted(cli, mcp_servers={"lab": ToolServer("lab", [echo])})
    with pytest.raises(ControlTimeoutError):
        session.set_mcp_servers({"more": more}, timeout=0.1)
    session.ask("x").result()
    assert ["result" in answer for answer in answers(cli)] == [False, True]


@pytest.mark.parametrize("way", ["record", "name", "submit"])
def test_raw_request_takes_no_server_away(
    scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted, way: str
) -> None:
    """A request made by hand that lacks a server of this process is refused, and one that has all of them is sent."""
    cli = scripted_cli()
    session = open_scripted(cli, mcp_servers={"lab": ToolServer("lab", [echo])})

    def send(servers: dict[str, Any]) -> object:
        if way == "name":
            return session.request("mcp_set_servers", {"servers": servers})
        record = requests.MCPSetServers(servers)
        return session.submit(record).result(10) if way == "submit" else session.request(record)

    with pytest.raises(OptionsError, match=r"'lab' away, .* use session.set_mcp_servers\(\)"):
        send({"out": {"command": "server"}})
    assert set_servers(cli) == []
    send({"lab": {"type": "sdk", "name": "lab"}})
    assert len(set_servers(cli)) == 1


CLIENT = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "claude-code", "version": "2"}}


async def say(_name: str, arguments: dict[str, Any]) -> str:
    """Return the argument, on the loop of a server of the mcp library."""
    return str(arguments.get("x"))


@ALL
@pytest.mark.parametrize("form", ["object", "bridge", "official"])
def test_server_of_the_mcp_library(
    scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted, program: str, form: str
) -> None:
    """It works in every form, has no manifest, and its answers go back under the program's own ids."""
    server = lowlevel(say)
    low = {"object": server, "bridge": bridge(server), "official": {"type": "sdk", "name": "a", "instance": server}}
    hello = {"method": "initialize", "id": 0, "params": CLIENT}
    steps = [message(hello, server="low"), message({"method": "notifications/initialized"}, server="low")]
    params = {"name": "echo", "arguments": {"x": "y"}}
    called = message({"method": "tools/call", "id": 0, "params": params}, server="low")
    cli = scripted_cli(program=program, prompts=[[*steps, called, reply()]])
    session = open_scripted(cli, mcp_servers={"low": low[form], "lab": ToolServer("lab", [echo])})
    session.ask("x").result()
    first, initialized, said = answers(cli)
    assert (first["id"], first["result"]["serverInfo"]["name"]) == (0, "low")
    assert initialized == {"jsonrpc": "2.0", "result": {}}
    assert (said["id"], said["result"]["content"]) == (0, [{"type": "text", "text": "y"}])
    (request,) = (frame["request"] for frame in cli.received() if frame["type"] == "control_request")
    assert (request["sdkMcpServers"], list(request["sdkMcpServerManifests"])) == (["low", "lab"], ["lab"])


def test_foreign_server_comes_and_goes(scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted) -> None:
    """It may be added while the session runs; when it is taken away its thread ends."""
    hello = message(HELLO, server="low")
    cli = scripted_cli(prompts=[[hello, reply()]])
    session = open_scripted(cli)
    low = lowlevel(say)
    session.set_mcp_servers({"low": low})
    session.set_mcp_servers({"low": low})
    session.ask("x").result()
    assert any(thread.name == "claude-mcp-low" for thread in threading.enumerate())
    session.set_mcp_servers({})
    wait_until(lambda: all(thread.name != "claude-mcp-low" for thread in threading.enumerate()))


def test_tools_changed_goes_to_the_program(scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted) -> None:
    """A tool that is added to or removed from a server in use is told, once for each session that has the server."""
    lab = ToolServer("lab", [])
    cli = scripted_cli(prompts=[[message({"method": "tools/list", "id": 1}), reply()]])
    session = open_scripted(cli, mcp_servers={"lab": lab})
    lab.add_tool(echo)
    session.ask("x").result()
    lab.remove_tool("echo")
    session.get_mcp_status()
    told = [frame["request"] for frame in cli.received() if frame["type"] == "control_request"]
    news = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}
    assert [each["message"] for each in told if each["subtype"] == "mcp_message"] == [news, news]
    assert [each["name"] for each in answers(cli)[0]["result"]["tools"]] == ["echo"]


class Own(Broken):
    """A server of somebody's own making: `connecting` runs when it is connected, and its connection cannot close."""

    name = "own"

    def __init__(self, connecting: Any = None) -> None:
        self._connecting = connecting

    def connect(self, *_arguments: Any) -> "Own":
        if self._connecting is not None:
            self._connecting()
        return self

    def close(self, reason: str) -> None:
        raise RuntimeError("no")


def test_server_that_cannot_close_leaves_no_turn_hanging(
    scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted
) -> None:
    """When the program dies, a connection that raises on its close keeps nobody from hearing of it."""
    session = open_scripted(scripted_cli(prompts=[[crash()]]), mcp_servers={"own": Own()})
    with pytest.raises(ProcessExitedError):
        session.ask("x").result(timeout=10)


def test_servers_are_set_by_one_call_at_a_time(scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted) -> None:
    """A second call meanwhile is refused at once, also one from a server's own code, and the first one's set stands."""
    session = open_scripted(scripted_cli())
    refused: list[object] = []

    def meanwhile() -> None:
        with pytest.raises(ConcurrencyError) as caught:
            session.set_mcp_servers({"second": ToolServer("second", [echo])}, timeout=5)
        refused.append(caught.value)

    session.set_mcp_servers({"own": Own(meanwhile), "first": ToolServer("first", [echo])})
    session.set_mcp_servers({"second": ToolServer("second", [echo])}, timeout=5)
    assert len(refused) == 1
