"""Every way in which a turn ends, made to happen on the real programs, and told apart from all others.

Where the real program cannot be made to end a turn so, `NOT_MADE` says why, and `tests/session/test_outcome.py` has a
frame of it.
"""

import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from typing import Any

import attrs
import pytest

from claude_control import (
    AbortedError,
    Allow,
    APIError,
    APIRetryMessage,
    AuthenticationError,
    BudgetExceededError,
    Deny,
    ExecutionError,
    HookMatcher,
    MaxTurnsError,
    ProcessExitedError,
    RateLimitedError,
    RateLimitEvent,
    RefusedError,
    Session,
    StructuredOutputError,
    Turn,
)
from claude_control.session.outcome import Outcome
from claude_control.testing.model_prompt import script
from claude_control.testing.model_script import Answer, Delay, Drop, Gate, HttpError, Step, StreamError, Text, ToolCall
from tests.real.conftest import Opener, Program
from tests.waiting import wait_until

pytestmark = [pytest.mark.real, pytest.mark.shared]

OLD = ("2.0.75", "2.1.7")
TOUCH = ToolCall("Bash", command="touch made", description="make a file")
HALT = {"continue": False, "stopReason": "halt"}

# The program's own retries: one, after half a second.
FEW_RETRIES = {"CLAUDE_CODE_MAX_RETRIES": "1"}


def allow(*_: Any) -> Allow:
    """Let everything run."""
    return Allow()


def ended(turn: Turn) -> Exception | None:
    """Wait for a turn; returns what `result()` raises."""
    try:
        turn.result(timeout=40)
    except Exception as error:
        return error
    return None


# -- what the API makes of a turn: one conversation --------------------------------------------------------------------


@attrs.frozen
class Case:
    """What the model server does, and how the turn ends: the same on each version, but for the kinds in `old_kind`."""

    steps: tuple[Step, ...]
    outcome: Outcome
    error: type[Exception] | None = None
    fields: dict[str, Any] = attrs.field(factory=dict)
    of_old: dict[str, Any] = attrs.field(factory=dict)  # fields that 2.0.75 and 2.1.7 have otherwise


def fails(status: int) -> tuple[Step, ...]:
    """An HTTP error, each time."""
    return (HttpError(status, times=None),)


REFUSAL = Answer(
    Text("I will not"),
    stop_reason="refusal",
    stop_details={"type": "refusal", "category": "cyber", "explanation": "too sharp"},
)
CUT = Answer(Text("cut"), stop_reason="max_tokens")
CASES = {
    "an answer": Case((Text("fine"),), Outcome.COMPLETED),
    "400": Case(fails(400), Outcome.API_ERROR, APIError, {"status": 400, "kind": "invalid_request_error"}),
    "401": Case(
        fails(401), Outcome.AUTHENTICATION, AuthenticationError, {"status": 401, "kind": "authentication_error"}
    ),
    "403": Case(fails(403), Outcome.AUTHENTICATION, AuthenticationError, {"status": 403, "kind": "permission_error"}),
    "404": Case(fails(404), Outcome.API_ERROR, APIError, {"status": 404, "kind": "not_found_error"}),
    "429": Case(
        fails(429),
        Outcome.RATE_LIMITED,
        RateLimitedError,
        {"status": 429, "kind": "rate_limit_error", "resets_at": None, "limit": None},
    ),
    "500": Case(fails(500), Outcome.API_ERROR, APIError, {"status": 500, "kind": "api_error"}),
    "529": Case(fails(529), Outcome.API_ERROR, APIError, {"status": 529, "kind": "overloaded_error"}),
    "a stream that fails": Case(
        (Answer(StreamError(times=None), Text("never")),),
        Outcome.API_ERROR,
        APIError,
        {"status": 529, "kind": "overloaded_error"},
    ),
    "no connection": Case(
        (Drop(times=None), Text("never")),
        Outcome.API_ERROR,
        APIError,
        {"status": None, "kind": "connection_failed"},
        of_old={"kind": None},
    ),
    "no room": Case(
        (CUT,) * 5,
        Outcome.API_ERROR,
        APIError,
        {"status": None, "kind": "max_output_tokens"},
        of_old={"kind": None},
    ),
    "a refusal": Case(
        (REFUSAL,) * 5,
        Outcome.REFUSED,
        RefusedError,
        {"category": "cyber", "explanation": "too sharp"},
        of_old={"category": None, "explanation": None},
    ),
    "an answer after a retry": Case((HttpError(529), Text("fine")), Outcome.COMPLETED),
}


