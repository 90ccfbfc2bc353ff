"""What the real programs do with the answers of hooks, and what becomes of a hook that fails."""

import threading
from pathlib import Path
from typing import Any

import pytest

from claude_control import (
    Allow,
    ControlRequestError,
    Deny,
    HookMatcher,
    Session,
    add_context,
    allow_tool,
    ask_user,
    block,
    defer_tool,
    deny_tool,
    rewrite_input,
    rewrite_output,
    stop,
)
from claude_control.testing import ModelServer
from claude_control.testing.model_prompt import script
from claude_control.testing.model_script import Answer, HttpError, Text, ToolCall
from tests.real.conftest import Opener, Program
from tests.real.hook_book import FAIL, MAKE, Book, ask, delegate, furnish, story, tool_results
from tests.waiting import wait_until

pytestmark = [pytest.mark.real, pytest.mark.shared]

newest = pytest.mark.parametrize("program", ["2.1.332"], indirect=True)

LOOK = ToolCall("Bash", command="ls", description="look")
"""A command that no program asks about by itself."""


def allow(*_: Any) -> Allow:
    """Let everything run."""
    return Allow()


def raw_result(messages: list[Any]) -> dict[str, Any]:
    """Return the result that ends a turn."""
    result: dict[str, Any] = messages[-1].raw
    return result


def told_model(server: ModelServer) -> str:
    """Return what the model was told last."""
    return str(server.requests[-1].messages)


COMMON = ("UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure", "SubagentStart", "Stop")


def watched(open_session: Opener, book: Book, can_use_tool: Any = allow) -> Session:
    """Open a session that tests share: with hooks of several events, which have no opinion unless the book says so."""
    return open_session(hooks=book.hooks(COMMON), can_use_tool=can_use_tool)


# -- before a tool -----------------------------------------------------------------------------------------------------


def test_decisions_about_a_tool(open_session: Opener, program: Program, workspace: Path) -> None:
    """Allow spares the permission callback, deny tells the model why, and ask has it asked, not by older programs."""
    asked: list[str] = []

    def decide(_tool: str, tool_input: dict[str, Any], _context: Any) -> Deny:
        asked.append(tool_input["command"])
        return Deny("asked and denied")

    book = Book({"PreToolUse": allow_tool("fine")})
    session = watched(open_session, book, decide)
    ask(session, MAKE, Text("ok"))
    assert (asked, (workspace / "made").exists()) == ([], True)
    book.answers["PreToolUse"] = deny_tool("not today")
    (said,) = tool_results(ask(session, LOOK, Text("ok")))
    assert "not today" in said
    book.answers["PreToolUse"] = ask_user("please look")
    (said,) = tool_results(ask(session, LOOK, Text("ok")))
    assert ("asked and denied" in said, asked) == ((True, ["ls"]) if program.version == "2.1.332" else (False, []))
    book.answers["PreToolUse"] = {"async": True, "asyncTimeout": 5}
    (said,) = tool_results(ask(session, LOOK, Text("ok")))
    assert "made" in said  # no opinion: it ran


def test_deny_beats_ask_beats_allow(open_session: Opener, program: Program) -> None:
    """Of several opinions the strictest counts, wherever it stands; a rule that denies beats a hook that allows."""
    said = {"allow": allow_tool(), "ask": ask_user(), "deny": deny_tool("no")}
    asked: list[str] = []

    def decide(tool: str, *_: Any) -> Allow:
        asked.append(tool)
        return Allow()

    answers: list[Any] = []
    hooks = [HookMatcher(hooks=[lambda *_, place=place: answers[place] for place in range(3)])]
    session = open_session(hooks={"PreToolUse": hooks}, can_use_tool=decide, disallowed_tools=["Read"])
    for row, runs in ((("deny", "allow", "ask"), False), (("ask", "allow", "allow"), True)):
        answers[:] = [said[name] for name in row]
        (result,) = tool_results(ask(session, MAKE, Text("ok")))
        assert ("denied" not in result and "error" not in result) == runs
    assert asked == ["Bash"]
    answers[:] = [allow_tool()] * 3
    (result,) = tool_results(ask(session, ToolCall("Read", file_path="a.txt"), Text("ok")))
    assert "one" not in result, program


