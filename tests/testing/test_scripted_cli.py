"""A scripted CLI starts like the real program, and records what it is sent."""

import os
import signal
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from claude_control.testing.scripted_cli import MISMATCH, ScriptedCLI, ScriptedCLIFactory
from claude_control.testing.steps import hang, reply, say
from tests.testing.pipes import Pipes

Make = Callable[..., ScriptedCLI]

MODERN = "2.1.332"
OLD = ("2.1.7", "2.0.75")
ALL = (MODERN, *OLD)


@pytest.mark.parametrize("program", ALL)
def test_version_is_printed(make: Make, program: str) -> None:
    """`--version` prints what the real program prints, and counts as a probe, not as a session."""
    cli = make(program=program)
    with Pipes(cli, "--version") as pipes:
        assert pipes.line() == f"{program} (Claude Code)".encode()
        assert pipes.code() == 0
    assert [run.is_probe for run in cli.runs()] == [True]
    assert cli.pids == []


def test_other_version_can_be_reported(make: Make) -> None:
    """A version of one's own is reported by `--version` and by initialize."""
    cli = make(version="2.9.0")
    with Pipes(cli, "--version") as pipes:
        assert pipes.line() == b"2.9.0 (Claude Code)"
    with Pipes(cli) as pipes:
        pipes.request("initialize")
        assert pipes.response()["response"]["claude_code_version"] == "2.9.0"


@pytest.mark.parametrize("program", OLD)
def test_old_program_refuses_new_flags(make: Make, program: str) -> None:
    """A flag that the version does not know ends it with the real program's message."""
    with Pipes(make(program=program), "--verbose", "--thinking=off") as pipes:
        assert pipes.stderr() == "error: unknown option '--thinking'\n"
        assert pipes.code() == 1


def test_nothing_is_written_before_the_sdk_writes(make: Make) -> None:
    """Silence comes first: an end of input gets no output at all, and exit code 0."""
    with Pipes(make()) as pipes:
        pipes.end()
        assert pipes.rest() == []
        assert pipes.code() == 0


def test_run_is_recorded(make: Make, tmp_path: Path) -> None:
    """Arguments, pid, chosen variables, every frame in order, and the exit are on record, secrets are not."""
    cli = make(record_environment=["COLOR"])
    secret = {"CLAUDE_CODE_OAUTH_TOKEN": "t", "CLAUDE_X": "1", "COLOR": "red", "OTHER": "2"}
    with Pipes(cli, "--verbose", "--model=opus", environment=secret) as pipes:
        pipes.request("initialize")
        pipes.prompt("hi")
        pipes.end()
        pipes.rest()
        assert pipes.code() == 0
        assert cli.pids == [pipes.process.pid]
    assert cli.argv == ("--verbose", "--model=opus")
    assert (cli.environment["CLAUDE_X"], cli.environment["COLOR"]) == ("1", "red")
    assert not {"CLAUDE_CODE_OAUTH_TOKEN", "OTHER"} & cli.environment.keys()
    assert [frame["type"] for frame in cli.received()] == ["control_request", "user"]
    assert (cli.run.exit_code, cli.run.problem) == (0, None)
    assert stat.S_IMODE(next((cli.directory / "runs").iterdir()).stat().st_mode) == 0o600


def test_wait_received_finds_past_and_future(make: Make) -> None:
    """A frame is found whether it was received before or arrives later; one that does not come is a TimeoutError."""
    cli = make()
    with Pipes(cli) as pipes:
        pipes.request("mcp_status")
        pipes.response()
        pipes.request("interrupt")
        for subtype in ("mcp_status", "interrupt"):
            wanted = {"type": "control_request", "request_id": "r1", "request": {"subtype": subtype}}
            assert cli.wait_received(wanted.__eq__) == wanted
        with pytest.raises(TimeoutError, match=r"no 'received' event that fits within 0.05 s; 2 others"):
            cli.wait_received(lambda _: False, timeout=0.05, pid=pipes.process.pid)


def test_many_processes_share_one(make: Make) -> None:
    """One object serves many processes at once, with a record for each."""
    cli = make()
    runs = [Pipes(cli) for _ in range(8)]
    for number, pipes in enumerate(runs):
        pipes.prompt(f"prompt {number}")
    for pipes in runs:
        pipes.until("result")
    for number, pipes in enumerate(runs):
        frames = cli.received(pipes.process.pid)
        assert [frame["message"]["content"] for frame in frames] == [f"prompt {number}"]
        with pipes:
            pass
    assert len(cli.sessions) == len(cli.received()) == 8


def test_prompts_can_be_scripted_while_it_runs(make: Make) -> None:
    """`on_prompt` sets the next turn that has no script yet, also after the start."""
    cli = make(prompts=[[reply("first")]], every_prompt=[reply("every")])
    with Pipes(cli) as pipes:
        pipes.prompt("one")
        assert pipes.until("result")["result"] == "first"
        cli.on_prompt([reply("second")])
        pipes.prompt("two")
        assert pipes.until("result")["result"] == "second"
        pipes.prompt("three")
        assert pipes.until("result")["result"] == "every"


def test_nothing_started_has_no_run(make: Make) -> None:
    """Before a start there is no run to speak of."""
    cli = make()
    assert (cli.runs(), cli.pids, cli.received()) == ([], [], [])
    with pytest.raises(LookupError, match="not started yet"):
        _ = cli.run
    assert repr(cli) == f"<ScriptedCLI {cli.directory.name}: 0 runs, 0 without an exit>"


def test_script_that_is_wrong_says_so(make_unchecked: Make) -> None:
    """A mistake in the script ends the run with 98, and `check` shows the trace."""
    cli = make_unchecked(say("not a frame"))  # type: ignore[arg-type]
    with Pipes(cli) as pipes:
        assert pipes.code() == 98
    with pytest.raises(AssertionError, match="not an object: 'not a frame'"):
        cli.check()


def test_factory_kills_what_is_left_and_reports(tmp_path: Path) -> None:
    """Leaving the factory ends stubborn processes, and fails if a script was not followed."""
    from claude_control.testing.steps import expect_prompt

    with (
        pytest.raises(AssertionError, match=r"message.content: expected 'a', got 'b'"),
        ScriptedCLIFactory(tmp_path) as make,
    ):
        stubborn = subprocess.Popen(make([hang()]).command)
        make.made[0].wait_event("step")
        strict = make([expect_prompt("a")])
        with Pipes(strict) as pipes:
            pipes.prompt("b")
            assert pipes.code() == MISMATCH
    assert stubborn.wait(10) == -signal.SIGKILL


def test_default_interpreter_is_bare(tmp_path: Path) -> None:
    """The command runs a bare Python, which loads neither the package nor `site`."""
    cli = ScriptedCLI(tmp_path)
    assert cli.command[1:3] == ["-I", "-S"]
    assert os.path.isfile(cli.command[3])
    with Pipes(cli) as pipes:
        pipes.request("initialize")
        assert pipes.response()["subtype"] == "success"