def test_failures_of_the_api_are_told_apart(open_session: Opener, program: Program) -> None:
    """Each failure has its outcome, its exception and its fields, and the session goes on after all of them."""
    session = open_session(env=FEW_RETRIES)
    found, expected = {}, {}
    for name, case in CASES.items():
        turn = session.ask(script(*case.steps))
        error = ended(turn)
        fields = {field: getattr(error, field) for field in case.fields}
        found[name] = (turn.outcome, type(error) if error is not None else None, fields)
        changed = case.of_old if program.version in OLD else {}
        expected[name] = (case.outcome, case.error, case.fields | changed)
        if error is not None:
            assert (error.outcome, error.result.raw["is_error"]) == (case.outcome, True)  # type: ignore[attr-defined]
    assert found == expected


def test_retries_of_the_program_are_seen(open_session: Opener, program: Program) -> None:
    """2.1.332 tells each attempt that failed, as a typed message of the turn; older programs try again in silence."""
    session = open_session(env=FEW_RETRIES)
    failures = {429: "rate_limit", 529: "overloaded", 500: "server_error", 401: "authentication_failed"}
    seen = []
    for status in failures:
        retries = [m for m in session.ask(script(HttpError(status), Text("ok"))) if isinstance(m, APIRetryMessage)]
        seen += [(retry.error_status, retry.error, retry.attempt, retry.max_retries) for retry in retries]
        assert all(0 < retry.retry_delay_ms < 5000 for retry in retries)
    lost = [m for m in session.ask(script(Drop(), Text("ok"))) if isinstance(m, APIRetryMessage)]
    if program.version in OLD:
        assert (seen, lost) == ([], [])
        return
    assert seen == [(status, name, 1, 1) for status, name in failures.items()]
    assert [(retry.error_status, retry.attempt) for retry in lost] == [(None, 1)]


# -- a subscription's limit --------------------------------------------------------------------------------------------

SUBSCRIPTION = {"ANTHROPIC_API_KEY": "", "CLAUDE_CODE_OAUTH_TOKEN": "sk-ant-oat01-test", **FEW_RETRIES}


def limited(resets_at: int, limit: str = "five_hour", status: str = "rejected") -> dict[str, str]:
    """Return the headers by which the API tells a subscription's limit."""
    prefix = "anthropic-ratelimit-unified"
    return {
        f"{prefix}-status": status,
        f"{prefix}-reset": str(resets_at),
        f"{prefix}-representative-claim": limit,
        f"{prefix}-5h-status": status,
        f"{prefix}-5h-reset": str(resets_at),
        f"{prefix}-5h-utilization": "0.9" if status == "allowed_warning" else "1.0",
        f"{prefix}-5h-surpassed-threshold": "0.9",
    }


@pytest.mark.parametrize(("zone", "hours"), [("UTC", 3), ("America/New_York", 5), ("Europe/Berlin", 24 * 6)])
def test_rate_limit_has_its_reset_time(open_session: Opener, program: Program, zone: str, hours: int) -> None:
    """The limit of a subscription is lifted when the API says: to the second on 2.1.332, else to the minute."""
    at = int(time.time()) + hours * 3600 + 7
    session = open_session(env={**SUBSCRIPTION, "TZ": zone})
    limit = HttpError(429, times=None, headers=limited(at), text="This request would exceed your account's limit.")
    for _ in range(2):  # the program tells a change of the limit once only
        turn = session.ask(script(limit))
        error = ended(turn)
        assert turn.outcome is Outcome.RATE_LIMITED
        assert isinstance(error, RateLimitedError)
        old = program.version in OLD
        assert error.resets_at == turn.resets_at == (at - at % 60 if old else at)
        assert (error.limit, error.status) == ((None, None) if old else ("five_hour", 429))
        assert f"ask again after {time.strftime('%Y-%m-%d %H:%M', time.gmtime(at))}" in str(error)