def test_input_is_rewritten(open_session: Opener, program: Program, workspace: Path) -> None:
    """A tool runs with the other input, also when nobody decided; 2.0.75, which would run the first one, runs none."""
    other = rewrite_input({"command": "touch other", "description": "make another"})
    book = Book({"PreToolUse": other})
    session = watched(open_session, book)
    (said,) = tool_results(ask(session, MAKE, Text("ok")))
    assert (workspace / "other").exists() == (program.version != "2.0.75")
    assert ("needs Claude Code 2.1.7" in said) == (program.version == "2.0.75")
    (workspace / "other").unlink(missing_ok=True)
    book.answers["PreToolUse"] = allow_tool() | other
    ask(session, MAKE, Text("ok"))
    assert ((workspace / "other").exists(), (workspace / "made").exists()) == (True, False)


QUESTION = {
    "question": "Which?",
    "header": "Pick",
    "multiSelect": False,
    "options": [{"label": "red", "description": "r"}, {"label": "blue", "description": "b"}],
}


def test_question_is_answered_by_a_hook(open_session: Opener, program: Program) -> None:
    """A hook answers the model's question by rewriting its input; older programs drop the answers."""

    def answer(told: dict[str, Any], *_: Any) -> dict[str, Any]:
        return allow_tool() | rewrite_input({**told["tool_input"], "answers": {"Which?": "blue"}})

    hooks = {"PreToolUse": [HookMatcher("AskUserQuestion", [answer])]}
    session = open_session(hooks=hooks, can_use_tool=allow)
    (said,) = tool_results(ask(session, ToolCall("AskUserQuestion", questions=[QUESTION]), Text("ok")))
    assert ('"Which?"="blue"' in said) == (program.version == "2.1.332")


@pytest.mark.alone
def test_tool_is_put_off(open_session: Opener, program: Program, workspace: Path) -> None:
    """Defer ends the turn with the call in the result; an older program, which would run the tool, denies it."""
    book = Book({"PreToolUse": defer_tool()})
    messages = ask(open_session(hooks=book.hooks(["PreToolUse"]), can_use_tool=allow), MAKE, Text("ok"))
    assert not (workspace / "made").exists()
    if program.version == "2.1.332":
        assert raw_result(messages)["deferred_tool_use"]["input"]["command"] == "touch made"
    else:
        assert "needs Claude Code 2.1.332" in tool_results(messages)[0]


@newest
def test_permission_requests_are_decided(open_session: Opener, workspace: Path) -> None:
    """A hook decides before the permission callback does, which is then told; the helpers for tools do (2.1.332)."""
    reasons: list[str | None] = []

    def wait(_tool: str, _input: dict[str, Any], context: Any) -> Allow:
        context.signal.wait(20)
        reasons.append(context.signal.reason)
        return Allow()

    book = Book({"PermissionRequest": deny_tool("not by this hook")})
    session = open_session(hooks=book.hooks(["PermissionRequest"]), can_use_tool=wait)
    (said,) = tool_results(ask(session, MAKE, Text("ok")))
    assert "not by this hook" in said
    other = {"command": "touch other", "description": "make another"}
    book.answers["PermissionRequest"] = allow_tool() | rewrite_input(other)
    ask(session, MAKE, Text("ok"))
    book.answers["PermissionRequest"] = block("blocked")
    (said,) = tool_results(ask(session, MAKE, Text("ok")))
    assert "blocked" in said
    assert ((workspace / "other").exists(), (workspace / "made").exists()) == (True, False)
    wait_until(lambda: reasons == ["cancelled"] * 3)


@newest
def test_permission_callback_may_be_first(open_session: Opener, workspace: Path) -> None:
    """The permission callback does not wait for the hook, whose answer then changes nothing any more (2.1.332)."""
    asked = threading.Event()

    def late(*_: Any) -> dict[str, Any]:
        asked.wait(10)
        wait_until((workspace / "made").exists)
        return deny_tool("too late")

    def decide(*_: Any) -> Allow:
        asked.set()
        return Allow()

    book = Book({"PermissionRequest": late})
    messages = ask(open_session(hooks=book.hooks(["PermissionRequest"]), can_use_tool=decide), MAKE, Text("ok"))
    assert "too late" not in str(tool_results(messages))
    assert raw_result(messages)["result"].strip() == "ok"


