"""Sides run in turns, each in a process of its own, and what goes wrong in one is told."""

import sys
from pathlib import Path

import pytest

from benchmarks import running
from benchmarks.__main__ import chosen
from benchmarks.rows import ROWS
from benchmarks.sides import floor, official, ours
from benchmarks.sides.measuring import answered, percentile, script

WORKS = {"ours": ours.WORKS, "official": official.WORKS, "floor": floor.WORKS}


def side(code: str) -> list[str]:
    """A command that runs a line of Python as a side."""
    return [sys.executable, "-c", code]


def test_figures_are_the_last_line() -> None:
    """What a side prints before its figures does not matter."""
    assert running.parse_figures('a warning\n{"seconds": 1, "p50": 0.5}\n') == {"seconds": 1.0, "p50": 0.5}


@pytest.mark.parametrize("said", ["", "a warning\n", "[1]\n", '{"seconds": 1}\nand then\n'])
def test_no_figures_is_an_error(said: str) -> None:
    """A side that prints no figures at its end is not taken for one that measured nothing."""
    with pytest.raises(running.RunError, match="no figures"):
        running.parse_figures(said)


def test_side_gets_its_work_and_its_parameters() -> None:
    """A side is told what to do."""
    code = 'import sys, json; print(json.dumps({sys.argv[1]: json.loads(sys.argv[2])["n"]}))'
    assert running.run_sides({"ours": side(code)}, "work", {"n": 3}) == {"ours": {"work": 3.0}}


def test_parts_are_done_in_turns(tmp_path: Path) -> None:
    """Sides whose work has turns do a part each, none while another one does, the first one changing each time."""
    code = f"""
import json, sys
from benchmarks.sides.measuring import turns
for part in turns(json.loads(sys.argv[2])):
    with open({str(tmp_path / "order")!r}, "a") as file:
        file.write("NAME" + str(part["n"]))
print(json.dumps({{"seconds": 1}}))"""
    sides = {name: side(code.replace("NAME", name)) for name in ("a", "b")}
    assert running.run_sides(sides, "work", {"n": 6, "turns": 3}) == {"a": {"seconds": 1.0}, "b": {"seconds": 1.0}}
    assert (tmp_path / "order").read_text() == "b2a2a2b2b2a2"


def test_failing_side_is_told() -> None:
    """A side that fails ends the run with what it said."""
    with pytest.raises(running.RunError, match=r"ended with 1(.|\n)*no such luck"):
        running.run_sides({"ours": side('raise SystemExit("no such luck")')}, "work", {})


def test_slow_side_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """A side that hangs is ended, and the run with it."""
    monkeypatch.setattr(running, "RUN_SECONDS", 0.5)
    with pytest.raises(running.RunError, match="took more than"):
        running.run_sides({"ours": side("import threading; threading.Event().wait()")}, "work", {})


def test_sides_take_turns() -> None:
    """The side that goes first changes with each round."""
    assert [running.turn_about(("a", "b"), number) for number in range(3)] == [("a", "b"), ("b", "a"), ("a", "b")]


@pytest.mark.parametrize(("quick", "expected"), [(False, 6), (True, 3)])
def test_row_with_one_figure_a_process_is_run_more_often(
    monkeypatch: pytest.MonkeyPatch, quick: bool, expected: int
) -> None:
    """A full run takes as many rounds of it for each pair as it says, a quick one does not."""
    monkeypatch.setattr(running.Pythons, "command", lambda _, name: side("print('{\"n\": 1}')"))
    row = running.Row("name", "work", "about", (), rounds=2)
    told: list[str] = []
    found = running.run_row(row, running.Pythons(Path("peer"), None), 3, quick=quick, tell=told.append)
    assert found == [{"ours": {"n": 1.0}, "official": {"n": 1.0}}] * expected
    assert told[-1] == f"name: {expected} of {expected}"


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_row_names_work_that_its_sides_do(row: running.Row) -> None:
    """Each row's work is there on each of its sides, and quick parameters only replace ones that it has."""
    assert [side for side in row.sides if row.work not in WORKS[side]] == []
    assert set(row.quick or {}) <= set(row.parameters)


def test_row_names_differ() -> None:
    """A name chooses one row."""
    assert len({row.name for row in ROWS}) == len(ROWS)


def test_quick_leaves_long_rows_out() -> None:
    """A quick run has the short rows, and a long one when it is named."""
    quick = {row.name for row in chosen([], quick=True)}
    assert "deltas" in quick
    assert "growth-count" not in quick
    assert [row.name for row in chosen(["growth-count"], quick=True)] == ["growth-count"]
    assert chosen([], quick=False) == list(ROWS)


def test_percentile() -> None:
    """The median and the end of a row of values are found."""
    assert [percentile([3, 1, 2], share) for share in (0.0, 0.5, 0.99, 1.0)] == [1, 2, 3, 3]


def test_script_and_answer() -> None:
    """The words to and from the stand-in are key=value."""
    assert script(n=3, kind="delta") == "bench: n=3 kind=delta"
    assert answered("asks=12 p50=3.5") == {"asks": 12.0, "p50": 3.5}
    assert answered(None) == {}
