"""Hooks on the scripted CLI: one answer for each, in time and in order, whatever the callback does.

What the real programs make of the answers is tested in `tests/real/test_hooks.py`.
"""

import threading
import time
from typing import Any

import pytest

from claude_control import HookMatcher, allow_tool, defer_tool, deny_tool, rewrite_input
from claude_control.abort import AbortSignal
from claude_control.session.answers import Handler, OpenRequest
from claude_control.session.hooks import Rows
from claude_control.session.pool import MAX_THREADS
from claude_control.testing.scripted_cli import ScriptedCLI, ScriptedCLIFactory
from claude_control.testing.steps import (
    Step,
    ask,
    ask_permission,
    call_hook,
    cancel,
    delay,
    raw,
    reply,
    turn,
    wait_answers,
    wait_gate,
)
from tests.hook_shapes import complaints
from tests.session.conftest import OpenScripted
from tests.waiting import wait_until


def answers(cli: ScriptedCLI) -> list[dict[str, Any]]:
    """What the SDK answered, in order."""
    return [frame["response"] for frame in cli.received() if frame["type"] == "control_response"]


def call(event: str, *, wait: bool = True, **fields: Any) -> Step:
    """Have an event happen."""
    return call_hook(event, {"hook_event_name": event, **fields}, wait=wait)


def hooks(event: str, function: Any, **fields: Any) -> dict[str, list[HookMatcher]]:
    """One hook."""
    return {event: [HookMatcher(hooks=[function], **fields)]}


def test_hook_outputs_are_sent_in_the_programs_words(
    scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted
) -> None:
    """`continue_` becomes `continue`, and the event's name is filled in."""
    output = {"continue_": False, "stopReason": "enough", "hookSpecificOutput": {"additionalContext": "c"}}
    cli = scripted_cli(prompts=[[call("PostToolUse")]])
    open_scripted(cli, hooks=hooks("PostToolUse", lambda *_: output)).ask("x").result()
    assert answers(cli)[0]["response"] == {
        "continue": False,
        "stopReason": "enough",
        "hookSpecificOutput": {"hookEventName": "PostToolUse", "additionalContext": "c"},
    }


DENIED = {
    "PreToolUse": "permissionDecisionReason",
    "PermissionRequest": "message",
    "PreSkillShellCommand": "permissionDecisionReason",
    "PreModelSwitch": "permissionDecisionReason",
    "UserPromptSubmit": "reason",
    "UserPromptExpansion": "reason",
}


@pytest.mark.parametrize("event", DENIED)
@pytest.mark.parametrize(
    "bad",
    [
        5,
        [],
        {"continue": "yes"},
        {"hookSpecificOutput": {"hookEventName": "Stop"}},
        RuntimeError("broken"),
        SystemExit(1),
    ],
)
def test_guards_that_fail_deny(
    scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted, event: str, bad: Any
) -> None:
    """A guard that raises or answers rubbish stops what it guards, and never answers with a control error."""

    def hook(*_: Any) -> Any:
        if isinstance(bad, BaseException):
            raise bad
        return bad

    cli = scripted_cli(prompts=[turn(call(event), bare=True)])
    session = open_scripted(cli, hooks=hooks(event, hook), interrupt_grace=0.1)
    session.ask("x")
    wait_until(lambda: bool(answers(cli)))
    answer = answers(cli)[0]
    assert answer["subtype"] == "success"
    assert f"The {event} hook failed" in str(answer["response"])
    assert DENIED[event] in str(answer["response"])


def test_guards_may_be_told_to_go_on(scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted) -> None:
    """With `on_failure="continue"` a failed guard has no opinion."""

    def broken(*_: Any) -> None:
        raise RuntimeError

    cli = scripted_cli(prompts=[[call("PreToolUse")]])
    open_scripted(cli, hooks=hooks("PreToolUse", broken, on_failure="continue")).ask("x").result()
    assert answers(cli)[0]["response"] == {}


def test_other_events_that_fail_have_no_opinion(scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted) -> None:
    """A failed PostToolBatch hook answers {}: an error or silence would end a session of 2.1.332."""

    def broken(*_: Any) -> None:
        raise RuntimeError

    cli = scripted_cli(prompts=[[call("PostToolBatch")]])
    open_scripted(cli, hooks=hooks("PostToolBatch", broken)).ask("x").result()
    assert answers(cli)[0]["response"] == {}


def hang(_input: Any, _id: Any, context: Any) -> None:
    """Wait until the answer is no longer wanted."""
    context.signal.wait(20)


