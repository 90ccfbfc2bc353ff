"""`claude-control run` in a real pseudo-terminal: the answer, the status line, and nothing that a terminal obeys."""

import os
import re
import subprocess
from typing import Any

import pytest

from claude_control.testing.steps import Step, reply, say, turn, use_tool, wait_gate
from tests.cli.conftest import Program
from tests.cli.terminals import Terminal

ESCAPES = re.compile(r"\x1b(?!\[K)")  # all but the erasing of the status line
EVIL = "\x1b]0;title\x07\x1b[2J\x9b31m[red]word\u202e"


def running_tool(name: str, **tool_input: Any) -> list[Step]:
    """Return the steps of a tool that runs until the gate "go on" is opened."""
    block = {"type": "tool_use", "id": "toolu_1", "name": name, "input": tool_input}
    done = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "done"}
    ids = {"parent_tool_use_id": None, "session_id": "$session_id", "uuid": "$uuid"}
    used = {"type": "assistant", "message": {"role": "assistant", "model": "m", "content": [block]}, **ids}
    ended = {"type": "user", "message": {"role": "user", "content": [done]}, **ids}
    return [say(used), wait_gate("go on"), say(ended)]


def test_answer_and_summary(program: Program) -> None:
    """The answer stands on the screen, and behind it the time and the cost."""
    program(every_prompt=turn(reply("Let me look."), reply("All is well.")))
    with Terminal("run", "hi") as terminal:
        assert terminal.finish() == 0
    assert re.fullmatch(r"Let me look\.\n\nAll is well\.\n\d+\.\d s, \$0\.0001\n", terminal.screen)
    assert not ESCAPES.search(terminal.output)


def test_status_line_shows_time_and_tool(program: Program) -> None:
    """While a tool runs the last line tells the time and what runs, behind the answer so far; in the end it is gone."""
    cli = program(every_prompt=turn(reply("So"), *running_tool("Bash", command="make\nall"), reply("done")))
    with Terminal("run", "hi") as terminal:
        terminal.expect("So\r\n")
        terminal.expect("\r1 s  Bash: make all\x1b[K")
        cli.open_gate("go on")
        assert terminal.finish() == 0
    assert "make all" not in terminal.screen
    assert terminal.screen.startswith("So\n\ndone\n")


@pytest.mark.parametrize(("columns", "shown"), [(20, "Bash: aaaaa..."), (12, "Bas...")])
def test_status_line_fits_a_narrow_terminal(program: Program, columns: int, shown: str) -> None:
    """The status line never wraps."""
    cli = program(every_prompt=turn(*running_tool("Bash", command="a" * 200), reply("done")))
    with Terminal("run", "hi", columns=columns) as terminal:
        terminal.expect(f"s  {shown}\x1b[K")
        cli.open_gate("go on")
        assert terminal.finish() == 0


def test_columns_can_be_chosen(program: Program) -> None:
    """COLUMNS says how wide the terminal is, whatever the terminal says."""
    cli = program(every_prompt=turn(*running_tool("Bash", command="a" * 200), reply("done")))
    with Terminal("run", "hi", variables={"COLUMNS": "20"}) as terminal:
        terminal.expect("s  Bash: aaaaa...\x1b[K")
        cli.open_gate("go on")
        assert terminal.finish() == 0


@pytest.mark.parametrize("variables", [{"TERM": "dumb"}, {"TERM": None}])
def test_dumb_terminal_gets_plain_text(program: Program, variables: dict[str, str | None]) -> None:
    """A terminal that cannot move its cursor gets no status line and no code at all, colours or not."""
    cli = program(every_prompt=turn(*running_tool("Bash", command="ls"), reply("done")))
    with Terminal("run", "hi", variables={**variables, "NO_COLOR": None}) as terminal:
        cli.wait_event("step", predicate=lambda event: event["step"] == "wait_gate")
        cli.open_gate("go on")
        assert terminal.finish() == 0
    assert "\x1b" not in terminal.output
    assert "\r" not in terminal.output.replace("\r\n", "\n")


