"""Permission callbacks on the scripted CLI: one answer for everything, whatever the callback does."""

import copy
import json
import threading
import time
from collections.abc import Callable
from typing import Any

import attrs
import pytest

from claude_control import Allow, Deny, Options, PermissionUpdate
from claude_control.deadline import Deadline
from claude_control.session.answers import Answers
from claude_control.session.callbacks import Callbacks
from claude_control.session.hooks import Hooks
from claude_control.session.permissions import PendingAnswer
from claude_control.session.pool import CallbackPool
from claude_control.testing.scripted_cli import ScriptedCLI, ScriptedCLIFactory
from claude_control.testing.steps import (
    ask,
    ask_permission,
    cancel,
    crash,
    on_request,
    raw,
    reply,
    turn,
    unanswered,
    use_tool,
    wait_gate,
)
from tests.session.conftest import OpenScripted
from tests.waiting import wait_until

ALL = pytest.mark.parametrize("program", ["2.0.75", "2.1.7", "2.1.332"])


def answers(cli: ScriptedCLI) -> list[dict[str, Any]]:
    """What the SDK answered, in order."""
    return [frame["response"] for frame in cli.received() if frame["type"] == "control_response"]


def test_allow_echoes_the_input_as_it_was_asked(scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted) -> None:
    """Allow carries the input, whatever the callback did to its copy, with integers of any length."""

    def change(_tool: str, tool_input: dict[str, Any], _context: Any) -> Allow:
        tool_input["command"] = "changed in place"
        return Allow()

    asked = {"command": "ls", "id": 123456789012345678901234567890}
    cli = scripted_cli(prompts=[[ask_permission("Bash", asked)]])
    open_scripted(cli, can_use_tool=change).ask("x").result()
    assert answers(cli)[0]["response"] == {"behavior": "allow", "updatedInput": asked}


@pytest.mark.parametrize(
    "bad",
    [
        None,
        True,
        "yes",
        {"behavior": "allow"},
        Allow(updated_input={1, 2}),  # type: ignore[arg-type]  # that is the point
        Allow(updated_input={"a": object()}),
    ],
)
def test_wrong_answers_deny(scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted, bad: Any) -> None:
    """A callback that returns anything but a valid decision denies, with the reason."""
    cli = scripted_cli(prompts=[[ask_permission()]])
    open_scripted(cli, can_use_tool=lambda *_: bad).ask("x").result()
    answer = answers(cli)[0]["response"]
    assert answer["behavior"] == "deny"
    assert "failed" in answer["message"]


@pytest.mark.parametrize("error", [RuntimeError("broken"), SystemExit(3), KeyboardInterrupt(), GeneratorExit()])
def test_raising_denies(scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted, error: BaseException) -> None:
    """A callback that raises, whatever it raises, denies; the session lives on."""

    def broken(*_: Any) -> None:
        raise error

    cli = scripted_cli(prompts=[[ask_permission()]])
    session = open_scripted(cli, can_use_tool=broken)
    session.ask("x").result()
    assert answers(cli)[0]["response"]["behavior"] == "deny"
    assert session.ask("y").result().result == "answer to: y"


def test_deny_always_has_a_message(scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted) -> None:
    """An empty message would be refused by every program, so a standard one stands in."""
    cli = scripted_cli(prompts=[[ask_permission()]])
    open_scripted(cli, can_use_tool=lambda *_: Deny("  ")).ask("x").result()
    assert answers(cli)[0]["response"]["message"].strip()


def test_suggestions_go_back_as_they_came(scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted) -> None:
    """A suggestion handed back is the same on the wire, unknown fields included."""
    suggestion = {
        "type": "addRules",
        "rules": [{"toolName": "Bash", "ruleContent": "ls *", "new": 1}],
        "behavior": "allow",
        "destination": "session",
        "future": True,
    }
    cli = scripted_cli(prompts=[[ask_permission(permission_suggestions=[suggestion])]])
    open_scripted(cli, can_use_tool=lambda _t, _i, c: Allow(updated_permissions=c.suggestions)).ask("x").result()
    assert answers(cli)[0]["response"]["updatedPermissions"] == [suggestion]


