"""The benchmarks run, and compare what they say they compare."""

import subprocess
import sys
from collections.abc import Callable

import pytest

from benchmarks import framing, sideways
from tests import sources


@pytest.mark.parametrize("record", framing.ROWS.values(), ids=framing.ROWS)
def test_sample_is_a_frame(record: Callable[[], dict[str, object]]) -> None:
    """Each sample line is a frame of the kind that the program sends."""
    assert record()["type"] in {"stream_event", "assistant"}


def test_ratio_is_the_median_of_the_rounds() -> None:
    """The reported ratio is taken round by round, not between two averages."""
    measured = sideways.Comparison(ours=[2.0, 30.0, 9.0], floor=[1.0, 10.0, 1.0])
    assert measured.ratio == 3.0
    assert measured.spread[0] < measured.ratio < measured.spread[1]


def test_compare_takes_turns() -> None:
    """Both sides run equally often and the order changes each round; the first round is not counted."""
    order: list[str] = []
    measured = sideways.compare(lambda: order.append("ours"), lambda: order.append("floor"), rounds=2)
    assert order == ["floor", "ours", "ours", "floor", "floor", "ours"]
    assert len(measured.ours) == len(measured.floor) == 2


def test_command_prints_a_table() -> None:
    """`python -m benchmarks` prints one Markdown row per kind of line."""
    command = [sys.executable, "-m", "benchmarks", "--rounds", "2"]
    done = subprocess.run(command, cwd=sources.ROOT, check=True, capture_output=True, text=True, timeout=50)
    rows = [line for line in done.stdout.splitlines() if line.startswith("| ")]
    assert len(rows) == 1 + len(framing.ROWS)
