"""What a tool takes is read from its signature or from what the user says of it."""

import enum
import functools
import typing
from collections.abc import Callable
from typing import Annotated, Any, TypedDict

import pytest

from claude_control.errors import OptionsError
from claude_control.tools import ToolContext
from claude_control.tools.inputs import Input, from_schema, from_signature

CONTEXT = ToolContext("f")


def call(taken: Input, function: Callable[..., Any], arguments: dict[str, Any]) -> Any:
    """Call a function by what was read."""
    return taken.call(function, taken.convert(arguments), CONTEXT)


# -- signatures --------------------------------------------------------------------------------------------------------


def test_parameters_become_properties() -> None:
    """Names, types, defaults and descriptions of parameters are those of the schema."""

    def move(x: int, y: Annotated[float, "downwards"] = 0.5, *, fast: bool = False, tag: str | None = None) -> None: ...

    schema = from_signature("move", move, {"x": "to the right", "y": "overruled", "fast": "at once"}).schema
    assert schema["properties"] == {
        "x": {"type": "integer", "description": "to the right"},
        "y": {"type": "number", "description": "downwards", "default": 0.5},
        "fast": {"type": "boolean", "description": "at once", "default": False},
        "tag": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None},
    }
    assert schema["required"] == ["x"]


class Size(enum.Enum):
    """A choice."""

    SMALL = "small"


def test_default_of_a_choice_is_shown() -> None:
    """A default is shown as the model would have to write it."""

    def f(size: Size = Size.SMALL) -> Size:
        return size

    taken = from_signature("f", f, {})
    assert taken.schema["properties"]["size"]["default"] == "small"
    assert call(taken, f, {}) is Size.SMALL


def test_function_gets_its_own_defaults() -> None:
    """An argument that was not given is the function's default, the very object."""
    default = object()

    def f(a: int = 1, b: Any = default) -> Any:
        return a, b

    taken = from_signature("f", f, {})
    assert call(taken, f, {}) == (1, default)
    assert call(taken, f, {"a": 2, "b": None}) == (2, None)
    assert "default" not in taken.schema["properties"]["b"]


def test_parameter_without_annotation_takes_anything() -> None:
    """What says nothing of its type has a schema that fits all."""

    def f(a):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
        return a

    taken = from_signature("f", f, {})
    assert taken.schema["properties"] == {"a": {}}
    assert call(taken, f, {"a": [1, {"b": None}]}) == [1, {"b": None}]


def test_context_is_no_argument() -> None:
    """A parameter annotated with ToolContext is filled by us, whatever its name and place."""

    def f(ctx: ToolContext, a: int, other: ToolContext | None = None) -> Any:
        return ctx or other, a

    taken = from_signature("f", f, {})
    assert list(taken.schema["properties"]) == ["a"]
    assert taken.context_name == "other"

    def g(a: int, ctx: ToolContext) -> Any:
        return ctx, a

    assert call(from_signature("g", g, {}), g, {"a": 1}) == (CONTEXT, 1)


def test_annotations_may_be_texts() -> None:
    """Annotations that are written as texts are read like others."""

    def f(a: "int", c: "ToolContext") -> "int":
        return a + 1

    assert call(from_signature("f", f, {}), f, {"a": 1}) == 2


def test_bound_methods_and_partials() -> None:
    """A method of an object takes no `self`, and what a partial has filled is no longer needed."""

    class Scale:
        factor = 3

        def times(self, a: int) -> int:
            return a * self.factor

    bound = Scale().times
    assert call(from_signature("times", bound, {}), bound, {"a": 2}) == 6
    partial = functools.partial(lambda a, b: a - b, 10)
    assert call(from_signature("minus", partial, {}), partial, {"b": 4}) == 6


def test_name_may_be_any_that_a_parameter_can_have() -> None:
    """No name of a parameter collides with what the machinery uses itself."""

    def f(self_: int, cls: int, name: int, value: int, __struct_fields__: int, _under: int) -> int:
        return self_ + cls + name + value + __struct_fields__ + _under

    names = ("self_", "cls", "name", "value", "__struct_fields__", "_under")
    assert call(from_signature("f", f, {}), f, dict.fromkeys(names, 1)) == 6


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("def f(a, /): ...", "arguments come by name, so a"),
        ("def f(*a: int): ...", "arguments come by name, so *a"),
        ("def f(**a: int): ...", "arguments come by name, so **a"),
        ("def f(a: 'Nowhere'): ...", "name 'Nowhere' is not defined"),
        ("def f(a: object): ...", "object"),
        ("import dataclasses\n@dataclasses.dataclass\nclass A:\n    b: 'Nowhere'\ndef f(a: A): ...", "Nowhere"),
    ],
)
def test_impossible_signature_is_refused(source: str, said: str) -> None:
    """What a call by name cannot fill, or no schema describes, is an error when the tool is made."""
    found: dict[str, Any] = {}
    exec(source, found)
    with pytest.raises(OptionsError, match="the tool f: ") as error:
        from_signature("f", found["f"], {})
    assert said in str(error.value)


