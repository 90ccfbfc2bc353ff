"""Which measured program knows what."""

import pytest

from claude_control.wire.support import CURRENT, MEASURED, OLDEST, Program, parse_version


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("2.1.332", (2, 1, 332)),
        ("2.1.332 (Claude Code)\n", (2, 1, 332)),
        ("claude 2.0.75", (2, 0, 75)),
        ("v3.0", (3, 0)),
        ("2.1.7-beta.1", (2, 1, 7)),
        ("2", None),
        ("", None),
        ("unknown", None),
    ],
)
def test_version_is_parsed(text: str, numbers: tuple[int, ...] | None) -> None:
    """A version is found in what `--version` prints and in frames; a text without one is None."""
    assert parse_version(text) == numbers


@pytest.mark.parametrize(
    ("version", "modern", "measured"),
    [
        (None, False, "2.0.75"),
        ("", False, "2.0.75"),
        ("garbage", False, "2.0.75"),
        ("1.0.128", False, "2.0.75"),
        ("2.0.75", False, "2.0.75"),
        ("2.0.100", False, "2.0.75"),
        ("2.1.7", False, "2.1.7"),
        ("2.1.10", False, "2.1.7"),
        ("2.1.200", True, "2.1.332"),
        (None, True, "2.1.332"),
        ("2.1.332", True, "2.1.332"),
        ("9.0.0", True, "2.1.332"),
    ],
)
def test_program_counts_as_a_measured_one(version: str | None, modern: bool, measured: str) -> None:
    """What its initialize answer had decides first, then its version; what has said nothing counts as the oldest."""
    assert Program(version, modern).measured == measured


def test_versions_know_what_older_ones_do() -> None:
    """Each measured program knows what it and its elders brought, and nothing of what came later."""
    programs = [Program("2.0.75", False), Program("2.1.7", False), Program("2.1.332", True)]
    known = [[program.knows(version) for version in MEASURED] for program in programs]
    assert known == [[True, False, False], [True, True, False], [True, True, True]]


def test_ends_of_the_table() -> None:
    """The oldest and the current program are the ends of what was measured, in order."""
    assert (MEASURED[0], MEASURED[-1]) == (OLDEST, CURRENT)
    assert sorted(MEASURED, key=parse_version) == list(MEASURED)  # type: ignore[arg-type]  # none of them is None
