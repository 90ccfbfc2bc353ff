"""Permission requests on the real programs: what they tell, and what becomes of each answer.

The order in which rules, modes, hooks and callbacks decide is in test_permission_order.py, questions and plans in
test_questions.py.
"""

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import pytest

from claude_control import (
    AddDirectories,
    AddRules,
    Allow,
    Deny,
    HookMatcher,
    PermissionContext,
    PermissionRuleValue,
    PermissionUpdate,
    RemoveDirectories,
    RemoveRules,
    ReplaceRules,
    ResultMessage,
    SetMode,
    ToolServer,
    tool,
)
from claude_control.testing.model_prompt import script
from claude_control.testing.model_script import Answer, Text, ToolCall
from tests.real.conftest import Opener, Program
from tests.waiting import wait_until

pytestmark = [pytest.mark.real, pytest.mark.shared]

NEWEST = "2.1.332"
ASKING = json.dumps({"permissions": {"ask": ["Bash(touch:*)", "Bash(rm:*)"]}})


def touch(name: str) -> ToolCall:
    """A Bash call that every version asks about in the default mode, and accepts in acceptEdits."""
    return ToolCall("Bash", command=f"touch {name}", description="make a file")


def errors_of(messages: list[Any]) -> list[str]:
    """Return what the model was told of tools that failed, in order."""
    blocks = [block for message in messages for block in _blocks(message.raw) if block.get("is_error")]
    return [str(block["content"]) for block in blocks]


def _blocks(raw: dict[str, Any]) -> list[dict[str, Any]]:
    content = raw["message"]["content"] if raw.get("type") == "user" else []
    return content if isinstance(content, list) else []


class Recorder:
    """A permission callback that notes what it is asked, and answers what the test says (Allow by default)."""

    def __init__(self, *answers: Any) -> None:
        self.asked: list[tuple[str, dict[str, Any], PermissionContext]] = []
        self._answers = iter(answers)

    def __call__(self, tool_name: str, tool_input: dict[str, Any], context: PermissionContext) -> Any:
        """Note the request, and answer it."""
        self.asked.append((tool_name, tool_input, context))
        answer = next(self._answers, Allow())
        return answer(context) if callable(answer) else answer

    @property
    def contexts(self) -> list[PermissionContext]:
        """The contexts, in order."""
        return [context for _, _, context in self.asked]


# -- what is told ------------------------------------------------------------------------------------------------------


def told(context: PermissionContext) -> set[str]:
    """Return the names of the fields that the program filled in."""
    ours = {"raw", "signal", "session", "_later"}
    fields = attrs.fields(PermissionContext)
    return {field.name for field in fields if field.name not in ours and getattr(context, field.name)}


def test_shell_command_and_its_suggestions(open_session: Opener, program: Program) -> None:
    """A command that writes comes with its description, the call's id and suggestions, each of a kind we know."""
    asked = Recorder()
    session = open_session(can_use_tool=asked)
    session.ask(script(touch("made"), Text("done"))).result()
    ((name, tool_input, context),) = asked.asked
    assert (name, tool_input) == ("Bash", {"command": "touch made", "description": "make a file"})
    assert context.session is session
    assert context.tool_use_id is not None
    assert {update.type for update in context.suggestions} <= {"addRules", "addDirectories", "setMode"}
    assert context.suggestions
    if program.version == NEWEST:
        assert (context.display_name, context.description) == ("Bash", "make a file")
        assert all(update.to_wire() == update.raw for update in context.suggestions)


def test_file_outside_of_the_directories(open_session: Opener, tmp_path: Path) -> None:
    """A file outside of the working directory is named in `blocked_path` or in the suggestions, and why it is asked."""
    asked = Recorder()
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "f.txt").write_text("x")
    session = open_session(can_use_tool=asked)
    session.ask(script(ToolCall("Bash", command=f"cat {outside}/f.txt", description="d"), Text("done"))).result()
    (context,) = asked.contexts
    directories = [path for update in context.suggestions for path in update.directories or ()]
    rules = [str(rule.rule_content) for update in context.suggestions for rule in update.rules or ()]
    assert str(outside) in str([context.blocked_path, *directories, *rules])