@ALL
def test_bypass_by_permission_update_is_denied(
    scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted, program: str
) -> None:
    """A permission update cannot switch a session to bypassPermissions that was not launched for it."""
    update = PermissionUpdate("setMode", mode="bypassPermissions")
    cli = scripted_cli(program=program, prompts=[[ask_permission()]])
    open_scripted(cli, can_use_tool=lambda *_: Allow(updated_permissions=[update])).ask("x").result()
    assert answers(cli)[0]["response"]["behavior"] == "deny"


def test_cancelled_request_fires_the_signal_and_is_not_answered(
    scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted
) -> None:
    """After a cancel the signal fires, on_abort functions run, and the late answer is dropped and counted."""
    begun, ran, returned = threading.Event(), threading.Event(), threading.Event()

    def wait(_tool: str, _input: dict[str, Any], context: Any) -> Allow:
        context.signal.on_abort(ran.set)
        begun.set()
        assert context.signal.wait(10)
        assert context.signal.reason == "cancelled"
        returned.set()
        return Allow()

    cli = scripted_cli(
        prompts=[[ask_permission(request_id="perm", wait=False), wait_gate("asked"), cancel("perm"), reply()]]
    )
    session = open_scripted(cli, can_use_tool=wait)
    asked = session.ask("x")
    assert begun.wait(10)
    assert session.state == "waiting"
    cli.open_gate("asked")
    asked.result(timeout=10)
    assert ran.wait(5)
    assert returned.wait(5)
    wait_until(lambda: session.stats.late_answers == 1)
    assert answers(cli) == []


def test_answers_can_come_later(scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted) -> None:
    """`answer_later()` keeps the request open without a thread; the first answer is accepted, a second is too late."""
    later: list[PendingAnswer] = []
    cli = scripted_cli(prompts=[[use_tool("Bash", {"command": "ls"}), reply("done")]])
    session = open_scripted(cli, can_use_tool=lambda _t, _i, context: later.append(context.answer_later()))
    asked = session.ask("x")
    wait_until(lambda: bool(later))
    assert session.state == "waiting"
    assert later[0].allow() is True
    assert later[0].deny("no") is False
    assert asked.result(timeout=10).result == "done"


@pytest.mark.parametrize("copied", [copy.copy, attrs.evolve])
def test_answer_of_a_copied_context_comes_later(
    scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted, copied: Callable[[Any], Any]
) -> None:
    """A wrapper may hand a copy of the context to the callback, whose `answer_later()` keeps the request open too."""
    later: list[PendingAnswer] = []
    cli = scripted_cli(prompts=[[use_tool("Bash", {"command": "ls"}), reply("done")]])
    session = open_scripted(cli, can_use_tool=lambda _t, _i, context: later.append(copied(context).answer_later()))
    asked = session.ask("x")
    wait_until(lambda: bool(later))
    assert later[0].allow() is True
    assert asked.result(timeout=10).result == "done"


def test_later_answers_learn_of_a_cancel(scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted) -> None:
    """An answer that comes after an interrupt is too late, and its signal says so."""
    later: list[PendingAnswer] = []
    cli = scripted_cli(prompts=[[use_tool("Bash", {"command": "ls"}), reply("done")]])
    session = open_scripted(cli, can_use_tool=lambda _t, _i, context: later.append(context.answer_later()))
    asked = session.ask("x")
    wait_until(lambda: bool(later))
    session.interrupt()
    assert later[0].signal.aborted
    assert later[0].allow() is False
    asked.result(timeout=10)


def test_unknown_requests_are_answered_at_once(scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted) -> None:
    """A request of an unknown kind, or without a callback for it, gets an error, or a denial, at once."""
    cli = scripted_cli(prompts=[[ask({"subtype": "from_the_future"}), ask_permission(), reply("done")]])
    assert open_scripted(cli).ask("x").result(timeout=10).result == "done"
    first, second = answers(cli)
    assert first["subtype"] == "error"
    assert second["response"]["behavior"] == "deny"


