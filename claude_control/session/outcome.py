"""How a turn ended, in one word, decided from every signal that the programs give.

Pure. The signals differ by version: an interrupted turn is `terminal_reason: aborted_*` on 2.1.332, and on 2.0.75 and
2.1.7 an `error_during_execution` that is no error and lists none, after we asked for the end; an API error is `subtype:
success` with `is_error: true` on all three.
"""

import enum
from typing import Any

from claude_control import errors

__all__ = ["Outcome", "decide", "error_for"]


class Outcome(enum.StrEnum):
    """How a turn ended."""

    COMPLETED = "completed"
    INTERRUPTED = "interrupted"
    CANCELLED = "cancelled"
    """Dropped before the model saw it."""
    BLOCKED = "blocked"
    """A hook kept the prompt, or stopped the turn."""
    DEFERRED = "deferred"
    """A hook put a tool call off; the result names it."""
    MAX_TURNS = "max_turns"
    BUDGET_EXCEEDED = "budget_exceeded"
    RATE_LIMITED = "rate_limited"
    AUTHENTICATION = "authentication"
    REFUSED = "refused"
    API_ERROR = "api_error"
    EXECUTION_ERROR = "execution_error"
    STRUCTURED_OUTPUT = "structured_output"
    """No output that fits the schema came."""
    FAILED = "failed"
    """The program ended, or the session was closed, before the result."""


_ERRORS: dict[Outcome, type[errors.ResultError]] = {
    Outcome.MAX_TURNS: errors.MaxTurnsError,
    Outcome.BUDGET_EXCEEDED: errors.BudgetExceededError,
    Outcome.RATE_LIMITED: errors.RateLimitedError,
    Outcome.AUTHENTICATION: errors.AuthenticationError,
    Outcome.REFUSED: errors.RefusedError,
    Outcome.API_ERROR: errors.APIError,
    Outcome.EXECUTION_ERROR: errors.ExecutionError,
    Outcome.STRUCTURED_OUTPUT: errors.StructuredOutputError,
}
_REASONS = {
    "max_turns": Outcome.MAX_TURNS,
    "budget_exhausted": Outcome.BUDGET_EXCEEDED,
    "hook_stopped": Outcome.BLOCKED,
    "stop_hook_prevented": Outcome.BLOCKED,
    "tool_deferred": Outcome.DEFERRED,
}
_SUBTYPES = {
    "error_max_turns": Outcome.MAX_TURNS,
    "error_max_budget_usd": Outcome.BUDGET_EXCEEDED,
    "error_max_structured_output_retries": Outcome.STRUCTURED_OUTPUT,
}
# Without an API key nothing else tells: a success with is_error and this text (2.0.75 and 2.1.7 the first, 2.1.332 the
# second).
_NOT_LOGGED_IN = ("Invalid API key", "Not logged in")
# 2.0.75, 2.1.7: a blocked prompt has an empty result and no step; 2.1.332 says what blocked it.
_BLOCKED_TEXT = ("UserPromptSubmit operation blocked by hook", "Operation stopped by hook")


def decide(
    result: dict[str, Any], *, stopped: bool = False, refused: bool = False, assistant_error: str | None = None
) -> Outcome:
    """Return how a turn ended, from its raw result frame.

    `stopped` says that our side asked for the turn's end (an interrupt, or a denial that interrupts), `refused` that an
    assistant message of the turn had the stop reason "refusal", `assistant_error` is the `error` of its last one.
    """
    reason, subtype = _text(result, "terminal_reason"), _text(result, "subtype")
    if reason.startswith("aborted"):
        return Outcome.INTERRUPTED
    known = _REASONS.get(reason) or _SUBTYPES.get(subtype)
    if known is not None:
        return known
    if subtype == "error_during_execution":
        # 2.0.75 and 2.1.7 end an interrupted turn like one whose stream broke off: only who asked for it tells them
        # apart
        quiet = not result.get("is_error") and not result.get("errors")
        return Outcome.INTERRUPTED if quiet and stopped else Outcome.EXECUTION_ERROR
    if result.get("is_error") or subtype != "success":
        return _failure(result, refused, assistant_error)
    return Outcome.BLOCKED if _is_blocked(result) else Outcome.COMPLETED


def _failure(result: dict[str, Any], refused: bool, assistant_error: str | None) -> Outcome:
    status, kind, text = result.get("api_error_status"), assistant_error, _text(result, "result")
    if refused or result.get("stop_reason") == "refusal":
        return Outcome.REFUSED
    if status in (401, 403) or kind == "authentication_failed" or text.startswith(_NOT_LOGGED_IN):
        return Outcome.AUTHENTICATION
    if status == 429 or kind == "rate_limit":
        return Outcome.RATE_LIMITED
    if status is not None or kind is not None or text.startswith("API Error"):
        return Outcome.API_ERROR
    return Outcome.EXECUTION_ERROR


def _is_blocked(result: dict[str, Any]) -> bool:
    return result.get("num_turns") == 0 and _text(result, "result").startswith(_BLOCKED_TEXT)


def _text(result: dict[str, Any], name: str) -> str:
    value = result.get(name)
    return value if isinstance(value, str) else ""


def error_for(outcome: Outcome, result: Any) -> errors.ResultError | None:
    """Return the exception for a failed outcome; None where the turn's result speaks for itself.

    `result` is a ResultMessage.
    """
    kind = _ERRORS.get(outcome)
    if kind is None:
        return None
    said = "; ".join(text for text in result.errors or () if text) or result.result or "the program gave no reason"
    return kind(f"the turn ended as {outcome.value}: {said}", result=result, outcome=outcome.value)
