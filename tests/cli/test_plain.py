"""Text from outside is harmless for a terminal, and what a person decides about hides nothing."""

import json

import pytest

from claude_control.cli.plain import clip, json_line, printable, safe, width


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain\ttext\nof two lines", "plain\ttext\nof two lines"),
        ("\x1b]0;a title\x07", "]0;a title"),
        ("\x1b[2J\x1b[31mred", "[2J[31mred"),
        ("\x9b2J\x90q\x9c", "2Jq"),
        ("over\rwritten\x08\x00\x7f", "overwritten"),
        ("\u202egpj.exe\u202c \u2066a\u2069", "gpj.exe a"),
        ("half a pair: \ud83d", "half a pair: \ufffd"),
        ("\u200f\u05d0\u05d1, 👩\u200d💻, naïve, 漢字", "\u200f\u05d0\u05d1, 👩\u200d💻, naïve, 漢字"),
    ],
)
def test_controls_are_taken_out(text: str, shown: str) -> None:
    """Nothing that a terminal obeys, and nothing that reorders what follows, is left of a text; words are."""
    assert safe(text) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("rm -rf build\n\tdone", "rm -rf build\n\tdone"),
        ("rm \x1b[8m-rf /\x1b[0m", "rm \\x1b[8m-rf /\\x1b[0m"),
        ("ls\r\x85", "ls\\x0d\\x85"),
        ("a\u202eb\u200bc\u00a0d", "a\\u202eb\\u200bc\\xa0d"),
        ("\U000e0041", "\\U000e0041"),
        ("naïve 漢字", "naïve 漢字"),
    ],
)
def test_what_cannot_be_seen_is_spelled_out(text: str, shown: str) -> None:
    """Each invisible character of a text that a person judges stands there by its number."""
    assert printable(text) == shown


def test_json_is_complete_and_harmless() -> None:
    """A frame on one line of JSON says all that it held, and holds nothing that a terminal obeys."""
    frame = {"text": "\x1b[2J\x9b\x7f\u202e\u2028\ud83d\n é 漢", "n": 10**30}
    line = json_line(frame)
    assert json.loads(line) == frame
    assert line == safe(line)
    assert "\n" not in line
    assert "é 漢" in line


@pytest.mark.parametrize(
    ("text", "columns", "shown"),
    [("four", 4, "four"), ("fivey", 4, "f..."), ("漢字漢字", 7, "漢字..."), ("abc", 2, ".."), ("abc", 0, "")],
)
def test_text_is_clipped_to_columns(text: str, columns: int, shown: str) -> None:
    """A clipped text never takes more columns than there are, and says that it was cut."""
    assert clip(text, columns) == shown
    assert width(shown) <= columns


def test_width_counts_columns() -> None:
    """Wide characters take two columns, and marks on others none."""
    assert width("a漢e\u0301") == 4
