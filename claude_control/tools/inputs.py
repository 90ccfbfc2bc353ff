"""What a tool takes: the schema that the model sees, and the way from arguments to a call of the function."""

import contextlib
import difflib
import inspect
import typing
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from claude_control.errors import OptionsError
from claude_control.records import frozen
from claude_control.tools import schemas
from claude_control.tools.context import ToolContext
from claude_control.tools.json_schema import complaints

__all__ = ["Input", "from_schema", "from_signature"]


@frozen(eq=False)
class Input:
    """How to call a function with the arguments of a call.

    `convert` makes of them what the function takes, and raises ValueError with a text for the model. With `spread` that
    is a dict of keyword arguments, else one value. `context_name` is the parameter for the ToolContext, if any.
    """

    schema: dict[str, Any]
    convert: Callable[[dict[str, Any]], Any]
    spread: bool
    context_name: str | None

    def call(self, function: Callable[..., Any], value: Any, context: ToolContext) -> Any:
        """Call the function with what `convert` has made."""
        extra = {} if self.context_name is None else {self.context_name: context}
        return function(**value, **extra) if self.spread else function(value, **extra)

    def explain(self, problem: str) -> str:
        """Return what a model needs to correct its arguments: the problem, and what would fit."""
        properties = self.schema.get("properties") or {}
        required = self.schema.get("required") or ()
        known = [
            f"{name} ({_kind(each)}{'' if name in required else ', optional'})" for name, each in properties.items()
        ]
        guess = _guess(problem, properties)
        return f"{problem}{guess or '.'} The arguments are: {', '.join(known) or 'none'}."


# -- from a signature --------------------------------------------------------------------------------------------------


def from_signature(name: str, function: Callable[..., Any], said: Mapping[str, str]) -> Input:
    """Read what a function takes; `said` has what its docstring says of the parameters.

    Raises `OptionsError` for a signature that a call by name cannot fill, or a type that has no schema.
    """
    parameters, context_name = _parameters(name, function)
    fields = {each.name: (_annotation(each), each.default is each.empty) for each in parameters}
    try:
        converter = schemas.compile_fields(name, fields)
    except (NameError, TypeError, ValueError) as error:
        raise OptionsError(f"the tool {name}: {error}", field="tools") from error
    schema = converter.schema
    for parameter in parameters:
        about = _said_by(parameter.annotation) or said.get(parameter.name)
        shown = schema["properties"][parameter.name]
        if about is not None and "description" not in shown:
            shown["description"] = about
        if parameter.default is not parameter.empty:
            _add_default(shown, parameter.default)
    return Input(schema, converter.convert, spread=True, context_name=context_name)


