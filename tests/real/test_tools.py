"""Tools in this process, called by the real programs."""

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import attrs
import pytest

from claude_control import Allow, Deny, Session, ToolContext, ToolResult, ToolServer, UserMessage, tool
from claude_control.testing.model_prompt import script
from claude_control.testing.model_script import Answer, Text, ToolCall
from claude_control.tools import Media, Resource, ResourceTemplate, bridge
from tests.real.conftest import Opener, Program
from tests.tools.foreign import highlevel, lowlevel
from tests.tools.peers import Latch
from tests.waiting import wait_until

pytestmark = [pytest.mark.real, pytest.mark.shared]

PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c49444154"
    "789c63606060000000040001f61738550000000049454e44ae426082"
)


@attrs.frozen
class Point:
    x: int
    y: int


@tool(read_only=True)
def move(point: Point, by: int = 1) -> Point:
    """Move a point to the right."""
    return Point(point.x + by, point.y)


def run(session: Session, *calls: ToolCall) -> list[Any]:
    """Have the model call tools in one answer, and return what the program told it about each: (content, is error)."""
    messages = list(session.ask(script(Answer(*calls), Text("done"))))
    blocks = [
        block
        for message in messages
        if isinstance(message, UserMessage) and isinstance(message.raw["message"]["content"], list)
        for block in message.raw["message"]["content"]
        if block["type"] == "tool_result"
    ]
    return [(_plain(block.get("content")), bool(block.get("is_error"))) for block in blocks]


def _plain(content: Any) -> Any:
    """Return a content of one text as that text."""
    if isinstance(content, list) and len(content) == 1 and content[0]["type"] == "text":
        return content[0]["text"]
    return content


def draw() -> Media:
    """Draw."""
    return Media(PNG, "image/png")


def nothing() -> None:
    """Do nothing."""


def raises() -> None:
    """Fail."""
    raise ValueError("no such article")


def refuses() -> ToolResult:
    """Refuse."""
    return ToolResult("closed on Sundays", is_error=True)


def steer(context: ToolContext) -> str:
    """Steer."""
    for done in range(3):
        context.progress(done, 3, f"step {done}")
    context.session.set_model("haiku")
    return str(context.tool_use_id)


COMMON = (move, draw, nothing, raises, refuses, steer)
"""Tools of a session that tests share."""


def make_lab(tools: Sequence[Any]) -> ToolServer:
    """Return a server with these tools."""
    notes = Resource("notes://a", "hello", name="notes")
    return ToolServer("lab", tools, resources=[notes], instructions="Be kind.")


_common = make_lab(COMMON)  # one for all, or its sessions would not be alike


@pytest.fixture
def open_lab(open_session: Opener) -> Callable[..., Session]:
    """Open a session with one server, whose tools may all run."""

    def open_(*tools: Any, **options: Any) -> Session:
        lab = _common if tools == COMMON else make_lab(tools)
        return open_session(mcp_servers={"lab": lab}, **{"allowed_tools": ["mcp__lab"], **options})

    return open_


OpenLab = Callable[..., Session]


def test_call_and_answer(open_lab: OpenLab) -> None:
    """Arguments arrive as what they stand for, and the result is what the model sees; wrong ones are explained."""
    session = open_lab(*COMMON)
    right, wrong = (
        ToolCall("mcp__lab__move", point={"x": 1, "y": 2}),
        ToolCall("mcp__lab__move", point={"x": "1", "y": 2}),
    )
    assert run(session, right) == [('{"x":2,"y":2}', False)]
    ((said, failed),) = run(session, wrong)
    assert failed
    assert said.startswith("move was not run: Expected `int`, got `str` - at `$.point.x`")


def test_official_form(open_session: Opener) -> None:
    """Code for the official SDK works without its `async`: the schema, the dict of arguments, the dict of a server."""

    @tool("greet", "Greet somebody", {"name": str})
    def greet(args: dict[str, Any]) -> dict[str, Any]:
        return {"content": [{"type": "text", "text": f"Hello, {args['name']}"}]}

    people = {"type": "sdk", "name": "people", "instance": ToolServer("people", [greet])}
    session = open_session(mcp_servers={"people": people}, allowed_tools=["mcp__people__greet"])
    assert run(session, ToolCall("mcp__people__greet", name="Ada")) == [("Hello, Ada", False)]


