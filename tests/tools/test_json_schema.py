"""A schema that the user wrote is held against arguments where a model errs."""

from typing import Any

import pytest

from claude_control.tools.json_schema import complaints

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "count": {"type": "integer"},
        "ratio": {"type": "number"},
        "kind": {"enum": ["a", "b"]},
        "fixed": {"const": 1},
        "tags": {"type": "array", "items": {"type": "string"}},
        "maybe": {"type": ["string", "null"]},
        "inner": {"type": "object", "properties": {"x": {"type": "boolean"}}, "additionalProperties": {"type": "null"}},
    },
    "required": ["name"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ({}, "missing 'name' at $"),
        ({"name": 1}, "expected string at $.name, got integer"),
        ({"name": "x", "count": True}, "expected integer at $.count, got boolean"),
        ({"name": "x", "count": 1.5}, "expected integer at $.count, got number"),
        ({"name": "x", "ratio": "1"}, "expected number at $.ratio, got string"),
        ({"name": "x", "kind": "c"}, "expected one of ['a', 'b'] at $.kind, got 'c'"),
        ({"name": "x", "fixed": 2}, "expected 1 at $.fixed, got 2"),
        ({"name": "x", "tags": ["a", None]}, "expected string at $.tags[1], got null"),
        ({"name": "x", "maybe": 1}, "expected string or null at $.maybe, got integer"),
        ({"name": "x", "inner": {"x": 0}}, "expected boolean at $.inner.x, got integer"),
        ({"name": "x", "inner": {"y": 0}}, "expected null at $.inner.y, got integer"),
        ({"name": "x", "other": 1}, "unknown 'other' at $"),
    ],
)
def test_misfit_is_named(value: dict[str, Any], problem: str) -> None:
    """Each misfit is one sentence with its place."""
    assert list(complaints(SCHEMA, value)) == [problem]


@pytest.mark.parametrize(
    "value",
    [
        {"name": "x", "count": 3, "ratio": 1, "kind": "a", "fixed": 1, "tags": [], "maybe": None, "inner": {"x": True}},
        {"name": "x", "count": 3.0, "ratio": 1.5, "maybe": "y"},
    ],
)
def test_what_fits_passes(value: dict[str, Any]) -> None:
    """A whole number may be written as a float, and an integer is a number."""
    assert list(complaints(SCHEMA, value)) == []


@pytest.mark.parametrize("schema", [True, {}, {"type": "odd"}, {"$ref": "#/x"}, {"type": 3}, {"minimum": 9}])
def test_what_is_not_known_is_trusted(schema: object) -> None:
    """What this check knows nothing of refuses nothing."""
    assert list(complaints(schema, 1)) == []


def test_patterns_are_trusted() -> None:
    """Names that a pattern may allow are not called unknown."""
    schema = {"type": "object", "patternProperties": {"^x-": {}}, "additionalProperties": False}
    assert list(complaints(schema, {"x-a": 1})) == []
