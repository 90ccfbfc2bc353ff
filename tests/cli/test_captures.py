"""The captures in the documentation are what the command shows in a terminal now.

`CLAUDE_CONTROL_WRITE_CAPTURES=1 pytest tests/cli/test_captures.py` writes them anew.
"""

import os
import re
from collections.abc import Callable

import click
import pytest

from claude_control.cli import chat, demo, doctor, run
from claude_control.cli.exits import Code
from claude_control.testing.steps import reply, turn, use_tool, wait_gate
from tests import sources
from tests.cli.conftest import Program
from tests.cli.terminals import CTRL_D, Terminal

PAGE = sources.ROOT / "docs" / "topics" / "command-line.md"
PROMPT = "> "

# What differs from run to run.
_VARYING = (
    (re.compile(r"\b\d+\.\d s\b"), "0.4 s"),
    (re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"), "5f0c3a52-9f5e-4d0b-8a6e-3c1f6b0d2e77"),
)


def capture_run(program: Program) -> str:
    """Return what a run with a question looks like."""
    durations = use_tool("Bash", {"command": "pytest --durations=3", "description": "Time the tests"})
    slowest = reply("The slowest is `test_import`, 1.2 seconds: it starts an interpreter.")
    program(every_prompt=turn(reply("Let me time them."), durations, slowest))
    with Terminal("run", "Which test is slow?") as terminal:
        terminal.expect("or say why not: ")
        terminal.type("y\n")
        assert terminal.finish() == 0
    return '$ claude-control run "Which test is slow?"\n' + terminal.screen


def capture_question(program: Program) -> str:
    """Return what a question of the model looks like."""
    options = [
        {"label": "Postgres", "description": "needs a server, serves many"},
        {"label": "SQLite", "description": "one file"},
    ]
    question = {"question": "Which database?", "header": "Storage", "options": options, "multiSelect": False}
    program(every_prompt=turn(use_tool("AskUserQuestion", {"questions": [question]}), reply("Then SQLite it is.")))
    with Terminal("run", "Add a cache") as terminal:
        terminal.expect("leaves it open: ")
        terminal.type("2\n")
        assert terminal.finish() == 0
    return '$ claude-control run "Add a cache"\n' + terminal.screen


def capture_chat(program: Program) -> str:
    """Return what a conversation with commands looks like."""
    push = use_tool("Bash", {"command": "git push"})
    review = turn(reply("I begin with the largest file."), wait_gate("never"))
    program(prompts=[turn(reply("Done. Now to the server."), push, reply("As you like: it stays here.")), review])
    with Terminal("chat") as terminal:
        for expected, typed in (
            (PROMPT, "Commit this\n"),
            ("or say why not: ", "not before the review\n"),
            (PROMPT, "Review it, then\n"),
            ("largest file.\r\n", "/model opus\n"),
            ("model: ", "/interrupt\n"),
            (PROMPT, CTRL_D),
        ):
            terminal.expect(expected)
            terminal.type(typed)
        assert terminal.finish() == 0
    return "$ claude-control chat\n" + terminal.screen


def capture_demo(_program: Program) -> str:
    """Return what the demo looks like."""
    with Terminal("demo", columns=120) as terminal:
        assert terminal.finish() == 0
    return "$ claude-control demo\n" + terminal.screen


CAPTURES = {"run": capture_run, "question": capture_question, "chat": capture_chat, "demo": capture_demo}


def block(name: str) -> re.Pattern[str]:
    """Return the pattern of a capture in the page."""
    return re.compile(rf"(<!-- capture: {name} -->\n+```console\n)(.*?)(^```$)", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize(("name", "capture"), CAPTURES.items())
def test_capture_is_what_the_command_shows(name: str, capture: Callable[[Program], str], program: Program) -> None:
    """A capture in the documentation is, but for times and ids, what a terminal shows."""
    shown = capture(program)
    for pattern, usual in _VARYING:
        shown = pattern.sub(usual, shown)
    shown = shown.rstrip() + "\n"
    page = PAGE.read_text(encoding="utf-8")
    if os.environ.get("CLAUDE_CONTROL_WRITE_CAPTURES"):
        page = block(name).sub(lambda found: found[1] + shown + found[3], page)
        PAGE.write_text(page, encoding="utf-8")
    found = block(name).search(page)
    assert found is not None
    assert found[2] == shown


@pytest.mark.parametrize("command", [chat.command, demo.command, doctor.command, run.command])
def test_flags_are_documented(command: click.Command) -> None:
    """The page names every flag of every command."""
    page = PAGE.read_text(encoding="utf-8")
    flags = [flag for parameter in command.params for flag in parameter.opts if flag.startswith("--")]
    assert [flag for flag in flags if flag not in page] == []


def test_exit_codes_are_documented() -> None:
    """The page's table has every exit code."""
    rows = re.findall(r"^\| (\d+) \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    codes = {value for name, value in vars(Code).items() if name.isupper()}
    assert {int(row) for row in rows} == codes | {129, 143}
