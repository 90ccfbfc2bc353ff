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

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain, repeat
from operator import itemgetter
from typing import Any

import attrs

__all__ = ["COUNTED", "Ledger", "Usage"]

COUNTED = ("assistant", "stream_event", "result")
"""The types of frames to count."""

# A message's frames come close together, with a few of other subagents' in between: so many are enough to know a late
# one of which 250 others have come since, for they are settled some 100 later, and not in their order. All that is kept
# stays in a cache of the processor beside what is being read.
_IDS_KEPT = 500
_GENERATION = 64  # messages that are added up together, once as many newer ones have come
_RUNS = 16  # of many messages each, that are added up together: each time costs as much as to read a run
_OPEN = 16  # the last ones of these: more usage of them is counted, but of no earlier ones

_SYNTHETIC = "<synthetic>"  # the model of messages that the program itself writes, with a usage of zeros

_ABSURD = 1e12  # dollars; an integer that no float holds may come as well, and would end the session in a sum

_TOKENS = {
    "input_tokens": "inputTokens",
    "output_tokens": "outputTokens",
    "cache_read_input_tokens": "cacheReadInputTokens",
    "cache_creation_input_tokens": "cacheCreationInputTokens",
}
_MESSAGE, _NAME, _MODEL, _USAGE = map(itemgetter, ("message", "id", "model", "usage"))
_COUNTS = itemgetter(*_TOKENS)
_FIRST, _SECOND, _THIRD = map(itemgetter, range(3))
_Counts = dict[str, Any]  # of the fields of Usage those that are known
_Raw = tuple[str, tuple[Any, ...]]  # the model, "" if it is no text, and what stands in the places of the tokens
_Many = tuple[list[Any], Any, list[tuple[Any, ...]]]  # the ids, the model of them all, and the counts by place


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
    """The account of one session, kept from its frames in their order. Not thread-safe: the caller holds a lock.

    A call that was struck from outside is made again: the same frame counts once.
    """

    def __init__(self) -> None:
        # Messages since the last result, by id: the newest generation, the one before it, and by model the sum of those
        # that are older still, or that came with many others.
        self._newest: dict[str, _Raw] = {}
        self._older: dict[str, _Raw] = {}
        self._oldest: dict[str, _Counts] = {}
        self._settled: set[str] = set()  # ids of messages but for the newest, which count no more as new ones
        self._settled_before: set[str] = set()
        self._settling: Sequence[str] = ()  # ids that are about to be among these
        self._waiting: list[_Many] = []  # runs that are not yet added up, but for the last ones of those that are
        self._streams: dict[object, str] = {}  # the message that streams, by the tool call it belongs to
        self._told: dict[str, _Counts] = {}  # by model, as the newest result has it
        self._told_cost: float = 0
        self._total: Usage | None = None  # up to the last result
        self._closed: tuple[object, Usage | None] = (None, None)  # the last result, and what was spent up to it

    def note(self, frame: dict[str, Any]) -> Usage | None:
        """Count a frame of one of the `COUNTED` types; returns for a result what was spent since the one before."""
        kind = frame["type"]
        if kind == "result":
            return self._close(frame)
        parent = frame.get("parent_tool_use_id")
        if kind == "assistant":
            self.note_messages([frame])
            return None
        event = frame.get("event")
        if not isinstance(event, dict) or not isinstance(parent, str | None):
            return None
        if event.get("type") == "message_start":
            self._streams[parent] = self._count(event.get("message"))
        elif event.get("type") == "message_delta":
            self._count({"id": self._streams.get(parent), "usage": event.get("usage")})
        return None

    def note_messages(self, frames: Sequence[dict[str, Any]]) -> None:
        """Count frames of the type "assistant"."""
        many = _read_many(frames) if len(frames) > _OPEN else None
        if many is None:
            for frame in frames:
                self._count(frame.get("message"))
            self._begin_generation()
            return
        self._waiting.append(many)
        if len(self._waiting) >= _RUNS:
            self._add_up()

    def _add_up(self) -> None:
        """Add up all that waits, but for the last messages: together, or where anything is odd each run by itself."""
        self._finish_settling()
        if self._add_first(len(self._waiting)):
            return
        while self._waiting and (len(self._waiting) > 1 or not self._only_last_wait()):
            # With the last ones of the run before, if they are what comes first.
            if not self._add_first(2 if self._only_last_wait() else 1):
                self._count_first()

    def _only_last_wait(self) -> bool:
        """Whether what waits first is the last ones of what was added up."""
        return len(self._waiting[0][0]) <= _OPEN

    def _add_first(self, number: int) -> bool:
        """Add up so many runs, but for the last messages; False if any is odd or may be known already."""
        runs, others = self._waiting[:number], self._waiting[number:]
        model, *further = dict.fromkeys(map(_SECOND, runs))
        names = [*chain.from_iterable(map(_FIRST, runs))]
        columns = [(*chain.from_iterable(parts),) for parts in zip(*map(_THIRD, runs), strict=True)]
        if further or not _are_plain(model, columns) or not self._are_new(names):
            return False
        sums = {token: sum(column[:-_OPEN]) for token, column in zip(_TOKENS, columns, strict=True)}
        oldest = {**self._oldest, model: _added(self._oldest.get(model, {}), sums)}
        waiting = [(names[-_OPEN:], model, [column[-_OPEN:] for column in columns]), *others]
        # The newest ones, and of these at least the run that may be noted again.
        settling = names[:-_OPEN][-max(_IDS_KEPT, len(runs[-1][0])) :]
        self._oldest, self._waiting, self._settling = oldest, waiting, settling  # at once: see `_close`
        self._finish_settling()
        return True

    def _are_new(self, names: Sequence[Any]) -> bool:
        """Tell whether all of these are ids, each another one, and none is known already."""
        if set(map(type, names)) != {str}:
            return False
        different, known = set(names), (self._newest, self._older, self._settled, self._settled_before)
        return len(different) == len(names) and "" not in different and all(map(different.isdisjoint, known))

    def _count_first(self) -> None:
        """Count a run message by message."""
        names, model, columns = self._waiting[0]
        for name, *raw in zip(names, *columns, strict=True):
            self._count_raw(name, model, tuple(raw))
        self._begin_generation()
        del self._waiting[0]  # who is struck before that counts the same run again, and no other one in between

    def _begin_generation(self) -> None:
        if len(self._newest) >= _GENERATION:
            oldest = _with(self._oldest, self._older.values())
            self._settle(self._newest)  # not later: what is forgotten is what was settled first
            self._oldest, self._older, self._newest = oldest, self._newest, {}  # at once: see `_close`

    def _unfold(self) -> None:
        """Add up what waits, and put the last ones among those that further frames may be of."""
        if len(self._waiting) > 1 or (self._waiting and not self._only_last_wait()):
            self._add_up()
        if self._waiting:
            ((names, model, columns),) = self._waiting
            raws = zip(repeat(model), zip(*columns, strict=True))
            newest = {**self._newest, **dict(zip(names, raws, strict=True))}
            self._newest, self._waiting = newest, []  # at once: see `_close`
            self._begin_generation()

    def since_result(self) -> Usage | None:
        """Return what was spent since the last result, as far as messages tell: fewer output tokens on 2.1.332."""
        return _usage(self._by_model_of_messages())

    def total(self) -> Usage | None:
        """Return what was spent since the session was opened."""
        return _sum(self._total, self.since_result())

    def _count(self, message: Any) -> str:
        """Count a message, or more of it; returns its id."""
        self._finish_settling()
        self._unfold()
        if message.__class__ is not dict:
            return ""
        usage, model = message.get("usage"), message.get("model")
        get = usage.get if usage.__class__ is dict else {}.get
        return self._count_raw(message.get("id"), model, tuple(map(get, _TOKENS)))

    def _count_raw(self, name: Any, model: Any, counts: tuple[Any, ...]) -> str:
        if name.__class__ is not str or not name:
            return ""
        messages = self._older if name in self._older else self._newest
        if name not in messages and (name in self._settled or name in self._settled_before):
            return ""
        raw: _Raw = model if model.__class__ is str else "", counts
        known = messages.get(name, raw)
        messages[name] = known[0] or raw[0], tuple(map(_larger_count, known[1], raw[1]))
        return str(name)

    def _by_model_of_messages(self) -> dict[str, _Counts]:
        self._unfold()
        return _with(_with(self._oldest, self._older.values()), self._newest.values())

    def _close(self, result: dict[str, Any]) -> Usage | None:
        if result is self._closed[0]:
            return self._closed[1]
        self._finish_settling()
        self._unfold()
        told, since = _models(result.get("modelUsage")), result.get("model_usage_since_last_result")
        total_cost: Any = result.get("total_cost_usd")
        cost = self._grown_cost(total_cost)
        if isinstance(since, dict):
            by_model = _models(since)
            cost = sum(counts.get("cost_usd", 0) for counts in by_model.values())
        else:
            by_model = self._by_model_of_messages()
            for model, counts in told.items():
                by_model[model] = _larger(by_model.get(model, {}), _grown(self._told.get(model, {}), counts))
        told_cost = max(total_cost, self._told_cost) if _is_money(total_cost) else self._told_cost
        usage = _usage(by_model, _tokens(result.get("usage"), _TOKENS), cost)
        total = _sum(self._total, usage)
        self._settle(self._newest)
        # All at once, with no call in between: a strike from outside leaves this undone or done, and no half of it.
        self._told, self._told_cost, self._total = told or self._told, told_cost, total
        self._newest, self._older, self._oldest, self._streams = {}, {}, {}, {}
        self._closed = (result, usage)
        return usage

    def _finish_settling(self) -> None:
        if self._settling:
            self._settle(self._settling)
            self._settling = ()

    def _settle(self, names: Iterable[str]) -> None:
        """Know these ids, so that no message of theirs counts as a new one; may be done twice."""
        self._settled.update(names)
        if len(self._settled) >= _IDS_KEPT:
            settled: set[str] = set()
            self._settled_before, self._settled = self._settled, settled

    def _grown_cost(self, total: Any) -> float | None:
        """Return by how much the total has grown; None if it is smaller, as when 2.0.75 fails for good."""
        grown = total - self._told_cost if _is_money(total) else -1
        return grown if grown >= 0 else None


