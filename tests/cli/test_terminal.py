"""The two streams of the command, and who looks at them."""

import io
import threading
from collections.abc import Mapping

import pytest

from claude_control.cli.terminal import Terminal
from tests.cli.test_tables import Screen


def on_screen(environ: Mapping[str, str] | None = None) -> tuple[Terminal, Screen]:
    """Return a terminal that shows both streams, and what it shows."""
    screen = Screen()
    return Terminal(screen, screen, environ or {"TERM": "xterm", "NO_COLOR": "1"}), screen


def test_status_line_is_out_of_the_way() -> None:
    """The status line is erased before anything else is written, and never drawn behind half a line."""
    terminal, screen = on_screen()
    terminal.draw("1 s")
    terminal.answer("half a li")
    terminal.draw("2 s")
    terminal.answer("ne\n")
    terminal.draw("3 s")
    terminal.note("a note")
    assert screen.getvalue() == "\r1 s\x1b[K\r\x1b[Khalf a line\n\r3 s\x1b[K\r\x1b[Ka note\n"


def test_note_begins_a_line() -> None:
    """A note behind half an answer stands on a line of its own, where both go to one terminal."""
    terminal, screen = on_screen()
    terminal.answer("half")
    terminal.note("a note")
    assert screen.getvalue() == "half\na note\n"


def test_answer_in_a_file_is_left_alone() -> None:
    """A note on the terminal puts nothing into an answer that goes elsewhere."""
    out, err = io.StringIO(), Screen()
    terminal = Terminal(out, err, {"TERM": "xterm"})
    terminal.answer("half")
    terminal.note("a note")
    terminal.answer(" and half")
    assert (out.getvalue(), err.getvalue()) == ("half and half", "a note\n")


def test_nothing_is_drawn_while_somebody_types() -> None:
    """While a prompt is open there is no status line."""
    terminal, screen = on_screen()
    terminal.draw("1 s")
    with terminal.held():
        terminal.draw("2 s")
    assert screen.getvalue() == "\r1 s\x1b[K\r\x1b[K"


@pytest.mark.parametrize(("columns", "expected"), [("33", 33), ("0", 80), ("-4", 80), ("wide", 80), (None, 80)])
def test_columns_are_known_or_eighty(columns: str | None, expected: int) -> None:
    """COLUMNS counts where it is a number; what is no terminal has 80."""
    environ = {} if columns is None else {"COLUMNS": columns}
    assert Terminal(io.StringIO(), io.StringIO(), environ).columns == expected


def test_lines_of_many_threads_stay_whole() -> None:
    """Notes that several threads write at once do not run into each other."""
    terminal, screen = on_screen()

    def write(letter: str) -> None:
        for _ in range(200):
            terminal.note(letter * 20)
            terminal.draw(letter)

    threads = [threading.Thread(target=write, args=(letter,)) for letter in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    lines = [line.split("\x1b[K")[-1] for line in screen.getvalue().splitlines()]
    assert {line for line in lines if line} <= {letter * 20 for letter in "abcd"} | {""}
