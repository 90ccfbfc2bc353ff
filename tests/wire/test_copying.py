"""Copies of decoded JSON."""

import copy
import json
from typing import Any

import pytest

from claude_control.wire.copying import own_copy


def change(value: Any) -> None:
    """Change every dict and list in a value, at any depth."""
    for item in list(value.values() if isinstance(value, dict) else value):
        if isinstance(item, dict | list):
            change(item)
    if isinstance(value, dict):
        value["changed"] = True
    else:
        value.append("changed")


@pytest.mark.parametrize(
    "text",
    ["{}", '{"a": 1, "b": [1, [2, {"c": []}], "x"], "d": {"e": {"f": [{}]}}, "g": null}', '{"a": [[], [[]], {}]}'],
)
def test_copy_is_equal_and_its_own(text: str) -> None:
    """A copy is what the original was, and whatever is done to it the original stays as it is."""
    original = json.loads(text)
    before = copy.deepcopy(original)
    copied = own_copy(original)
    assert copied == original
    change(copied)
    assert original == before
    assert copied != original
