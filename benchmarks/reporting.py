"""The report: as JSON with every figure, and as Markdown for people."""

import os
import platform
import statistics
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from importlib import metadata
from typing import Any

import attrs

from benchmarks.metrics import Pair, Summary, shown, summarise
from benchmarks.preparing import OFFICIAL
from benchmarks.running import Row

_BYTES = frozenset(("rss", "added", "peak", "connected", "worked", "ready_rss"))
_RATIOS = frozenset(("ratio", "growth"))


@attrs.frozen
class Measured:
    """A row, the figures of its rounds, and the processor load average (1 minute) before and after."""

    row: Row
    pairs: tuple[Pair, ...]
    load: tuple[float, float]

    @property
    def summaries(self) -> list[Summary]:
        """What the metrics say."""
        return summarise(self.row.metrics, self.pairs)


def surroundings() -> dict[str, Any]:
    """Return what the figures depend on: the machine and the versions."""
    libraries = {name: metadata.version(name) for name in ("orjson", "attrs")}
    return {
        "date": datetime.now(UTC).isoformat(timespec="minutes"),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "processor": _said("/proc/cpuinfo", "model name"),
        "processors": os.cpu_count(),
        "memory": _said("/proc/meminfo", "MemTotal"),
        "python": platform.python_version(),
        "official": OFFICIAL,
        **libraries,
    }


def as_document(measured: Sequence[Measured], about: dict[str, Any]) -> dict[str, Any]:
    """Return the whole report as data for JSON."""
    return {"about": about, "rows": [_row_document(one) for one in measured]}


def _row_document(one: Measured) -> dict[str, Any]:
    metrics = [
        {
            "metric": summary.metric.title,
            "must": summary.metric.must,
            "stretch": summary.metric.stretch,
            "least": summary.metric.least,
            "median": summary.median,
            "quartiles": summary.quartiles,
            "values": summary.values,
            "verdict": summary.verdict,
        }
        for summary in one.summaries
    ]
    return {"row": one.row.name, "about": one.row.about, "load": one.load, "metrics": metrics, "pairs": list(one.pairs)}


def as_markdown(measured: Sequence[Measured], about: dict[str, Any]) -> str:
    """Return the report for people."""
    return "\n".join(_lines(measured, about)) + "\n"


def _lines(measured: Sequence[Measured], about: dict[str, Any]) -> Iterator[str]:
    yield "# Measured"
    yield ""
    yield "Medians of the pairs; half of the pairs lie within the spread. The command is `python -m benchmarks`."
    yield ""
    yield from (f"* {key}: {value}" for key, value in about.items())
    yield ""
    yield "| metric | must | stretch | measured | spread | pairs | verdict |"
    yield "|---|---|---|---|---|---|---|"
    for one in measured:
        yield from map(summary_line, one.summaries)
    yield ""
    yield "## Each side by itself"
    yield ""
    yield "Times and sizes, medians of the same runs. They move with the machine; the ratios above do so less."
    yield ""
    yield "| row | figure | ours | official | floor |"
    yield "|---|---|---|---|---|"
    for one in measured:
        yield from figure_lines(one)
    yield ""
    yield "## Rows"
    yield ""
    for one in measured:
        yield f"* `{one.row.name}`: {one.row.about}. Load {one.load[0]:.1f} before, {one.load[1]:.1f} after."


def summary_line(summary: Summary) -> str:
    """Return a metric as a line of the table."""
    metric, (first, third) = summary.metric, summary.quartiles
    spread = f"{shown(first, 'x')} to {shown(third, 'x')}"
    cells = (
        metric.title,
        metric.bound(metric.must),
        metric.bound(metric.stretch),
        shown(summary.median, metric.unit),
        spread,
        str(len(summary.values)),
        summary.verdict,
    )
    return f"| {' | '.join(cells)} |"


def figure_lines(one: Measured) -> Iterator[str]:
    """Yield the medians of a row's figures, side by side."""
    names = dict.fromkeys(name for pair in one.pairs for figures in pair.values() for name in figures)
    for name in names:
        cells = []
        for side in ("ours", "official", "floor"):
            values = [pair[side][name] for pair in one.pairs if side in pair and name in pair[side]]
            cells.append(quantity(name, statistics.median(values)) if values else "")
        yield f"| {one.row.name} | {name} | {' | '.join(cells)} |"


def quantity(name: str, value: float) -> str:
    """Return a figure with the unit that its name tells: bytes, a ratio, else seconds."""
    if name in _RATIOS:
        return shown(value, "x")
    if name in _BYTES:
        return shown(value / 1024, "KiB") if abs(value) < 1024 * 1024 else shown(value / 1024 / 1024, "MiB")
    for unit, scale in (("s", 1.0), ("ms", 1e3)):
        if abs(value) * scale >= 1:
            return shown(value * scale, unit)
    return shown(value * 1e6, "µs")


def _said(path: str, key: str) -> str:
    """Return what a file of /proc says behind a key; "" if it does not."""
    try:
        with open(path, encoding="utf-8") as file:
            found = (line.partition(":")[2].strip() for line in file if line.startswith(key))
            return next(found, "")
    except OSError:
        return ""