def test_hook_that_asks_is_named(open_session: Opener, program: Program) -> None:
    """Where a hook makes the program ask, the newest one says so, with the event and the hook's source."""
    asked = Recorder()
    answer = {"hookSpecificOutput": {"permissionDecision": "ask", "permissionDecisionReason": "look closely"}}
    session = open_session(
        can_use_tool=asked, hooks={"PreToolUse": [HookMatcher(matcher="Bash", hooks=[lambda *_: answer])]}
    )
    session.ask(script(touch("made"), Text("done"))).result()
    (context,) = asked.contexts
    newest = program.version == NEWEST
    seen = (context.decision_reason_type, context.decision_reason_hook_event, context.decision_reason_hook_source)
    assert seen == (("hook", "PreToolUse", "settings") if newest else (None, None, None))
    assert (context.decision_reason == "look closely") == newest


def test_rule_that_asks_is_named(open_session: Opener, program: Program) -> None:
    """Where a rule makes the program ask, the newest one says so, and where the rule stands."""
    asked = Recorder()
    session = open_session(can_use_tool=asked, settings=ASKING)
    session.ask(script(touch("made"), Text("done"))).result()
    (context,) = asked.contexts
    assert context.decision_reason_type in ("rule", None)
    if program.version == NEWEST:
        assert (context.decision_reason_type, context.decision_reason_rule_source) == ("rule", "flagSettings")


def test_tool_of_a_server_names_it(open_session: Opener, program: Program) -> None:
    """A tool of an MCP server comes with the server's name and source, on the newest program."""

    @tool
    def echo(text: str) -> str:
        """Say it again."""
        return text

    asked = Recorder()
    session = open_session(can_use_tool=asked, mcp_servers={"lab": ToolServer("lab", [echo])})
    session.ask(script(ToolCall("mcp__lab__echo", text="x"), Text("done"))).result()
    ((name, tool_input, context),) = asked.asked
    assert (name, tool_input) == ("mcp__lab__echo", {"text": "x"})
    suggested = [rule.tool_name for update in context.suggestions for rule in update.rules or ()]
    assert suggested == ([] if program.version == "2.0.75" else ["mcp__lab__echo"])
    if program.version == NEWEST:
        assert context.mcp_server is not None
        assert (context.mcp_server.name, context.mcp_server.source) == ("lab", "sdk")
        assert context.server_policy_ask_only is True


def test_safety_check_is_told(open_session: Opener, program: Program, workspace: Path) -> None:
    """What is asked about for safety's sake says so, and on the newest program how careful one should be."""
    asked = Recorder(*[Deny("no")] * 2)
    session = open_session(can_use_tool=asked, settings=ASKING)
    hook = ToolCall("Write", file_path=str(workspace / ".git" / "hooks" / "x"), content="x")
    session.ask(script(hook, ToolCall("Bash", command="rm -rf /", description="d"), Text("done"))).result()
    guarded, dangerous = asked.contexts
    assert "sensitive file" in str(guarded.decision_reason)
    assert "Dangerous rm operation" in str(dangerous.decision_reason)
    if program.version == NEWEST:
        assert guarded.decision_reason_type == dangerous.decision_reason_type == "safetyCheck"
        assert (guarded.classifier_approvable, dangerous.classifier_approvable) == (True, False)
        assert (guarded.suppress_always_allow_rule, dangerous.suppress_always_allow_rule) == (False, True)
        assert guarded.matched_ask_rule is None
        assert dangerous.matched_ask_rule is not None
        assert (dangerous.matched_ask_rule.tool_name, dangerous.matched_ask_rule.rule_content) == ("Bash", "rm:*")


def test_subagents_are_named_and_ask_side_by_side(open_session: Opener, program: Program) -> None:
    """Subagents ask under their own ids, and three of them at the same time on the newest program."""
    together = threading.Barrier(3)

    def meet(context: PermissionContext) -> Allow:
        if program.version == NEWEST:
            together.wait(25)
        return Allow()

    asked = Recorder(*[meet] * 3)
    agents = [
        ToolCall(
            "Task",
            description=f"agent {n}",
            prompt=script(touch(f"agent{n}"), Text("made it")),
            subagent_type="general-purpose",
            run_in_background=False,
        )
        for n in range(3)
    ]
    session = open_session(can_use_tool=asked)
    session.ask(script(Answer(*agents), Text("done"))).result(timeout=50)
    assert len({context.agent_id for context in asked.contexts} - {None}) == 3