@newest
def test_shell_commands_of_skills_and_models_are_guarded(open_session: Opener, workspace: Path) -> None:
    """A shell command in a skill does not run, and a model does not change, when a hook denies or asks (2.1.332)."""
    furnish(workspace)
    book = Book()
    session = open_session(hooks=book.hooks(["PreSkillShellCommand", "PreModelSwitch"]))
    for answer in (deny_tool("no reason"), block("no reason"), ask_user("no reason")):
        book.answers = dict.fromkeys(("PreSkillShellCommand", "PreModelSwitch"), answer)
        messages = ask(session, "/shout")
        assert any("Not run in /shout" in str(message.raw.get("content")) for message in messages)
        with pytest.raises(ControlRequestError, match="no reason"):
            session.set_model("claude-sonnet-5")
    book.answers.clear()
    assert session.set_model("claude-sonnet-5").model == "claude-sonnet-5"


# -- after a tool ------------------------------------------------------------------------------------------------------


@newest
def test_output_is_rewritten(open_session: Opener, model_server: ModelServer) -> None:
    """The model reads the output that the hook returns, if it has the tool's form; others are dropped (2.1.332)."""
    secret = ToolCall("Bash", command="echo secret", description="say it")
    shell = {"stdout": "redacted", "stderr": "", "interrupted": False, "isImage": False}
    book = Book({"PostToolUse": rewrite_output(shell)})
    session = open_session(hooks=book.hooks(["PostToolUse"]), can_use_tool=allow)
    assert tool_results(ask(session, secret, Text("ok"))) == ["redacted"]
    book.answers["PostToolUse"] = rewrite_output("redacted")
    assert tool_results(ask(session, secret, Text("ok"))) == ["secret"]
    book.answers["PostToolUse"] = block("look again")
    ask(session, secret, Text("ok"))
    assert "look again" in told_model(model_server)


def test_context_is_added(open_session: Opener, program: Program, model_server: ModelServer) -> None:
    """What hooks add at prompts and tools is told to the model; older programs leave out that before a tool."""
    book = Book()
    book.answers = {
        event: (lambda told, _id, _context: add_context(f"context of {told['hook_event_name']}"))
        for event in ("UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure", "SubagentStart")
    }
    session = watched(open_session, book)
    ask(session, MAKE, FAIL, delegate(Text("sub answer")), Text("ok"))
    told = {event for event in book.answers for one in model_server.requests if f"context of {event}" in str(one.body)}
    assert told == book.answers.keys() - ({"PreToolUse"} if program.version != "2.1.332" else set())


# -- prompts and ends --------------------------------------------------------------------------------------------------


def test_prompts_are_blocked(open_session: Opener, program: Program, model_server: ModelServer) -> None:
    """A blocked prompt reaches no model; the newest program says why, and shows the prompt unless told not to."""
    book = Book({"UserPromptSubmit": block("not this")})
    session = watched(open_session, book)
    for answer in (block("not this"), block("not this") | {"suppressOriginalPrompt": True}, stop("not this")):
        book.answers["UserPromptSubmit"] = answer
        turn = session.ask("the very prompt")
        result = turn.result().raw["result"]
        assert turn.outcome == "blocked"
        assert ("not this" in result) == (program.version == "2.1.332")
        assert ("the very prompt" in result) == (program.version == "2.1.332" and answer == block("not this"))
    assert not any("the very prompt" in str(request.messages) for request in model_server.requests)


@newest
def test_commands_and_compactions_are_blocked(open_session: Opener, workspace: Path, model_server: ModelServer) -> None:
    """A slash command is not expanded, and a conversation not compacted, when a hook blocks it (2.1.332)."""
    furnish(workspace)
    book = Book()
    session = open_session(hooks=book.hooks(["UserPromptExpansion", "PreCompact"]))
    ask(session, Text("before"))
    asked = len(model_server.requests)
    book.answers = dict.fromkeys(("UserPromptExpansion", "PreCompact"), block("not now"))
    for command in ("/greet bob", "/compact"):
        turn = session.ask(command)
        assert "not now" in turn.result().raw["result"]
        assert turn.outcome == "blocked"
    book.answers = {"UserPromptExpansion": stop("not now")}
    turn = session.ask("/greet bob")
    assert "not now" in turn.result().raw["result"]
    assert turn.outcome == "blocked"
    assert len(model_server.requests) == asked


