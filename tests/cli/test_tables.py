"""Two columns, with rich and without."""

import importlib.util
import io
import sys

import pytest

from claude_control.cli import tables
from claude_control.cli.plain import width
from claude_control.cli.terminal import Terminal

ROWS = [("name", "a value"), ("漢字 [red]", "[bold]markup[/bold] \x1b[2J " + "long " * 20)]


class Screen(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def shown(out: io.StringIO) -> str:
    """Return what two rows look like on a stream."""
    tables.show_rows(Terminal(out, io.StringIO(), {"COLUMNS": "40"}), ROWS)
    return out.getvalue()


def test_rows_in_a_pipe_are_not_wrapped() -> None:
    """Each row is one line, its second column in line with the others, and nothing in it is obeyed."""
    assert shown(io.StringIO()) == "name        a value\n漢字 [red]  [bold]markup[/bold] [2J " + "long " * 19 + "long\n"


@pytest.fixture
def _no_rich(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide rich, if it is here."""
    monkeypatch.setitem(sys.modules, "rich", None)


@pytest.mark.usefixtures("_no_rich")
def test_rows_on_a_terminal_are_wrapped_without_rich() -> None:
    """A long value goes on below itself, within the columns that there are."""
    lines = shown(Screen()).splitlines()
    assert lines[0] == "name        a value"
    assert max(width(line) for line in lines) <= 39
    assert all(line.startswith(" " * 12) for line in lines[2:])
    assert len(lines) > 4


@pytest.mark.skipif(importlib.util.find_spec("rich") is None, reason="rich, an extra, is not installed")
def test_rows_on_a_terminal_are_set_by_rich() -> None:
    """Where rich is installed it sets the table, and obeys nothing of what stands in it."""
    text = shown(Screen())
    assert "[bold]markup[/bold] [2J" in text
    assert "\x1b" not in text
    assert max(width(line) for line in text.splitlines()) <= 39