def test_calls_of_one_message_are_asked_one_after_the_other(open_session: Opener) -> None:
    """Two commands of one message are not asked about at once: the second waits for the answer to the first."""
    open_now: list[str] = []

    def alone(context: PermissionContext) -> Allow:
        open_now.append("open")
        assert not context.signal.wait(0.3)
        assert open_now == ["open"]
        open_now.clear()
        return Allow()

    asked = Recorder(alone, alone)
    messages = list(open_session(can_use_tool=asked).ask(script(Answer(touch("a"), touch("b")), Text("done"))))
    assert len(asked.asked) == 2
    assert errors_of(messages) == []


# -- what becomes of an answer -----------------------------------------------------------------------------------------


@pytest.mark.alone
def test_suggestions_go_back_byte_for_byte(open_session: Opener, program: Program, tmp_path: Path) -> None:
    """Suggestions that are handed back have on the wire the bytes with which they came, and take effect."""
    log = tmp_path / "stdin.log"
    asked = Recorder(lambda context: Allow(updated_permissions=context.suggestions))
    command = ["sh", "-c", 'tee -a "$STDIN_LOG" | "$@"', "sh", *program.command]
    session = open_session(can_use_tool=asked, cli_path=command, env={"STDIN_LOG": str(log)})
    again = [touch("made")] * 2  # 2.0.75 suggests a rule for this very command
    session.ask(script(*again, Text("done"))).result()
    (context,) = asked.contexts  # the second one was not asked about
    suggested = json.dumps(context.raw["permission_suggestions"], separators=(",", ":"), ensure_ascii=False)
    assert f'"updatedPermissions":{suggested}' in log.read_text()


def test_denial_is_listed(open_session: Opener) -> None:
    """A denied call is named in the result, and the model is told the message."""
    asked = Recorder(Deny("not today"))
    messages = list(open_session(can_use_tool=asked).ask(script(touch("made"), Text("done"))))
    assert errors_of(messages) == ["not today"]
    assert isinstance(messages[-1], ResultMessage)
    (denied,) = messages[-1].permission_denials or []
    assert (denied["tool_name"], denied["tool_input"]["command"]) == ("Bash", "touch made")


def test_denial_with_interrupt_ends_the_turn(open_session: Opener, workspace: Path) -> None:
    """`Deny(interrupt=True)` ends the turn as interrupted, and the session goes on."""
    asked = Recorder(Deny("enough", interrupt=True))
    session = open_session(can_use_tool=asked)
    turn = session.ask(script(touch("made"), touch("more"), Text("done")))
    turn.result(check=False)
    assert turn.outcome == "interrupted"
    assert len(asked.asked) == 1
    assert not list(workspace.glob("m*"))
    assert str(session.ask(script(Text("next"))).result().result).strip() == "next"


@pytest.mark.parametrize(
    ("answer", "told_model"),
    [
        (None, "must return Allow(…) or Deny(…), not NoneType"),
        ({"behavior": "allow"}, "not dict"),
        (Allow("touch other"), "updated_input must be a dict"),  # type: ignore[arg-type]  # that is the point
        (Allow(updated_permissions=[PermissionUpdate("allowAll")]), "type of a permission update is 'allowAll'"),
        (Allow(updated_permissions=[{"type": "setMode", "mode": "plan"}]), "destination of a permission update"),
        (Allow(updated_permissions=[PermissionUpdate("setMode", mode="bypassPermissions")]), "needs allow_bypass=True"),
    ],
)
def test_wrong_answer_denies_with_the_reason(
    open_session: Opener, workspace: Path, answer: Any, told_model: str
) -> None:
    """What the program would misread, or drop in silence, never reaches it: the tool is denied and says why."""
    messages = list(open_session(can_use_tool=Recorder(answer)).ask(script(touch("made"), Text("done"))))
    assert not (workspace / "made").exists()
    (error,) = errors_of(messages)
    assert error.startswith("The can_use_tool callback failed: OptionsError: ")
    assert told_model in error


