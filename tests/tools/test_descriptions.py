"""Docstrings of every common style become descriptions for the model."""

import pytest

from claude_control.tools.descriptions import Description, describe

GOOGLE = """Add two numbers.

    Both must be whole.

    Args:
        a: the first,
            in full
        b (int): the second

    Returns:
        The sum.
    """
NUMPY = """Add two numbers.

Both must be whole.

Parameters
----------
a : int
    the first,
    in full
b
    the second

Returns
-------
int
    The sum.
"""
REST = """Add two numbers.

Both must be whole.

:param a: the first,
    in full
:param int b: the second
:returns: The sum.
"""


@pytest.mark.parametrize("docstring", [GOOGLE, NUMPY, REST], ids=["google", "numpy", "rest"])
def test_styles_are_understood(docstring: str) -> None:
    """The text and each parameter's are found, and what is returned is not told to the model."""
    found = describe(docstring)
    assert found.text == "Add two numbers.\n\nBoth must be whole."
    assert found.parameters == {"a": "the first, in full", "b": "the second"}


@pytest.mark.parametrize("docstring", [None, "", "  \n "])
def test_no_docstring_describes_nothing(docstring: str | None) -> None:
    """Without a docstring there is no description, and no error."""
    assert describe(docstring) == Description()


def test_one_line_is_the_description() -> None:
    """A docstring of one line is taken as it is."""
    assert describe("Add: both.") == Description("Add: both.")


def test_odd_docstring_keeps_its_text() -> None:
    """What no style explains is still the description."""
    assert "x: y" in describe("Note: odd\n\n  x: y\n --- \n").text