def _parameters(name: str, function: Callable[..., Any]) -> tuple[list[inspect.Parameter], str | None]:
    """Return the parameters that are arguments, and the name of the one that takes the context."""
    arguments, context_name = [], None
    for parameter in _signature(name, function):
        if _takes_context(parameter):
            context_name = parameter.name
        elif parameter.kind in (parameter.POSITIONAL_ONLY, parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            text = f"the tool {name}: arguments come by name, so {parameter} cannot be one"
            raise OptionsError(text, field="tools")
        else:
            arguments.append(parameter)
    return arguments, context_name


def _signature(name: str, function: Callable[..., Any]) -> list[inspect.Parameter]:
    try:
        found = list(inspect.signature(function, eval_str=True).parameters.values())
    except (NameError, AttributeError, SyntaxError, TypeError, ValueError) as error:
        text = f"the tool {name}: its signature cannot be read ({error}); types that it names must exist at run time"
        raise OptionsError(text, field="tools") from error
    # A function in the body of a class is no method yet: `self` is filled when it is taken from an object.
    where = str(getattr(function, "__qualname__", "")).rpartition("<locals>.")[2]
    if "." in where and inspect.isfunction(function) and found and found[0].name in ("self", "cls"):
        return found[1:]
    return found


def _takes_context(parameter: inspect.Parameter) -> bool:
    annotation = parameter.annotation
    return annotation is ToolContext or ToolContext in typing.get_args(annotation)


def _annotation(parameter: inspect.Parameter) -> Any:
    return Any if parameter.annotation is parameter.empty else parameter.annotation


def _said_by(annotation: Any) -> str | None:
    """Return the description that `Annotated[int, "how many"]` gives."""
    return next((each for each in getattr(annotation, "__metadata__", ()) if isinstance(each, str)), None)


def _add_default(shown: dict[str, Any], default: Any) -> None:
    """Show a default that JSON has a form for."""
    with contextlib.suppress(TypeError, ValueError, RecursionError):
        shown["default"] = msgspec.to_builtins(default, str_keys=True)


# -- from a schema -----------------------------------------------------------------------------------------------------


def from_schema(name: str, function: Callable[..., Any], schema: Any) -> Input:
    """Read what a tool takes from what the user says: the function gets all arguments as one value.

    `schema` is a JSON Schema, a dict from name to type, or a type that is an object: a TypedDict, say.
    """
    context_name = _parameters_of_one(name, function)
    if isinstance(schema, Mapping) and _is_json_schema(schema):
        return _from_json_schema(dict(schema), context_name)
    try:
        if isinstance(schema, Mapping):
            return _from_types(name, schema, context_name)
        converter = schemas.compile_type(schema)
    except (NameError, TypeError, ValueError) as error:
        raise OptionsError(f"the tool {name}: {error}", field="input_schema") from error
    if converter.schema.get("type") != "object":
        text = f"the tool {name}: input_schema must describe an object, not {schema!r}"
        raise OptionsError(text, field="input_schema")
    return Input(converter.schema, converter.convert, spread=False, context_name=context_name)


def _parameters_of_one(name: str, function: Callable[..., Any]) -> str | None:
    """Check that a function takes all arguments as one; returns the name of the parameter for the context."""
    parameters = _signature(name, function)
    context_name = next((each.name for each in parameters if _takes_context(each)), None)
    needed = [each for each in parameters if each.name != context_name and each.default is each.empty]
    takes_one = any(each.kind is not each.KEYWORD_ONLY for each in parameters if each.name != context_name)
    if not takes_one or sum(each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD) for each in needed) > 1:
        text = f"the tool {name} has an input_schema, so its function must take one value: a dict of all arguments"
        raise OptionsError(text, field="tools")
    return context_name


def _is_json_schema(schema: Mapping[str, Any]) -> bool:
    """Whether a dict is a schema already; one from name to type has types among its values, which JSON has not."""
    return bool(schema) and not any(isinstance(each, type) or typing.get_origin(each) for each in schema.values())


def _from_json_schema(schema: dict[str, Any], context_name: str | None) -> Input:
    is_object = schema.get("type", "object") == "object" and isinstance(schema.get("properties", {}), Mapping)
    if not is_object or not {"type", "properties"} & set(schema):
        text = "input_schema must be {'type': 'object', 'properties': {…}}, or a dict from name to type"
        raise OptionsError(text, field="input_schema")
    schema = {"type": "object", "properties": {}, **schema}

    def convert(arguments: dict[str, Any]) -> dict[str, Any]:
        if wrong := list(complaints(schema, arguments)):
            raise ValueError("; ".join(wrong))
        return arguments

    return Input(schema, convert, spread=False, context_name=context_name)


def _from_types(name: str, schema: Mapping[str, Any], context_name: str | None) -> Input:
    converter = schemas.compile_fields(name, {each: (kind, True) for each, kind in schema.items()})
    for each, kind in schema.items():
        if about := _said_by(kind):
            converter.schema["properties"][each].setdefault("description", about)

    return Input(converter.schema, converter.convert, spread=False, context_name=context_name)


# -- for the model -----------------------------------------------------------------------------------------------------


def _kind(schema: Any) -> str:
    """Return a property's type in a word or two."""
    if not isinstance(schema, Mapping):
        return "anything"
    if "enum" in schema:
        return "one of " + " ".join(map(repr, schema["enum"]))
    if "anyOf" in schema:
        return " or ".join(map(_kind, schema["anyOf"]))
    kind = schema.get("type", "object" if "$ref" in schema else "anything")
    return " or ".join(kind) if isinstance(kind, list) else str(kind)


def _guess(problem: str, properties: Mapping[str, Any]) -> str:
    """Return the name that was probably meant, if the problem is an unknown one."""
    quoted = problem.replace("'", "`").split("`")
    if "unknown" not in problem or len(quoted) < 2:
        return ""
    close = difflib.get_close_matches(quoted[1], properties, n=1)
    return f"; did you mean `{close[0]}`?" if close else ""
