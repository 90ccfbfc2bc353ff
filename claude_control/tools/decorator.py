"""Tool: a function that the model may call, and `tool`, which makes one."""

import functools
import inspect
import math
import pkgutil
import re
from collections.abc import Callable, Mapping
from typing import Any, Generic, ParamSpec, TypeVar, overload

import attrs

from claude_control import log
from claude_control.errors import OptionsError
from claude_control.log import error_text
from claude_control.records import frozen
from claude_control.tools.context import ToolContext
from claude_control.tools.cutting import cut
from claude_control.tools.descriptions import describe
from claude_control.tools.gate import Gate
from claude_control.tools.inputs import Input, from_schema, from_signature
from claude_control.tools.results import failure, to_result
from claude_control.wire.copying import own_copy

__all__ = ["MAX_RESULT_BYTES", "Tool", "tool"]

P = ParamSpec("P")
R = TypeVar("R")

MAX_RESULT_BYTES = 8 * 1024 * 1024
"""Bytes of content that a result has at most unless a tool says otherwise.

An image of 5 MiB, the most that the model takes, has 6.7 MB in base 64; more text than this fits into no context.
"""

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")  # what the API takes as the name of a tool

_log = log.get(__name__)

_HINTS = {
    "read_only": "readOnlyHint",
    "destructive": "destructiveHint",
    "idempotent": "idempotentHint",
    "open_world": "openWorldHint",
}


