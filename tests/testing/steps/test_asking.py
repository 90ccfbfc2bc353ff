"""Steps that ask the SDK, and reactions to what it sends."""

from collections.abc import Callable
from typing import Any

from claude_control.testing import steps
from claude_control.testing.scripted_cli import ScriptedCLI
from claude_control.testing.steps import expect_request, reply, say, use_tool
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


def test_permission_is_asked_and_waited_for(make: Make) -> None:
    """The request has the id and the fields that the script gives, and the script waits for the answer."""
    ask = steps.ask_permission("Write", {"p": 1}, request_id="p1", tool_use_id="t1", blocked_path="/x")
    cli = make(ask, say({"type": "answered"}))
    with Pipes(cli) as pipes:
        asked = pipes.frame()
        assert asked["request_id"] == "p1"
        expected = {"tool_name": "Write", "input": {"p": 1}, "tool_use_id": "t1", "blocked_path": "/x"}
        assert asked["request"] | expected == asked["request"]
        pipes.request("mcp_status")  # answered while the script waits
        pipes.response()
        pipes.answer(asked, permission("allow"))
        assert pipes.frame() == {"type": "answered"}


def test_many_are_asked_at_once(make: Make) -> None:
    """Requests that are not waited for are all in flight, until `wait_answers`."""
    cli = make(*[steps.ask_permission(wait=False) for _ in range(50)], steps.wait_answers(), say({"type": "all"}))
    with Pipes(cli) as pipes:
        for asked in [pipes.frame() for _ in range(50)]:
            pipes.answer(asked, permission("allow"))
        assert pipes.frame() == {"type": "all"}


def test_requests_are_taken_back(make: Make) -> None:
    """`cancel` names the request made last, or another; a timeout cancels by itself."""
    cli = make(
        *(steps.ask_permission(request_id="a", wait=False), steps.ask_permission(request_id="b", wait=False)),
        *(steps.cancel(), steps.cancel("a")),
        steps.ask({"subtype": "elicitation"}, request_id="c", timeout=0.02),
        say({"type": "end"}),
    )
    with Pipes(cli) as pipes:
        frames = pipes.all_until("end")
        assert [f["request_id"] for f in frames if f["type"] == "control_cancel_request"] == ["b", "a", "c"]


def test_hooks_are_called_by_the_ids_that_were_registered(make: Make) -> None:
    """Every callback for the event is called at once; an event without one is on record."""
    cli = make(
        expect_request("initialize"),
        steps.answer({}),
        steps.call_hook("PreToolUse", {"tool_name": "Read"}),
        steps.call_hook("Stop"),
    )
    with Pipes(cli) as pipes:
        pipes.request("initialize", hooks=HOOKS)
        pipes.response()
        called = pipes.frame()
        assert called["request"]["callback_id"] == "h2"
        assert called["request"]["input"]["tool_name"] == "Read"
        pipes.answer(called, {})
        assert cli.wait_event("no_hook")["hook_event"] == "Stop"


def test_hook_can_be_called_by_an_id_of_ones_own(make: Make) -> None:
    """An id that nobody registered is called all the same."""
    with Pipes(make(steps.call_hook("Stop", callback_id="ghost", wait=False))) as pipes:
        assert pipes.frame()["request"]["callback_id"] == "ghost"


def test_end_of_input_settles_what_is_asked(make: Make) -> None:
    """A permission that is pending when input ends is denied, the turn goes on, and the exit code is 0."""
    cli = make(prompts=[[use_tool("Bash", {"command": "a"}), reply("end")]])
    with Pipes(cli, *PERMIT) as pipes:
        pipes.prompt("hi")
        pipes.until("control_request")
        pipes.end()
        assert pipes_result(pipes.rest())["result"] == "end"
        assert pipes.code() == 0
    assert "stream closed before response received" in cli.events("tool")[0]["text"]


def test_answers_are_repeated_with_the_replay_flag(make: Make) -> None:
    """With `--replay-user-messages` the SDK's own answers come back, as from all programs."""
    with Pipes(make(steps.ask_permission(request_id="p")), "--replay-user-messages") as pipes:
        asked = pipes.frame()
        pipes.answer(asked, permission("allow"))
        assert pipes.frame()["response"]["request_id"] == "p"


def test_reinitialize_lists_what_is_pending(make: Make) -> None:
    """The current program lists open permission requests in its answer to a second initialize."""
    with Pipes(
        make(steps.ask_permission(request_id="p", wait=False), steps.ask({"subtype": "x"}, wait=False))
    ) as pipes:
        pipes.request("initialize")
        pending = pipes.response()["pending_permission_requests"]
        assert [request["request_id"] for request in pending] == ["p"]


def test_reactions_take_the_place_of_the_default(make: Make) -> None:
    """A reaction answers a request in its own way, as often as it is told to, and then the default returns."""
    refuse = steps.on_request("set_model", steps.answer_error("no"), times=1)
    with Pipes(make(reactions=[refuse, steps.unanswered("mcp_status")])) as pipes:
        pipes.request("mcp_status", "r0")
        pipes.request("set_model", "r1", model="opus")
        pipes.request("set_model", "r2", model="opus")
        frames = [pipes.frame()["response"], pipes.frame()["response"]]
        assert {frame["request_id"]: frame["subtype"] for frame in frames} == {"r1": "error", "r2": "success"}


def test_reaction_may_add_to_the_default(make: Make) -> None:
    """With `also_default` both happen."""
    also = steps.on({"type": "user"}, say({"type": "noticed"}), also_default=True)
    with Pipes(make(reactions=[also])) as pipes:
        pipes.prompt("hi")
        assert "noticed" in shapes(pipes.all_until("result"))