@pytest.mark.alone
def test_handshake_costs_nothing_where_manifests_are_known(open_lab: OpenLab, program: Program) -> None:
    """2.1.332 has all it needs from the first request and asks nothing; older programs shake hands with the prompt."""
    session = open_lab(move)
    before = session.stats.requests_received
    run(session, ToolCall("mcp__lab__move", point={"x": 1, "y": 2}))
    asked = session.stats.requests_received - before
    assert (before, asked) == (0, 1 if program.version == "2.1.332" else 4)
    assert session.get_mcp_status()["lab"].status == "connected"


def test_permission_is_asked_for(open_session: Opener) -> None:
    """Without a rule a tool is asked about like any other, under its full name."""
    asked: list[str] = []

    def decide(name: str, tool_input: dict[str, Any], _context: Any) -> Allow | Deny:
        asked.append(name)
        return Allow({**tool_input, "by": 5}) if len(asked) == 1 else Deny("enough")

    session = open_session(mcp_servers={"lab": ToolServer("lab", [move])}, can_use_tool=decide)
    call = ToolCall("mcp__lab__move", point={"x": 1, "y": 2})
    assert run(session, call) == [('{"x":6,"y":2}', False)]
    ((said, failed),) = run(session, call)
    assert (failed, "enough" in said) == (True, True)
    assert asked == ["mcp__lab__move"] * 2


def test_kinds_of_results(open_lab: OpenLab) -> None:
    """An image is seen as one, an exception and a failure as errors, and no output is no error."""
    session = open_lab(*COMMON)
    ((image, failed),) = run(session, ToolCall("mcp__lab__draw"))
    assert not failed
    assert image[0]["source"]["media_type"] == "image/png"
    ((_, failed),) = run(session, ToolCall("mcp__lab__nothing"))
    assert not failed
    ((said, failed),) = run(session, ToolCall("mcp__lab__raises"))
    assert (failed, said.startswith("raises failed: ValueError: no such article")) == (True, True)
    ((said, failed),) = run(session, ToolCall("mcp__lab__refuses"))
    assert (failed, said.startswith("closed on Sundays")) == (True, True)


def test_reading_tools_run_at_the_same_time(open_lab: OpenLab) -> None:
    """Fifty calls of a reading tool are in flight at once; calls of another kind run one after the other."""
    barrier, lock = threading.Barrier(50), threading.Lock()
    running, most = 0, 0

    @tool(read_only=True)
    def meet(number: int) -> str:
        """Meet the others."""
        barrier.wait(20)
        return f"met {number}"

    @tool
    def write(number: int) -> str:
        """Write alone."""
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        threading.Event().wait(0.05)
        with lock:
            running -= 1
        return f"wrote {number}"

    session = open_lab(meet, write, env={"CLAUDE_CODE_MAX_TOOL_USE_CONCURRENCY": "50"})
    met = run(session, *(ToolCall("mcp__lab__meet", number=each) for each in range(50)))
    assert sorted(met) == sorted((f"met {each}", False) for each in range(50))
    wrote = run(session, *(ToolCall("mcp__lab__write", number=each) for each in range(3)))
    assert wrote == [(f"wrote {each}", False) for each in range(3)]
    assert most == 1


