"""What a session has spent: tokens and dollars, by turn and by model. Pure.

Two sources are put together, because each misses something (measured on 2.0.75, 2.1.7 and 2.1.332):

* Messages. Every `assistant` frame repeats the usage of its API message, one frame a block, so a message id counts
  once. On 2.1.332 it is the usage at the message's begin, with 1 output token, unless stream events tell its end. The
  last message of a subagent has no frame, nor have the calls that the program makes for itself.
* Results. `usage` is the main conversation's part of the turn. `modelUsage` and `total_cost_usd` are cumulative: on
  2.0.75 and 2.1.7 since the program's start, on 2.1.332 for the conversation, so that a resumed session begins with
  the old total, and `/clear` begins at 0. There `model_usage_since_last_result` has the difference. 2.0.75 and 2.1.7
  leave out answers that were interrupted, or that came without streaming after a failed attempt; 2.0.75 writes no
  `modelUsage` with a result that no model took part in.

So 2.1.332's own difference counts as it is, and of older programs whatever is larger, field by field, model by model.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import attrs

__all__ = ["COUNTED", "Ledger", "Usage"]

COUNTED = ("assistant", "stream_event", "result")
"""The types of frames to count."""

# A message's frames come close together; so many ids are enough to know a late one, and are some 100 kB at the most.
_IDS_KEPT = 1000

_ABSURD = 1e12  # dollars; an integer that no float holds may come as well, and would end the session in a sum

_TOKENS = {
    "input_tokens": "inputTokens",
    "output_tokens": "outputTokens",
    "cache_read_input_tokens": "cacheReadInputTokens",
    "cache_creation_input_tokens": "cacheCreationInputTokens",
}
_Counts = dict[str, Any]  # of the fields of Usage those that are known


@attrs.frozen
class Usage:
    """Tokens and dollars; what is not known is None, not 0.

    `cost_usd` is the program's own estimate, at list prices. `by_model` has the part of each model, by the API's name
    for it; the program's own calls, to a small model for instance, are in it. The sum of the parts can be less than the
    whole: of attempts that failed in the middle 2.1.332 does not say the model.
    """

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    cost_usd: float | None = None
    by_model: Mapping[str, "Usage"] = attrs.field(factory=dict)


class Ledger:
    """The account of one session, kept from its frames in their order. Not thread-safe: the caller holds a lock."""

    def __init__(self) -> None:
        self._messages: dict[str, tuple[str, _Counts]] = {}  # since the last result: id -> model, counts
        self._settled: dict[str, None] = {}  # ids of messages before it, oldest first
        self._streams: dict[object, str] = {}  # the message that streams, by the tool call it belongs to
        self._told: dict[str, _Counts] = {}  # by model, as the newest result has it
        self._told_cost: float = 0
        self._total: Usage | None = None  # up to the last result

    def note(self, frame: dict[str, Any]) -> Usage | None:
        """Count a frame of one of the `COUNTED` types; returns for a result what was spent since the one before."""
        kind = frame["type"]
        if kind == "result":
            return self._close(frame)
        parent = frame.get("parent_tool_use_id")
        if kind == "assistant":
            self._count(frame.get("message"))
            return None
        event = frame.get("event")
        if not isinstance(event, dict) or not isinstance(parent, str | None):
            return None
        if event.get("type") == "message_start":
            self._streams[parent] = self._count(event.get("message"))
        elif event.get("type") == "message_delta":
            self._count({"id": self._streams.get(parent), "usage": event.get("usage")})
        return None

    def since_result(self) -> Usage | None:
        """Return what was spent since the last result, as far as messages tell: fewer output tokens on 2.1.332."""
        return _usage(self._by_model_of_messages())

    def total(self) -> Usage | None:
        """Return what was spent since the session was opened."""
        return _sum(self._total, self.since_result())

    def _count(self, message: object) -> str:
        """Count a message, or more of it; returns its id."""
        if not isinstance(message, dict):
            return ""
        name, model, usage = message.get("id"), message.get("model"), message.get("usage")
        if not isinstance(name, str) or not name or name in self._settled or model == "<synthetic>":
            return ""
        known = self._messages.get(name)
        counts = _tokens(usage, _TOKENS)
        if known is None:
            self._messages[name] = (model if isinstance(model, str) else "", counts)
        elif counts != known[1] or not known[0]:
            self._messages[name] = (known[0] or (model if isinstance(model, str) else ""), _larger(known[1], counts))
        return name

    def _by_model_of_messages(self) -> dict[str, _Counts]:
        found: dict[str, _Counts] = {}
        for model, counts in self._messages.values():
            found[model] = _added(found.get(model, {}), counts)
        return found

    def _close(self, result: dict[str, Any]) -> Usage | None:
        told, since = _models(result.get("modelUsage")), result.get("model_usage_since_last_result")
        if isinstance(since, dict):
            by_model = _models(since)
            cost: float | None = sum(counts.get("cost_usd", 0) for counts in by_model.values())
            self._cost(result.get("total_cost_usd"))
        else:
            by_model = self._by_model_of_messages()
            for model, counts in told.items():
                by_model[model] = _larger(by_model.get(model, {}), _grown(self._told.get(model, {}), counts))
            cost = self._cost(result.get("total_cost_usd"))
        self._told = told or self._told
        self._settle()
        usage = _usage(by_model, _tokens(result.get("usage"), _TOKENS), cost)
        self._total = _sum(self._total, usage)
        return usage

    def _cost(self, total: Any) -> float | None:
        """Return by how much the total has grown; None if it is smaller, as when 2.0.75 fails for good."""
        if not _is_money(total):
            return None
        grown, self._told_cost = total - self._told_cost, max(total, self._told_cost)
        return grown if grown >= 0 else None

    def _settle(self) -> None:
        self._settled |= dict.fromkeys(self._messages)
        for name in list(self._settled)[: max(0, len(self._settled) - _IDS_KEPT)]:
            del self._settled[name]
        self._messages, self._streams = {}, {}


def _tokens(usage: object, names: Mapping[str, str]) -> _Counts:
    """Read the counts of an API message, or of a result."""
    if not isinstance(usage, dict):
        return {}
    return {name: usage[name] for name in names if _is_count(usage.get(name))}


def _models(value: object) -> dict[str, _Counts]:
    """Read a `modelUsage`."""
    found: dict[str, _Counts] = {}
    for model, usage in value.items() if isinstance(value, dict) else ():
        if isinstance(usage, dict):
            found[model] = {name: usage[wire] for name, wire in _TOKENS.items() if _is_count(usage.get(wire))}
            if _is_money(usage.get("costUSD")):
                found[model]["cost_usd"] = usage["costUSD"]
    return found


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_money(value: object) -> bool:
    return type(value) in (int, float) and abs(value) < _ABSURD  # type: ignore[arg-type]


def _larger(one: _Counts, other: _Counts) -> _Counts:
    return {name: max(one.get(name, 0), other.get(name, 0)) for name in {**one, **other}}


def _added(one: _Counts, other: _Counts) -> _Counts:
    return {name: one.get(name, 0) + other.get(name, 0) for name in {**one, **other}}


def _grown(before: _Counts, now: _Counts) -> _Counts:
    return {name: max(0, value - before.get(name, 0)) for name, value in now.items()}


def _usage(by_model: Mapping[str, _Counts], whole: _Counts | None = None, cost: float | None = None) -> Usage | None:
    """Put the parts together; `whole` is what is said of them all."""
    counts: _Counts = {}
    for part in by_model.values():
        counts = _added(counts, {name: part[name] for name in part if name != "cost_usd"})
    counts = _larger(counts, whole or {})
    if not counts and cost is None:
        return None
    parts = {model: Usage(**part) for model, part in by_model.items() if model}
    return Usage(**counts, cost_usd=cost, by_model=parts)


def _sum(one: Usage | None, other: Usage | None) -> Usage | None:
    """Add what is known."""
    if one is None or other is None:
        return one or other
    models: Iterable[str] = {**one.by_model, **other.by_model}
    parts = {model: _sum(one.by_model.get(model), other.by_model.get(model)) for model in models}
    counts = _added(_known(one), _known(other))
    return Usage(**counts, by_model={model: part for model, part in parts.items() if part is not None})


def _known(usage: Usage) -> _Counts:
    names = (*_TOKENS, "cost_usd")
    return {name: getattr(usage, name) for name in names if getattr(usage, name) is not None}
