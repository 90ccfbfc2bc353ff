"""A quick watch over speed: processor time, throughput and memory, against the bare loop of the same run.

Latency is not watched, for it is the machine's more than ours. Each limit leaves half as much again of what a busy
machine measures, and rises with what is reached; what is promised stands in `benchmarks/rows.py`.
"""

import shutil
import statistics
from collections.abc import Callable

import attrs
import pytest

from benchmarks.metrics import Pair, cost, own, rate
from benchmarks.preparing import build_peer
from benchmarks.rows import ROWS
from benchmarks.running import Pythons, run_row

pytestmark = [
    pytest.mark.bench,
    pytest.mark.timeout(300),
    pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler: install one that is called cc"),
]

PAIRS, PAIRS_IN_DOUBT = 5, 15
LEAST_RATE = 0.25  # of the orjson loop's
MOST_CPU = 5.0  # times the orjson loop's
MOST_UNREAD = 2.0  # bytes of memory for each unread byte
MOST_BEYOND = 0.1  # the same beyond `inbox_bytes`, where a file takes them


def median(name: str, value: Callable[[Pair], float], pairs: int) -> float:
    """The median of a figure over some pairs of a quick row."""
    (row,) = (row for row in ROWS if row.name == name)
    sides = tuple(side for side in row.sides if side != "official")
    return statistics.median(
        map(value, run_row(attrs.evolve(row, sides=sides), Pythons(build_peer(), None), pairs, quick=True))
    )


def judge(name: str, value: Callable[[Pair], float], kept: Callable[[float], bool]) -> float:
    """The median of a few pairs; beyond the limit, that of more pairs, which counts."""
    first = median(name, value, PAIRS)
    return first if kept(first) else median(name, value, PAIRS_IN_DOUBT)


def test_throughput() -> None:
    """Typed deltas arrive at no less than the guarded share of the bare loop's rate."""
    assert judge("deltas", rate("seconds", "floor"), lambda found: found >= LEAST_RATE) >= LEAST_RATE


def test_cpu_per_message() -> None:
    """A typed delta takes no more than the guarded multiple of the bare loop's processor time."""
    assert judge("deltas", cost("cpu", "floor"), lambda found: found <= MOST_CPU) <= MOST_CPU


def test_memory_of_unread_messages() -> None:
    """Unread messages take no more than the guarded multiple of their bytes."""
    assert judge("backlog", own("ratio"), lambda found: found <= MOST_UNREAD) <= MOST_UNREAD


def test_memory_beyond_the_budget() -> None:
    """Beyond `inbox_bytes` the memory does not grow with what is unread."""
    assert judge("spilled", own("growth"), lambda found: found <= MOST_BEYOND) <= MOST_BEYOND
