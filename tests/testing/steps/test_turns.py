"""Steps of a turn: replies, results, and tool uses with the effects of the real program."""

from collections.abc import Callable
from typing import Any

import pytest

from claude_control.testing import steps
from claude_control.testing.scripted_cli import ScriptedCLI
from claude_control.testing.steps import expect_request, reply, say, turn, use_tool
from tests.testing.pipes import Pipes, shapes

Make = Callable[..., ScriptedCLI]

PERMIT = ("--permission-prompt-tool", "stdio")
HOOKS = {"PreToolUse": [{"matcher": "Bash|Write", "hookCallbackIds": ["h1"]}, {"hookCallbackIds": ["h2"]}]}


def permission(behavior: str, **fields: Any) -> dict[str, Any]:
    """Return the payload of an answer to a permission request."""
    return {"behavior": behavior, **fields}


def pipes_result(frames: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the one result among frames."""
    (found,) = [frame for frame in frames if frame["type"] == "result"]
    return found


def test_bare_turn_is_all_the_scripts_own(make: Make) -> None:
    """A bare turn writes what its steps say and nothing else."""
    frame = {"type": "assistant", "for": "$prompt_uuid", "text": "$prompt_text"}
    cli = make(prompts=[turn(say(frame), steps.result(subtype="success", result="r"), bare=True)])
    with Pipes(cli) as pipes:
        pipes.prompt("hi", "u1")
        pipes.request("mcp_status")
        frames = pipes.all_until("control_response")
        assert [f for f in frames if f["type"] == "assistant"] == [{"type": "assistant", "for": "u1", "text": "hi"}]
        assert "system init" not in shapes(frames)
        assert pipes_result(frames)["result"] == "r"


def test_result_can_be_scripted(make: Make) -> None:
    """A result of one's own takes the place of the default one; an error has no `result`, and makes the exit code 1."""
    error = steps.result(subtype="error_max_turns", is_error=True, errors=["too many"])
    with Pipes(make(prompts=[[reply("x"), error]])) as pipes:
        pipes.prompt("hi", "u1")
        pipes.end()
        result = pipes_result(pipes.rest())
        assert (result["errors"], result["user_message_uuids"]) == (["too many"], ["u1"])
        assert "result" not in result
        assert pipes.code() == 1


@pytest.mark.parametrize("program", ["2.1.332", "2.1.7"])
def test_tool_use_that_is_allowed(make: Make, program: str) -> None:
    """Hooks are called, permission is asked, and the tool runs with the changed input."""
    cli = make(program=program, prompts=[[use_tool("Bash", {"command": "a"}, output="done"), reply("end")]])
    with Pipes(cli, *PERMIT, environment={"CLAUDE_CODE_SDK_READS_SESSION_STATE": "1"}) as pipes:
        pipes.request("initialize", hooks={**HOOKS, "PostToolUse": [{"matcher": None, "hookCallbackIds": ["p"]}]})
        pipes.prompt("hi", "u1")
        hooks = [pipes.until("control_request"), pipes.until("control_request")]
        assert [hook["request"]["callback_id"] for hook in hooks] == ["h1", "h2"]
        assert hooks[0]["request"]["input"]["hook_event_name"] == "PreToolUse"
        for hook in hooks:
            pipes.answer(hook, {})
        before = pipes.all_until("control_request")
        assert before[-1]["request"]["subtype"] == "can_use_tool"
        assert any(frame.get("state") == "requires_action" for frame in before) == (program == "2.1.332")
        pipes.answer(before[-1], permission("allow", updatedInput={"command": "b"}))
        after = pipes.until("control_request")
        assert after["request"]["input"]["tool_response"] == {"stdout": "done"}
        pipes.answer(after, {})
        assert pipes.until("result")["result"] == "end"
    assert [(event["input"], event["outcome"]) for event in cli.events("tool")] == [({"command": "b"}, "ran")]


@pytest.mark.parametrize(
    ("program", "payload", "outcome", "text"),
    [
        ("2.1.332", permission("allow"), "ran", ""),
        ("2.1.7", permission("allow"), "denied", "Tool permission request failed: ["),
        ("2.1.332", permission("deny", message="no"), "denied", "no"),
        ("2.1.332", permission("deny"), "denied", "invalid permission result"),
        ("2.1.332", permission("allow", updatedInput=5), "denied", "invalid permission result"),
        ("2.1.332", None, "denied", "invalid permission result"),
    ],
)
def test_permission_answers_have_their_effect(make: Make, program: str, payload: Any, outcome: str, text: str) -> None:
    """A tool runs or is denied as the answer has it on the program of that version."""
    cli = make(program=program, prompts=[[use_tool("Bash", {"command": "a"})]])
    with Pipes(cli, *PERMIT) as pipes:
        pipes.prompt("hi")
        pipes.answer(pipes.until("control_request"), payload)
        result = pipes.until("result")
        assert bool(result["permission_denials"]) == (outcome == "denied")
    (event,) = cli.events("tool")
    assert event["outcome"] == outcome
    assert text in event["text"]


def test_permission_error_denies(make: Make) -> None:
    """An error as answer denies the tool with its text."""
    cli = make(prompts=[[use_tool("Bash", {"command": "a"})]])
    with Pipes(cli, *PERMIT) as pipes:
        pipes.prompt("hi")
        request_id = pipes.until("control_request")["request_id"]
        pipes.send(
            {"type": "control_response", "response": {"subtype": "error", "request_id": request_id, "error": "E"}}
        )
        pipes.until("result")
    assert cli.events("tool")[0]["text"] == "Tool permission request failed: Error: E"


def test_denial_with_interrupt_ends_the_turn(make: Make) -> None:
    """A denial that interrupts aborts the turn; the message is lost."""
    cli = make(prompts=[[use_tool("Bash", {"command": "a"}), reply("never")]])
    with Pipes(cli, *PERMIT) as pipes:
        pipes.prompt("hi")
        pipes.answer(pipes.until("control_request"), permission("deny", message="m", interrupt=True))
        result = pipes.until("result")
        assert (result["subtype"], result["terminal_reason"]) == ("error_during_execution", "aborted_tools")
        pipes.prompt("again")
        assert pipes.until("result")["subtype"] == "success"


@pytest.mark.parametrize(
    ("payload", "outcome", "asked"),
    [
        ({"hookSpecificOutput": {"permissionDecision": "deny", "permissionDecisionReason": "why"}}, "denied", False),
        ({"decision": "block", "reason": "why"}, "denied", False),
        ({"hookSpecificOutput": {"permissionDecision": "allow", "updatedInput": {"command": "c"}}}, "ran", False),
        ({"hookSpecificOutput": {"permissionDecision": "ask"}}, "ran", True),
        ({"hookSpecificOutput": "rubbish"}, "ran", False),
        (None, "ran", False),
    ],
)
def test_hook_answers_have_their_effect(make: Make, payload: Any, outcome: str, asked: bool) -> None:
    """A PreToolUse hook denies, allows, or has permission asked for a tool that needs none."""
    cli = make(prompts=[[use_tool("Write", {"command": "a"}, asks=False)]])
    with Pipes(cli, *PERMIT) as pipes:
        pipes.request("initialize", hooks={"PreToolUse": HOOKS["PreToolUse"][:1]})
        pipes.prompt("hi")
        pipes.answer(pipes.until("control_request"), payload)
        if asked:
            pipes.answer(pipes.until("control_request"), permission("allow"))
        pipes.until("result")
    (event,) = cli.events("tool")
    assert event["outcome"] == outcome
    assert outcome == "ran" or "why" in event["text"]
    assert len(cli.events("asked")) == 1 + asked


@pytest.mark.parametrize(("program", "outcome"), [("2.1.332", "denied"), ("2.1.7", "ran")])
def test_hook_that_takes_too_long_is_cancelled(make: Make, program: str, outcome: str) -> None:
    """The request is cancelled; the tool is blocked on 2.1.332 and runs on older programs."""
    cli = make(program=program, prompts=[[use_tool("Bash", {"command": "a"}, asks=False, hook_timeout=0.05)]])
    with Pipes(cli, *PERMIT) as pipes:
        pipes.request(
            "initialize", hooks={"PreToolUse": [{"matcher": "(", "hookCallbackIds": ["bad"]}, HOOKS["PreToolUse"][0]]}
        )
        pipes.prompt("hi")
        asked = pipes.until("control_request")
        assert asked["request"]["callback_id"] == "h1"
        assert pipes.until("control_cancel_request")["request_id"] == asked["request_id"]
        pipes.until("result")
    assert cli.events("tool")[0]["outcome"] == outcome


def test_no_permission_without_the_prompt_tool(make: Make) -> None:
    """Without `--permission-prompt-tool stdio` nothing is asked and the tool is denied, but not under bypass."""
    for flags, outcome in (((), "denied"), (("--permission-mode=bypassPermissions",), "ran")):
        cli = make(prompts=[[use_tool("Bash", {"command": "a"})]])
        with Pipes(cli, *flags) as pipes:
            pipes.prompt("hi")
            pipes.until("result")
        assert cli.events("asked") == []
        assert cli.events("tool")[0]["outcome"] == outcome


def test_background_turn_of_the_current_program(make: Make) -> None:
    """2.1.332 begins a turn of its own when it is idle, and its result names a task and no prompt."""
    cli = make(expect_request("go"), steps.background_turn(reply("done")), steps.wait_idle(), say({"type": "over"}))
    with Pipes(cli, environment={"CLAUDE_CODE_SDK_READS_SESSION_STATE": "1"}) as pipes:
        pipes.request("go")
        frames = pipes.all_until("over")
        changed = "system session_state_changed"
        expected = [f"{changed} running", "system init", "assistant", "result success", f"{changed} idle", "over"]
        assert shapes(frames) == expected
        assert frames[3]["origin"] == {"kind": "task-notification"}
        assert "user_message_uuids" not in frames[3]


@pytest.mark.parametrize("program", ["2.1.332", "2.1.7"])
def test_background_turn_follows_the_one_that_runs(make: Make, program: str) -> None:
    """A turn of the program's own that is due during a prompt's comes straight behind it, before queued prompts."""
    first = [reply("one"), steps.background_turn(reply("own")), steps.delay(0.05)]
    with Pipes(make(program=program, prompts=[first, [reply("two")]])) as pipes:
        pipes.prompt("1")
        pipes.prompt("2")
        assert [pipes.until("result")["result"] for _ in range(3)] == ["one", "own", "two"]


def test_background_turn_of_the_middle_program(make: Make) -> None:
    """2.1.7 lets it wait for the next prompt, and shows it as the echo of a notification."""
    cli = make(expect_request("go"), steps.background_turn(reply("own")), steps.answer(), program="2.1.7")
    with Pipes(cli, "--replay-user-messages") as pipes:
        pipes.request("go")
        assert pipes.frame()["type"] == "control_response"
        pipes.prompt("hi", "u1")
        frames = pipes.all_until("result")
        assert shapes(frames) == ["system init", "user", "assistant", "result success"]
        assert frames[1]["message"]["content"].startswith("<task-notification>")
        assert pipes.until("result")["result"] == "answer to: hi"


def test_background_turn_of_the_oldest_program(make: Make) -> None:
    """2.0.75 ends with an error result at the next prompt."""
    cli = make(expect_request("go"), steps.background_turn(reply("own")), steps.answer(), program="2.0.75")
    with Pipes(cli) as pipes:
        pipes.request("go")
        pipes.response()
        pipes.prompt("hi")
        (result,) = [frame for frame in pipes.rest() if frame["type"] == "result"]
        assert result["errors"] == ["only prompt commands are supported in streaming mode"]
        assert pipes.code() == 1