# -- schemas -----------------------------------------------------------------------------------------------------------


class Query(TypedDict):
    text: str


JSON_SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}


def echo(args: Any) -> Any:
    """Return the arguments."""
    return args


@pytest.mark.parametrize("schema", [JSON_SCHEMA, {"text": str}, Query], ids=["JSON Schema", "types", "TypedDict"])
def test_schema_in_each_form(schema: Any) -> None:
    """The function gets one dict, the model sees a schema, and what does not fit is refused."""
    taken = from_schema("f", echo, schema)
    assert taken.schema["type"] == "object"
    assert taken.schema["properties"] == {"text": {"type": "string"}}
    assert taken.schema["required"] == ["text"]
    assert call(taken, echo, {"text": "x"}) == {"text": "x"}
    for wrong in ({}, {"text": 1}):
        with pytest.raises(ValueError, match="text"):
            taken.convert(wrong)


def test_schema_of_nothing() -> None:
    """An empty schema is a tool without arguments."""
    taken = from_schema("f", echo, {})
    assert taken.schema["properties"] == {}
    assert call(taken, echo, {}) == {}


def test_types_may_be_described() -> None:
    """A type in a dict may carry a description, and may be any that a parameter may have."""
    taken = from_schema("f", echo, {"a": Annotated[int, "how many"], "b": list[str], "c": int | None, "d": Any})
    assert taken.schema["properties"]["a"] == {"type": "integer", "description": "how many"}
    assert taken.schema["required"] == ["a", "b", "c", "d"]


def test_users_schema_is_not_changed() -> None:
    """A schema goes to the model as it is, but for what MCP needs; the user's own object stays as it was."""
    schema = {"properties": {"a": {"$comment": "kept", "minLength": 3}}}
    taken = from_schema("f", echo, schema)
    assert taken.schema == {"type": "object", **schema}
    assert "type" not in schema


def test_context_beside_a_dict() -> None:
    """A function of one dict may ask for the context too."""

    def f(args: dict[str, Any], context: ToolContext) -> Any:
        return args, context

    assert call(from_schema("f", f, {"a": int}), f, {"a": 1}) == ({"a": 1}, CONTEXT)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "array"},
        {"type": "object", "properties": []},
        {"a": "int"},
        {"a": "Nowhere", "b": str},
        int,
        list[int],
        "x",
    ],
)
def test_impossible_schema_is_refused(schema: Any) -> None:
    """What describes no object is an error when the tool is made."""
    with pytest.raises(OptionsError):
        from_schema("f", echo, schema)


@pytest.mark.parametrize("function", [lambda: 1, lambda a, b: 1, lambda *, a: 1])
def test_function_must_take_one_dict(function: Any) -> None:
    """With a schema a function that takes none or several values is refused."""
    with pytest.raises(OptionsError, match="must take one value"):
        from_schema("f", function, {"a": int})


# -- for the model -----------------------------------------------------------------------------------------------------


def test_explanation_is_enough_to_try_again() -> None:
    """The problem is followed by the likely name and by what the tool takes, each with its kind."""

    def f(path: str, kind: typing.Literal["a", "b"] = "a", size: int | None = None) -> None: ...

    taken = from_signature("f", f, {})
    with pytest.raises(ValueError, match="unknown") as error:
        taken.convert({"path": "x", "knd": "a"})
    assert taken.explain(str(error.value)) == (
        "Object contains unknown field `knd`; did you mean `kind`? "
        "The arguments are: path (string), kind (one of 'a' 'b', optional), size (integer or null, optional)."
    )
    assert taken.explain("Nothing fits").startswith("Nothing fits. The arguments are: path")


def test_explanation_without_arguments() -> None:
    """A tool that takes nothing says so."""
    assert from_schema("f", echo, {}).explain("No") == "No. The arguments are: none."