def test_hook_timeouts_are_ours(scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted) -> None:
    """The denial of a guard that never returns is written when our limit is up; the program is told a day."""
    cli = scripted_cli(prompts=[[call("PreToolUse")]])
    session = open_scripted(cli, hooks=hooks("PreToolUse", hang, timeout=0.3))
    start = time.monotonic()
    session.ask("x").result(timeout=15)
    assert time.monotonic() - start < 15  # the guard would take twenty
    assert "did not answer within 0.3 seconds" in str(answers(cli)[0]["response"])
    initialize = cli.wait_received(lambda frame: frame.get("request", {}).get("subtype") == "initialize")
    assert initialize["request"]["hooks"]["PreToolUse"][0]["timeout"] == 86_400


def test_hook_timeouts_hold_when_every_thread_hangs(
    scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted
) -> None:
    """A hook that waits for a thread, or for its turn, is answered when its time is up all the same."""
    release, begun = threading.Event(), threading.Semaphore(0)

    def ignore(*_: Any) -> None:
        begun.release()
        release.wait(60)

    matchers = {
        "Stop": [HookMatcher(hooks=[ignore] * MAX_THREADS, timeout=50)],
        "PostToolBatch": [
            HookMatcher(hooks=[hang], timeout=0.3),
            HookMatcher(hooks=[hang] * 2, timeout=0.3, ordered=True),
        ],
        "PreToolUse": [HookMatcher(hooks=[hang], timeout=0.3)],
    }
    asked = [call("Stop", wait=False), wait_gate("hung"), call("PostToolBatch"), call("PreToolUse"), reply("done")]
    cli = scripted_cli(prompts=[asked])
    session = open_scripted(cli, hooks=matchers)
    running = session.ask("x")
    for _ in range(MAX_THREADS):
        assert begun.acquire(timeout=30)
    cli.open_gate("hung")
    assert running.result(timeout=20).result == "done"
    *batch, guard = answers(cli)
    assert [answer["response"] for answer in batch] == [{}] * 3
    assert "did not answer within 0.3 seconds" in str(guard["response"])
    release.set()


def test_cancelled_hook_that_waits_for_a_thread_never_runs(
    scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted
) -> None:
    """What the program withdraws before a thread is free is dropped, and the session goes on."""
    release, ran, begun = threading.Event(), threading.Event(), threading.Semaphore(0)

    def hold(*_: Any) -> None:
        begun.release()
        release.wait(60)

    matchers = {
        "Stop": [HookMatcher(hooks=[hold] * MAX_THREADS, timeout=50)],
        "PostToolBatch": [HookMatcher(hooks=[lambda *_: ran.set()])],
    }
    late = [call("PostToolBatch", wait=False), cancel()]
    asked = [call("Stop", wait=False), wait_gate("hung"), *late, wait_answers(), reply("done")]
    cli = scripted_cli(prompts=[asked])
    session = open_scripted(cli, hooks=matchers)
    running = session.ask("x")
    for _ in range(MAX_THREADS):
        assert begun.acquire(timeout=30)
    cli.open_gate("hung")
    wait_until(lambda: session.stats.requests_received == MAX_THREADS + 1)
    wait_until(lambda: len(session._live().answers) == MAX_THREADS)  # it is withdrawn
    release.set()
    assert running.result(timeout=20).result == "done"
    assert not ran.is_set()


DECLARED: dict[str, dict[str, Any]] = {
    "Setup": {"trigger": "init"},
    "TeammateIdle": {"teammate_name": "ada", "team_name": "lab"},
    "CwdChanged": {"old_cwd": "/a", "new_cwd": "/b"},
    "OfTomorrow": {"novel": 1},
}


@pytest.mark.parametrize("event", DECLARED)
def test_events_that_were_never_seen(scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted, event: str) -> None:
    """Events that 2.1.332 only declares, and new ones, reach their hooks (by the declarations: none was ever sent)."""
    every: dict[str, Any] = {"session_id": "s", "transcript_path": "/t", "cwd": "/c"}
    told: list[dict[str, Any]] = []
    cli = scripted_cli(prompts=[[call(event, **every, **DECLARED[event])]])
    open_scripted(cli, hooks=hooks(event, lambda event_input, *_: told.append(event_input))).ask("x").result(timeout=20)
    assert told[0].items() >= {**every, "hook_event_name": event, **DECLARED[event]}.items()
    assert event == "OfTomorrow" or complaints(told[0]) == []
    assert answers(cli)[0]["response"] == {}


# -- order -------------------------------------------------------------------------------------------------------------


class Row:
    """Callbacks that note when they begin and end."""

    def __init__(self) -> None:
        self.noted: list[str] = []

    def hook(self, name: str, answer: Any = None) -> Any:
        """Return a callback; an answer that is an exception is raised."""

        def run(*_: Any) -> Any:
            self.noted.append(f"{name} begins")
            threading.Event().wait(0.02)  # long enough for others to come in between
            self.noted.append(f"{name} ends")
            if isinstance(answer, Exception):
                raise answer
            return answer

        return run


