"""How a turn ended, told from the results of the real programs."""

import pickle
from typing import Any

import pytest
from hypothesis import given

from claude_control import errors
from claude_control.session.evidence import Evidence
from claude_control.session.outcome import Outcome, decide, error_for
from claude_control.wire.messages import ResultMessage, decode
from tests.session.recordings import MODERN, hindsight, recording
from tests.wire.messages.samples import Sample, altered, json_values, samples

RESULTS = [sample for sample in samples() if sample.raw["type"] == "result"]
OLD_INTERRUPT = {"type": "result", "subtype": "error_during_execution", "is_error": False, "errors": []}

SAMPLED: dict[str, Outcome] = {
    "2.0.75/result_error_max_budget_usd": Outcome.BUDGET_EXCEEDED,
    "2.0.75/result_error_max_turns": Outcome.MAX_TURNS,
    "2.0.75/result_success": Outcome.COMPLETED,
    "2.1.7/result_error_max_budget_usd": Outcome.BUDGET_EXCEEDED,
    "2.1.7/result_error_max_turns": Outcome.MAX_TURNS,
    "2.1.7/result_success": Outcome.COMPLETED,
    "2.1.332/result_error_during_execution": Outcome.INTERRUPTED,
    "2.1.332/result_error_during_execution-2": Outcome.INTERRUPTED,
    "2.1.332/result_error_max_budget_usd": Outcome.BUDGET_EXCEEDED,
    "2.1.332/result_error_max_turns": Outcome.MAX_TURNS,
    "2.1.332/result_success": Outcome.COMPLETED,
    "2.1.332/result_success-10": Outcome.COMPLETED,
    "2.1.332/result_success-11": Outcome.INTERRUPTED,
    "2.1.332/result_success-2": Outcome.API_ERROR,
    "2.1.332/result_success-3": Outcome.DEFERRED,
    "2.1.332/result_success-4": Outcome.COMPLETED,
    "2.1.332/result_success-5": Outcome.API_ERROR,
    "2.1.332/result_success-6": Outcome.BLOCKED,
    "2.1.332/result_success-7": Outcome.BLOCKED,
    "2.1.332/result_success-8": Outcome.API_ERROR,
    "2.1.332/result_success-9": Outcome.COMPLETED,
}
# The old programs' interrupted turn, which only who asked for it tells from a failed one.
AMBIGUOUS = {"2.0.75/result_error_during_execution", "2.1.7/result_error_during_execution"}


@pytest.mark.parametrize("sample", [one for one in RESULTS if str(one) not in AMBIGUOUS], ids=str)
def test_result_of_a_real_program_is_told(sample: Sample) -> None:
    """Every result that a real program wrote has the outcome that was seen, whether or not we had asked for its end."""
    assert decide(sample.raw) == SAMPLED[str(sample)]
    assert decide(sample.raw, Evidence(stopped=True)) == SAMPLED[str(sample)]


@pytest.mark.parametrize("sample", [one for one in RESULTS if str(one) in AMBIGUOUS], ids=str)
def test_old_interrupt_is_told_by_who_asked(sample: Sample) -> None:
    """A quiet error of 2.0.75 and 2.1.7 is an interrupt if we asked for one, and a failure if we did not."""
    assert decide(sample.raw, Evidence(stopped=True)) == Outcome.INTERRUPTED
    assert decide(sample.raw) == Outcome.EXECUTION_ERROR