def test_rate_limit_that_comes_near_is_told(open_session: Opener, program: Program) -> None:
    """2.1.332 warns of a limit by a typed message, and the turn is a success; older programs say nothing."""
    at = int(time.time()) + 3600
    session = open_session(env=SUBSCRIPTION)
    turn = session.ask(script(Answer(Text("fine"), headers=limited(at, status="allowed_warning"))))
    told = [message.rate_limit_info for message in turn if isinstance(message, RateLimitEvent)]
    assert (turn.outcome, turn.resets_at) == (Outcome.COMPLETED, None)
    if program.version in OLD:
        assert told == []
    else:
        assert [(info.status, info.resets_at, info.utilization) for info in told] == [("allowed_warning", at, 0.9)]


# -- everything else ---------------------------------------------------------------------------------------------------


@attrs.frozen
class Bench:
    """What a scene stands on."""

    open: Opener
    program: Program

    def ask(self, *steps: Step, **options: Any) -> Turn:
        """Ask in a session with these options."""
        return self.open(**options).ask(script(*steps))

    def watched(self, event: str, answer: Callable[..., dict[str, Any]]) -> Session:
        """Open a session with hooks of several kinds, of which that of one event has something to say."""

        def hook(said: dict[str, Any], *_: Any) -> dict[str, Any]:
            return answer() if said["hook_event_name"] == event else {}

        events = ("UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop")
        return self.open(can_use_tool=allow, hooks={name: [HookMatcher(hooks=[hook])] for name in events})

    def hooked(self, event: str, output: dict[str, Any], *steps: Step) -> Turn:
        """Ask in a session with a hook that always answers the same."""
        return self.watched(event, lambda: output).ask(script(*steps))

    def commanded(self, event: str, command: str, *steps: Step) -> Turn:
        """Ask in a session whose settings have a command as a hook, of which the SDK knows nothing."""
        hook = {"matcher": "", "hooks": [{"type": "command", "command": command}]}
        return self.ask(*steps, can_use_tool=allow, settings=json.dumps({"hooks": {event: [hook]}}))

    def begun(self, **options: Any) -> tuple[Session, Turn]:
        """Return a session and a turn in the middle of its answer, which has a whole block by then."""
        session = self.open(can_use_tool=allow, **options)
        turn = session.ask(script(Answer(Text("some words"), Text("more"), Gate("never"))))
        wait_until(lambda: turn.text != "")
        return session, turn


Scene = Callable[[Bench], Turn]


def interrupted(bench: Bench) -> Turn:
    """An interrupt in the middle of the answer."""
    session, turn = bench.begun()
    session.interrupt()
    return turn


def denied_and_interrupted(bench: Bench) -> Turn:
    """A denial that ends the turn."""
    return bench.ask(TOUCH, Text("never"), can_use_tool=lambda *_: Deny("no", interrupt=True))


def cancelled(bench: Bench) -> Turn:
    """A prompt that is dropped while it waits."""
    session, _ = bench.begun()
    turn = session.ask("never sent")
    session.interrupt(cancel_queued=True)
    return turn


def blocked_prompt(bench: Bench) -> Turn:
    """A hook of ours that blocks the prompt."""
    return bench.hooked("UserPromptSubmit", {"decision": "block", "reason": "no"}, Text("never"))


def stopped_prompt(bench: Bench) -> Turn:
    """A hook of ours that stops at the prompt."""
    return bench.hooked("UserPromptSubmit", HALT, Text("never"))


def blocked_second_prompt(bench: Bench) -> Turn:
    """A block after a turn that went well."""
    answers = iter([{}, {"decision": "block", "reason": "no"}])
    session = bench.watched("UserPromptSubmit", lambda: next(answers))
    session.ask(script(Text("fine"))).result()
    return session.ask(script(Text("never")))