def test_ordered_callbacks_take_turns(scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted) -> None:
    """Callbacks of an ordered matcher run one after the other, as listed, whatever those before them did."""
    row = Row()
    listed = [
        row.hook("first", deny_tool("no")),
        row.hook("second", RuntimeError("broken")),
        row.hook("third", {"async": "rubbish"}),
        row.hook("fourth", allow_tool()),
    ]
    cli = scripted_cli(prompts=[[call("PreToolUse"), reply("done")]])
    session = open_scripted(cli, hooks={"PreToolUse": [HookMatcher(hooks=listed, ordered=True)]})
    assert session.ask("x").result(timeout=20).result == "done"
    names = ("first", "second", "third", "fourth")
    assert row.noted == [f"{name} {what}" for name in names for what in ("begins", "ends")]
    said = [answer["response"]["hookSpecificOutput"]["permissionDecision"] for answer in answers(cli)]
    assert said == ["deny", "deny", "deny", "allow"]


def test_ordered_matchers_do_not_wait_for_each_other(
    scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted
) -> None:
    """Another matcher, ordered or not, and another occurrence of the event have turns of their own."""
    meeting = threading.Barrier(5)

    def meet(*_: Any) -> None:
        meeting.wait(10)

    def after(*_: Any) -> None:
        """Come second."""

    matchers = {
        "PreToolUse": [HookMatcher(hooks=[meet, after], ordered=True), HookMatcher(hooks=[meet, after], ordered=True)],
        "PostToolUse": [HookMatcher(hooks=[meet])],
    }
    asked = [
        call("PreToolUse", wait=False, tool_use_id="a"),
        call("PreToolUse", wait=False, tool_use_id="b"),
        call("PostToolUse", wait=False),
        wait_answers(),
        reply("done"),
    ]
    cli = scripted_cli(prompts=[asked])
    assert open_scripted(cli, hooks=matchers).ask("x").result(timeout=20).result == "done"
    assert [answer["response"] for answer in answers(cli)] == [{}] * 9


def test_time_of_ordered_callbacks_counts_from_the_event(
    scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted
) -> None:
    """When the first one takes all the time, those behind it are answered with it, and never run."""
    ran = threading.Event()
    hanging = HookMatcher(hooks=[hang, lambda *_: ran.set()], timeout=0.3, ordered=True)
    cli = scripted_cli(prompts=[[call("PreToolUse"), reply("done")]])
    session = open_scripted(cli, hooks={"PreToolUse": [hanging]})
    start = time.monotonic()
    assert session.ask("x").result(timeout=20).result == "done"
    assert time.monotonic() - start < 15  # the first one would take twenty
    said = [str(answer["response"]) for answer in answers(cli)]
    assert ["did not answer within 0.3 seconds" in text for text in said] == [True, True]
    assert session.ask("y").result(timeout=20).result == "answer to: y"
    assert not ran.is_set()


def test_same_event_again_has_time_of_its_own(scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted) -> None:
    """What happens again just so, while a callback still hangs, is not answered when the first one's time is up."""
    again = [call("PermissionRequest", wait=False), delay(1), call("PermissionRequest", wait=False)]
    cli = scripted_cli(prompts=[[*again, wait_answers(), reply("done")]])
    matchers = hooks("PermissionRequest", hang, timeout=2, ordered=True)
    start = time.monotonic()
    assert open_scripted(cli, hooks=matchers).ask("x").result(timeout=20).result == "done"
    assert time.monotonic() - start > 3
    assert ["did not answer within 2 seconds" in str(answer) for answer in answers(cli)] == [True, True]


@pytest.mark.parametrize("depth", [1000, 1015])
def test_deep_input_of_an_ordered_hook_is_answered(
    scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted, depth: int
) -> None:
    """What the model nests too deeply to be printed reaches the hook all the same, whose word counts."""
    deep = f'{{"hook_event_name": "PreToolUse", "tool_input": {{"x": {"[" * depth}{"]" * depth}}}}}'
    body = f'{{"subtype": "hook_callback", "callback_id": "hook_0", "input": {deep}}}'
    line = f'{{"type": "control_request", "request_id": "deep", "request": {body}}}\n'
    cli = scripted_cli(prompts=[[raw(line.encode()), wait_gate("answered"), reply("done")]])
    told: list[Any] = []
    session = open_scripted(cli, hooks=hooks("PreToolUse", lambda given, *_: told.append(given), ordered=True))
    running = session.ask("x")
    wait_until(lambda: answers(cli))
    cli.open_gate("answered")
    assert running.result(timeout=20).result == "done"
    assert answers(cli)[0]["response"] == {}
    nested, found = told[0]["tool_input"]["x"], 1
    while nested:
        (nested,), found = nested, found + 1
    assert found == depth


