"""Measure, print the report, and say by the exit code whether every `must` is kept."""

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks import __doc__ as about
from benchmarks.preparing import PreparationError, build_peer, install_official
from benchmarks.reporting import Measured, as_document, as_markdown, surroundings
from benchmarks.rows import ROWS
from benchmarks.running import Pythons, Row, RunError, run_row

PAIRS = 7
QUICK_PAIRS = 3


def main() -> int:
    """Print the report as Markdown; 0 when every must is kept, 1 when one is missed, 2 when a row failed."""
    arguments = _parse()
    rows = chosen(arguments.only, quick=arguments.quick)
    pairs = arguments.pairs or (QUICK_PAIRS if arguments.quick else PAIRS)
    try:
        measured, failed = measure(rows, pairs, quick=arguments.quick)
    except PreparationError as error:
        print(f"benchmarks: {error}", file=sys.stderr)
        return 2
    around = {
        **surroundings(),
        "run": "quick: less work than the titles say, and the long rows left out" if arguments.quick else "full",
        "pairs": pairs,
        "rows that failed": ", ".join(failed) or "none",
    }
    report = as_markdown(measured, around)
    print(report, end="")
    if arguments.markdown:
        arguments.markdown.write_text(report, encoding="utf-8")
    if arguments.json:
        arguments.json.write_text(json.dumps(as_document(measured, around), indent=1) + "\n", encoding="utf-8")
    return 2 if failed else int(any(summary.verdict == "missed" for one in measured for summary in one.summaries))


def chosen(names: Sequence[str], *, quick: bool) -> list[Row]:
    """Return the rows of these names, all without one; a quick run leaves the long ones out unless they are named."""
    return [row for row in ROWS if (row.name in names if names else not quick or row.quick is not None)]


def measure(rows: Sequence[Row], pairs: int, *, quick: bool) -> tuple[list[Measured], list[str]]:
    """Run the rows one after the other; returns what was measured, and the names of those that could not be run.

    Raises `PreparationError` when there is nothing to run them on.
    """
    official = any("official" in row.sides for row in rows)
    pythons = Pythons(build_peer(), install_official() if official else None)
    measured, failed = [], []
    for row in rows:
        before = os.getloadavg()[0]
        try:
            done = run_row(row, pythons, pairs, quick=quick, tell=_tell)
        except (PreparationError, RunError) as error:  # the other rows took long enough to be worth keeping
            _tell(f"benchmarks: {row.name}: {error}")
            failed.append(row.name)
        else:
            measured.append(Measured(row, tuple(done), (before, os.getloadavg()[0])))
    return measured, failed


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=about)
    parser.add_argument("--quick", action="store_true", help="under two minutes: fewer pairs, less work, no long rows")
    names = [row.name for row in ROWS]
    parser.add_argument("--only", nargs="+", default=[], choices=names, metavar="NAME", help=", ".join(names))
    parser.add_argument("--pairs", type=int, help=f"rounds per row (default: {PAIRS}, quick {QUICK_PAIRS})")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the report with every figure")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write what is printed")
    return parser.parse_args()


def _tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
