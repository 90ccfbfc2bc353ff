"""Who decides about a tool on the real programs, and in which order: the table of docs/topics/permissions.md, measured.

Every row of that table is one call of a shell script that needs permission. Its rules and its hook are chosen by the
words behind the script's name, so one session measures one column.
"""

import json
import re
import threading
from pathlib import Path
from typing import Any

import pytest

from claude_control import Allow, Deny, HookContext, HookMatcher, PermissionContext, Session
from claude_control.testing.model_prompt import script
from claude_control.testing.model_script import Text, ToolCall
from tests.documents import DOCS, Page
from tests.real.conftest import Opener, Program
from tests.waiting import wait_until

pytestmark = [pytest.mark.real, pytest.mark.shared]

NEWEST = "2.1.332"
MODES = ("default", "plan", "dontAsk", "bypassPermissions")


def table() -> list[list[str]]:
    """Return the rows of the page's table: rule, hook, and what happens in each mode."""
    text = Page(DOCS / "topics" / "permissions.md").text
    lines = text.split("| rule | hook |")[1].splitlines()[2:]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[: lines.index("")]]
    assert len(rows) >= 14
    return rows


def rules(kind: str) -> list[str]:
    """Return the rules of one kind, for every row that has it."""
    named = {row[0] for row in table() if kind in row[0].split(" and ")}
    return [f"Bash(sh mark.sh {word(rule)}:*)" for rule in sorted(named)]


def word(cell: str) -> str:
    """Return what stands in a table's cell as one word of a command."""
    return cell.replace(" and ", "-")


def hook(event: dict[str, Any], _tool_use_id: str | None, _context: HookContext) -> dict[str, Any]:
    """Decide as the last word of the command says."""
    decision = event["tool_input"]["command"].split()[-1]
    if decision == "none":
        return {}
    return {"hookSpecificOutput": {"permissionDecision": decision, "permissionDecisionReason": "said the hook"}}


def outcome(cell: str, version: str) -> str:
    """Return what a cell says about one version: "ran", or "asked (older: ran)"."""
    newest, older = re.fullmatch(r"(\w+)(?: \(older: (\w+)\))?", cell).groups()  # type: ignore[union-attr]
    return newest if version == NEWEST or older is None else older


@pytest.mark.parametrize("mode", MODES)
def test_table_of_the_documentation(open_session: Opener, program: Program, workspace: Path, mode: str) -> None:
    """For each rule, hook and mode of the documentation's table, the program does what the table says."""
    (workspace / "mark.sh").write_text('touch "$1.$2"\n')
    asked: set[str] = set()

    def deny(_tool: str, tool_input: dict[str, Any], _context: PermissionContext) -> Deny:
        asked.add(tool_input["command"])
        return Deny("asked")

    session = open_session(
        can_use_tool=deny,
        allow_bypass=mode == "bypassPermissions",
        env={"IS_SANDBOX": "1"},
        allowed_tools=rules("allow"),
        disallowed_tools=rules("deny"),
        settings=json.dumps({"permissions": {"ask": rules("ask")}}),
        hooks={"PreToolUse": [HookMatcher(matcher="Bash", hooks=[hook])]},
    )
    session.set_permission_mode(mode)
    commands = [f"sh mark.sh {word(row[0])} {row[1]}" for row in table()]
    calls = [ToolCall("Bash", command=command, description="d") for command in commands]
    session.ask(script(*calls, Text("done"))).result(timeout=50)
    seen = {}
    for row, command in zip(table(), commands, strict=True):
        ran = (workspace / f"{word(row[0])}.{row[1]}").exists()
        seen[row[0], row[1]] = "ran" if ran else "asked" if command in asked else "denied"
    column = 2 + MODES.index(mode)
    assert seen == {(row[0], row[1]): outcome(row[column], program.version) for row in table()}


def touch(session: Session) -> list[Any]:
    """Have the model make a file, and return the turn's messages."""
    return list(session.ask(script(ToolCall("Bash", command="touch made", description="d"), Text("done"))))


def test_steps_come_one_after_the_other(open_session: Opener, program: Program) -> None:
    """The PreToolUse hook is asked first; then can_use_tool and, at the same time, the PermissionRequest hook."""
    order: list[str] = []
    both = threading.Barrier(2 if program.version == NEWEST else 1)

    def note(event: dict[str, Any], _id: str | None, _context: HookContext) -> dict[str, Any]:
        order.append(event["hook_event_name"])
        if event["hook_event_name"] == "PermissionRequest":
            both.wait(20)
        return {}

    def allow(*_: Any) -> Allow:
        order.append("can_use_tool")
        both.wait(20)
        return Allow()

    events = ("PreToolUse", "PermissionRequest", "PostToolUse")
    session = open_session(can_use_tool=allow, hooks={event: [HookMatcher(hooks=[note])] for event in events})
    touch(session)
    newer = {"PermissionRequest"} if program.version == NEWEST else set()
    assert (order[0], set(order[1:-1]), order[-1]) == ("PreToolUse", {"can_use_tool", *newer}, "PostToolUse")


