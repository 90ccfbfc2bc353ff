"""What is filled into a form is checked against its schema before it is sent."""

from typing import Any

import pytest

from claude_control import OptionsError
from claude_control.wire.forms import check_content

TITLED = [{"const": "r", "title": "Red"}, {"const": "b", "title": "Blue"}]
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "text": {"type": "string", "minLength": 2, "maxLength": 4},
        "number": {"type": "number", "minimum": 0, "maximum": 10},
        "whole": {"type": "integer"},
        "yes": {"type": "boolean"},
        "color": {"type": "string", "enum": ["red", "blue"], "enumNames": ["Red", "Blue"]},
        "titled": {"type": "string", "oneOf": TITLED},
        "several": {
            "type": "array",
            "items": {"type": "string", "enum": ["a", "b", "c"]},
            "minItems": 1,
            "maxItems": 2,
        },
        "several_titled": {"type": "array", "items": {"anyOf": TITLED}},
        "maybe": {"type": ["string", "null"]},
    },
}


@pytest.mark.parametrize(
    "content",
    [
        {},
        {"text": "abc", "number": 0.5, "whole": 3, "yes": False, "color": "red", "titled": "b", "several": ["a", "c"]},
        {"number": 10, "several_titled": ["r"]},
        {"whole": 3.0},
        {"maybe": None},
        {"maybe": "x"},
    ],
)
def test_fitting_content_is_sent_as_it_is(content: dict[str, Any]) -> None:
    """Content that fits goes through unchanged; what is not required may be left out."""
    assert check_content(content, SCHEMA) == content


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ({"text": 5}, "must be a text, not int"),
        ({"text": None}, "must be a text, not NoneType"),
        ({"text": "a"}, "must be at least 2 characters long, not 1"),
        ({"text": "abcde"}, "must be at most 4 characters long, not 5"),
        ({"number": "5"}, "must be a number, not str"),
        ({"number": True}, "must be a number, not bool"),
        ({"number": float("nan")}, "must be a number"),
        ({"number": -1}, "must be at least 0"),
        ({"number": 11}, "must be at most 10"),
        ({"number": 10**400}, "must be at most 10"),
        ({"whole": 2.5}, "must be a whole number, not float"),
        ({"yes": 1}, "must be True or False, not int"),
        ({"color": "green"}, "must be one of 'red', 'blue'"),
        ({"titled": "Red"}, "must be one of 'r', 'b'"),
        ({"several": "a"}, "must be a list, not str"),
        ({"several": ["d"]}, "must be a list of 'a', 'b', 'c'"),
        ({"several": []}, "must be at least 1 values long, not 0"),
        ({"several": ["a", "b", "c"]}, "must be at most 2 values long, not 3"),
        ({"several_titled": ["Red"]}, "must be a list of 'r', 'b'"),
        ({"maybe": 1}, "must be a text or None, not int"),
    ],
    ids=repr,
)
def test_wrong_value_names_its_field(content: dict[str, Any], said: str) -> None:
    """A wrong value is refused with the name of its field and what it must be."""
    [name] = content
    with pytest.raises(OptionsError) as caught:
        check_content(content, SCHEMA)
    assert caught.value.field == name
    assert f"content[{name!r}]" in str(caught.value)
    assert said in str(caught.value)


def test_required_field_is_missed() -> None:
    """A required field that is missing is named."""
    with pytest.raises(OptionsError, match="lacks 'name', which the form requires") as caught:
        check_content({"text": "abc"}, {**SCHEMA, "required": ["text", "name"]})
    assert caught.value.field == "name"


def test_unknown_field_is_refused() -> None:
    """A field that the form does not ask for is refused, with the one that may have been meant."""
    with pytest.raises(OptionsError, match="'colour', which the form does not ask for; did you mean 'color'"):
        check_content({"colour": "red"}, SCHEMA)
    with pytest.raises(OptionsError, match="does not ask for; it asks for 'text', 'number'"):
        check_content({"zzz": 1}, SCHEMA)


def test_value_is_not_shown() -> None:
    """No error shows what was filled in: it may be a password."""
    with pytest.raises(OptionsError) as caught:
        check_content({"color": "hunter2"}, SCHEMA)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("content", [["a"], "text", 5, {1: "a"}])
def test_content_is_a_dict(content: Any) -> None:
    """Content is a dict with texts as keys."""
    with pytest.raises(OptionsError, match="content must be a dict") as caught:
        check_content(content, SCHEMA)
    assert caught.value.field == "content"


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"properties": None, "required": "name"},
        {"properties": {"a": None}},
        {"properties": {"a": {"type": ["of_tomorrow", {}]}}},
        {"properties": {"a": {"type": 5, "enum": 5, "minimum": "x", "maxLength": None, "oneOf": [5]}}},
    ],
    ids=repr,
)
@pytest.mark.parametrize("value", ["x", 5, [1], {"b": 1}, None, True])
def test_odd_schema_is_not_held_against_the_content(schema: dict[str, Any], value: Any) -> None:
    """A schema that says nothing that is known here lets the server judge."""
    assert check_content({"a": value}, schema) == {"a": value}


def test_tuple_is_a_list() -> None:
    """A tuple of choices is sent as the list that JSON has."""
    assert check_content({"several": ("a", "b")}, SCHEMA) == {"several": ["a", "b"]}
