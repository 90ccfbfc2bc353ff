"""Metrics: what is taken from each pair of runs, and how the pairs are summed up and judged."""

import statistics
from collections.abc import Callable, Mapping, Sequence

import attrs

from benchmarks.sides.measuring import Figures

Pair = Mapping[str, Figures]
"""The figures of one round, by side."""


@attrs.frozen
class Metric:
    """One line of the table.

    `value` takes it from a pair. `least` says that more is better. Of a metric with `applies` (a condition on all
    pairs) the line is left out where the condition does not hold.
    """

    title: str
    value: Callable[[Pair], float]
    must: float | None = None
    stretch: float | None = None
    least: bool = False
    unit: str = "x"
    applies: Callable[[Sequence[Pair]], bool] = lambda pairs: True

    def bound(self, limit: float | None) -> str:
        """Return a limit as text."""
        return "" if limit is None else f"{'≥' if self.least else '≤'} {shown(limit, self.unit)}"

    def meets(self, measured: float, limit: float | None) -> bool | None:
        """Whether a value keeps a limit; None when there is no limit."""
        if limit is None:
            return None
        return measured >= limit if self.least else measured <= limit


@attrs.frozen
class Summary:
    """The values of a metric over all pairs."""

    metric: Metric
    values: tuple[float, ...]

    @property
    def median(self) -> float:
        """The reported value."""
        return statistics.median(self.values)

    @property
    def quartiles(self) -> tuple[float, float]:
        """Half of the pairs lie between these two."""
        if len(self.values) < 2:
            return self.values[0], self.values[0]
        first, _, third = statistics.quantiles(self.values, n=4, method="inclusive")
        return first, third

    @property
    def verdict(self) -> str:
        """In a word: which of the limits is kept."""
        must, stretch = (self.metric.meets(self.median, limit) for limit in (self.metric.must, self.metric.stretch))
        if must is None:
            return ""
        if not must:
            return "missed"
        return "stretch" if stretch else "must"


def summarise(metrics: Sequence[Metric], pairs: Sequence[Pair]) -> list[Summary]:
    """Return a summary of each metric that applies to these pairs."""
    return [Summary(metric, tuple(metric.value(pair) for pair in pairs)) for metric in metrics if metric.applies(pairs)]


def cost(figure: str, over: str = "official") -> Callable[[Pair], float]:
    """Take our figure divided by the other side's: less is better."""
    return lambda pair: pair["ours"][figure] / pair[over][figure]


def rate(figure: str, over: str = "official") -> Callable[[Pair], float]:
    """Take how many times as fast we are, from seconds: more is better."""
    return lambda pair: pair[over][figure] / pair["ours"][figure]


def bare_cost(figure: str) -> Callable[[Pair], float]:
    """Take the bare host's figure divided by the official side's: what no SDK with a reader thread can be less than."""
    return lambda pair: pair["floor"][figure] / pair["official"][figure]


def bare_rate(figure: str) -> Callable[[Pair], float]:
    """Take how many times as fast the bare host is as the official side, from seconds: what none can be more than."""
    return lambda pair: pair["official"][figure] / pair["floor"][figure]


def own(figure: str, scale: float = 1.0) -> Callable[[Pair], float]:
    """Take our figure itself, times `scale`."""
    return lambda pair: pair["ours"][figure] * scale


def shown(value: float, unit: str) -> str:
    """Return a value with its unit, in three digits."""
    number = f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"
    return f"{number} {unit}" if unit != "x" else number
