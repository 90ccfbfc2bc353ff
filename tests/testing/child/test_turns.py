"""Prompts are answered with the frames of each version, in their order."""

from collections.abc import Callable
from typing import Any

import pytest

from claude_control.testing import steps
from claude_control.testing.scripted_cli import ScriptedCLI
from claude_control.testing.steps import reply, turn, use_tool
from tests.testing.pipes import Pipes, shapes

Make = Callable[..., ScriptedCLI]

MODERN = "2.1.332"
OLD = ("2.1.7", "2.0.75")
ALL = (MODERN, *OLD)
STATES = {"CLAUDE_CODE_SDK_READS_SESSION_STATE": "1"}


def test_turn_of_the_current_program(make: Make) -> None:
    """A prompt gets the frames of 2.1.332 in their order, and those that name prompts name this one."""
    with Pipes(make(), environment=STATES) as pipes:
        pipes.prompt("hi", "u1")
        frames = pipes.all_until(lambda frame: frame.get("state") == "idle")
        assert shapes(frames) == [
            "system session_state_changed running",
            "command_lifecycle queued",
            "command_lifecycle started",
            "system init",
            "assistant",
            "result success",
            "command_lifecycle completed",
            "system session_state_changed idle",
        ]
        assert frames[0]["sdk_host_only"] is True
        assert frames[3]["user_message_uuids"] == ["u1"]
        assert (frames[4]["user_message_uuid"], frames[5]["user_message_uuids"]) == ("u1", ["u1"])
        assert frames[5]["result"] == frames[4]["message"]["content"][0]["text"] == "answer to: hi"
        assert len({frame["session_id"] for frame in frames}) == 1


@pytest.mark.parametrize("program", OLD)
def test_turn_of_an_old_program(make: Make, program: str) -> None:
    """A prompt gets the frames of the older programs, which never name it but by the echo that a flag asks for."""
    with Pipes(make(program=program), "--replay-user-messages", environment=STATES) as pipes:
        pipes.prompt("hi", "u1")
        frames = pipes.all_until("result")
        assert shapes(frames) == ["system init", "user", "assistant", "result success"]
        assert (frames[1]["isReplay"], frames[1]["uuid"]) == (True, "u1")
        assert not any("user_message_uuids" in frame for frame in frames)
        pipes.end()
        assert (pipes.rest(), pipes.code()) == ([], 0)


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        ("2.1.332", ["system status", "user", "stream_event", "assistant"]),
        ("2.1.7", ["stream_event", "user", "assistant"]),
    ],
)
def test_echo_comes_before_the_answer(make: Make, program: str, expected: list[str]) -> None:
    """The echo comes before the first event on 2.1.332, and on older programs only before the whole message."""
    cli = make(program=program, prompts=[[reply("a b", pause=0.0)]])
    with Pipes(cli, "--replay-user-messages", "--include-partial-messages") as pipes:
        pipes.prompt("hi", "u1")
        found = [shape for shape in shapes(pipes.all_until("assistant")) if not shape.startswith("command_lifecycle")]
        assert [shape for number, shape in enumerate(found) if shape not in found[:number]] == [
            "system init",
            *expected,
        ]


@pytest.mark.parametrize("program", ALL)
def test_turn_without_an_answer_has_no_echo(make: Make, program: str) -> None:
    """A turn that ends without an assistant's message, as slash commands do, is not echoed; an aborted one is."""
    with Pipes(make(program=program, prompts=[[], [steps.delay(20)]]), "--replay-user-messages") as pipes:
        pipes.prompt("/x", "u1")
        assert "user" not in shapes(pipes.all_until("result"))
        pipes.prompt("hi", "u2")
        pipes.until(lambda frame: frame.get("subtype") == "init")
        pipes.request("interrupt")
        assert pipes.until("user")["uuid"] == "u2"