def blocked_by_a_command(bench: Bench) -> Turn:
    """A command in the settings that blocks the prompt."""
    return bench.commanded("UserPromptSubmit", "exit 2", Text("never"))


def stopped_before_a_tool(bench: Bench) -> Turn:
    """A PreToolUse hook that stops the turn."""
    return bench.hooked("PreToolUse", HALT, TOUCH, Text("never"))


def stopped_after_a_tool(bench: Bench) -> Turn:
    """A PostToolUse hook that stops the turn."""
    return bench.hooked("PostToolUse", HALT, Answer(Text("before"), TOUCH), Text("never"))


def stopped_by_a_command(bench: Bench) -> Turn:
    """A command in the settings that stops the turn after a tool."""
    return bench.commanded("PostToolUse", """echo '{"continue": false}'""", TOUCH, Text("never"))


def stopped_at_the_end(bench: Bench) -> Turn:
    """A Stop hook that says `continue: false`."""
    return bench.hooked("Stop", HALT, Text("the answer"))


def slash_command(bench: Bench) -> Turn:
    """A command of the program's own, which no model answers; older programs end it as silently as a blocked prompt."""
    return bench.open().ask("/context")


def silent_command(bench: Bench) -> Turn:
    """A command that says nothing at all."""
    session = bench.open(can_use_tool=allow)
    session.ask(script(Text("fine"))).result()
    return session.ask("/clear")


def deferred(bench: Bench) -> Turn:
    """A hook that puts a tool call off."""
    output = {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "defer"}}
    return bench.hooked("PreToolUse", output, TOUCH, Text("went on"))


def too_many_turns(bench: Bench) -> Turn:
    """More steps than `max_turns`."""
    return bench.ask(Answer(Text("before"), TOUCH), Text("never"), can_use_tool=allow, max_turns=1)


def too_expensive(bench: Bench) -> Turn:
    """More dollars than `max_budget_usd`."""
    dear = Answer(TOUCH, usage={"input_tokens": 1_000_000})
    return bench.ask(dear, Text("never"), can_use_tool=allow, max_budget_usd=0.5)


def never_fits(bench: Bench) -> Turn:
    """A structured output that never fits its schema."""
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    wrong = Answer(ToolCall("StructuredOutput", n="x"))
    return bench.ask(*[wrong] * 12, output_format={"type": "json_schema", "schema": schema})


def not_logged_in(bench: Bench) -> Turn:
    """A program without any key."""
    names = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN")
    without = [word for name in names for word in ("-u", name)]  # older programs send an empty key as they do others
    return bench.ask(Text("never"), cli_path=["env", *without, *bench.program.command])


def killed(bench: Bench) -> Turn:
    """A program that is killed in the middle of the answer."""
    session, turn = bench.begun()
    os.kill(session._live().transport.pid, signal.SIGKILL)  # type: ignore[attr-defined]  # a subprocess has one
    return turn


def too_long(bench: Bench) -> Turn:
    """A conversation that fills the model's window."""
    session = bench.open(env={"DISABLE_AUTO_COMPACT": "1"})
    session.ask(script(Answer(Text("fine"), usage={"input_tokens": 1_000_000}))).result()
    return session.ask(script(Text("never")))


def broken_stream(bench: Bench) -> Turn:
    """A stream that fails some time after its first words."""
    return bench.ask(Answer(Text("some words"), Delay(1.5), StreamError(times=None)), env=FEW_RETRIES)


def stream_broken_at_once(bench: Bench) -> Turn:
    """An error read together with the words before it: older programs lose it, and end as if interrupted by nobody."""
    return bench.ask(Answer(Text("some words"), StreamError(times=None)), env=FEW_RETRIES)


