"""`tool` makes a tool of any plain function, and what is called always answers."""

import functools
import pickle
from collections.abc import AsyncIterator, Iterator
from typing import Any

import mcp.types
import pytest

from claude_control.errors import OptionsError
from claude_control.tools import Tool, ToolContext, ToolResult, tool
from claude_control.tools.decorator import MAX_RESULT_BYTES


@tool(read_only=True, timeout=2, max_concurrency=3)
def add(a: int, b: int = 2) -> int:
    """Add two numbers.

    Args:
        a: the first
    """
    return a + b


class Scale:
    """A class whose method is a tool."""

    def __init__(self, factor: int) -> None:
        self.factor = factor

    @tool
    def times(self, a: int) -> int:
        """Multiply."""
        return a * self.factor


def run(made: Tool[..., Any], arguments: dict[str, Any] | None = None) -> str:
    """Run a tool and return the text of its result, with a mark if it failed."""
    result = made.run(arguments or {}, ToolContext(made.name))
    said = "".join(block["text"] for block in result["content"])
    return f"! {said}" if result.get("isError") else said


# -- making ------------------------------------------------------------------------------------------------------------


def test_definition_says_it_all() -> None:
    """What `tools/list` says is the name, the description, the schema and the hints."""
    assert add.definition() == {
        "name": "add",
        "description": "Add two numbers.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "a": {"type": "integer", "description": "the first"},
                "b": {"type": "integer", "default": 2},
            },
            "required": ["a"],
            "additionalProperties": False,
        },
        "annotations": {"readOnlyHint": True},
    }
    assert (add.timeout, add.max_concurrency, add.max_result_bytes) == (2, 3, MAX_RESULT_BYTES)


def test_tool_is_still_a_function() -> None:
    """Calling a tool in a program calls its function."""
    assert add(1) == 3
    assert add(a=1, b=5) == 6
    assert repr(add) == "<Tool add>"


@pytest.mark.parametrize("positional", [True, False])
def test_form_of_the_official_sdk(positional: bool) -> None:
    """With a name, a description and a schema the function gets one dict and may return MCP's own words."""

    def greet(args: dict[str, Any]) -> dict[str, Any]:
        return {"content": [{"type": "text", "text": f"Hello, {args['name']}"}]}

    if positional:
        made = tool("greet", "Greet somebody", {"name": str})(greet)
    else:
        made = tool(name="greet", description="Greet somebody", input_schema={"name": str})(greet)
    assert (made.name, made.description) == ("greet", "Greet somebody")
    assert run(made, {"name": "Ada"}) == "Hello, Ada"


@pytest.mark.parametrize(
    "annotations",
    [{"readOnlyHint": True, "title": "T"}, mcp.types.ToolAnnotations(read_only_hint=True, title="T")],
    ids=["dict", "mcp"],
)
def test_annotations_in_mcps_words(annotations: Any) -> None:
    """Hints may be given as MCP has them, as a dict or a record of the `mcp` library; ours win."""
    made = tool("f", annotations=annotations, destructive=False)(lambda: 1)
    assert made.definition()["annotations"] == {"readOnlyHint": True, "title": "T", "destructiveHint": False}
    made = tool("f", annotations=annotations, read_only=False)(lambda: 1)
    assert made.definition()["annotations"]["readOnlyHint"] is False


def test_rest_of_a_definition() -> None:
    """Title, schema of the output and what is for programs only are sent as given."""
    made = tool("f", title="F", output_schema={"type": "object"}, meta={"k": 1})(lambda: 1)
    assert (
        made.definition() | {"title": "F", "outputSchema": {"type": "object"}, "_meta": {"k": 1}} == made.definition()
    )


def test_method_belongs_to_its_object() -> None:
    """A tool that stands in a class is a tool of each of its objects."""
    double, triple = Scale(2).times, Scale(3).times
    assert (run(double, {"a": 5}), run(triple, {"a": 5})) == ("10", "15")
    assert double(a=7) == 14
    assert "self" not in double.input_schema["properties"]


def test_tool_of_a_tool_is_anew() -> None:
    """A tool may be made again with other settings."""
    again = tool("plus", read_only=False)(add)
    assert (again.name, run(again, {"a": 1})) == ("plus", "3")


def test_tool_pickles_by_its_name() -> None:
    """A decorated function is found again in its module, for options travel to other processes."""
    assert pickle.loads(pickle.dumps(add)) is add
    made = pickle.loads(pickle.dumps(tool("plus", timeout=3)(plain)))
    assert (made.name, made.timeout, run(made, {"a": 1})) == ("plus", 3, "1")


def plain(a: int) -> int:
    """Return what came."""
    return a


async def coroutine() -> None:
    """Do nothing."""


