"""Runs the sides of a row in turns, each in a process of its own."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import attrs

from benchmarks.metrics import Metric, Pair
from benchmarks.sides.measuring import TURN, Figures

RUN_SECONDS = 600.0
"""How long one side of one round may take, its waiting for its turns included."""

_ROOT = Path(__file__).resolve().parent.parent

Parameters = Mapping[str, Any]


class RunError(Exception):
    """A side failed; the message has the end of what it said."""


@attrs.frozen
class Row:
    """One piece of work on several sides, and the metrics taken from it.

    `quick` replaces parameters in a quick run; None leaves the row out of it. `needs` opens what the work needs besides
    the stand-in, and yields a function that returns parameters for one run. `rounds` is how many are run for each pair
    that is asked for: more where a process has one figure to give, and not the middle of many.
    """

    name: str
    work: str
    about: str
    metrics: tuple[Metric, ...]
    sides: tuple[str, ...] = ("ours", "official")
    parameters: Parameters = attrs.field(factory=dict)
    quick: Parameters | None = None
    needs: Callable[[], Any] | None = None
    rounds: int = 1


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

    If it is not `quick`, a row with more `rounds` is run so many times as often. `tell` gets a line for each round.
    Raises `RunError`.
    """
    rounds = pairs if quick else pairs * row.rounds
    parameters = {"peer": str(pythons.peer), **row.parameters, **((row.quick or {}) if quick else {})}
    found: list[Pair] = []
    with _needs(row) as more:
        for number in range(rounds):
            commands = {side: pythons.command(side) for side in turn_about(row.sides, number)}
            found.append(run_sides(commands, row.work, {**parameters, **more()}))
            tell(f"{row.name}: {number + 1} of {rounds}")
    return found


def turn_about(sides: Sequence[str], number: int) -> Sequence[str]:
    """Return the sides in the order of a round: forwards and backwards in turns."""
    return sides if number % 2 == 0 else sides[::-1]


def run_sides(commands: Mapping[str, Sequence[str]], work: str, parameters: Parameters) -> dict[str, Figures]:
    """Run each side once, one after the other, and return their figures.

    Those whose work has `turns` do their parts of it in turns: the machine may be fast in one second and slow in the
    next one, and so are both. Raises `RunError`.
    """
    found: dict[str, Figures] = {}
    with ExitStack() as stack:
        waiting: dict[str, _Side] = {}
        for name, command in commands.items():
            waiting[name] = stack.enter_context(_started(command, work, parameters))
            _listen(waiting, name, found)
        number = 0
        while waiting:
            number += 1
            for name in turn_about([*waiting], number):
                waiting[name].go_on()
                _listen(waiting, name, found)
    return {name: found[name] for name in commands}


def _listen(waiting: "dict[str, _Side]", name: str, found: dict[str, Figures]) -> None:
    """Wait until a side waits for its turn, or has its figures."""
    figures = waiting[name].figures()
    if figures is not None:
        found[name] = figures
        del waiting[name]


@attrs.define
class _Side:
    """A side's process."""

    name: str
    process: "subprocess.Popen[str]"
    complaints: IO[str]
    late: bool = False

    def go_on(self) -> None:
        """Let it do the next part."""
        assert self.process.stdin is not None
        with suppress(BrokenPipeError):  # it has failed, which its figures tell
            self.process.stdin.write("\n")
            self.process.stdin.flush()

    def figures(self) -> Figures | None:
        """Return its figures, once it has ended; None if it waits for its turn. Raises `RunError`."""
        assert self.process.stdout is not None
        said = ""
        for line in self.process.stdout:
            if line == TURN:
                return None
            said += line
        status = self.process.wait()
        if self.late:
            raise RunError(f"{self.name} took more than {RUN_SECONDS:.0f} s")
        if status:
            self.complaints.seek(0)
            raise RunError(f"{self.name} ended with {status}:\n{self.complaints.read()[-2000:]}")
        return parse_figures(said)

    def give_up(self) -> None:
        """End it for the time it has taken."""
        self.late = True
        self.kill()

    def kill(self) -> None:
        """End it, if it has not ended."""
        if self.process.returncode is None:  # not reaped yet, so the group is still its own
            os.killpg(self.process.pid, signal.SIGKILL)


@contextmanager
def _started(command: Sequence[str], work: str, parameters: Parameters) -> Iterator[_Side]:
    """Start a side, and end it with the block."""
    environment = {**os.environ, "PYTHONPATH": str(_ROOT)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package has its bytecode, so the checkout's is kept
    with (
        tempfile.TemporaryFile("w+") as complaints,
        subprocess.Popen(
            [*command, work, json.dumps(parameters)],
            env=environment,
            cwd=_ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=complaints,
            text=True,
            start_new_session=True,
        ) as process,
    ):
        side = _Side(f"{command[-1]} {work}", process, complaints)
        timer = threading.Timer(RUN_SECONDS, side.give_up)
        timer.start()
        try:
            yield side
        finally:
            timer.cancel()
            side.kill()


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
