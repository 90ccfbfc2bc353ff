"""Steps of time and trouble: delays, crashes, signals, and what is left behind."""

import os
import select
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from claude_control.testing import steps
from claude_control.testing.scripted_cli import ScriptedCLI
from claude_control.testing.steps import expect_request, reply, say
from tests.testing.pipes import Pipes, shapes

Make = Callable[..., ScriptedCLI]


def test_requests_are_answered_during_a_delay(make: Make) -> None:
    """A script that waits does not keep the child from answering."""
    with Pipes(make(say({"type": "before"}), steps.delay(0.3), say({"type": "after"}))) as pipes:
        pipes.frame()
        pipes.request("mcp_status")
        assert shapes([pipes.frame(), pipes.frame()]) == ["control_response", "after"]


def test_idle_can_be_waited_for(make: Make) -> None:
    """A script may wait for the end of all turns."""
    cli = make(expect_request("go"), steps.wait_idle(), say({"type": "idle"}), every_prompt=[reply("a b", pause=0.02)])
    with Pipes(cli) as pipes:
        pipes.prompt("one")
        pipes.prompt("two")
        pipes.request("go")
        assert shapes(pipes.all_until("idle")).count("result success") == 2


@pytest.mark.parametrize(
    ("step", "code"),
    [(steps.crash(), 1), (steps.crash(7), 7), (steps.die(), -signal.SIGKILL), (steps.die("SIGTERM"), -signal.SIGTERM)],
)
def test_crash_loses_nothing_that_was_said(make: Make, step: steps.Step, code: int) -> None:
    """What was said before a crash arrives, and the exit is the one scripted, on record too."""
    cli = make(steps.burst(1_000), step, say({"type": "never"}))
    with Pipes(cli) as pipes:
        assert len(pipes.rest()) == 1_000
        assert pipes.code() == code
    assert cli.run.exit_code == code


def test_signals_can_be_ignored(make: Make) -> None:
    """A child that ignores SIGTERM is not ended by it."""
    with Pipes(make(steps.ignore_signals(), say({"type": "ready"}))) as pipes:
        pipes.frame()
        pipes.process.terminate()
        pipes.request("mcp_status")
        assert pipes.response()["subtype"] == "success"
        pipes.end()
        assert pipes.code() == 0


def test_hanging_child_sees_nothing(make: Make) -> None:
    """A hanging child neither answers nor ends with its input; a signal ends it."""
    cli = make(steps.hang())
    with Pipes(cli) as pipes:
        cli.wait_event("step")
        pipes.request("mcp_status")
        pipes.end()
        assert pipes.process.stdout is not None
        assert not select.select([pipes.process.stdout], [], [], 0.1)[0]
        pipes.process.terminate()
        assert pipes.code() == 143
    assert cli.received() == []


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="looks at another process through /proc")
@pytest.mark.parametrize("holds_output", [True, False])
def test_left_child_outlives_the_program(make: Make, holds_output: bool) -> None:
    """A process left behind has a session of its own, and holds the output open if told to, until it is killed."""
    cli = make(steps.leave_child(holds_output=holds_output, ignores_sigterm=True), steps.crash(0))
    with Pipes(cli) as pipes:
        assert pipes.code() == 0
        (pid,) = cli.left_children
        assert os.getsid(pid) == pid
        assert pipes.process.stdout is not None
        ended = bool(select.select([pipes.process.stdout], [], [], 0.1)[0])
        assert ended != holds_output
        cli.close()
        assert pipes.line() is None