def test_input_that_the_tool_does_not_take_fails_there(open_session: Opener) -> None:
    """A changed input that does not fit the tool keeps it from running, and the model is told."""
    asked = Recorder(Allow({"command": 5}))
    messages = list(open_session(can_use_tool=asked).ask(script(touch("made"), Text("done"))))
    assert len(errors_of(messages)) == 1
    assert str(messages[-1].raw["result"]).strip() == "done"


def test_nobody_to_ask_is_said(open_session: Opener, workspace: Path) -> None:
    """A session whose only callback is for questions denies other tools, and says what is missing."""
    session = open_session(on_question=lambda *_: None)
    messages = list(session.ask(script(touch("made"), Text("done"))))
    assert errors_of(messages) == ["Nobody can be asked about Bash: this session has no can_use_tool callback."]
    assert not (workspace / "made").exists()


def test_change_of_mode_does_not_answer(open_session: Opener, workspace: Path) -> None:
    """A request stays open while the mode changes to one that would not have asked; its own answer counts."""
    asked = Recorder(lambda context: context.answer_later())
    session = open_session(can_use_tool=asked)
    turn = session.ask(script(touch("made"), Text("done")))
    wait_until(lambda: bool(asked.asked), timeout=20)
    session.set_permission_mode("acceptEdits")
    assert not asked.contexts[0].signal.wait(0.5)
    assert session.state == "waiting"
    pending = asked.contexts[0].answer_later()
    assert pending.answer(Deny("still no")) is True
    assert pending.allow() is False
    turn.result(timeout=20)
    assert not (workspace / "made").exists()
    session.set_permission_mode("default")


# -- changes of the rules ----------------------------------------------------------------------------------------------

RULE = "Bash(sh mark.sh:*)"
CHANGES: dict[str, tuple[Callable[[str], list[PermissionUpdate]], bool]] = {
    "nothing": (lambda _rule: [], True),
    "added": (lambda rule: [AddRules(rule)], False),
    "replaces another": (lambda rule: [AddRules("WebFetch"), ReplaceRules(rule)], False),
    "replaced": (lambda rule: [AddRules(rule), ReplaceRules("WebFetch")], True),
    "replaced by none": (lambda rule: [AddRules(rule), ReplaceRules()], True),
    "removed": (lambda rule: [AddRules(rule), RemoveRules(rule)], True),
    "added to ask": (lambda rule: [AddRules(rule), AddRules(rule, behavior="ask")], True),
}
"""What is done to a rule, and whether the next call is asked about all the same."""
LASTING: dict[str, tuple[Callable[[str], list[PermissionUpdate]], bool]] = {
    "whole tool": (lambda _rule: [AddRules(PermissionRuleValue("Bash"), destination="cliArg")], False),
    "local settings": (lambda rule: [AddRules(rule, destination="localSettings")], False),
    "user settings": (lambda rule: [AddRules(rule, destination="userSettings")], False),
}
"""The same of what tests cannot share."""


def mark(name: str, file: str = "mark.sh") -> ToolCall:
    """A call of a script, which acceptEdits does not accept."""
    return ToolCall("Bash", command=f"sh {file} {name}", description="d")


def own_rule(workspace: Path, name: str) -> tuple[str, str]:
    """Return a script that no other test calls, and the rule about it."""
    file = f"{name.replace(' ', '-')}.sh"
    (workspace / file).write_text('touch "$1"\n')
    return file, f"Bash(sh {file}:*)"


@pytest.mark.parametrize("change", [*CHANGES, *(pytest.param(name, marks=pytest.mark.alone) for name in LASTING)])
def test_rules_change(open_session: Opener, workspace: Path, change: str) -> None:
    """Rules that an Allow adds, replaces or takes away hold for the next call, on every version."""
    updates, asked_again = (CHANGES | LASTING)[change]
    file, rule = own_rule(workspace, change)
    asked = Recorder(Allow(updated_permissions=updates(rule)))
    session = open_session(can_use_tool=asked)
    session.ask(script(mark("one", file), mark("two", file), Text("done"))).result()
    assert len(asked.asked) == (2 if asked_again else 1)
    assert (workspace / "one").exists()
    assert (workspace / "two").exists()


