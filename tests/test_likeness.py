"""Which known name a wrong one may have been meant as."""

from claude_control.likeness import closest

KNOWN = ("model", "max_turns", "max_budget_usd")


def test_a_slip_finds_the_name() -> None:
    """One wrong letter finds the name that was meant, and the nearest of several."""
    assert closest("modle", KNOWN) == "model"
    assert closest("max_turn", KNOWN) == "max_turns"


def test_what_is_like_none_finds_none() -> None:
    """A name of its own is not guessed at, and a stricter cutoff guesses less."""
    assert closest("zebra", KNOWN) is None
    assert closest("modal", KNOWN) == "model"
    assert closest("modal", KNOWN, 0.9) is None