# Reduced to what tells; where a version is named, it wrote this.
TOLD: dict[str, tuple[dict[str, Any], Outcome]] = {
    "prompt blocked, 2.1.332": (
        {"num_turns": 0, "result": "UserPromptSubmit operation blocked by hook:\nno way\n\nOriginal prompt: x"},
        Outcome.BLOCKED,
    ),
    "prompt stopped, 2.1.332": ({"num_turns": 0, "result": "Operation stopped by hook: halt"}, Outcome.BLOCKED),
    "answer that quotes a block": (
        {"num_turns": 1, "result": "UserPromptSubmit operation blocked by hook is what it says"},
        Outcome.COMPLETED,
    ),
    "no key, 2.1.332": (
        {"is_error": True, "terminal_reason": "api_error", "result": "Not logged in · Please run /login"},
        Outcome.AUTHENTICATION,
    ),
    "no key, 2.0.75": ({"is_error": True, "result": "Invalid API key · Please run /login"}, Outcome.AUTHENTICATION),
    "401, 2.1.332": (
        {
            "is_error": True,
            "terminal_reason": "api_error",
            "api_error_status": 401,
            "result": "Failed to authenticate.",
        },
        Outcome.AUTHENTICATION,
    ),
    "403": ({"is_error": True, "api_error_status": 403, "result": "API Error: 403"}, Outcome.AUTHENTICATION),
    "429": ({"is_error": True, "api_error_status": 429, "result": "API Error: 429"}, Outcome.RATE_LIMITED),
    "529": ({"is_error": True, "api_error_status": 529, "result": "API Error: 529"}, Outcome.API_ERROR),
    "unknown model, 2.1.332": (
        {
            "is_error": True,
            "terminal_reason": "api_error",
            "api_error_status": 404,
            "result": "There's an issue with the",
        },
        Outcome.API_ERROR,
    ),
    "API error, 2.1.7": ({"is_error": True, "result": 'API Error: 400 {"type":"error"}'}, Outcome.API_ERROR),
    "refusal, 2.0.75, whose message was sent before its stop reason": (
        {
            "is_error": True,
            "result": "API Error: Claude Code is unable to respond to this request, which appears to violate our Usage "
            "Policy (https://www.anthropic.com/legal/aup). Please double press esc to edit your last message.",
        },
        Outcome.REFUSED,
    ),
    "refusal, 2.1.332": (
        {"is_error": True, "terminal_reason": "api_error", "stop_reason": "refusal", "result": "API Error: safeguards"},
        Outcome.REFUSED,
    ),
    "schema never met": (
        {"subtype": "error_max_structured_output_retries", "is_error": True},
        Outcome.STRUCTURED_OUTPUT,
    ),
    "session crash, 2.1.332": (
        {
            "subtype": "error_during_execution",
            "is_error": True,
            "errors": ["", "[session_crash] error_name=AbortError"],
        },
        Outcome.EXECUTION_ERROR,
    ),
    "resume of nothing, 2.1.332": (
        {"subtype": "error_during_execution", "is_error": True, "errors": ["No conversation found with session ID: x"]},
        Outcome.EXECUTION_ERROR,
    ),
    "background task, 2.0.75": (
        {
            "subtype": "error_during_execution",
            "is_error": True,
            "errors": ["only prompt commands are supported in streaming mode"],
        },
        Outcome.EXECUTION_ERROR,
    ),
    "model that is a number, 2.0.75": (
        {"subtype": "error_during_execution", "is_error": False, "errors": ["A.trim is not a function"]},
        Outcome.EXECUTION_ERROR,
    ),
    "unknown subtype": ({"subtype": "error_of_tomorrow"}, Outcome.EXECUTION_ERROR),
    "no subtype": ({"subtype": None}, Outcome.EXECUTION_ERROR),
    "unknown reason": ({"terminal_reason": "novel"}, Outcome.COMPLETED),
    "unknown reason of an abort": ({"terminal_reason": "aborted_novel", "is_error": True}, Outcome.INTERRUPTED),
}


@pytest.mark.parametrize(("fields", "outcome"), TOLD.values(), ids=TOLD)
def test_result_is_told_by_its_signals(fields: dict[str, Any], outcome: Outcome) -> None:
    """Each signal that a program gives is understood."""
    assert decide({"type": "result", "subtype": "success", "is_error": False, "num_turns": 1, **fields}) == outcome


@pytest.mark.parametrize(
    ("refused", "error", "outcome"),
    [
        (True, "invalid_request", Outcome.REFUSED),
        (False, "authentication_failed", Outcome.AUTHENTICATION),
        (False, "rate_limit", Outcome.RATE_LIMITED),
        (False, "unknown", Outcome.API_ERROR),
        (False, None, Outcome.EXECUTION_ERROR),
    ],
)
def test_assistant_message_tells_more(refused: bool, error: str | None, outcome: Outcome) -> None:
    """Where the result only says that it is an error, the turn's assistant messages say which; a success stays one."""
    result = {"type": "result", "subtype": "success", "is_error": True, "result": "something"}
    assert decide(result, Evidence(refused=refused, error=error)) == outcome
    assert decide({**result, "is_error": False}, Evidence(refused=refused, error=error)) == Outcome.COMPLETED


