"""What is seen of a turn before its result."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from claude_control.session.evidence import NO_EVIDENCE, NOTED, Evidence, is_command
from claude_control.session.outcome import Outcome, decide, error_for
from claude_control.wire.messages import ResultMessage, decode
from tests.wire.messages.samples import altered

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "2.1.332" / "messages"
OLD_SILENCE = {"type": "result", "subtype": "success", "is_error": False, "result": "", "num_turns": 3}
TOOL_RESULT = {"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": "t", "content": ""}]}}
ANSWER = {"type": "assistant", "message": {"content": [{"type": "text", "text": "hi"}]}}
LIMITED = {"status": "rejected", "rateLimitType": "five_hour"}
PRINTED = {"type": "user", "isReplay": True, "message": {"content": "<local-command-stdout>so</local-command-stdout>"}}


def golden(name: str) -> dict[str, Any]:
    """Return a frame of the real program."""
    frame: dict[str, Any] = json.loads((GOLDEN / f"{name}.json").read_text(encoding="utf-8"))
    return frame


def seen(*frames: dict[str, Any], **signals: Any) -> Evidence:
    """Return what is seen of a turn with these frames."""
    evidence = Evidence(**signals)
    for frame in frames:
        evidence.note(frame)
    return evidence


# 2.0.75 and 2.1.7 end all of these by the same frame.
SILENT: dict[str, tuple[Evidence, Outcome]] = {
    "a prompt that was kept": (seen(), Outcome.BLOCKED),
    "a command that says nothing": (seen(is_command=True), Outcome.COMPLETED),
    "a command that was kept": (seen(is_command=True, hooks={"UserPromptSubmit"}), Outcome.BLOCKED),
    "a command that prints": (seen(PRINTED, is_command=True), Outcome.COMPLETED),
    "a stop after a tool": (seen(ANSWER, TOOL_RESULT), Outcome.BLOCKED),
    "an empty answer after a tool": (seen(ANSWER, TOOL_RESULT, ANSWER), Outcome.COMPLETED),
    "an empty answer": (seen(ANSWER), Outcome.COMPLETED),
    "a stop in a subagent": (seen(ANSWER, TOOL_RESULT | {"parent_tool_use_id": "t"}), Outcome.COMPLETED),
    "a stop at the end": (seen(ANSWER, hooks={"Stop"}), Outcome.BLOCKED),
    "a folded prompt that was kept": (seen(ANSWER, hooks={"UserPromptSubmit"}), Outcome.COMPLETED),
    "nothing looked at": (NO_EVIDENCE, Outcome.COMPLETED),
}


@pytest.mark.parametrize(("evidence", "outcome"), SILENT.values(), ids=SILENT)
def test_silent_end_of_older_programs_is_told_by_what_came_before(evidence: Evidence, outcome: Outcome) -> None:
    """An empty success of 2.0.75 and 2.1.7 is a block, or none, by the messages of the turn and the hooks of ours."""
    assert decide(OLD_SILENCE, evidence) is outcome


def test_structured_output_after_a_tool_is_no_stop() -> None:
    """2.0.75, 2.1.7: structured output is the last tool's input, and its turn went well."""
    assert decide({**OLD_SILENCE, "structured_output": {"n": 1}}, seen(ANSWER, TOOL_RESULT)) is Outcome.COMPLETED


def test_silence_of_the_newer_program_is_no_block() -> None:
    """2.1.332 says what it blocks, so its empty success is one."""
    assert decide({**OLD_SILENCE, "stop_reason": None, "num_turns": 0}, seen()) is Outcome.COMPLETED


@pytest.mark.parametrize("name", ["rate_limit_event-2", "assistant-8"])
def test_reset_time_is_the_programs(name: str) -> None:
    """2.1.332 tells a limit by an event when it changes, and by the parameters of every message that it ends."""
    frame = golden(name)
    info = frame.get("rate_limit_info") or frame["api_error_params"]["rate_limit_info"]
    evidence = seen(frame)
    assert evidence.limit == "five_hour"
    assert evidence.reset_time({"result": "resets 7am (UTC)"}, now=0) == info["resetsAt"]