def test_requests_are_served_while_initialize_is_pending(
    scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted
) -> None:
    """What the program asks before it answers the handshake is answered: else neither would come to an end."""
    from claude_control.testing.steps import default

    asking = on_request("initialize", ask({"subtype": "mcp_message", "server_name": "x", "message": {}}), default())
    session = open_scripted(scripted_cli(reactions=[asking]), initialize_timeout=10)
    assert session.state == "idle"


def test_open_callbacks_learn_of_the_end(scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted) -> None:
    """When the program dies, or the session is closed, the signals of open callbacks fire with the reason."""
    begun: list[str] = []
    reasons: list[str | None] = []

    def wait(tool: str, _input: dict[str, Any], context: Any) -> Deny:
        begun.append(tool)
        context.signal.wait(20)
        reasons.append(context.signal.reason)
        return Deny()

    dying = open_scripted(
        scripted_cli(prompts=[[ask_permission(wait=False), wait_gate("go"), crash(1)]]), can_use_tool=wait
    )
    cli = scripted_cli(prompts=[[ask_permission()]])
    closing = open_scripted(cli, can_use_tool=wait, interrupt_grace=0.2)
    closing.ask("x")
    wait_until(lambda: len(begun) == 1)
    closing.close()
    wait_until(lambda: len(reasons) == 1)
    assert reasons[0] in ("closed", "cancelled")
    dying.ask("x")
    wait_until(lambda: len(begun) == 2)
    dying._live().transport.kill()
    wait_until(lambda: len(reasons) == 2)
    assert reasons[1] == "exited"


def test_a_callback_that_never_returns_does_not_hold_up_close(
    scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted
) -> None:
    """A callback that ignores its signal is abandoned and counted; close() is bounded."""
    begun, release = threading.Event(), threading.Event()

    def hang(*_: Any) -> None:
        begun.set()
        release.wait(30)

    session = open_scripted(scripted_cli(prompts=[[ask_permission()]]), can_use_tool=hang, interrupt_grace=0.2)
    session.ask("x")
    assert begun.wait(10)
    start = time.monotonic()
    session.close()
    assert time.monotonic() - start < 20
    assert session.stats.abandoned_callbacks == 1
    release.set()


def test_closing_in_a_callback_works(scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted) -> None:
    """A callback may close its own session."""
    closed = threading.Event()

    def close(*_: Any) -> Deny:
        session.close()
        closed.set()
        return Deny()

    session = open_scripted(scripted_cli(prompts=[[ask_permission()]]), can_use_tool=close, interrupt_grace=0.2)
    session.ask("x")
    assert closed.wait(15)
    assert session.state == "closed"


def test_context_variables_reach_callbacks(scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted) -> None:
    """What is bound where the session is opened shows in its callbacks."""
    from contextvars import ContextVar

    request_id: ContextVar[str] = ContextVar("request_id", default="none")
    seen: list[str] = []
    request_id.set("r-1")
    cli = scripted_cli(prompts=[[ask_permission()]])

    def note(*_: Any) -> Deny:
        seen.append(request_id.get())
        return Deny()

    session = open_scripted(cli, can_use_tool=note)
    session.ask("x").result()
    assert seen == ["r-1"]


def test_unanswered_interrupt_times_out(scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted) -> None:
    """An interrupt that the program does not acknowledge raises, and the turn is still running."""
    cli = scripted_cli(reactions=[unanswered("interrupt")], prompts=[turn(wait_gate("never"), interruptible=False)])
    session = open_scripted(cli, interrupt_grace=0.2, exit_grace=0.3)
    asked = session.ask("x")
    wait_until(lambda: asked.state == "running")
    with pytest.raises(TimeoutError):
        session.interrupt(timeout=0.2)
    assert asked.state == "running"


