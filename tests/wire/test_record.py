"""What all records read from the wire share."""

import attrs

from claude_control.wire.content import ImageBlock, TextBlock, ToolResultBlock, ToolUseBlock


def test_repr_shows_what_is_set() -> None:
    """`repr()` names the fields that are not their defaults, and never `raw`."""
    block = ToolResultBlock("t1", "hi", raw={"secret": "unseen"})
    assert repr(block) == "ToolResultBlock(tool_use_id='t1', content='hi')"
    assert repr(ToolUseBlock()) == "ToolUseBlock()"


def test_equality_is_that_of_the_fields() -> None:
    """A block that came equals one that is made by hand, whatever else its object held."""
    assert TextBlock("a", raw={"x": 1}) == TextBlock("a")
    assert TextBlock("a") != TextBlock("b")


def test_records_of_two_classes_differ() -> None:
    """A record never equals one of another class."""
    blocks: list[object] = [TextBlock(), ImageBlock()]
    assert blocks[0] != blocks[1]


def test_evolve_makes_a_changed_copy() -> None:
    """A frozen record is changed by copying it."""
    assert attrs.evolve(TextBlock("a"), text="b") == TextBlock("b")
