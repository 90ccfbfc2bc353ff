"""What the code itself says of how turns end, as Markdown: the tables of topics/outcomes.md."""

import inspect
from collections.abc import Callable, Iterator

from claude_control import errors
from claude_control.session.outcome import Outcome, error_for
from claude_control.wire.messages import ResultMessage
from docs.tables import one_line, table

__all__ = ["TABLES"]

_WHAT = {
    Outcome.COMPLETED: "the model answered, or a slash command ran",
    Outcome.INTERRUPTED: "somebody on this side asked for the end: an interrupt, or a denial that interrupts",
    Outcome.CANCELLED: "the prompt was dropped while it waited; iterating yields nothing",
    Outcome.BLOCKED: "a hook kept the prompt, or stopped the turn",
    Outcome.DEFERRED: "a hook put a tool call off; `result.deferred_tool_use` names it",
    Outcome.MAX_TURNS: "the turn used up `max_turns`",
    Outcome.BUDGET_EXCEEDED: "the session used up `max_budget_usd`; every later prompt ends so too",
    Outcome.RATE_LIMITED: "the API had too many requests, or a subscription's limit is reached",
    Outcome.AUTHENTICATION: "the program is not logged in, or the API refused its key (401, 403)",
    Outcome.REFUSED: "the model refused",
    Outcome.API_ERROR: "the API failed in any other way, or could not be reached",
    Outcome.EXECUTION_ERROR: "the program failed while it ran the turn",
    Outcome.STRUCTURED_OUTPUT: "the model never gave output that fits the schema",
    Outcome.FAILED: "the program ended, or the session was closed, before the result",
}
_RAISED = {
    Outcome.CANCELLED: "`AbortedError`; at close `SessionClosedError`",
    Outcome.FAILED: "`ProcessExitedError`, `SessionClosedError` or `ProtocolError`, and so does iterating",
}


def outcomes() -> str:
    """Return a table with a line for each outcome."""
    rows = [(f"`{outcome.value}`", _WHAT[outcome], _ends(outcome)) for outcome in Outcome]
    return table(("outcome", "what happened", "`result()`"), rows)


def _ends(outcome: Outcome) -> str:
    error = error_for(outcome, ResultMessage())
    if outcome in _RAISED:
        return f"raises {_RAISED[outcome]}"
    return "returns" if error is None else f"raises `{type(error).__name__}`"


def result_errors() -> str:
    """Return a table with a line for each exception of a failed turn."""
    rows = []
    for kind in _kinds():
        fields = [f"`{name}`" for name in vars(kind()) if name not in ("result", "outcome")]
        rows.append((f"`{kind.__name__}`", one_line(inspect.getdoc(kind) or ""), ", ".join(fields), kind.advice))
    return table(("exception", "what it means", "fields beside `result` and `outcome`", "what helps"), rows)


def _kinds() -> Iterator[type[errors.ResultError]]:
    for outcome in Outcome:
        error = error_for(outcome, ResultMessage())
        if error is not None:
            yield type(error)


TABLES: dict[str, Callable[[], str]] = {"outcomes": outcomes, "result-errors": result_errors}
"""What stands in a page between `<!-- begin: NAME -->` and `<!-- end: NAME -->`, by that name."""