def test_stop_goes_on(open_session: Opener, program: Program, model_server: ModelServer) -> None:
    """A turn whose end is blocked goes on with the reason, or with context on the newest program."""

    def once(answer: dict[str, Any]) -> Any:
        return lambda told, *_: None if told["stop_hook_active"] else answer

    book = Book({"Stop": once(block("go on"))})
    session = watched(open_session, book)
    messages = ask(session, Text("first"), Text("second"))
    assert raw_result(messages)["result"].strip() == "second"
    assert "go on" in told_model(model_server)
    book.answers["Stop"] = once(add_context("some more"))
    messages = ask(session, Text("first"), Text("second"))
    went_on = program.version == "2.1.332"  # elsewhere it fails, and a failed Stop hook has no opinion
    assert raw_result(messages)["result"].strip() == ("second" if went_on else "first")
    assert ("some more" in told_model(model_server)) == went_on


def test_turns_are_stopped(open_session: Opener, program: Program, workspace: Path) -> None:
    """A hook ends the turn; at PreToolUse the tool still runs, unless it is denied too."""
    newer = program.version == "2.1.332"
    events = ("PreToolUse", "PostToolUse", "Stop", *(("PostToolBatch",) if newer else ()))
    book = Book()
    session = open_session(hooks=book.hooks(events), can_use_tool=allow)
    for event in events:
        (workspace / "made").unlink(missing_ok=True)
        book.answers = {event: stop("halt")}
        turn = session.ask(script_of(event))
        turn.result()
        assert turn.outcome == "blocked", event
        assert (workspace / "made").exists() == (event != "Stop")
    (workspace / "made").unlink(missing_ok=True)
    book.answers = {"PreToolUse": stop("halt") | deny_tool("no")}
    ask(session, MAKE, Text("never"))
    assert not (workspace / "made").exists()


def script_of(event: str) -> str:
    """Return a prompt at which an event happens."""
    return script(Text("said")) if event == "Stop" else script(MAKE, Text("never"))


@newest
def test_what_is_shown_is_replaced(open_session: Opener, model_server: ModelServer) -> None:
    """What is shown of an answer is what the hook returns, in messages and result, but not to the model (2.1.332)."""
    book = Book({"MessageDisplay": {"displayContent": "shown"}, "UserPromptSubmit": {"sessionTitle": "A title"}})
    session = open_session(hooks=book.hooks(["MessageDisplay", "UserPromptSubmit"]))
    assert raw_result(ask(session, Text("said")))["result"] == "shown"
    ask(session, Text("again"))
    assert "said" in told_model(model_server)
    assert [told.get("session_title") for told in book.of("UserPromptSubmit")] == [None, "A title"]


@newest
def test_messages_are_shown(open_session: Opener) -> None:
    """A `systemMessage` comes as a message of the program (2.1.332)."""
    book = Book({"PreToolUse": {"systemMessage": "look out"}})
    messages = ask(watched(open_session, book), MAKE, Text("ok"))
    shown = [message.raw["content"] for message in messages if message.raw.get("subtype") == "informational"]
    assert shown == ["PreToolUse:Bash says: look out"]


# -- failures ----------------------------------------------------------------------------------------------------------


def hang(_told: Any, _id: Any, context: Any) -> None:
    """Wait until the answer is no longer wanted."""
    context.signal.wait(30)


def fail(*_: Any) -> None:
    """Raise."""
    raise RuntimeError("out of order")


FAILURES = {
    "raises": fail,
    "rubbish": "deny",
    "another event": {"hookSpecificOutput": {"hookEventName": "Setup"}},
    "another's field": {"displayContent": "x", "worktreePath": "x"},
    "a wrong type": {"continue": "no"},
    "late": hang,
}
OTHERS = (
    *("PostToolUse", "PostToolUseFailure", "PostToolBatch", "Stop", "SubagentStart", "SubagentStop"),
    *("MessageDisplay", "PreCompact", "PostCompact", "SessionStart"),
)


