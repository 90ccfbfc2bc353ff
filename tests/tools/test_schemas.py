"""Types become schemas that say the same, and JSON values become values of the types."""

import dataclasses
import datetime
import enum
import pathlib
import re
from typing import Annotated, Any, Literal, NotRequired, TypedDict

import attrs
import msgspec
import pydantic
import pytest

from claude_control.tools import schemas


class Colour(enum.Enum):
    RED = "red"


@attrs.frozen
class Point:
    x: int
    y: int = 0


@dataclasses.dataclass
class Line:
    start: Point
    file: pathlib.Path


class Node(pydantic.BaseModel):
    value: int
    next: "Node | None" = None


class Options(TypedDict):
    name: str
    size: NotRequired[int]


@dataclasses.dataclass
class Tree:
    children: "list[Tree]"


@dataclasses.dataclass
class Holder:
    node: Node


CASES: list[tuple[Any, Any, Any, dict[str, Any]]] = [
    (int, 3, 3, {"type": "integer"}),
    (float, 3, 3.0, {"type": "number"}),
    (str | None, None, None, {"anyOf": [{"type": "string"}, {"type": "null"}]}),
    (bool, True, True, {"type": "boolean"}),
    (list[int], [1], [1], {"type": "array", "items": {"type": "integer"}}),
    (Literal["b", "a"], "b", "b", {"enum": ["a", "b"]}),
    (Colour, "red", Colour.RED, {"enum": ["red"], "title": "Colour"}),
    (pathlib.Path, "/a", pathlib.Path("/a"), {"type": "string"}),
    (datetime.date, "2026-01-02", datetime.date(2026, 1, 2), {"type": "string", "format": "date"}),
    (Annotated[int, msgspec.Meta(ge=1)], 1, 1, {"type": "integer", "minimum": 1}),
    (Annotated[int, pydantic.Field(ge=1)], 1, 1, {"type": "integer", "minimum": 1}),
    (Any, {"a": [1]}, {"a": [1]}, {}),
]


@pytest.mark.parametrize(("kind", "value", "made", "schema"), CASES, ids=[str(case[0]) for case in CASES])
def test_field_of_a_type(kind: Any, value: Any, made: Any, schema: dict[str, Any]) -> None:
    """A field's schema says what its type takes, and a fitting value becomes one of the type."""
    converter = schemas.compile_fields("f", {"a": (kind, True)})
    found = converter.schema["properties"]["a"]
    if "$ref" in found:
        found = converter.schema["$defs"][found["$ref"].removeprefix("#/$defs/")]
    assert found == schema
    assert converter.convert({"a": value}) == {"a": made}
    assert converter.schema["required"] == ["a"]
    assert converter.schema["additionalProperties"] is False


@pytest.mark.parametrize(
    ("kind", "value", "said"),
    [
        (int, "3", "Expected `int`, got `str` - at `$.a`"),
        (int, True, "Expected `int`, got `bool`"),
        (str, 3, "Expected `str`, got `int`"),
        (pathlib.Path, 3, "Expected `str`, got `int` - at `$.a`"),
        (Line, {"start": {"x": "1"}, "file": "f"}, "at `$.a.start.x`"),
        (Line, {"start": {"x": 1}, "file": 3}, "at `$.a.file`"),
        (Node, {"value": "x"}, "(value) - at `$.a`"),
        (Holder, {"node": {"value": "x"}}, "(value) - at `$.a.node`"),
        (Annotated[int, pydantic.Field(ge=1)], 0, "greater than or equal to 1 (all of it) - at `$.a`"),
        (Literal["a"], "b", "Invalid enum value 'b'"),
    ],
)
def test_misfit_says_where(kind: Any, value: Any, said: str) -> None:
    """What does not fit is a ValueError that names the place and what was expected."""
    converter = schemas.compile_fields("f", {"a": (kind, True)})
    with pytest.raises(ValueError, match=re.escape(said)):
        converter.convert({"a": value})


@pytest.mark.parametrize("value", [{}, {"a": 1, "b": 2}, [], None, "x"], ids=repr)
def test_fields_are_all_and_no_others(value: Any) -> None:
    """A required field that is missing, an unknown one, and what is no object at all are refused."""
    with pytest.raises(ValueError, match=r"required|unknown|Expected"):
        schemas.compile_fields("f", {"a": (int, True)}).convert(value)


def test_optional_fields_may_be_missing() -> None:
    """What was not given is not in the result, so that a default of the function's can stand."""
    converter = schemas.compile_fields("f", {"a": (int, False), "n": (Node, False)})
    assert converter.convert({}) == {}
    assert converter.convert({"a": 1}) == {"a": 1}
    assert converter.schema.get("required", []) == []


def test_records_of_every_kind_are_made() -> None:
    """Classes of attrs, dataclasses and pydantic's models are built, also one within another."""
    converter = schemas.compile_fields("f", {"line": (Line, True), "node": (Node, True), "held": (list[Holder], True)})
    node = {"value": 1, "next": {"value": 2}}
    made = converter.convert({"line": {"start": {"x": 1}, "file": "f"}, "node": node, "held": [{"node": node}]})
    assert made["line"] == Line(Point(1), pathlib.Path("f"))
    assert made["node"] == Node(value=1, next=Node(value=2))
    assert made["held"] == [Holder(made["node"])]


def test_references_lead_somewhere() -> None:
    """Every reference in a schema names a definition that is there, whoever made it."""
    fields = {"line": (Line, True), "node": (Node, True), "other": (Node | None, True), "held": (Holder, True)}
    schema = schemas.compile_fields("f", fields).schema
    references = []

    def collect(value: Any) -> None:
        if isinstance(value, dict):
            references.extend([value["$ref"]] if isinstance(value.get("$ref"), str) else [])
            for each in value.values():
                collect(each)
        elif isinstance(value, list):
            for each in value:
                collect(each)

    collect(schema)
    assert len(references) >= 5
    assert {each.removeprefix("#/$defs/") for each in references} <= set(schema["$defs"])


def test_type_that_contains_itself() -> None:
    """A recursive type keeps its definition, and the object stands on top all the same."""
    converter = schemas.compile_type(Tree)
    assert converter.schema["type"] == "object"
    assert set(converter.schema["$defs"]) == {"Tree"}
    assert converter.convert({"children": [{"children": []}]}) == Tree([Tree([])])


def test_typed_dict_is_an_object() -> None:
    """A TypedDict's schema knows what may be missing, and its value is a dict."""
    converter = schemas.compile_type(Options)
    assert converter.schema["required"] == ["name"]
    assert converter.convert({"name": "x"}) == {"name": "x"}


def test_model_of_pydantic_by_itself() -> None:
    """A model is a type like others."""
    converter = schemas.compile_type(Node)
    assert converter.convert({"value": "7"}) == Node(value=7)


@pytest.mark.parametrize("kind", [object, Point | Line | object, type(Node)], ids=str)
def test_type_without_schema_is_a_type_error(kind: Any) -> None:
    """A type that JSON has nothing for is refused when it is compiled."""
    with pytest.raises(TypeError):
        schemas.compile_fields("f", {"a": (kind, True)})
