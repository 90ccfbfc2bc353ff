"""How the command ends when somebody wants it to: Ctrl-C, SIGTERM, SIGHUP, a broken pipe, a time limit."""

import os
import signal
import subprocess
import time

import pytest

from claude_control.testing import ScriptedCLI
from claude_control.testing.steps import burst, hang, ignore_signals, reply, turn, use_tool
from tests.cli.conftest import Program
from tests.cli.terminals import COMMAND, CTRL_C, Terminal, environment

ENDLESS = reply("word " * 1000, pause=0.05)


def is_gone(cli: ScriptedCLI) -> bool:
    """Tell whether nothing of the program is left."""
    return not any(os.path.exists(f"/proc/{pid}") for pid in cli.pids)


def ended_by_itself(cli: ScriptedCLI) -> bool:
    """Tell whether the program is gone, and no signal was needed for it; it exits with 1 after an interrupted turn."""
    return is_gone(cli) and cli.run.exit_code in (0, 1)


def test_ctrl_c_interrupts_the_turn(program: Program) -> None:
    """Ctrl-C says at once what it does, interrupts the turn, and ends with 130; the program ends as well."""
    cli = program(every_prompt=turn(ENDLESS))
    with Terminal("run", "hi") as terminal:
        terminal.expect("word")
        terminal.type(CTRL_C)
        terminal.expect("\r\nInterrupting the turn; press Ctrl-C again to end at once.\r\n")
        terminal.expect("claude-control: interrupted\r\n")
        assert terminal.finish() == 130
    assert "Traceback" not in terminal.output
    cli.wait_received(lambda frame: frame.get("request", {}).get("subtype") == "interrupt")
    assert ended_by_itself(cli)


def test_second_ctrl_c_ends_at_once(program: Program) -> None:
    """While the first Ctrl-C waits for the turn to end, a second one ends the program and the command."""
    cli = program(every_prompt=turn(ENDLESS, interruptible=False))
    with Terminal("run", "hi") as terminal:
        terminal.expect("word")
        terminal.type(CTRL_C)
        terminal.expect("Ctrl-C again")
        began = time.monotonic()
        terminal.type(CTRL_C)
        terminal.expect("claude-control: interrupted\r\n")
        assert terminal.finish() == 130
    assert time.monotonic() - began < 8  # the graces would take longer
    assert "Traceback" not in terminal.output
    assert is_gone(cli)


def test_interrupted_turn_still_gives_its_document(program: Program) -> None:
    """With `--json`, an interrupted turn's result is printed before the end."""
    program(every_prompt=turn(reply("so far"), use_tool("Bash", {"command": "ls"})))
    with Terminal("run", "hi", "--json") as terminal:
        terminal.expect("or say why not: ")
        terminal.type(CTRL_C)
        terminal.expect('"terminal_reason":"aborted_tools"')
        assert terminal.finish() == 130


def test_ctrl_c_at_a_question(program: Program) -> None:
    """A question that is open when the turn is interrupted is taken back."""
    cli = program(every_prompt=turn(use_tool("Bash", {"command": "ls"}), reply("done")))
    with Terminal("run", "hi") as terminal:
        terminal.expect("or say why not: ")
        terminal.type(CTRL_C)
        terminal.expect("(no longer asked)")
        assert terminal.finish() == 130
    assert cli.events("tool") == []


def start(*arguments: str, stdout: int = subprocess.DEVNULL) -> "subprocess.Popen[str]":
    """Start the command in the background, without a terminal."""
    return subprocess.Popen(
        [*COMMAND, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
        start_new_session=True,
    )


def in_mid_turn(cli: ScriptedCLI) -> None:
    """Wait until the turn has begun."""
    cli.wait_event("step", predicate=lambda event: event["step"] == "reply")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_supervisor_ends_it(program: Program, number: signal.Signals, code: int) -> None:
    """SIGTERM and SIGHUP interrupt the turn, close the session, and end quietly with 128 and their number."""
    cli = program(every_prompt=turn(ENDLESS))
    with start("run", "hi") as process:
        in_mid_turn(cli)
        process.send_signal(number)
        _, said = process.communicate(timeout=20)
    assert (process.returncode, said) == (code, "")
    assert ended_by_itself(cli)


def test_sigterm_during_the_handshake(program: Program) -> None:
    """A program that never answers the handshake is ended on SIGTERM too."""
    cli = program([hang()])
    with start("run", "hi") as process:
        cli.wait_event("step")
        process.terminate()
        _, said = process.communicate(timeout=20)
    assert process.returncode == 143
    assert "Traceback" not in said
    assert is_gone(cli)


def test_sigterm_with_a_program_that_hangs(program: Program) -> None:
    """A supervisor's ten seconds are enough, whatever the program does."""
    cli = program(every_prompt=turn(ignore_signals(), reply("so far"), hang()))
    with start("run", "hi") as process:
        cli.wait_event("step", predicate=lambda event: event["step"] == "hang")
        began = time.monotonic()
        process.terminate()
        process.communicate(timeout=20)
    assert process.returncode == 143
    assert time.monotonic() - began < 10
    assert is_gone(cli)


def test_broken_pipe_is_quiet(program: Program) -> None:
    """A reader that has seen enough ends the turn, with 141 and without a word."""
    cli = program(every_prompt=turn(ENDLESS))
    reading, writing = os.pipe()
    with start("run", "hi", stdout=writing) as process:
        os.close(writing)
        assert os.read(reading, 4) == b"word"
        os.close(reading)
        _, said = process.communicate(timeout=20)
    assert (process.returncode, said) == (141, "")
    assert is_gone(cli)


def test_sigterm_ends_a_write_that_nobody_reads(program: Program) -> None:
    """A supervisor's SIGTERM ends the command within its 10 s, though a full pipe holds up what it prints."""
    cli = program(every_prompt=turn(burst(2000, "assistant"), ENDLESS))
    reading, writing = os.pipe()
    with start("run", "hi", "--ndjson", stdout=writing) as process:
        os.close(writing)
        in_mid_turn(cli)
        process.terminate()
        _, said = process.communicate(timeout=10)
    os.close(reading)
    assert (process.returncode, said) == (143, "")
    assert is_gone(cli)


def test_time_limit_ends_a_write_that_nobody_reads(program: Program) -> None:
    """`--timeout` holds even while the command waits for a pipe to be read."""
    cli = program(every_prompt=turn(burst(2000, "assistant"), ENDLESS))
    reading, writing = os.pipe()
    with start("run", "hi", "--ndjson", "--timeout", "1.5", stdout=writing) as process:
        os.close(writing)
        _, said = process.communicate(timeout=25)
    os.close(reading)
    assert process.returncode == 124
    assert "Traceback" not in said
    assert is_gone(cli)