def begun(*bodies: dict[str, Any]) -> list[dict[str, Any]]:
    """Return how these requests are answered that come together, where there are no callbacks."""
    lines: list[bytes] = []
    pool = CallbackPool("claude-test-callback")
    callbacks = Callbacks(
        answers=Answers(lines.append),
        pool=pool,
        options=Options(),
        hooks={},
        post=print,
        session=lambda: None,
        stopping=print,
        require=print,
    )
    callbacks.receive([{"request_id": str(number), "request": body} for number, body in enumerate(bodies)])
    pool.close()
    assert pool.join(Deadline(20)) == []
    return sorted((json.loads(line)["response"] for line in lines), key=lambda answer: str(answer["request_id"]))


def test_request_that_cannot_be_started_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Should the reader itself fail at a request, it says so to the program, and goes on with those beside it."""

    def fail(_hooks: Hooks, _request: object) -> None:
        raise RuntimeError("no luck")

    monkeypatch.setattr(Hooks, "start", fail)
    permission = {"subtype": "can_use_tool", "tool_name": "Bash"}
    before, broken, after = begun(permission, {"subtype": "hook_callback", "callback_id": "h"}, permission)
    assert broken["error"] == "claude_control could not ask: RuntimeError: no luck"
    assert [answer["response"]["behavior"] for answer in (before, after)] == ["deny", "deny"]


def test_requests_are_denied_when_no_thread_can_run_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Should the pool fail at requests that came together, each that is open is denied, and the reader goes on."""

    def fail(_pool: CallbackPool, *_functions: object) -> bool:
        raise MemoryError("no memory for a thread")

    monkeypatch.setattr(CallbackPool, "submit", fail)
    permission = {"subtype": "can_use_tool", "tool_name": "Bash"}
    found = begun(permission, {"subtype": "new"}, permission)
    assert [answer["request_id"] for answer in found] == ["0", "1", "2"]
    assert [answer["response"]["behavior"] for answer in (found[0], found[2])] == ["deny", "deny"]
    assert "no memory for a thread" in found[0]["response"]["message"]
    assert found[1]["subtype"] == "error"


def test_request_that_is_too_deep_is_answered() -> None:
    """A request that is nested so deeply that the stack runs out over it has an answer, and so have those beside it."""
    deep: list[Any] = []
    for _ in range(5_000):
        deep = [deep]
    permission = {"subtype": "can_use_tool", "tool_name": "Bash", "input": {"deep": deep}}
    unknown, asked = begun({"subtype": deep}, permission)
    assert unknown["error"].startswith("claude_control ")  # CPython 3.13 does not run out of it over this one
    assert asked["response"]["behavior"] == "deny"


def test_no_answer_waits_for_another_callback(scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted) -> None:
    """Of many callbacks asked at once, the answers of those that are done reach the program while another hangs."""
    blocking = (5, 20, 39)

    def asked(number: int) -> bytes:
        body = {"subtype": "can_use_tool", "tool_name": "Bash", "input": {"number": number}}
        return json.dumps({"type": "control_request", "request_id": str(number), "request": body}).encode() + b"\n"

    def decide(_tool: str, tool_input: dict[str, Any], _context: Any) -> Allow:
        number = tool_input["number"]
        if number in blocking:
            others = {str(before) for before in range(number)} - {str(blocked) for blocked in blocking}
            wait_until(lambda: others <= {answer["request_id"] for answer in answers(cli)})
        return Allow()

    burst = raw(b"".join(asked(number) for number in range(40)))
    cli = scripted_cli(every_prompt=[burst, wait_gate("answered"), reply("done")])
    session = open_scripted(cli, can_use_tool=decide)
    running = session.ask("x")
    wait_until(lambda: len(answers(cli)) == 40)
    cli.open_gate("answered")
    assert running.result(timeout=20).result == "done"
    assert {answer["request_id"] for answer in answers(cli)} == {str(number) for number in range(40)}