def decides(behavior: str) -> dict[str, Any]:
    """Return the answer of a PermissionRequest hook."""
    words = {"message": "said the hook"} if behavior == "deny" else {}
    return {"hookSpecificOutput": {"decision": {"behavior": behavior, **words}}}


@pytest.mark.parametrize("behavior", ["allow", "deny"])
def test_hook_that_decides_first_wins(open_session: Opener, program: Program, workspace: Path, behavior: str) -> None:
    """A PermissionRequest hook that decides takes the question away from can_use_tool; older programs do not ask it."""
    signals: list[Any] = []

    def ask(_tool: str, _input: dict[str, Any], context: PermissionContext) -> Deny:
        signals.append(context.signal)
        context.signal.wait(20 if program.version == NEWEST else 0.01)
        return Deny("too slow")

    def decide(*_: Any) -> dict[str, Any]:
        wait_until(lambda: bool(signals))
        return decides(behavior)

    session = open_session(can_use_tool=ask, hooks={"PermissionRequest": [HookMatcher(hooks=[decide])]})
    messages = touch(session)
    newest = program.version == NEWEST
    assert signals[0].reason == ("cancelled" if newest else None)
    assert (workspace / "made").exists() == (newest and behavior == "allow")
    assert any("said the hook" in str(message.raw) for message in messages) == (newest and behavior == "deny")


def test_callback_that_decides_first_wins(open_session: Opener, program: Program, workspace: Path) -> None:
    """A can_use_tool that answers first decides, and the hook that is asked beside it is not told."""
    answered, signals = threading.Event(), []

    def hook_that_waits(_event: dict[str, Any], _id: str | None, context: HookContext) -> dict[str, Any]:
        signals.append(context.signal)
        answered.wait(20)
        wait_until((workspace / "made").exists)
        return decides("deny")

    def allow(*_: Any) -> Allow:
        if program.version == NEWEST:
            wait_until(lambda: bool(signals))
        answered.set()
        return Allow()

    session = open_session(can_use_tool=allow, hooks={"PermissionRequest": [HookMatcher(hooks=[hook_that_waits])]})
    touch(session)
    assert (workspace / "made").exists()
    assert [signal.aborted for signal in signals] == ([False] if program.version == NEWEST else [])


@pytest.mark.parametrize("mode", ["default", "acceptEdits"])
def test_edits_are_accepted_in_their_mode(open_session: Opener, workspace: Path, mode: str) -> None:
    """In acceptEdits writing a file, and a file command of the shell, need no question; else both are asked about."""
    asked: list[str] = []

    def allow(tool: str, _input: dict[str, Any], _context: PermissionContext) -> Allow:
        asked.append(tool)
        return Allow()

    session = open_session(can_use_tool=allow)
    session.set_permission_mode(mode)
    write = ToolCall("Write", file_path=str(workspace / "written"), content="x")
    shell = ToolCall("Bash", command="touch made", description="d")
    session.ask(script(write, shell, Text("done"))).result(timeout=30)
    assert asked == ([] if mode == "acceptEdits" else ["Write", "Bash"])
    assert (workspace / "written").exists()
    assert (workspace / "made").exists()


@pytest.mark.alone
@pytest.mark.parametrize(
    "options",
    [
        {"allowed_tools": ["Write"]},
        {"permission_mode": "acceptEdits"},
        {"permission_mode": "bypassPermissions", "allow_bypass": True},
    ],
    ids=lambda options: str(next(iter(options.values()))),
)
def test_guarded_files_are_asked_about(
    open_session: Opener, program: Program, workspace: Path, options: dict[str, Any]
) -> None:
    """A file such as a git hook is asked about in acceptEdits, and on the newest program even if a rule allows it."""
    asked: list[str] = []

    def deny(tool: str, _input: dict[str, Any], _context: PermissionContext) -> Deny:
        asked.append(tool)
        return Deny()

    session = open_session(can_use_tool=deny, env={"IS_SANDBOX": "1"}, **options)
    write = ToolCall("Write", file_path=str(workspace / ".git" / "hooks" / "guarded"), content="x")
    session.ask(script(write, Text("done"))).result(timeout=30)
    ruled = "allowed_tools" in options and program.version == NEWEST
    expected = ["Write"] if ruled or options.get("permission_mode") == "acceptEdits" else []
    assert asked == expected
    assert (workspace / ".git" / "hooks" / "guarded").exists() == (not expected)


def test_reading_is_not_asked_about(open_session: Opener) -> None:
    """A file of the working directory is found, and a command that only reads is run, without any question."""
    asked: list[Any] = []

    def note(_tool: str, tool_input: dict[str, Any], _context: PermissionContext) -> Deny:
        asked.append(tool_input)
        return Deny()

    session = open_session(can_use_tool=note)
    session.set_permission_mode("default")
    look = ToolCall("Bash", command="ls", description="d")
    session.ask(script(ToolCall("Glob", pattern="*.txt"), look, Text("done"))).result(timeout=30)
    assert asked == []