def _read_many(frames: Sequence[dict[str, Any]]) -> _Many | None:
    """Return messages if they are what most are: whole, and of one model. All in C, and looked at when added up."""
    try:
        messages = list(map(_MESSAGE, frames))
        names, (model,) = list(map(_NAME, messages)), set(map(_MODEL, messages))
        return names, model, list(zip(*map(_COUNTS, map(_USAGE, messages)), strict=True))
    except (KeyError, TypeError, ValueError):
        return None


def _are_plain(model: Any, columns: Sequence[tuple[Any, ...]]) -> bool:
    """Tell whether messages are of a model, and have nothing but counts."""
    if type(model) is not str or model == _SYNTHETIC or set(map(type, chain.from_iterable(columns))) != {int}:
        return False
    return all(min(column) >= 0 for column in columns)


def _with(earlier: Mapping[str, _Counts], raws: Collection[_Raw]) -> dict[str, _Counts]:
    """Return what was counted by model, with messages added."""
    found = {**earlier}
    models = dict.fromkeys(map(_FIRST, raws))
    for name in models:
        if name != _SYNTHETIC:
            # Nearly always they are all of one model, and nothing is done in Python for each.
            same = raws if len(models) == 1 else [raw for raw in raws if raw[0] == name]
            counts = _summed(list(map(_SECOND, same)))
            found[name] = _added(found[name], counts) if name in found else counts
    return found


def _summed(raws: list[tuple[Any, ...]]) -> _Counts:
    """Add what is a count in each place; a place without any is not known."""
    found: _Counts = {}
    for name, column in zip(_TOKENS, zip(*raws, strict=True), strict=True):
        plain = set(map(type, column)) == {int} and min(column) >= 0
        counts = column if plain else [count for count in column if _is_count(count)]
        if counts:
            found[name] = sum(counts)
    return found


def _larger_count(one: Any, other: Any) -> Any:
    if not _is_count(one):
        return other
    return max(one, other) if _is_count(other) else one


def _tokens(usage: object, names: Mapping[str, str]) -> _Counts:
    """Read the counts of a result."""
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
    return value.__class__ is int and value >= 0


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