PLAYED: dict[tuple[str, str], dict[str, Outcome]] = {
    ("2.1.7", "conversation_plain"): {"P1": Outcome.COMPLETED, "P3": Outcome.COMPLETED, "P7": Outcome.API_ERROR},
    ("2.0.75", "conversation_plain"): {"P1": Outcome.COMPLETED, "P7": Outcome.API_ERROR},
    (MODERN, "conversation_plain"): {
        "P1": Outcome.COMPLETED,
        "P3": Outcome.COMPLETED,
        "P5": Outcome.BLOCKED,
        "P6": Outcome.INTERRUPTED,
        "P7": Outcome.INTERRUPTED,
        "P9": Outcome.API_ERROR,
        "P12": Outcome.COMPLETED,
        "P13": Outcome.COMPLETED,
    },
    (MODERN, "interrupted_hook"): {"P3": Outcome.INTERRUPTED, "P5": Outcome.INTERRUPTED, "P7": Outcome.INTERRUPTED},
}


@pytest.mark.parametrize(("key", "outcomes"), PLAYED.items(), ids=str)
def test_outcomes_of_a_whole_conversation(key: tuple[str, str], outcomes: dict[str, Outcome]) -> None:
    """The turns of a recorded conversation ended as they were made to end."""
    one = recording(*key)
    truth = hindsight(one)
    found = {prompt: decide(one.frames[index]) for prompt, index in truth.results.items() if index is not None}
    assert {prompt: found[prompt] for prompt in outcomes} == outcomes


@given(raw=altered() | json_values.map(lambda value: {"type": "result", "subtype": value, "is_error": value}))
def test_any_result_has_an_outcome(raw: dict[str, Any]) -> None:
    """Whatever a result holds, it is told, and what is raised for it can be made."""
    outcome = decide(raw, Evidence(stopped=True))
    message = decode({**raw, "type": "result"})
    assert isinstance(message, ResultMessage)
    error = error_for(outcome, message)
    assert error is None or error.result is message


ERRORS = {
    Outcome.MAX_TURNS: errors.MaxTurnsError,
    Outcome.BUDGET_EXCEEDED: errors.BudgetExceededError,
    Outcome.RATE_LIMITED: errors.RateLimitedError,
    Outcome.AUTHENTICATION: errors.AuthenticationError,
    Outcome.REFUSED: errors.RefusedError,
    Outcome.API_ERROR: errors.APIError,
    Outcome.EXECUTION_ERROR: errors.ExecutionError,
    Outcome.STRUCTURED_OUTPUT: errors.StructuredOutputError,
}


@pytest.mark.parametrize("outcome", Outcome)
def test_failed_outcomes_have_an_error(outcome: Outcome) -> None:
    """Each failure has an exception of its own, with result and outcome; what speaks for itself has none."""
    message = decode({"type": "result", "result": "why"})
    error = error_for(outcome, message)
    assert type(error) is ERRORS.get(outcome, type(None))
    if error is not None:
        assert (error.result, error.outcome) == (message, outcome)
        assert str(error).startswith(f"the turn ended as {outcome.value}: why; ")


def test_errors_say_what_the_program_said() -> None:
    """The text has every error that the program listed, else its result, else says that there is no reason."""
    several = decode({"type": "result", "errors": ["", "one", "two"], "result": "r"})
    nothing = decode({"type": "result"})
    assert str(error_for(Outcome.EXECUTION_ERROR, several)).startswith("the turn ended as execution_error: one; two; ")
    assert str(error_for(Outcome.EXECUTION_ERROR, nothing)).startswith(
        "the turn ended as execution_error: the program gave no reason; "
    )


def test_error_pickles_with_its_result() -> None:
    """The exception of a real result can be sent to another process."""
    message = decode(RESULTS[0].raw)
    error = error_for(Outcome.MAX_TURNS, message)
    back = pickle.loads(pickle.dumps(error))
    assert (back.result, back.outcome, str(back)) == (message, "max_turns", str(error))
