"""Checks what was filled into a form against its schema, as MCP restricts it: one flat object of simple values.

A schema that says more, or something else, is not held against the content: the server checks for itself.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any

from claude_control.errors import OptionsError
from claude_control.likeness import closest

__all__ = ["check_content"]


def _is_number(value: object) -> bool:
    if isinstance(value, int):  # of any length: math.isfinite knows no longer ones than a float has
        return not isinstance(value, bool)
    return isinstance(value, float) and math.isfinite(value)


_KINDS: dict[str, tuple[str, Callable[[object], bool]]] = {
    "string": ("a text", lambda value: isinstance(value, str)),
    "number": ("a number", _is_number),
    "integer": ("a whole number", lambda value: _is_number(value) and value == int(value)),  # type: ignore[call-overload]  # it is a number there
    "boolean": ("True or False", lambda value: isinstance(value, bool)),
    "array": ("a list", lambda value: isinstance(value, list | tuple)),
    "null": ("None", lambda value: value is None),
}
_SIZES = (
    ("minLength", "maxLength", "characters"),
    ("minItems", "maxItems", "values"),
)


def check_content(content: object, schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content as plain values; raises `OptionsError` that names the field and never shows a value.

    What is filled in may be a password, so that it belongs into no log.
    """
    if not isinstance(content, Mapping) or not all(isinstance(name, str) for name in content):
        raise OptionsError(
            f"content must be a dict from field names to values, not {type(content).__name__}", field="content"
        )
    fields = _object(schema.get("properties"))
    required = schema.get("required")
    for name in required if isinstance(required, list) else ():
        if name not in content:
            raise OptionsError(f"content lacks {name!r}, which the form requires", field=str(name))
    for name, value in content.items():
        if name in fields:
            _check_field(name, value, _object(fields[name]))
        elif fields:
            close = closest(name, fields)
            meant = f"; did you mean {close!r}?" if close else f"; it asks for {', '.join(map(repr, fields))}"
            raise OptionsError(f"content has {name!r}, which the form does not ask for{meant}", field=name)
    return {name: list(value) if isinstance(value, tuple) else value for name, value in content.items()}


def _check_field(name: str, value: object, schema: Mapping[str, Any]) -> None:
    kinds = schema.get("type")
    known = [
        _KINDS[kind]
        for kind in (kinds if isinstance(kinds, list) else [kinds])
        if isinstance(kind, str) and kind in _KINDS
    ]
    if known and not any(fits(value) for _, fits in known):
        _refuse(name, " or ".join(text for text, _ in known), f"not {type(value).__name__}")
    choices = _choices(schema)
    if choices is not None and value not in choices:
        _refuse(name, f"one of {', '.join(map(repr, choices))}")
    if isinstance(value, list | tuple):
        each = _choices(_object(schema.get("items")))
        if each is not None and any(item not in each for item in value):
            _refuse(name, f"a list of {', '.join(map(repr, each))}")
    _check_limits(name, value, schema)


def _check_limits(name: str, value: object, schema: Mapping[str, Any]) -> None:
    least, most = schema.get("minimum"), schema.get("maximum")
    if isinstance(value, int | float) and not isinstance(value, bool):
        if _is_number(least) and value < least:  # type: ignore[operator]  # as the line says
            _refuse(name, f"at least {least}")
        if _is_number(most) and value > most:  # type: ignore[operator]
            _refuse(name, f"at most {most}")
    if not isinstance(value, str | list | tuple):
        return
    shortest, longest, unit = _SIZES[0] if isinstance(value, str) else _SIZES[1]
    least, most = schema.get(shortest), schema.get(longest)
    if isinstance(least, int) and len(value) < least:
        _refuse(name, f"at least {least} {unit} long", f"not {len(value)}")
    if isinstance(most, int) and len(value) > most:
        _refuse(name, f"at most {most} {unit} long", f"not {len(value)}")


def _choices(schema: Mapping[str, Any]) -> list[Any] | None:
    """Return the values to choose from, None if any will do: `enum`, or `const` of each of `oneOf` and `anyOf`."""
    listed = schema.get("enum")
    if isinstance(listed, list):
        return listed
    for key in ("oneOf", "anyOf"):
        options = schema.get(key)
        if isinstance(options, list) and all("const" in _object(option) for option in options):
            return [option["const"] for option in options]
    return None


def _object(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _refuse(name: str, needed: str, but: str = "") -> None:
    raise OptionsError(f"content[{name!r}] must be {needed}{', ' + but if but else ''}", field=name)