@pytest.mark.alone
@pytest.mark.parametrize("ends", ["interrupt", "close"])
def test_one_hung_call_among_fifty(open_lab: OpenLab, ends: str) -> None:
    """Of fifty calls in flight one never returns: the others are answered, and an interrupt and close are prompt."""
    barrier, latch, met = threading.Barrier(49), Latch(), list[int]()

    @tool(read_only=True)
    def hang() -> None:
        """Hang."""
        latch.hold()

    @tool(read_only=True)
    def meet(number: int) -> str:
        """Meet the others."""
        barrier.wait(20)
        met.append(number)
        return f"met {number}"

    session = open_lab(hang, meet, env={"CLAUDE_CODE_MAX_TOOL_USE_CONCURRENCY": "50"})
    calls = [ToolCall("mcp__lab__meet", number=each) for each in range(49)]
    turn = session.ask(script(Answer(ToolCall("mcp__lab__hang"), *calls), Text("never")))
    try:
        wait_until(lambda: latch.inside == 1 and len(met) == 49, 20)
        began = time.monotonic()
        if ends == "interrupt":
            session.interrupt()
            turn.result(timeout=10, check=False)
            assert turn.outcome == "interrupted"
        session.close()
        assert time.monotonic() - began < 15  # an interrupt's 2 s, and the 5 s that the program has to end
    finally:
        latch.open()
    wait_until(lambda: latch.inside == 0)


class Listening:
    """A tool that waits for its signal and keeps the reason."""

    def __init__(self, **settings: Any) -> None:
        self.begun = threading.Event()
        self.reasons: list[str | None] = []
        self.tool = tool("listen", **settings)(self.listen)

    def listen(self, context: ToolContext) -> str:
        """Wait."""
        self.begun.set()
        context.signal.wait(20)
        self.reasons.append(context.signal.reason)
        return "too late"


def test_interrupt_cancels_a_call(open_lab: OpenLab) -> None:
    """An interrupt reaches the tool through its signal, ends the turn, and leaves the session and its tools usable."""
    listening = Listening()
    session = open_lab(listening.tool, move)
    turn = session.ask(script(ToolCall("mcp__lab__listen"), Text("never")))
    assert listening.begun.wait(20)
    session.interrupt()
    assert turn.result(timeout=20, check=False) is not None
    assert turn.outcome == "interrupted"
    wait_until(lambda: listening.reasons == ["cancelled"])
    assert run(session, ToolCall("mcp__lab__move", point={"x": 1, "y": 2})) == [('{"x":2,"y":2}', False)]


def test_time_limit_lets_the_turn_go_on(open_lab: OpenLab) -> None:
    """A call whose time is up is an error for the model, and the turn ends as it should."""
    listening = Listening(timeout=0.3)
    session = open_lab(listening.tool)
    ((said, failed),) = run(session, ToolCall("mcp__lab__listen"))
    assert (failed, said.startswith("listen did not answer within 0.3 seconds.")) == (True, True)
    wait_until(lambda: listening.reasons == ["timeout"])


@pytest.mark.alone
def test_close_while_a_tool_runs(open_lab: OpenLab) -> None:
    """Closing tells the tool, and does not wait for the program to give it up."""
    listening = Listening()
    session = open_lab(listening.tool)
    session.ask(script(ToolCall("mcp__lab__listen"), Text("never")))
    assert listening.begun.wait(20)
    session.close()
    wait_until(lambda: bool(listening.reasons))
    assert listening.reasons[0] in ("cancelled", "closed")


def test_tool_steers_and_reports(open_lab: OpenLab) -> None:
    """From a tool the session can be steered and progress reported; the program takes both."""
    session = open_lab(*COMMON)
    ((said, failed),) = run(session, ToolCall("mcp__lab__steer"))
    assert (failed, said.startswith("toolu_")) == (False, True)


@pytest.mark.alone
def test_servers_come_and_go(open_lab: OpenLab) -> None:
    """A server that is added works in the next turn, its removal takes its tools, and that of the options stays."""
    session = open_lab(move, allowed_tools=["mcp__lab", "mcp__more"])
    call = ToolCall("mcp__more__move", point={"x": 1, "y": 2})
    added = session.set_mcp_servers({"more": ToolServer("more", [move])})
    assert added.errors == {}
    assert run(session, call) == [('{"x":2,"y":2}', False)]
    assert session.set_mcp_servers({}).removed == ("more",)
    ((said, failed),) = run(session, call)
    assert (failed, "No such tool" in said) == (True, True)
    assert run(session, ToolCall("mcp__lab__move", point={"x": 1, "y": 2})) == [('{"x":2,"y":2}', False)]


