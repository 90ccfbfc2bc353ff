"""Whatever a tool returns becomes a result, and nothing a tool can return is an error of ours."""

import base64
import dataclasses
import datetime
import json
import pathlib
from typing import Any

import attrs
import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from claude_control.tools import EmbeddedResource, Media, ResourceLink, ToolResult
from claude_control.tools.results import failure, to_result

PNG = b"\x89PNG\r\n\x1a\n\0\0"
IMAGE = {"type": "image", "data": base64.b64encode(PNG).decode(), "mimeType": "image/png"}
LINK = ResourceLink("file:///a", "a")


def text(said: str) -> dict[str, Any]:
    """Return a block of text."""
    return {"type": "text", "text": said}


@attrs.frozen
class Point:
    x: int


@dataclasses.dataclass
class Place:
    point: Point
    file: pathlib.Path
    when: datetime.date


class Model(pydantic.BaseModel):
    a: int


class Hostile:
    def __repr__(self) -> str:
        raise RuntimeError("no")


@pytest.mark.parametrize(
    ("value", "content"),
    [
        (None, []),
        ("hello", [text("hello")]),
        ("", []),
        (["", Media(PNG, "image/png")], [IMAGE]),
        ({"content": [text(""), text("a")]}, [text("a")]),
        (3, [text("3")]),
        (True, [text("true")]),
        (0.5, [text("0.5")]),
        (10**30, [text("1" + "0" * 30)]),
        (["a", 1], [text('["a", 1]')]),
        ([], [text("[]")]),
        (("é",), [text('["é"]')]),
        ({3}, [text("[3]")]),
        (PNG, [IMAGE]),
        (bytearray(PNG), [IMAGE]),
        (Media(PNG, "image/png"), [IMAGE]),
        (["see", Media(PNG, "image/png"), LINK, 7], [text("see"), IMAGE, LINK.block(), text("7")]),
        (EmbeddedResource("a:b", "t"), [EmbeddedResource("a:b", "t").block()]),
        ([text("a"), "b"], [text("a"), text("b")]),
        (datetime.date(2026, 1, 2), [text("2026-01-02")]),
        (pathlib.Path("/a"), [text("/a")]),
    ],
    ids=repr,
)
def test_value_becomes_content(value: Any, content: list[dict[str, Any]]) -> None:
    """Texts, numbers, bytes, records, and lists of them have the content that says the same."""
    assert to_result("f", value) == {"content": content}


@pytest.mark.parametrize(
    ("value", "data"),
    [
        ({"a": 1}, {"a": 1}),
        ({1: "x"}, {"1": "x"}),
        (Point(3), {"x": 3}),
        (Model(a=1), {"a": 1}),
        (
            Place(Point(1), pathlib.Path("/f"), datetime.date(2026, 1, 2)),
            {"point": {"x": 1}, "file": "/f", "when": "2026-01-02"},
        ),
        ({"content": "no blocks"}, {"content": "no blocks"}),
        ({"content": [{"title": "no type"}]}, {"content": [{"title": "no type"}]}),
        ({"content": [], "other": 1}, {"content": [], "other": 1}),
    ],
    ids=repr,
)
def test_object_is_structured_too(value: Any, data: dict[str, Any]) -> None:
    """An object is sent as data, and as the same in JSON for those who read text."""
    result = to_result("f", value)
    assert result["structuredContent"] == data
    (block,) = result["content"]
    assert json.loads(block["text"]) == data


def test_result_in_full() -> None:
    """A ToolResult says all there is to say."""
    given_result = ToolResult(["a", PNG], structured=Point(1), is_error=True, meta={"k": Point(2)})
    assert to_result("f", given_result) == {
        "content": [text("a"), IMAGE],
        "structuredContent": {"x": 1},
        "isError": True,
        "_meta": {"k": {"x": 2}},
    }
    assert to_result("f", ToolResult("no such file", is_error=True)) == failure("no such file")
    assert to_result("f", ToolResult()) == {"content": []}


def test_structured_content_alone_has_its_text() -> None:
    """Programs that know nothing of structured content still read what it says."""
    assert to_result("f", ToolResult(structured={"a": 1}))["content"] == [text('{"a": 1}')]


def test_ready_made_result_is_taken() -> None:
    """A dict in MCP's own words is the result, with the official SDK's `is_error` as well."""
    blocks = [text("a"), IMAGE, {"type": "new_kind", "x": 1}]
    assert to_result("f", {"content": blocks}) == {"content": blocks}
    assert to_result("f", {"content": [], "is_error": True}) == {"content": [], "isError": True}
    full = {"content": [], "isError": True, "structuredContent": {"a": 1}, "_meta": {"b": 2}}
    assert to_result("f", full) == full


def cyclic() -> list[Any]:
    """Return a list that contains itself."""
    made: list[Any] = []
    made.append(made)
    return made


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (object(), "object has no form in JSON"),
        (lambda: 1, "function has no form in JSON"),
        (iter(map(str, ())), "map has no form"),
        ({"a": object()}, "object has no form"),
        (Hostile(), "Hostile has no form"),
        (cyclic(), "recursion"),
        (ToolResult(structured=[1]), "must be an object, not list"),
        (ToolResult([object()]), "object has no form"),
        ({"content": [{"type": "text"}]}, "'text' has no text"),
        ({"content": [{"type": "image", "data": b"x"}]}, "'image' has no mimeType"),
        ({"content": [], "structuredContent": [1]}, "structuredContent must be an object"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_unusable_value_is_a_failure_that_says_so(value: Any, said: str) -> None:
    """What has no form on the wire is told to the model; that the tool did run is told as well."""
    result = to_result("f", value)
    assert result["isError"] is True
    (block,) = result["content"]
    assert block["text"].startswith("f ran, but what it returned cannot be sent: ")
    assert said in block["text"]


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(max_size=20) | st.just(object()),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["content", "type", "text", "isError", "_meta", "a"]), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(VALUES)
def test_any_value_gives_a_result_of_json(value: Any) -> None:
    """Whatever comes back has content, and JSON has a form for it."""
    result = to_result("f", value)
    json.dumps(result)
    assert all(isinstance(block["type"], str) for block in result["content"])