class Mute(Exception):
    """An exception that cannot say what it is."""

    def __str__(self) -> str:
        raise RuntimeError("no words")

    __repr__ = __str__


def mute(*_: Any) -> None:
    """Raise it."""
    raise Mute


@pytest.mark.parametrize(
    ("step", "options"),
    [
        (call("PreToolUse"), {"hooks": hooks("PreToolUse", mute)}),
        (ask_permission("Bash", {}), {"can_use_tool": mute}),
        (ask({"subtype": "elicitation", "mcp_server_name": "lab", "message": "?"}), {"on_elicitation": mute}),
    ],
    ids=["hook", "permission", "elicitation"],
)
def test_exception_without_words_is_answered(
    scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted, step: Step, options: dict[str, Any]
) -> None:
    """A callback's exception whose own methods raise is a failure as any other."""
    cli = scripted_cli(prompts=[[step, reply("done")]])
    assert open_scripted(cli, **options).ask("x").result(timeout=10).result == "done"
    (answer,) = answers(cli)
    assert "callback failed: Mute" in str(answer) or "hook failed: Mute" in str(answer) or "cancel" in str(answer)


# -- older programs ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("program", "answer", "denied"),
    [
        ("2.0.75", rewrite_input({"command": "ls"}), True),
        ("2.1.7", rewrite_input({"command": "ls"}), False),
        ("2.0.75", allow_tool() | rewrite_input({"command": "ls"}), False),
        ("2.1.7", defer_tool(), True),
        ("2.1.332", defer_tool(), False),
    ],
)
def test_answer_that_the_program_would_misread_is_no_answer(
    scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted, program: str, answer: Any, denied: bool
) -> None:
    """What an older program would drop, so that the tool ran as it was, fails like any wrong answer, and says why."""
    cli = scripted_cli(program=program, prompts=[[call("PreToolUse"), reply("done")]])
    open_scripted(cli, hooks=hooks("PreToolUse", lambda *_: answer)).ask("x").result(timeout=20)
    (sent,) = [answer["response"]["hookSpecificOutput"] for answer in answers(cli)]
    assert ("needs Claude Code" in sent.get("permissionDecisionReason", "")) == denied
    assert (sent.get("permissionDecision") == "deny") == denied


def test_callbacks_of_one_event_run_at_once(scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted) -> None:
    """Callbacks that wait for each other all finish."""
    barrier = threading.Barrier(8)

    def meet(*_: Any) -> None:
        barrier.wait(10)

    matchers = {"PreToolUse": [HookMatcher(hooks=[meet] * 8)]}
    cli = scripted_cli(prompts=[[call("PreToolUse")]])
    open_scripted(cli, hooks=matchers).ask("x").result(timeout=20)
    assert [answer["response"] for answer in answers(cli)] == [{}] * 8


def test_256_callbacks_that_make_long_control_calls_all_finish(
    scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted
) -> None:
    """Every worker is busy with a call longer than PIPE_BUF, and all are answered, and so is a call from outside."""
    everyone = threading.Barrier(257)

    def hook(*_: Any) -> None:
        everyone.wait(30)
        session.set_model("m" * 6000, timeout=30)

    matchers = {"PreToolUse": [HookMatcher(hooks=[hook] * 256, timeout=50)]}
    cli = scripted_cli(prompts=[[call("PreToolUse"), reply("all")]])
    session = open_scripted(cli, hooks=matchers)
    asked = session.ask("x")
    wait_until(lambda: everyone.n_waiting == 256, timeout=30)
    assert session.set_permission_mode("plan", timeout=10).mode == "plan"  # with every worker busy
    everyone.wait(30)
    assert asked.result(timeout=40).result == "all"
    assert [answer["response"] for answer in answers(cli)] == [{}] * 256


def test_row_that_nobody_runs_is_run_with_the_request_that_comes_again() -> None:
    """Whoever was struck before a row was run leaves it to who begins the request anew; the old one is skipped."""
    rows, handler = Rows(), Handler(None, print, lambda _request, _text: {})
    first, again, other = (OpenRequest(name, AbortSignal(), handler) for name in ("r1", "r1", "r2"))
    assert rows.add("row", first) is True
    assert rows.add("row", again) is True
    assert rows.add("row", other) is False
    assert [rows.next("row") for _ in range(5)] == [first, again, other, None, None]
    assert rows.add("row", other) is True
