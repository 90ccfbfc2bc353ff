"""Steps about what is read: frames are claimed, checked, answered, or left unread."""

import os
import select
from collections.abc import Callable

import pytest

from claude_control.testing import steps
from claude_control.testing.scripted_cli import MISMATCH, ScriptedCLI
from claude_control.testing.steps import expect, expect_prompt, expect_request, say
from tests.testing.pipes import Pipes, shapes

Make = Callable[..., ScriptedCLI]


def test_expect_takes_its_frame_from_the_default_behaviour(make: Make) -> None:
    """A frame that a step to come expects is not answered by itself, even if it arrives long before."""
    script = [
        steps.wait_gate("late"),
        expect_request("mcp_status"),
        steps.answer({"mcpServers": ["x"]}),
        steps.default(),
    ]
    cli = make(*script)
    with Pipes(cli) as pipes:
        pipes.request("mcp_status", "r1")
        pipes.request("interrupt", "r2")
        assert pipes.frame()["response"]["request_id"] == "r2"
        cli.open_gate("late")
        assert pipes.frame()["response"]["response"] == {"mcpServers": ["x"]}
        assert pipes.frame()["response"]["response"] == {"mcpServers": []}


@pytest.mark.parametrize(
    ("step", "reason"),
    [
        (expect_request("set_model", model="opus"), "request.model: expected 'opus', got 'haiku'"),
        (expect_request("set_model", other=1), "request.other is missing"),
        (expect({"request": {"subtype": "set_model", "model": {"a": 1}}}), "request.model is not an object: 'haiku'"),
        (
            expect({"type": "control_request", "request": {"subtype": "$any", "model": ["x"]}}),
            "request.model: expected ['x'], got",
        ),
    ],
)
def test_unexpected_frame_ends_the_run(make_unchecked: Make, step: steps.Step, reason: str) -> None:
    """A frame of the expected kind that does not fit ends the run with 97, and the record says why."""
    cli = make_unchecked(say({"type": "keep_alive"}), step)
    with Pipes(cli) as pipes:
        pipes.request("set_model", model="haiku")
        assert shapes(pipes.rest()) == ["keep_alive"]
        assert pipes.code() == MISMATCH
    assert f"step 1 of the main script: {reason}" in (cli.run.problem or "")
    with pytest.raises(AssertionError, match="step 1 of the main script"):
        cli.check()
    with pytest.raises(AssertionError, match="step 1 of the main script"):
        cli.wait_event("never")


def test_expected_frame_that_never_comes_ends_the_run(make_unchecked: Make) -> None:
    """The end of input is a mismatch for a script that still expects something."""
    cli = make_unchecked(expect_prompt("hi"))
    with Pipes(cli) as pipes:
        pipes.end()
        assert pipes.code() == MISMATCH
    assert "input ended, but the main script expects" in (cli.run.problem or "")


def test_any_fits_everything(make: Make) -> None:
    """`$any` fits whatever is there, in a pattern at any depth."""
    cli = make(
        expect({"type": "user", "message": {"content": [{"type": "text", "text": "$any"}]}}), say({"type": "ok"})
    )
    with Pipes(cli) as pipes:
        content = [{"type": "text", "text": "x", "more": 1}]
        pipes.send({"type": "user", "message": {"role": "user", "content": content}})
        assert pipes.frame() == {"type": "ok"}


def test_answers(make: Make) -> None:
    """Requests are answered with a payload, with none, with fields beside it, or with an error."""
    cli = make(
        *(expect_request("a"), steps.answer()),
        *(expect_request("b"), steps.answer({"x": 1}, pending_permission_requests=[])),
        *(expect_request("c"), steps.answer_error("no", "some_code")),
    )
    with Pipes(cli) as pipes:
        for subtype in "abc":
            pipes.request(subtype, subtype)
        assert pipes.frame()["response"] == {"subtype": "success", "request_id": "a"}
        assert pipes.frame()["response"]["pending_permission_requests"] == []
        refused = {"subtype": "error", "request_id": "c", "error": "no", "error_code": "some_code"}
        assert pipes.frame()["response"] == refused


def test_default_begins_the_turn_of_an_expected_prompt(make: Make) -> None:
    """An expected prompt gets no turn by itself; `default` begins it."""
    cli = make(expect_prompt("hi"), say({"type": "seen"}), steps.default())
    with Pipes(cli) as pipes:
        pipes.prompt("hi")
        assert shapes(pipes.all_until("result")) == ["seen", "system init", "assistant", "result success"]


def test_stdin_can_be_left_unread(make: Make) -> None:
    """A child that stops reading lets the pipe fill, and takes everything once it reads again."""
    cli = make(steps.stop_reading(), say({"type": "deaf"}), steps.wait_gate("hear"), steps.resume_reading())
    with Pipes(cli) as pipes:
        assert pipes.frame() == {"type": "deaf"}
        assert pipes.process.stdin is not None
        descriptor = pipes.process.stdin.fileno()
        os.set_blocking(descriptor, False)
        line = b'{"type":"keep_alive","x":"' + b"x" * 500 + b'"}\n'
        with pytest.raises(BlockingIOError):
            while True:
                os.write(descriptor, line)
        cli.open_gate("hear")
        assert select.select([], [descriptor], [], 10)[1]


def test_stdin_can_be_closed(make: Make) -> None:
    """The SDK's next write fails, while the child lives on and speaks."""
    cli = make(steps.close_stdin(), say({"type": "deaf"}), steps.wait_gate("go"), say({"type": "alive"}), steps.hang())
    with Pipes(cli) as pipes:
        pipes.frame()
        with pytest.raises(BrokenPipeError):
            pipes.write(b"x")
        cli.open_gate("go")
        assert pipes.frame() == {"type": "alive"}
        pipes.process.terminate()
        assert pipes.code() == 143


def test_end_of_input_can_be_waited_for(make: Make) -> None:
    """A script may go on behind the end of input."""
    cli = make(steps.wait_eof(), say({"type": "after"}), steps.crash(3))
    with Pipes(cli) as pipes:
        pipes.end()
        assert pipes.rest() == [{"type": "after"}]
        assert pipes.code() == 3