def test_failed_hooks_change_nothing(open_session: Opener, program: Program, workspace: Path) -> None:
    """Hooks that guard nothing fail in every way, on every event, and the session goes on as if they were not there."""
    book = Book()
    session = open_session(hooks=book.hooks(OTHERS, timeout=0.2), can_use_tool=allow)
    newest_only = {"PostToolBatch", "MessageDisplay", "PostCompact"} if program.version != "2.1.332" else set()
    for failure in FAILURES.values():
        book.answers = dict.fromkeys(OTHERS, failure)
        book.inputs.clear()
        story(session)
        assert set(book.events) == set(OTHERS) - newest_only
        (workspace / "made").unlink()
    assert raw_result(ask(session, Text("and on")))["result"].strip() == "and on"


@pytest.mark.alone
@newest
def test_hanging_hook_at_the_end_of_a_batch_leaves_the_session_alive(open_session: Opener) -> None:
    """A PostToolBatch hook that ignores its limit costs the limit and no more: the program never counts (2.1.332)."""
    release = threading.Event()
    hooks = {"PostToolBatch": [HookMatcher(hooks=[lambda *_: release.wait(60)], timeout=0.3)]}
    session = open_session(hooks=hooks, can_use_tool=allow)
    for _ in range(2):
        assert raw_result(ask(session, MAKE, Text("on")))["result"].strip() == "on"
    assert session.stats.abandoned_callbacks == 0
    release.set()


def test_failed_guards_of_tools_and_prompts_stop_them(open_session: Opener, program: Program, workspace: Path) -> None:
    """A tool and a prompt whose guard fails, in any way, go nowhere on any program, and it is said why."""
    book = Book()
    session = open_session(hooks=book.hooks(["PreToolUse", "UserPromptSubmit"], timeout=0.2), can_use_tool=allow)
    for failure in FAILURES.values():
        book.answers = {"UserPromptSubmit": failure}
        turn = session.ask("never")
        said = turn.result().raw["result"]
        assert turn.outcome == "blocked"
        assert ("The UserPromptSubmit hook" in said) == (program.version == "2.1.332")
        book.answers = {"PreToolUse": failure}
        (said,) = tool_results(ask(session, MAKE, Text("ok")))
        assert "The PreToolUse hook" in said
    assert not (workspace / "made").exists()


@newest
def test_failed_guards_of_the_newest_program(open_session: Opener, workspace: Path) -> None:
    """A permission, a slash command, a skill's command and a model whose guard fails go nowhere (2.1.332)."""
    furnish(workspace)
    events = ["PermissionRequest", "UserPromptExpansion", "PreSkillShellCommand", "PreModelSwitch"]
    book = Book()
    session = open_session(hooks=book.hooks(events, timeout=0.2), can_use_tool=hang)
    for failure in FAILURES.values():
        book.answers = dict.fromkeys(events, failure)
        (said,) = tool_results(ask(session, MAKE, Text("ok")))
        assert "The PermissionRequest hook" in said
        assert "The UserPromptExpansion hook" in raw_result(ask(session, "/greet bob"))["result"]
        with pytest.raises(ControlRequestError, match="The PreModelSwitch hook"):
            session.set_model("claude-sonnet-5")
        del book.answers["UserPromptExpansion"]
        assert "The PreSkillShellCommand hook" in str([message.raw for message in ask(session, "/shout")])
    assert not (workspace / "made").exists()


def test_guards_may_fail_open(open_session: Opener, workspace: Path) -> None:
    """With `on_failure="continue"` a guard that fails, or is late, has no opinion, on every program."""
    book = Book()
    hooks = book.hooks(["PreToolUse", "UserPromptSubmit"], timeout=0.2, on_failure="continue")
    session = open_session(hooks=hooks, can_use_tool=allow)
    for failure in (fail, hang):
        book.answers = dict.fromkeys(("PreToolUse", "UserPromptSubmit"), failure)
        ask(session, MAKE, Text("ok"))
        assert (workspace / "made").exists()
        (workspace / "made").unlink()


@newest
def test_failure_of_the_api_is_told(open_session: Opener) -> None:
    """A hook that fails after a turn that failed changes nothing (2.1.332)."""
    book = Book({"StopFailure": fail})
    session = open_session(hooks=book.hooks(["StopFailure"]))
    ask(session, HttpError(400, times=None), Text("never"))
    wait_until(lambda: book.events == ["StopFailure"])  # the program does not wait for the hook before its result
    assert raw_result(ask(session, Answer(Text("on"))))["result"].strip() == "on"