@pytest.mark.parametrize(
    ("variables", "coloured"),
    [
        ({"NO_COLOR": None}, True),
        ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, False),
        ({"NO_COLOR": "", "FORCE_COLOR": "0"}, True),
        ({"NO_COLOR": None, "TERM": "dumb", "FORCE_COLOR": "1"}, True),
    ],
)
def test_colours_are_a_choice(program: Program, variables: dict[str, str | None], coloured: bool) -> None:
    """NO_COLOR takes colours away, FORCE_COLOR brings them, NO_COLOR wins."""
    program(every_prompt=turn(reply("done")))
    with Terminal("run", "hi", variables=variables) as terminal:
        assert terminal.finish() == 0
    assert ("\x1b[2m" in terminal.output) == coloured


def test_answer_is_never_coloured(program: Program) -> None:
    """Even where colours are forced the answer in a pipe is the answer."""
    program(every_prompt=turn(reply("done")))
    reading, writing = os.pipe()
    with Terminal("run", "hi", stdout=writing, variables={"NO_COLOR": None, "FORCE_COLOR": "1"}) as terminal:
        os.close(writing)
        assert terminal.finish() == 0
    with os.fdopen(reading) as pipe:
        assert pipe.read() == "done\n"


def test_untrusted_text_is_harmless(program: Program) -> None:
    """No title, no cleared screen, no colour and no reordering reaches the terminal: not by answer, tool or input."""
    steps = [reply(EVIL), *running_tool(f"mcp__{EVIL}", command=f"ls {EVIL}"), reply("done")]
    cli = program(every_prompt=turn(*steps))
    with Terminal("run", "hi") as terminal:
        terminal.expect("ls ]0;title[2J31m[red]word")
        cli.open_gate("go on")
        assert terminal.finish() == 0
    assert not ESCAPES.search(terminal.output)
    assert not set(terminal.output) & {"\x07", "\x9b", "\u202e"}
    assert "]0;title[2J31m[red]word\n" in terminal.screen


def test_pipe_gets_the_answer_and_the_terminal_the_rest(program: Program) -> None:
    """With stdout in a pipe and stderr a terminal, each gets its own."""
    cli = program(every_prompt=turn(reply("So:"), *running_tool("Bash", command="ls"), reply("done")))
    reading, writing = os.pipe()
    with Terminal("run", "hi", stdout=writing) as terminal:
        os.close(writing)
        terminal.expect("s  Bash: ls\x1b[K")
        cli.open_gate("go on")
        assert terminal.finish() == 0
    with os.fdopen(reading) as pipe:
        assert pipe.read() == "So:\n\ndone\n"
    assert re.fullmatch(r"\d+\.\d s, \$0\.0001\n", terminal.screen)


def test_json_on_a_terminal_is_alone(program: Program) -> None:
    """With `--json` the document is whole and on a line of its own."""
    program(every_prompt=turn(reply("done")))
    with Terminal("run", "hi", "--json") as terminal:
        assert terminal.finish() == 0
    document, summary, rest = terminal.screen.split("\n")
    assert document.startswith('{"type":"result"')
    assert document.endswith("}")
    assert (" s, $" in summary, rest) == (True, "")


def test_prompt_from_stdin_and_question_from_the_terminal(program: Program) -> None:
    """With the prompt in stdin, questions are asked on the controlling terminal."""
    cli = program(every_prompt=turn(use_tool("Bash", {"command": "ls"}), reply("done")))
    with subprocess.Popen(["/bin/echo", "hello"], stdout=subprocess.PIPE) as echo:
        assert echo.stdout is not None
        with Terminal("run", "-", stdin=echo.stdout.fileno()) as terminal:
            terminal.expect("or say why not: ")
            terminal.type("y\n")
            assert terminal.finish() == 0
    assert [event["outcome"] for event in cli.events("tool")] == ["ran"]
