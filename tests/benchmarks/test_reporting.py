"""The report shows what was measured, in units that people read."""

import pytest

from benchmarks.metrics import Metric, Summary, own, rate
from benchmarks.reporting import Measured, as_document, as_markdown, figure_lines, quantity, summary_line, surroundings
from benchmarks.running import Row

ROW = Row("deltas", "stream", "some deltas", (Metric("rate", rate("seconds"), 2.0, 3.0, least=True),))
PAIRS = ({"ours": {"seconds": 1.0, "rss": 2048.0}, "official": {"seconds": 2.5}},) * 2
MEASURED = Measured(ROW, PAIRS, (0.5, 0.75))


def test_line_has_limits_and_verdict() -> None:
    """A line shows must, stretch and measured side by side, with the spread and the number of pairs."""
    (summary,) = MEASURED.summaries
    assert summary_line(summary) == "| rate | ≥ 2 | ≥ 3 | 2.5 | 2.5 to 2.5 | 2 | must |"


def test_line_without_limits() -> None:
    """What has no limits leaves their columns empty."""
    assert summary_line(Summary(Metric("m", own("s"), unit="ms"), (4.0,))) == "| m |  |  | 4 ms | 4 to 4 | 1 |  |"


def test_sides_stand_beside_each_other() -> None:
    """A figure that one side has not is left empty there."""
    assert list(figure_lines(MEASURED)) == [
        "| deltas | seconds | 1 s | 2.5 s |  |",
        "| deltas | rss | 2 KiB |  |  |",
    ]


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("p50", 31.2e-6, "31.2 µs"),
        ("seconds", 0.0123, "12.3 ms"),
        ("seconds", 12.3, "12.3 s"),
        ("rss", 20 * 1024 * 1024, "20 MiB"),
        ("connected", -2048, "-2 KiB"),
        ("ratio", 1.5, "1.5"),
    ],
)
def test_figure_has_the_unit_of_its_name(name: str, value: float, text: str) -> None:
    """Times, sizes and ratios are told apart by name."""
    assert quantity(name, value) == text


def test_document_has_every_figure() -> None:
    """The JSON report holds the values of every pair, so that others may sum them up differently."""
    (row,) = as_document([MEASURED], {})["rows"]
    assert row["pairs"] == list(PAIRS)
    assert row["metrics"][0]["values"] == (2.5, 2.5)
    assert row["load"] == (0.5, 0.75)


def test_machine_and_versions_are_told() -> None:
    """The report says what its figures depend on."""
    about = surroundings()
    assert {"system", "processors", "python", "official", "orjson"} <= set(about)
    report = as_markdown([MEASURED], about)
    assert all(f"* {key}: {value}" in report for key, value in about.items())
    assert "Load 0.5 before, 0.8 after." in report