@frozen(eq=False, repr=False)
class Tool(Generic[P, R]):
    """A function that the model may call; `tool` makes one. Calling it calls the function, checking nothing.

    `timeout` is in seconds, None for no limit or that of the server; `max_concurrency` counts calls of this tool that
    run at once, None for no limit; `max_result_bytes` is the most content that a result has.
    """

    function: Callable[P, R]
    name: str
    description: str
    input: Input
    annotations: dict[str, Any]
    settings: dict[str, Any]
    timeout: float | None
    max_concurrency: int | None
    max_result_bytes: int | None
    gate: Gate

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the function."""
        return self.function(*args, **kwargs)

    def __get__(self, instance: object, owner: type | None = None) -> "Tool[..., R]":
        if instance is None:
            return self
        bound: Any = functools.partial(self.function, instance)  # type: ignore[arg-type]  # the first of P is `self`
        return attrs.evolve(self, function=bound)

    @property
    def input_schema(self) -> dict[str, Any]:
        """The JSON Schema of the arguments."""
        return self.input.schema

    def definition(self) -> dict[str, Any]:
        """Return what `tools/list` says of the tool."""
        said = {"name": self.name, "description": self.description, "inputSchema": self.input.schema}
        if self.annotations:
            said["annotations"] = self.annotations
        for name, wire_name in (("title", "title"), ("output_schema", "outputSchema"), ("meta", "_meta")):
            if self.settings.get(name) is not None:
                said[wire_name] = self.settings[name]
        return said

    def run(self, arguments: dict[str, Any], context: ToolContext) -> dict[str, Any]:
        """Check the arguments, call the function, and return the result on the wire, whatever happens."""
        try:
            value = self.input.convert(own_copy(arguments))  # the frame that they came in is kept by others
        except ValueError as error:
            return failure(f"{self.name} was not run: {self.input.explain(str(error))}")
        except BaseException as error:  # a type of the user's own may raise anything
            return self._failed(error)
        try:
            returned = self.input.call(self.function, value, context)
        except BaseException as error:  # an unanswered call hangs the turn: SystemExit is an answer as well
            return self._failed(error)
        return cut(to_result(self.name, returned), self.max_result_bytes)

    def _failed(self, error: BaseException) -> dict[str, Any]:
        said = error_text(error)
        _log.warning("tool.failed", tool=self.name, error=said)
        return cut(failure(f"{self.name} failed: {said}"), self.max_result_bytes)

    def __reduce__(self) -> Any:
        # A function pickles by its name, and in its module that is the tool's name now.
        where = getattr(self.function, "__module__", None), getattr(self.function, "__qualname__", None)
        return (_found, where) if _found(*where) is self else (_make, (self.function, self.settings))

    def __repr__(self) -> str:
        return f"<Tool {self.name}>"


def _found(module: str | None, qualname: str | None) -> Any:
    """Return what stands under a name in a module, None if there is nothing."""
    try:
        return pkgutil.resolve_name(f"{module}:{qualname}")  # in the process that unpickles, it imports the module
    except (ImportError, AttributeError, ValueError):
        return None


@overload
def tool(name: Callable[P, R], /) -> Tool[P, R]: ...


@overload
def tool(
    name: str | None = None,
    description: str | None = None,
    input_schema: Any = None,
    annotations: Any = None,
    *,
    title: str | None = None,
    read_only: bool | None = None,
    destructive: bool | None = None,
    idempotent: bool | None = None,
    open_world: bool | None = None,
    timeout: float | None = None,
    max_concurrency: int | None = None,
    max_result_bytes: int | None = MAX_RESULT_BYTES,
    output_schema: Mapping[str, Any] | None = None,
    meta: Mapping[str, Any] | None = None,
) -> Callable[[Callable[P, R]], Tool[P, R]]: ...


def tool(
    name: str | Callable[..., Any] | None = None,
    description: str | None = None,
    input_schema: Any = None,
    annotations: Any = None,
    **settings: Any,
) -> Any:
    """Make a tool of a function: `@tool`, `@tool(read_only=True)`, or as in the official SDK with a schema.

    Without `input_schema` the arguments are the function's parameters, with their types, defaults and descriptions
    (`Annotated[int, "how many"]`, or the docstring's); one that is annotated with `ToolContext` gets the context. With
    it, the function takes one dict. The program runs calls of a `read_only` tool at the same time as others, and those
    of other tools one after another (2.0.75, 2.1.7, 2.1.332). `destructive`, `idempotent` and `open_world` are MCP's
    hints; `annotations` may give them in MCP's own words. `timeout` is in seconds.

    Raises `OptionsError` for a function that cannot be a tool: a coroutine function, say, for nothing here awaits one.
    """
    unknown = set(settings) - _SETTINGS
    if unknown:
        raise TypeError(f"tool() has no argument {sorted(unknown)[0]!r}")
    given = {**settings, "description": description, "input_schema": input_schema, "annotations": annotations}
    if callable(name):
        return _make(name, given)
    return lambda function: _make(function, {**given, "name": name})


_SETTINGS = {"title", *_HINTS, "timeout", "max_concurrency", "max_result_bytes", "output_schema", "meta"}


def _make(function: Callable[..., Any], settings: dict[str, Any]) -> Tool[..., Any]:
    if isinstance(function, Tool):
        function = function.function
    _check_plain(function)
    named: Any = function.func if isinstance(function, functools.partial) else function
    name = settings.get("name") or getattr(named, "__name__", type(named).__name__)
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        text = (
            f"a tool's name has up to 64 letters, digits, '-' and '_', and {name!r} does not; give it one with `name=`"
        )
        raise OptionsError(text, field="tools")
    said = describe(function.__doc__ if inspect.isroutine(function) else None)
    schema = settings.get("input_schema")
    timeout, limit, size = settings.get("timeout"), settings.get("max_concurrency"), _size(settings)
    _check_number(name, "timeout", timeout)
    _check_number(name, "max_concurrency", limit)
    _check_number(name, "max_result_bytes", size)
    return Tool(
        function=function,
        name=name,
        description=settings.get("description") or said.text,
        input=from_signature(name, function, said.parameters)
        if schema is None
        else from_schema(name, function, schema),
        annotations=_annotations(name, settings),
        settings=settings,
        timeout=timeout,
        max_concurrency=limit,
        max_result_bytes=size,
        gate=Gate(limit),
    )


def _size(settings: Mapping[str, Any]) -> Any:
    return settings.get("max_result_bytes", MAX_RESULT_BYTES)


def _check_plain(function: Any) -> None:
    if not callable(function):
        raise OptionsError(f"a tool is a function, not {type(function).__name__}", field="tools")
    bare = inspect.unwrap(function.func if isinstance(function, functools.partial) else function)
    for called in (bare, getattr(bare, "__call__", None)):  # noqa: B004 - the method itself is wanted
        if (
            inspect.iscoroutinefunction(called)
            or inspect.isasyncgenfunction(called)
            or inspect.isgeneratorfunction(called)
        ):
            text = (
                f"{called.__qualname__} must be a plain function that returns its result, for a worker thread calls it"
            )
            raise OptionsError(f"{text}: no coroutine and no generator", field="tools")


def _check_number(name: str, field: str, value: Any) -> None:
    fits = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value > 0
    if value is not None and not (fits and (field == "timeout" or isinstance(value, int))):
        unit = "seconds" if field == "timeout" else "whole number"
        raise OptionsError(f"the tool {name}: {field} must be above 0 ({unit}), or None, not {value!r}", field=field)


def _annotations(name: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the hints on the wire, out of MCP's own words, those of the `mcp` library's records and ours."""
    given = settings.get("annotations") or {}
    dump = getattr(given, "model_dump", None)
    if callable(dump):
        given = dump(by_alias=True, exclude_none=True)
    if not isinstance(given, Mapping):
        raise OptionsError(f"the tool {name}: annotations must be a dict, not {given!r}", field="annotations")
    ours = {wire_name: settings.get(hint) for hint, wire_name in _HINTS.items()}
    for hint, value in ours.items():
        if value is not None and not isinstance(value, bool):
            raise OptionsError(f"the tool {name}: {hint} must be True or False, not {value!r}", field="annotations")
    return {**given, **{hint: value for hint, value in ours.items() if value is not None}}