def test_warning_is_no_limit() -> None:
    """A limit that only comes near has no reset time of the turn's."""
    assert seen(golden("rate_limit_event")).resets_at is None


@pytest.mark.parametrize("odd", [1.8e12, 1e300, -1e300, 10**30, float("inf"), float("nan"), True, "soon"], ids=repr)
def test_reset_time_that_no_calendar_has_is_unknown(odd: Any) -> None:
    """A limit whose time is none is told all the same, as the error that it is."""
    evidence = seen({"type": "rate_limit_event", "rate_limit_info": {"status": "rejected", "resetsAt": odd}})
    resets_at = evidence.reset_time({}, now=0)
    error = error_for(Outcome.RATE_LIMITED, ResultMessage(), evidence, resets_at=resets_at)
    assert error is not None and error.resets_at is None  # type: ignore[attr-defined]


def test_reset_time_of_older_programs_is_in_the_text() -> None:
    """Where no frame tells it, the result's sentence does; without one it is unknown."""
    assert seen().reset_time({"result": "You've hit your limit · resets 7:28am (UTC)"}, now=0) == 7 * 3600 + 28 * 60
    assert seen().reset_time({"result": "API Error: 429"}, now=0) is None
    assert seen().reset_time({}, now=0) is None


def test_refusal_says_why() -> None:
    """The API's category and explanation reach the exception."""
    evidence = seen(golden("system_model_refusal_fallback"))
    error = error_for(Outcome.REFUSED, ResultMessage(), evidence)
    assert (error.category, error.explanation) == ("cyber", "too sharp")  # type: ignore[union-attr]


def test_kind_of_an_error_is_read_from_the_text() -> None:
    """2.0.75, 2.1.7: the status and the API's name for an error stand in the result's text."""
    text = 'API Error: 529 {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}'
    raw = {"type": "result", "subtype": "success", "is_error": True, "result": text}
    message = decode(raw)
    error = error_for(decide(raw, seen({**ANSWER, "error": "unknown"})), message)
    assert (error.status, error.kind, error.outcome) == (529, "overloaded_error", "api_error")  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("prompt", "answer"),
    [
        ("/clear", True),
        (" /clear", True),
        ("what is /etc?", False),
        ([{"type": "text", "text": "/cost"}], True),
        ([{"type": "image"}], False),
    ],
)
def test_command_is_known_by_its_slash(prompt: Any, answer: bool) -> None:
    """A prompt that begins with a slash is a command, as text or as a block."""
    assert is_command(prompt) is answer


@given(raw=altered())
def test_any_frame_can_be_noted(raw: dict[str, Any]) -> None:
    """Whatever a frame holds, noting it fails never."""
    for kind in NOTED:
        Evidence().note({**raw, "type": kind})


@pytest.mark.parametrize(
    ("odd", "told"),
    [
        ({}, {}),
        ({"message": ["a list"]}, {}),
        ({"message": {}, "error": "rate_limit"}, {"error": "rate_limit"}),
        ({"message": {}, "api_error_params": {"rate_limit_info": LIMITED}}, {"limit": "five_hour"}),
        ({"message": {"stop_reason": "refusal"}}, {"refused": True}),
        ({"message": {"stop_details": {"type": "refusal", "category": "bio"}}}, {"refusal_category": "bio"}),
        ({"message": {"stop_reason": {"an": "object"}}}, {}),
        ({"message": {"stop_reason": "refusal"}, "parent_tool_use_id": "toolu_1"}, {}),
    ],
    ids=repr,
)
def test_one_among_many_messages_is_heard(odd: dict[str, Any], told: dict[str, Any]) -> None:
    """Of messages that are looked through together the one that says more is noted, whatever is odd in it."""
    plain = {"type": "assistant", "message": {"stop_reason": None, "stop_details": None}}
    evidence = Evidence(ends_with_tool=True)
    evidence.note_messages([plain, {"type": "assistant", **odd}, plain])
    assert evidence == Evidence(spoken=True, **told)
