"""Ratios are taken pair by pair, summed up by their median, and judged against their limits."""

import pytest

from benchmarks.metrics import Metric, Summary, cost, own, rate, shown, summarise
from benchmarks.rows import count_growth, session_growth, wakes_fast

PAIR = {"ours": {"seconds": 2.0, "most": 0.005}, "official": {"seconds": 8.0}, "floor": {"seconds": 1.0}}


def test_cost_is_ours_over_theirs() -> None:
    """A cost of 0.25 says that we take a quarter of what the other side takes."""
    assert cost("seconds")(PAIR) == 0.25
    assert cost("seconds", "floor")(PAIR) == 2.0


def test_rate_is_theirs_over_ours() -> None:
    """A rate of 4 says that we do four times as much in the same time."""
    assert rate("seconds")(PAIR) == 4.0
    assert rate("seconds", "floor")(PAIR) == 0.5


def test_own_figure_is_scaled() -> None:
    """A figure of ours alone is reported in the unit of its metric."""
    assert own("most", 1e3)(PAIR) == 5.0


def test_median_is_of_the_ratios() -> None:
    """The reported ratio is taken pair by pair, not between two medians."""
    pairs = [
        {"ours": {"s": ours}, "official": {"s": theirs}} for ours, theirs in ((2.0, 1.0), (30.0, 10.0), (9.0, 1.0))
    ]
    (summary,) = summarise([Metric("m", cost("s"))], pairs)
    assert summary.values == (2.0, 3.0, 9.0)
    assert summary.median == 3.0
    assert summary.quartiles == (2.5, 6.0)


def test_one_pair_has_no_spread() -> None:
    """A single pair is reported, with itself as its spread."""
    assert Summary(Metric("m", own("s")), (0.5,)).quartiles == (0.5, 0.5)


@pytest.mark.parametrize(
    ("least", "value", "verdict"),
    [
        (False, 0.2, "stretch"),
        (False, 0.4, "must"),
        (False, 0.6, "missed"),
        (True, 0.6, "stretch"),
        (True, 0.4, "must"),
        (True, 0.2, "missed"),
    ],
)
def test_verdict_names_the_limit_that_is_kept(least: bool, value: float, verdict: str) -> None:
    """A value is judged by both limits, downwards or upwards."""
    limits = (0.3, 0.5) if least else (0.5, 0.3)
    assert Summary(Metric("m", own("s"), *limits, least=least), (value,)).verdict == verdict


def test_no_limit_no_verdict() -> None:
    """A metric that promises nothing is reported without a verdict."""
    assert Summary(Metric("m", own("s")), (1.0,)).verdict == ""


def test_must_without_stretch() -> None:
    """A metric with one limit only cannot reach the other."""
    assert Summary(Metric("m", own("s"), 15.0), (1.0,)).verdict == "must"


def test_condition_leaves_a_metric_out() -> None:
    """The sharper limit of a round trip counts only where the machine wakes threads fast."""
    metric = Metric("m", own("p50"), applies=wakes_fast)
    fast, slow = ([{"ours": {"p50": 1.0}, "floor": {"p50": floor}}] for floor in (30e-6, 116e-6))
    assert len(summarise([metric], fast)) == 1
    assert summarise([metric], slow) == []


def test_growth_is_taken_against_the_loop() -> None:
    """A machine that slows both sides down between two points shows no growth of ours."""
    pair = {"ours": {"10k": 0.1, "1M": 30.0}, "floor": {"10k": 0.01, "1M": 3.0}}
    assert count_growth(pair) == pytest.approx(1.0)
    assert session_growth({"ours": {"10": 1.0, "200": 30.0}}) == pytest.approx(1.5)


def test_values_are_shown_in_three_digits() -> None:
    """Numbers are shown with their unit, and ratios without."""
    assert [shown(0.12345, "x"), shown(12.345, "ms"), shown(1234.5, "MiB")] == ["0.123", "12.3 ms", "1234 MiB"]
