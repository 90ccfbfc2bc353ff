"""Two columns, a name and what is said of it: with rich where it is installed and somebody looks, else plain."""

import importlib.util
import io
import textwrap
from collections.abc import Sequence

from claude_control.cli.plain import safe, width
from claude_control.cli.terminal import Terminal

__all__ = ["show_rows"]

Rows = Sequence[tuple[str, str]]

_GAP = "  "
_LEAST_COLUMNS = 20  # for the second column; where there is less the terminal wraps by itself


def show_rows(terminal: Terminal, rows: Rows) -> None:
    """Print rows to stdout; a name that is empty goes on with the row above it."""
    rows = [(safe(name), safe(value)) for name, value in rows]
    if terminal.shows_answers and importlib.util.find_spec("rich") is not None:
        terminal.say(_rich(rows, terminal.columns))
        return
    room = max(width(name) for name, _ in rows)
    for name, value in rows:
        for line in _plain(name, value, room, terminal.columns if terminal.shows_answers else None):
            terminal.say(line)


def _plain(name: str, value: str, room: int, columns: int | None) -> list[str]:
    left = name + " " * (room - width(name))
    lines = value.split("\n")
    if columns is not None:
        wide = max(columns - room - len(_GAP) - 1, _LEAST_COLUMNS)
        lines = [piece for line in lines for piece in textwrap.wrap(line, wide) or [""]]
    return [f"{left if number == 0 else ' ' * room}{_GAP}{line}".rstrip() for number, line in enumerate(lines)]


def _rich(rows: Rows, columns: int) -> str:
    """Return the rows as rich sets them: as `Text`, for markup in what comes from outside would be obeyed."""
    from rich.box import SIMPLE  # type: ignore[import-not-found,unused-ignore]
    from rich.console import Console  # type: ignore[import-not-found,unused-ignore]
    from rich.table import Table  # type: ignore[import-not-found,unused-ignore]
    from rich.text import Text  # type: ignore[import-not-found,unused-ignore]

    table = Table(box=SIMPLE, show_header=False, pad_edge=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in rows:
        table.add_row(Text(name), Text(value))
    page = io.StringIO()
    Console(file=page, width=columns - 1, color_system=None, legacy_windows=False).print(table)
    return page.getvalue().strip("\n")