@pytest.mark.alone
def test_whole_tool_beside_an_asking_rule(open_session: Opener, program: Program, workspace: Path) -> None:
    """A rule that asks about some commands holds beside one that allows them all, but not on the older two."""
    (workspace / "mark.sh").write_text('touch "$1"\n')
    asked = Recorder(Allow(updated_permissions=[AddRules("Bash"), AddRules(RULE, behavior="ask")]))
    open_session(can_use_tool=asked).ask(script(mark("one"), mark("two"), Text("done"))).result()
    assert len(asked.asked) == (2 if program.version == NEWEST else 1)


def test_denying_rule_denies(open_session: Opener, workspace: Path) -> None:
    """A rule that denies lets the call that it came with run, and none after it."""
    file, rule = own_rule(workspace, "denied")
    asked = Recorder(Allow(updated_permissions=[AddRules(rule, behavior="deny")]))
    messages = list(open_session(can_use_tool=asked).ask(script(mark("one", file), mark("two", file), Text("done"))))
    assert len(asked.asked) == 1
    assert ((workspace / "one").exists(), (workspace / "two").exists()) == (True, False)
    assert "has been denied" in errors_of(messages)[0]


@pytest.mark.parametrize("removed", [False, True])
def test_directories_change(open_session: Opener, tmp_path: Path, removed: bool) -> None:
    """A directory that an Allow adds can be read without a question, until it is taken away."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "f.txt").write_text("x")
    more = [RemoveDirectories(str(outside))] if removed else []
    asked = Recorder(Allow(updated_permissions=[AddDirectories(str(outside)), *more]))
    session = open_session(can_use_tool=asked)
    session.ask(script(touch("made"), ToolCall("Read", file_path=str(outside / "f.txt")), Text("done"))).result()
    assert [name for name, _, _ in asked.asked] == (["Bash", "Read"] if removed else ["Bash"])


@pytest.mark.parametrize(
    ("mode", "asked_again", "runs"), [("acceptEdits", False, True), ("dontAsk", False, False), ("default", True, True)]
)
def test_mode_changes(open_session: Opener, workspace: Path, mode: str, asked_again: bool, runs: bool) -> None:
    """A mode that an Allow sets holds for the next call."""
    asked = Recorder(Allow(updated_permissions=[SetMode(mode)]))
    session = open_session(can_use_tool=asked)
    session.ask(script(touch("one"), touch("two"), Text("done"))).result()
    assert len(asked.asked) == (2 if asked_again else 1)
    assert (workspace / "two").exists() == runs
    session.set_permission_mode("default")


def test_mode_of_the_newest_program(open_session: Opener, program: Program, workspace: Path) -> None:
    """`SetMode("auto")` is taken by the newest program; older ones deny the tool that it came with."""
    asked = Recorder(Allow(updated_permissions=[SetMode("auto")]))
    session = open_session(can_use_tool=asked)
    session.ask(script(touch("one"), Text("done"))).result()
    assert (workspace / "one").exists() == (program.version == NEWEST)
    session.set_permission_mode("default")


def test_answer_that_comes_twice_counts_once(open_session: Opener) -> None:
    """A second answer, as after a strike behind the write, means nothing: each request is decided by the first."""
    asked, events = Recorder(Allow(), Deny("no"), Allow()), list[str]()

    def note(event: Any, *_: Any) -> dict[str, Any]:
        events.append(event["tool_input"]["command"])
        return {}

    session = open_session(can_use_tool=asked, hooks={"PreToolUse": [HookMatcher(matcher="Bash", hooks=[note])]})
    answers = session._live().answers
    write = answers._write

    def write_twice(line: bytes) -> None:
        write(line)
        write(line)

    answers._write = write_twice
    commands = [f"touch {name} && echo {name} >> log" for name in ("a", "b", "c")]
    calls = [ToolCall("Bash", command=command, description="d") for command in commands]
    turn = session.ask(script(*calls, Text("done")))
    messages = list(turn)
    assert turn.result().result == "done"
    assert events == [tool_input["command"] for _, tool_input, _ in asked.asked] == commands
    assert [error for error in errors_of(messages) if "no" in error] == errors_of(messages)
    assert len(errors_of(messages)) == 1
    session.ask(script(Text("and on"))).result()