@pytest.mark.parametrize(("flags", "states"), [((), {}), ((), {"CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS": "1"})])
def test_states_are_written_as_the_environment_asks(make: Make, flags: Any, states: dict[str, str]) -> None:
    """Without the variables there are no states; with the public one they are not marked as the host's own."""
    with Pipes(make(), *flags, environment=states) as pipes:
        pipes.prompt("hi")
        pipes.end()
        changed = [frame for frame in pipes.rest() if frame.get("subtype") == "session_state_changed"]
        assert [frame["state"] for frame in changed] == (["running", "idle"] if states else [])
        assert not any("sdk_host_only" in frame for frame in changed)


def test_session_id_is_the_one_given(make: Make) -> None:
    """Frames carry the id of `--session-id`, or of the session that is resumed without a fork."""
    for flags, expected in ((("--session-id=s1",), "s1"), (("--resume", "s2"), "s2")):
        with Pipes(make(), *flags) as pipes:
            pipes.prompt("hi")
            assert pipes.until("result")["session_id"] == expected


def test_partial_messages_come_when_asked_for(make: Make) -> None:
    """With the flag, a reply comes as events first, in the order of the real program."""
    cli = make(prompts=[[reply("one two", pause=0.0)]])
    with Pipes(cli, "--include-partial-messages") as pipes:
        pipes.prompt("hi")
        frames = [f for f in pipes.all_until("result") if f["type"] in ("stream_event", "assistant")]
        kinds = [frame["event"]["type"] if "event" in frame else "assistant" for frame in frames]
        start, end = ["message_start", "content_block_start"], ["content_block_stop", "message_delta", "message_stop"]
        assert kinds == [*start, "content_block_delta", "content_block_delta", "assistant", *end]
        text = "".join(
            f["event"]["delta"]["text"] for f in frames if f.get("event", {}).get("type") == "content_block_delta"
        )
        assert text == "one two"
        assert {f.get("api_message_id", "msg_000001") for f in frames} == {"msg_000001"}


def test_blocks_are_a_prompt_too(make: Make) -> None:
    """The text of a prompt of content blocks is that of its text blocks."""
    with Pipes(make()) as pipes:
        content = [{"type": "text", "text": "a"}, {"type": "image"}, {"type": "text", "text": "b"}]
        pipes.send({"type": "user", "message": {"role": "user", "content": content}})
        assert pipes.until("result")["result"] == "answer to: ab"


@pytest.mark.parametrize(("program", "results"), [(MODERN, [["u1"], ["u2", "u3"]]), ("2.1.7", [None, None, None])])
def test_prompts_that_wait(make: Make, program: str, results: list[Any]) -> None:
    """Prompts sent during a turn are merged into the next one on 2.1.332, and get one each on older programs."""
    with Pipes(make(program=program, prompts=[[reply("a b c", pause=0.05)]])) as pipes:
        for uuid in ("u1", "u2", "u3"):
            pipes.prompt(uuid, uuid)
        pipes.end()
        frames = [frame for frame in pipes.rest() if frame["type"] == "result"]
        assert [frame.get("user_message_uuids") for frame in frames] == results


def test_waiting_prompt_can_be_cancelled(make: Make) -> None:
    """`cancel_async_message` takes a queued prompt out of the queue."""
    with Pipes(make(prompts=[[reply("a b c", pause=0.05)]])) as pipes:
        pipes.prompt("one", "u1")
        pipes.prompt("two", "u2")
        pipes.request("cancel_async_message", message_uuid="u2")
        assert pipes.response()["response"] == {"cancelled": True, "message_uuid": "u2"}
        pipes.end()
        assert [frame["user_message_uuids"] for frame in pipes.rest() if frame["type"] == "result"] == [["u1"]]


@pytest.mark.parametrize("program", ALL)
def test_repeated_uuid_gets_no_result(make: Make, program: str) -> None:
    """A prompt with a used uuid is echoed and never answered."""
    with Pipes(make(program=program), "--replay-user-messages") as pipes:
        pipes.prompt("hi", "u1")
        pipes.until("result")
        pipes.prompt("hi", "u1")
        pipes.end()
        frames = [frame for frame in pipes.rest() if frame["type"] in ("user", "result", "assistant")]
        assert [(frame["type"], frame["uuid"]) for frame in frames] == [("user", "u1")]


