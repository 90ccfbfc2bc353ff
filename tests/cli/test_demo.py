"""`claude-control demo`: everything that it tells happens, fast, and nothing is left."""

import os
import re
import tempfile
from pathlib import Path

from tests.cli.terminals import CTRL_C, Terminal, piped


def processor_seconds() -> float:
    """Return the processor time of all children so far, to which a busy machine adds little."""
    times = os.times()
    return times.children_user + times.children_system


def test_demo_shows_the_main_things() -> None:
    """Permission, hook, tool, model change, interrupt and close are shown, in under 5 seconds, with no account."""
    before = processor_seconds()
    done = piped("demo", variables={"HOME": "/nonexistent", "PATH": "", "ANTHROPIC_API_KEY": None})
    assert processor_seconds() - before < 4  # and it waits for less than one
    assert (done.returncode, done.stderr) == (0, "")
    told = [
        "session      idle",
        "guard()      Bash: touch note.txt -> no objection",
        "decide()     Bash: touch note.txt -> Allow()",
        "guard()      Bash: cat .env -> deny",
        "Then I leave it alone.",
        'session.set_mcp_servers({"shop": ToolServer("shop", [stock])})',
        "decide()     mcp__shop__stock -> Allow()",
        "stock()      A-17 -> 12",
        "There are 12 of them.",
        "claude-haiku",
        "and the turn is running",
        "turn         interrupted",
        "Yes, with all we talked about.",
        "session      closed",
        "program      gone",
    ]
    places = [done.stdout.find(text) for text in told]
    assert -1 not in places
    assert places == sorted(places)


def test_demo_leaves_nothing(tmp_path: Path) -> None:
    """No file and no process is left, also when somebody has seen enough."""
    with Terminal("demo", variables={"TMPDIR": str(tmp_path)}) as terminal:
        terminal.expect("Write a line about it.")
        terminal.type(CTRL_C)
        assert terminal.finish() == 130
    assert "Traceback" not in terminal.output
    assert list(tmp_path.iterdir()) == []
    assert not [name for name in os.listdir(tempfile.gettempdir()) if name.startswith("claude-control-demo-")]


def test_demo_needs_the_program_for_real() -> None:
    """`--real` without a program ends with 3 and says what is missing."""
    done = piped("demo", "--real", variables={"CLAUDE_CONTROL_CLI": "/no/such/claude"})
    assert (done.returncode, done.stdout) == (3, "")
    assert "/no/such/claude does not exist" in done.stderr


def test_demo_on_a_terminal() -> None:
    """On a terminal titles and calls stand out, unless colours are not wanted."""
    with Terminal("demo", variables={"NO_COLOR": None}) as terminal:
        assert terminal.finish() == 0
    assert "\x1b[36m   >>> session.set_model" in terminal.output
    with Terminal("demo") as terminal:
        assert terminal.finish() == 0
    assert not re.search("\x1b", terminal.output)
