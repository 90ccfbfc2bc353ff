"""What the tables of the documentation say of options and variables is all that there is, and true."""

import re
from typing import Any

import attrs
import pytest

from claude_control.options import Options
from docs.option_tables import TABLES, described
from docs.tables import one_line, table, type_text
from tests import documents, sources

PAGE = (documents.DOCS / "reference" / "options.md").read_text(encoding="utf-8")


def rows(name: str) -> list[list[str]]:
    """Return the cells of a table, without its head."""
    lines = TABLES[name]().splitlines()[2:]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]


OPTIONS = {row[0].strip("`"): row for name in ("official-options", "our-options") for row in rows(name)}


def test_every_option_has_a_row() -> None:
    """Each option stands in one of the two tables, with its type, its default and words of its own."""
    assert list(OPTIONS) == [field.name for field in attrs.fields(Options)]
    assert [name for name, (_, kind, default, _, text) in OPTIONS.items() if not (kind and default and text)] == []


@pytest.mark.parametrize(
    ("name", "cells"),
    [
        ("hook_timeout", ["`float \\| None`", "`60.0`", "yes"]),
        ("inbox_bytes", ["`int`", "`32 MiB`", "yes"]),
        ("max_line_bytes", ["`int`", "`64 MiB`", "yes"]),
        ("env", ["`Mapping[str, str \\| None]`", "`{}`", "yes"]),
        ("can_use_tool", ["`Callable[..., Any] \\| None`", "`None`", "no"]),
        ("hooks", ["`Mapping[str, Sequence[HookMatcher]] \\| None`", "`None`", "no"]),
        ("session_store_flush", ["`str`", "`'batched'`", ""]),
    ],
)
def test_row_is_as_it_is_read(name: str, cells: list[str]) -> None:
    """Types have no modules, defaults have units, and what has no effect yet does not travel."""
    assert OPTIONS[name][1:4] == cells


def test_times_do_not_depend_on_who_writes_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    """The defaults of the page are the built-in ones, whatever the environment says."""
    before = TABLES["our-options"]()
    monkeypatch.setenv("CLAUDE_CONTROL_HOOK_TIMEOUT", "7")
    assert TABLES["our-options"]() == before


def test_words_stand_below_their_fields() -> None:
    """A field without a string below it has no words, and one with several lines has one."""
    assert described(Options)["terminate_grace"] == "Seconds between SIGTERM and SIGKILL."
    assert set(described(Options)) <= set(attrs.fields_dict(Options))


def test_every_variable_is_in_the_one_table() -> None:
    """The environment variables that the package's code names are those of the table, each once."""
    named: set[str] = set()
    for path in (sources.ROOT / "claude_control").rglob("*.py"):
        named |= set(re.findall(r"_?CLAUDE_CONTROL_[A-Z_]+", path.read_text(encoding="utf-8")))
    listed = [row[0].strip("`") for row in rows("environment-variables")]
    assert len(named) > 10
    assert sorted(listed) == sorted(named)


def test_variables_name_options_that_exist() -> None:
    """The option that a variable is the default of is one."""
    options = [row[1].strip("`") for row in rows("environment-variables") if row[1]]
    assert set(options) <= set(OPTIONS)
    assert len(options) == len(set(options)) == 8


def test_page_has_the_tables() -> None:
    """The page has a place for each table, once."""
    assert re.findall(r"<!-- begin: ([\w-]+) -->", PAGE) == ["official-options", "our-options", "environment-variables"]


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (int | None, "int | None"),
        (dict[str, Any], "dict[str, Any]"),
        (re.Pattern[str], "Pattern[str]"),
        ("Session", "Session"),
    ],
)
def test_type_is_written_without_modules(kind: Any, text: str) -> None:
    """Types are shown as one writes them."""
    assert type_text(kind) == text


def test_cells_stay_cells() -> None:
    """A bar or a line break in a text does not end its cell."""
    assert table(("a", "b"), [("x | y", one_line("1\n  2"))]) == "| a | b |\n| --- | --- |\n| x \\| y | 1 2 |"