def test_interrupt_on_the_current_program(make: Make) -> None:
    """The answer comes first, then the aborted message and result; what is queued runs next."""
    with Pipes(make(prompts=[[reply("a b c d e f", pause=5.0)]]), "--include-partial-messages") as pipes:
        pipes.prompt("one", "u1")
        pipes.until(lambda frame: frame.get("event", {}).get("type") == "content_block_delta")
        pipes.prompt("two", "u2")
        pipes.request("interrupt")
        assert pipes.response()["response"] == {"still_queued": ["u2"]}
        frames = pipes.all_until("result")
        assert shapes(frames) == ["assistant", "user", "result error_during_execution"]
        assert frames[0]["aborted"] is True
        assert (frames[2]["is_error"], frames[2]["terminal_reason"]) == (True, "aborted_streaming")
        assert "result" not in frames[2]
        assert pipes.until("result")["user_message_uuids"] == ["u2"]


@pytest.mark.parametrize("program", OLD)
def test_interrupt_on_an_old_program(make: Make, program: str) -> None:
    """The result is no error and names none, and the exit code is 0."""
    with Pipes(make(program=program, prompts=[[reply("a b", pause=5.0)]])) as pipes:
        pipes.prompt("one")
        pipes.until("system")
        pipes.request("interrupt")
        assert pipes.response() == {"subtype": "success", "request_id": "r1"}
        result = pipes.until("result")
        assert (result["subtype"], result["is_error"], result["errors"]) == ("error_during_execution", False, [])
        pipes.end()
        assert pipes.code() == 0


@pytest.mark.parametrize("program", ALL)
def test_interrupt_cancels_a_permission_prompt(make: Make, program: str) -> None:
    """A pending prompt is cancelled before the interrupt is answered, and its late answer changes nothing."""
    cli = make(program=program, prompts=[[use_tool("Bash", {"command": "ls"})]])
    with Pipes(cli, "--permission-prompt-tool", "stdio") as pipes:
        pipes.prompt("one")
        asked = pipes.until("control_request")
        pipes.request("interrupt")
        frames = pipes.all_until("result")
        assert frames[0] == {"type": "control_cancel_request", "request_id": asked["request_id"]}
        assert shapes(frames[1:]) == ["control_response", "user", "user", "result error_during_execution"]
        pipes.answer(asked, {"behavior": "allow", "updatedInput": {}})
        pipes.request("mcp_status", "r2")
        assert pipes.response("r2")["subtype"] == "success"
        assert cli.events("tool") == []
        assert [event["request_id"] for event in cli.events("unwanted_answer")] == [asked["request_id"]]


def test_exit_code_tells_of_the_last_result(make: Make) -> None:
    """The current program exits with 1 when its last result was an error."""
    with Pipes(make(prompts=[[reply("a b", pause=5.0)]])) as pipes:
        pipes.prompt("one")
        pipes.until("system")
        pipes.request("interrupt")
        pipes.end()
        assert pipes.code() == 1


def test_end_session_ends_the_current_program(make: Make) -> None:
    """`end_session` is answered, and then the program exits."""
    with Pipes(make()) as pipes:
        pipes.request("end_session")
        assert pipes.response()["subtype"] == "success"
        assert pipes.code() == 0


def test_turn_can_ignore_an_interrupt(make: Make) -> None:
    """A turn that is not interruptible goes on; the interrupt is answered all the same."""
    with Pipes(make(prompts=[turn(reply("a b c", pause=0.05), interruptible=False)])) as pipes:
        pipes.prompt("one")
        pipes.request("interrupt")
        assert pipes.response()["subtype"] == "success"
        assert pipes.until("result")["result"] == "a b c"