async def stream() -> AsyncIterator[int]:
    """Give one number."""
    yield 1


def generator() -> Iterator[int]:
    """Give one number."""
    yield 1


class Awaited:
    async def __call__(self) -> None: ...


@pytest.mark.parametrize(
    "function",
    [coroutine, stream, generator, Awaited(), functools.partial(coroutine), functools.wraps(coroutine)(lambda: 1)],
)
def test_only_plain_functions_are_tools(function: Any) -> None:
    """Coroutines and generators are refused when the tool is made: nothing here would run them."""
    with pytest.raises(OptionsError, match="plain function"):
        tool("f")(function)


@pytest.mark.parametrize(
    "settings",
    [
        {"name": ""} | {"name": "a b"},
        {"name": "x" * 65},
        {"timeout": 0},
        {"timeout": float("nan")},
        {"timeout": "5"},
        {"max_concurrency": 0},
        {"max_concurrency": 1.5},
        {"max_result_bytes": -1},
        {"read_only": "yes"},
        {"annotations": "read-only"},
    ],
    ids=str,
)
def test_wrong_setting_is_refused(settings: dict[str, Any]) -> None:
    """A setting that means nothing is an error that names it."""
    with pytest.raises(OptionsError):
        tool(**settings)(plain)


def test_unknown_setting_is_a_type_error() -> None:
    """As with any function, an argument that there is not is a TypeError."""
    with pytest.raises(TypeError, match="'max_time'"):
        tool("f", max_time=3)  # type: ignore[call-overload]


def test_name_is_the_functions() -> None:
    """Without `name` a tool is called as its function, a partial's or its class; a lambda must be given a name."""
    assert [tool(each).name for each in (plain, functools.partial(plain, 1), Adder())] == ["plain", "plain", "Adder"]
    with pytest.raises(OptionsError, match="name="):
        tool(lambda: 1)


class Adder:
    def __call__(self, a: int) -> int:
        return a + 1


@pytest.mark.parametrize("value", [3, None, "f"])
def test_only_callables_are_tools(value: Any) -> None:
    """What cannot be called is refused."""
    with pytest.raises(OptionsError, match="a tool is a function"):
        tool("f")(value)


# -- running -----------------------------------------------------------------------------------------------------------


def test_wrong_arguments_are_explained() -> None:
    """The function is not called, and the model reads what is wrong and what would fit."""
    assert run(add, {"a": "1"}) == (
        "! add was not run: Expected `int`, got `str` - at `$.a`. "
        "The arguments are: a (integer), b (integer, optional)."
    )
    assert "did you mean `b`?" in run(add, {"a": 1, "bb": 3})


class Quiet(BaseException):
    pass


class Hostile(Exception):
    def __str__(self) -> str:
        raise SystemExit

    __repr__ = __str__


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ValueError("no such user"), "ValueError: no such user"),
        (KeyError("x"), "KeyError: 'x'"),
        (SystemExit(3), "SystemExit: 3"),
        (KeyboardInterrupt(), "KeyboardInterrupt"),
        (Quiet(), "Quiet"),
        (Hostile(), "Hostile"),
    ],
)
def test_whatever_is_raised_is_an_answer(error: BaseException, said: str) -> None:
    """An exception of any kind is a failure with its text; none leaves the tool."""

    def f() -> None:
        raise error

    assert run(tool("f")(f)) == f"! f failed: {said}"


def test_value_error_of_the_function_is_its_own() -> None:
    """An error that the function raises is not taken for wrong arguments."""

    def f(a: int) -> None:
        raise ValueError(f"no {a}")

    assert run(tool("f")(f), {"a": 1}) == "! f failed: ValueError: no 1"


def test_unusable_result_is_an_answer() -> None:
    """A value that cannot be sent is a failure that says so."""
    assert "cannot be sent" in run(tool("f")(object))


def test_result_is_cut_to_its_limit() -> None:
    """A tool's result, and the text of its error, have no more than the bytes it may have."""

    def f(fail: bool) -> str:
        if fail:
            raise ValueError("y" * 1000)
        return "x" * 1000

    made = tool("f", max_result_bytes=100)(f)
    assert len(run(made, {"fail": False})) < 200
    assert len(run(made, {"fail": True})) < 200
    assert len(run(tool("f", max_result_bytes=None)(f), {"fail": False})) == 1000


def test_arguments_are_the_tools_own() -> None:
    """A tool may change what it gets; the frame that it came in stays as it was."""
    arguments: dict[str, Any] = {"a": {"b": [1]}}

    def f(args: dict[str, Any]) -> ToolResult:
        args["a"]["b"].append(2)
        return ToolResult(str(args))

    run(tool("f", "", {"type": "object"})(f), arguments)
    assert arguments == {"a": {"b": [1]}}
