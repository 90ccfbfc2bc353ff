"""How a turn ended, in one word, decided from every signal that the programs give.

Pure. The signals differ by version: an interrupted turn is `terminal_reason: aborted_*` on 2.1.332, and on 2.0.75 and
2.1.7 an `error_during_execution` that is no error and lists none, after we asked for the end; an API error is `subtype:
success` with `is_error: true` on all three, and its status stands in its own field (2.1.332) or in the text (older).
"""

import enum
import re
from datetime import UTC, datetime
from typing import Any

from claude_control import errors, log
from claude_control.session.evidence import NO_EVIDENCE, Evidence

__all__ = ["Outcome", "decide", "error_for", "needs_evidence"]


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
_OF_THE_API = (Outcome.RATE_LIMITED, Outcome.AUTHENTICATION, Outcome.API_ERROR)
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
# 2.0.75 and 2.1.7 write the stop reason into a message that they may have sent already; what they then say is sure.
_REFUSED = "API Error: Claude Code is unable to respond to this request, which appears to violate"
# What every version says when the conversation fills the model's window; no request is made.
_TOO_LONG = "Prompt is too long"
_WHEN_TOO_LONG = "send `/compact` to have the conversation summarised, or open a new session"
# 2.1.332 says what blocked a prompt; on 2.0.75 and 2.1.7 its result is empty.
_BLOCKED_TEXT = (
    *("UserPromptSubmit operation blocked by hook", "UserPromptExpansion operation blocked by hook"),
    *("Operation stopped by hook", "Compaction blocked by PreCompact hook"),
)
# 2.0.75 and 2.1.7 have the HTTP status nowhere else, and the error's kind in the JSON that follows it.
_STATUS_IN_TEXT = re.compile(r"API Error: (\d{3})\b")
_KIND_IN_TEXT = re.compile(r'"error":\{"type":"(\w+)"')
_FIELDS_OF_NEW = ("stop_reason", "result_index")  # 2.1.332 always writes them, 2.0.75 and 2.1.7 never


def decide(result: dict[str, Any], evidence: Evidence = NO_EVIDENCE) -> Outcome:
    """Return how a turn ended, from its raw result frame and what was seen of the turn before it."""
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
        return Outcome.INTERRUPTED if quiet and evidence.stopped else Outcome.EXECUTION_ERROR
    if result.get("is_error") or subtype != "success":
        return _failure(result, evidence)
    return Outcome.BLOCKED if _is_blocked(result, evidence) else Outcome.COMPLETED


def needs_evidence(result: dict[str, Any]) -> bool:
    """Tell whether what the frames before it say may matter to the outcome: not if 2.1.332 says that all went well."""
    well = result.get("subtype") == "success" and result.get("is_error") is False
    return not (well and any(name in result for name in _FIELDS_OF_NEW))


def _failure(result: dict[str, Any], evidence: Evidence) -> Outcome:
    status, kind, text = _status(result), evidence.error, _text(result, "result")
    if result.get("stop_reason") == "refusal" or text.startswith(_REFUSED):
        return Outcome.REFUSED
    if "stop_reason" not in result and evidence.refused:
        return Outcome.REFUSED
    if status in (401, 403) or kind == "authentication_failed" or text.startswith(_NOT_LOGGED_IN):
        return Outcome.AUTHENTICATION
    if status == 429 or kind == "rate_limit":
        return Outcome.RATE_LIMITED
    if status is not None or kind is not None or text.startswith(("API Error", _TOO_LONG)):
        return Outcome.API_ERROR
    return Outcome.EXECUTION_ERROR


def _is_blocked(result: dict[str, Any], evidence: Evidence) -> bool:
    if any(name in result for name in _FIELDS_OF_NEW) or result.get("result") != "":
        says = result.get("num_turns") == 0 and _text(result, "result").startswith(_BLOCKED_TEXT)
        return says or ("Stop" in evidence.hooks and "terminal_reason" not in result)
    # 2.0.75 and 2.1.7 say nothing. A prompt that was kept has no message at all, which else only slash commands have;
    # a stop after a tool leaves the tool's result as the last word.
    kept = not evidence.spoken and (not evidence.is_command or "UserPromptSubmit" in evidence.hooks)
    return result.get("structured_output") is None and (kept or evidence.ends_with_tool or "Stop" in evidence.hooks)


def _text(result: dict[str, Any], name: str) -> str:
    value = result.get(name)
    return value if isinstance(value, str) else ""


def _status(result: dict[str, Any]) -> int | None:
    status = result.get("api_error_status")
    if isinstance(status, int):
        return status
    found = _STATUS_IN_TEXT.search(_text(result, "result"))
    return int(found[1]) if found else None


# -- the exception -----------------------------------------------------------------------------------------------------


def error_for(
    outcome: Outcome, result: Any, evidence: Evidence = NO_EVIDENCE, *, resets_at: float | None = None
) -> errors.ResultError | None:
    """Return the exception for a failed outcome; None where the turn's result speaks for itself.

    `result` is a ResultMessage.
    """
    kind = _ERRORS.get(outcome)
    if kind is None:
        return None
    said = "; ".join(text for text in result.errors or () if text) or result.result or "the program gave no reason"
    fields: dict[str, Any] = {}
    advice = kind.advice
    if outcome in _OF_THE_API:
        fields = {"status": _status(result.raw), "kind": _kind(result, evidence)}
    if outcome is Outcome.RATE_LIMITED:
        fields |= {"limit": evidence.limit, "resets_at": resets_at}
        advice = advice if resets_at is None else f"ask again after {_date(resets_at)}"
    elif outcome is Outcome.API_ERROR and fields["kind"] == "prompt_too_long":
        advice = _WHEN_TOO_LONG
    elif outcome is Outcome.REFUSED:
        fields = {"category": evidence.refusal_category, "explanation": evidence.refusal_explanation}
    text = f"the turn ended as {outcome.value}: {log.redact(said.removesuffix('.'))}; {advice}"
    return kind(text, result=result, outcome=outcome.value, **fields)


def _date(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S} UTC"


def _kind(result: Any, evidence: Evidence) -> str | None:
    if (result.result or "").startswith(_TOO_LONG):
        return "prompt_too_long"
    found = _KIND_IN_TEXT.search(result.result or "")
    said = result.api_error_type or result.api_error or (found[1] if found else None)
    return said or (evidence.error if evidence.error != "unknown" else None)