def test_strict_configuration_keeps_servers_here(open_lab: OpenLab) -> None:
    """`strict_mcp_config` is about servers of settings files; those in this process are there."""
    session = open_lab(move, strict_mcp_config=True)
    assert run(session, ToolCall("mcp__lab__move", point={"x": 1, "y": 2})) == [('{"x":2,"y":2}', False)]


@pytest.mark.parametrize("program", ["2.1.332"], indirect=True)
def test_reinitialize_keeps_the_servers(open_lab: OpenLab) -> None:
    """Asking the program anew what it says of itself does not lose the tools (2.1.332)."""
    session = open_lab(*COMMON)
    session.reinitialize()
    assert run(session, ToolCall("mcp__lab__move", point={"x": 1, "y": 2})) == [('{"x":2,"y":2}', False)]
    session.toggle_mcp_server("lab", False)
    session.toggle_mcp_server("lab", True)
    assert run(session, ToolCall("mcp__lab__move", point={"x": 1, "y": 2})) == [('{"x":2,"y":2}', False)]


@pytest.mark.parametrize("program", ["2.1.332"], indirect=True)
def test_resources_are_read(open_lab: OpenLab) -> None:
    """The model finds and reads a server's resources by the program's own tools (2.1.332)."""
    session = open_lab(*COMMON)
    ((listed, _),) = run(session, ToolCall("ListMcpResourcesTool"))
    assert "notes://a" in listed
    ((read, _),) = run(session, ToolCall("ReadMcpResourceTool", server="lab", uri="notes://a"))
    assert "hello" in read


@tool
def late(x: int) -> int:
    """Come late."""
    return x + 1


@pytest.mark.parametrize("program", ["2.1.332"], indirect=True)
def test_tools_of_a_server_come_and_go(open_session: Opener) -> None:
    """A tool that a server gets while the session runs is there for the next turn, and one that it loses is not."""
    lab = ToolServer("lab", [move])
    session = open_session(mcp_servers={"lab": lab}, allowed_tools=["mcp__lab"])
    assert run(session, ToolCall("mcp__lab__move", point={"x": 1, "y": 2})) == [('{"x":2,"y":2}', False)]
    before = session.stats.requests_received
    lab.add_tool(late)
    wait_until(lambda: session.stats.requests_received == before + 1)  # the program asks for the list
    assert run(session, ToolCall("mcp__lab__late", x=1)) == [("2", False)]
    before = session.stats.requests_received
    lab.remove_tool("late")
    wait_until(lambda: session.stats.requests_received == before + 1)
    ((said, failed),) = run(session, ToolCall("mcp__lab__late", x=1))
    assert (failed, "No such tool" in said) == (True, True)


@pytest.mark.parametrize("program", ["2.0.75", "2.1.7"], indirect=True)
def test_older_programs_keep_their_list_of_tools(open_session: Opener) -> None:
    """2.0.75 and 2.1.7 take the news and do not look again: a new tool is unknown, and a lost one fails when called."""
    lab = ToolServer("lab", [move])
    session = open_session(mcp_servers={"lab": lab}, allowed_tools=["mcp__lab"])
    call = ToolCall("mcp__lab__move", point={"x": 1, "y": 2})
    assert run(session, call) == [('{"x":2,"y":2}', False)]
    lab.add_tool(late)
    ((said, failed),) = run(session, ToolCall("mcp__lab__late", x=1))
    assert (failed, "No such tool" in said) == (True, True)
    lab.remove_tool("move")
    ((said, failed),) = run(session, call)
    assert (failed, "lab has no tool 'move'; it has late" in said) == (True, True)