SCENES: dict[Scene, tuple[Outcome, type[Exception] | None]] = {
    interrupted: (Outcome.INTERRUPTED, None),
    denied_and_interrupted: (Outcome.INTERRUPTED, None),
    cancelled: (Outcome.CANCELLED, AbortedError),
    blocked_prompt: (Outcome.BLOCKED, None),
    stopped_prompt: (Outcome.BLOCKED, None),
    blocked_second_prompt: (Outcome.BLOCKED, None),
    blocked_by_a_command: (Outcome.BLOCKED, None),
    stopped_before_a_tool: (Outcome.BLOCKED, None),
    stopped_after_a_tool: (Outcome.BLOCKED, None),
    stopped_by_a_command: (Outcome.BLOCKED, None),
    stopped_at_the_end: (Outcome.BLOCKED, None),
    slash_command: (Outcome.COMPLETED, None),
    silent_command: (Outcome.COMPLETED, None),
    deferred: (Outcome.DEFERRED, None),
    too_many_turns: (Outcome.MAX_TURNS, MaxTurnsError),
    too_expensive: (Outcome.BUDGET_EXCEEDED, BudgetExceededError),
    never_fits: (Outcome.STRUCTURED_OUTPUT, StructuredOutputError),
    not_logged_in: (Outcome.AUTHENTICATION, AuthenticationError),
    killed: (Outcome.FAILED, ProcessExitedError),
    too_long: (Outcome.API_ERROR, APIError),
    broken_stream: (Outcome.API_ERROR, APIError),
    stream_broken_at_once: (Outcome.API_ERROR, APIError),
}
# What the older two make of a scene, where it is something else.
ON_OLD: dict[Scene, tuple[Outcome, type[Exception] | None]] = {
    deferred: (Outcome.COMPLETED, None),  # the decision is unknown there, and the tool is asked for as usual
    stream_broken_at_once: (Outcome.EXECUTION_ERROR, ExecutionError),
}
ON_OLDEST: dict[Scene, tuple[Outcome, type[Exception] | None]] = {
    too_long: (Outcome.COMPLETED, None),  # it does not know the variable, and has the conversation summarised
}
# What is to be seen in the first turn of a session, or ends it.
ALONE = {blocked_prompt, slash_command, killed}
# What `turn.text` is where the result has no text: the last message of the model's.
TEXTS: dict[Scene, str] = {
    interrupted: "some words",
    killed: "some words",
    stopped_after_a_tool: "before",
    too_many_turns: "before",
    blocked_prompt: "",
    cancelled: "",
}
# The outcomes that a version cannot be made to end a turn with.
NOT_MADE: dict[str, set[Outcome]] = {
    "2.0.75": {Outcome.DEFERRED},
    "2.1.7": {Outcome.DEFERRED},
    # whatever makes it fail so, ends it as well; tests/session/test_turns.py plays the result
    "2.1.332": {Outcome.EXECUTION_ERROR},
}


def expected(scene: Scene, version: str) -> tuple[Outcome, type[Exception] | None]:
    """Return how a scene ends on a version."""
    there = ON_OLD | (ON_OLDEST if version == OLD[0] else {}) if version in OLD else {}
    return there.get(scene, SCENES[scene])


@pytest.mark.parametrize(
    "scene",
    [pytest.param(scene, marks=pytest.mark.alone) if scene in ALONE else scene for scene in SCENES],
    ids=lambda scene: scene.__name__,
)
def test_end_of_a_turn_is_told(scene: Scene, open_session: Opener, program: Program) -> None:
    """Each scene ends with the outcome and the exception that it was made for."""
    turn = scene(Bench(open_session, program))
    error = ended(turn)
    assert (turn.outcome, type(error) if error is not None else None) == expected(scene, program.version)
    if scene in TEXTS and not (turn.outcome is Outcome.BLOCKED and program.version not in OLD):  # which then says why
        assert turn.text.strip().startswith(TEXTS[scene])
        assert bool(turn.text) == bool(TEXTS[scene])


def _made(version: str) -> Iterator[Outcome]:
    yield from (case.outcome for case in CASES.values())
    yield from (expected(scene, version)[0] for scene in SCENES)


def test_every_outcome_is_made(program: Program) -> None:
    """No outcome is promised that the tests above have not made on this version, but for those that say why not."""
    assert set(_made(program.version)) == set(Outcome) - NOT_MADE[program.version]
