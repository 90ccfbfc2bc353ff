"""Runs the sides of a row in turns, each in a process of its own."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import attrs

from benchmarks.metrics import Metric, Pair
from benchmarks.sides.measuring import Figures

RUN_SECONDS = 600.0
"""How long one side of one round may take."""

_ROOT = Path(__file__).resolve().parent.parent

Parameters = Mapping[str, Any]


class RunError(Exception):
    """A side failed; the message has the end of what it said."""


@attrs.frozen
class Row:
    """One piece of work on several sides, and the metrics taken from it.

    `quick` replaces parameters in a quick run; None leaves the row out of it. `needs` opens what the work needs besides
    the stand-in, and yields a function that returns parameters for one run.
    """

    name: str
    work: str
    about: str
    metrics: tuple[Metric, ...]
    sides: tuple[str, ...] = ("ours", "official")
    parameters: Parameters = attrs.field(factory=dict)
    quick: Parameters | None = None
    needs: Callable[[], Any] | None = None


@attrs.frozen
class Pythons:
    """The interpreters of the sides, and the stand-in."""

    peer: Path
    official: Path | None

    def command(self, side: str) -> list[str]:
        """Return what starts one side."""
        python = self.official if side == "official" else sys.executable
        return [str(python), "-m", f"benchmarks.sides.{side}"]


def run_row(
    row: Row, pythons: Pythons, pairs: int, *, quick: bool = False, tell: Callable[[str], None] = lambda text: None
) -> list[Pair]:
    """Run all sides of a row `pairs` times, the one that goes first changing each round, and return the figures.

    `tell` gets a line for each round. Raises `RunError`.
    """
    parameters = {"peer": str(pythons.peer), **row.parameters, **((row.quick or {}) if quick else {})}
    found: list[Pair] = []
    with _needs(row) as more:
        for number in range(pairs):
            figures = {
                side: run_side(pythons.command(side), row.work, {**parameters, **more()})
                for side in turn_about(row.sides, number)
            }
            found.append(figures)
            tell(f"{row.name}: {number + 1} of {pairs}")
    return found


def turn_about(sides: Sequence[str], number: int) -> Sequence[str]:
    """Return the sides in the order of a round: forwards and backwards in turns."""
    return sides if number % 2 == 0 else sides[::-1]


def run_side(command: Sequence[str], work: str, parameters: Parameters) -> Figures:
    """Run one side once and return its figures, with `process`, the seconds of the whole process, added."""
    environment = {**os.environ, "PYTHONPATH": str(_ROOT)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package has its bytecode, so the checkout's is kept
    start = time.perf_counter()
    with subprocess.Popen(
        [*command, work, json.dumps(parameters)],
        env=environment,
        cwd=_ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            said, complained = process.communicate(timeout=RUN_SECONDS)
        except BaseException as error:
            os.killpg(process.pid, signal.SIGKILL)  # not reaped yet, so the group is still its own
            if isinstance(error, subprocess.TimeoutExpired):
                raise RunError(f"{command[-1]} {work} took more than {RUN_SECONDS:.0f} s") from error
            raise
    seconds = time.perf_counter() - start
    if process.returncode:
        raise RunError(f"{command[-1]} {work} ended with {process.returncode}:\n{complained[-2000:]}")
    return {**parse_figures(said), "process": seconds}


def parse_figures(said: str) -> Figures:
    """Return the figures from what a side printed: the last line; raises `RunError`."""
    lines = said.splitlines()
    try:
        figures = json.loads(lines[-1]) if lines else None
    except ValueError:
        figures = None
    if not isinstance(figures, dict):
        raise RunError(f"no figures in {said[-500:]!r}")
    return {str(key): float(value) for key, value in figures.items()}


@contextmanager
def _needs(row: Row) -> Iterator[Callable[[], Parameters]]:
    if row.needs is None:
        yield dict
        return
    with row.needs() as more:
        yield more