@pytest.mark.parametrize("program", ["2.1.332"], indirect=True)
def test_templates_are_read(open_session: Opener) -> None:
    """The model reads an address that fits a template of a server's (2.1.332); the list shows whole resources only."""
    notes = ResourceTemplate("notes://{day}", lambda day: f"the note of {day}", name="notes")
    session = open_session(mcp_servers={"lab": ToolServer("lab", [move], resources=[notes])})
    ((listed, _),) = run(session, ToolCall("ListMcpResourcesTool"))
    assert "notes://" not in listed
    ((read, failed),) = run(session, ToolCall("ReadMcpResourceTool", server="lab", uri="notes://friday"))
    assert (failed, "the note of friday" in read) == (False, True)
    ((read, _),) = run(session, ToolCall("ReadMcpResourceTool", server="lab", uri="other://friday"))
    assert "Resource not found: other://friday" in read


# -- servers of the mcp library ----------------------------------------------------------------------------------------


def adding() -> Any:
    """Return a server of the mcp library with one tool."""
    high = highlevel("high")

    @high.tool()  # type: ignore[untyped-decorator]
    def add(a: int, b: int) -> int:
        return a + b

    return high


def test_bridged_server(open_session: Opener) -> None:
    """A server of the mcp library works as it is, with settings, and in the official SDK's form."""
    official = {"type": "sdk", "name": "x", "instance": adding()}
    forms = {"object": adding(), "bridge": bridge(adding()), "official": official}
    session = open_session(
        mcp_servers={**forms, "lab": ToolServer("lab", [late])},
        allowed_tools=[f"mcp__{name}" for name in (*forms, "lab")],
    )
    for form in forms:
        assert run(session, ToolCall(f"mcp__{form}__add", a=1, b=2)) == [('{"result":3}', False)]
        ((said, failed),) = run(session, ToolCall(f"mcp__{form}__add", a="x", b=2))
        assert (failed, "validation error" in said) == (True, True)
        assert session.get_mcp_status()[form].status == "connected"
    assert run(session, ToolCall("mcp__lab__late", x=1)) == [("2", False)]


def test_interrupt_cancels_a_bridged_call(open_session: Opener) -> None:
    """An interrupt cancels the task of the server that runs the call, and the next call is answered."""
    begun, cancelled = threading.Event(), threading.Event()

    async def wait(_name: str, arguments: dict[str, Any]) -> str:
        if arguments.get("x"):
            return "here"
        begun.set()
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.set()
            raise
        return "never"

    session = open_session(mcp_servers={"low": lowlevel(wait)}, allowed_tools=["mcp__low"])
    turn = session.ask(script(ToolCall("mcp__low__echo"), Text("never")))
    assert begun.wait(20)
    session.interrupt()
    turn.result(timeout=20, check=False)
    assert turn.outcome == "interrupted"
    assert cancelled.wait(10)
    assert run(session, ToolCall("mcp__low__echo", x="y")) == [("here", False)]


def test_mute_server_does_not_hold_up_the_first_turn(open_session: Opener, program: Program) -> None:
    """A bridged server that is not ready costs the first turn its time limit; the others work, and it may come."""
    ready = threading.Event()

    @asynccontextmanager
    async def lifespan(_server: Any) -> AsyncIterator[dict[str, Any]]:
        while not ready.is_set():
            await asyncio.sleep(0.05)
        yield {}

    async def say(_name: str, arguments: dict[str, Any]) -> str:
        return str(arguments["x"])

    mute = bridge(lowlevel(say, lifespan), handshake_timeout=0.5)
    servers = {"mute": mute, "lab": ToolServer("lab", [late])}
    session = open_session(mcp_servers=servers, allowed_tools=["mcp__lab", "mcp__mute"])
    began = time.monotonic()
    assert run(session, ToolCall("mcp__lab__late", x=1)) == [("2", False)]
    assert time.monotonic() - began < 15  # without an answer it is blocked for 60 s (2.1.332)
    assert session.get_mcp_status()["mute"].status == "failed"
    if program.version == "2.1.332":
        ready.set()
        session.toggle_mcp_server("mute", False)
        session.toggle_mcp_server("mute", True)
        assert run(session, ToolCall("mcp__mute__echo", x="here")) == [("here", False)]
