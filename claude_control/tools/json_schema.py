"""Checks arguments against a JSON Schema that the user wrote: the part of it that a model gets wrong.

Checked are type, enum, const, required, properties, additionalProperties and items; everything else is taken on trust.
The program checks nothing of it (2.1.332).
"""

from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["complaints"]

_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}


def complaints(schema: Any, value: Any, where: str = "$") -> Iterator[str]:
    """Yield one sentence for each place where a value does not fit."""
    if not isinstance(schema, Mapping):  # True and False are schemas too; one that nothing fits is of no use here
        return
    kinds = schema.get("type")
    kinds = [kinds] if isinstance(kinds, str) else kinds if isinstance(kinds, list) else []
    if kinds and not any(_is_of(kind, value) for kind in kinds):
        yield f"expected {' or '.join(map(str, kinds))} at {where}, got {_kind_of(value)}"
        return
    if "enum" in schema and value not in schema["enum"]:
        yield f"expected one of {schema['enum']} at {where}, got {value!r}"
    if "const" in schema and value != schema["const"]:
        yield f"expected {schema['const']!r} at {where}, got {value!r}"
    if isinstance(value, dict):
        yield from _object_complaints(schema, value, where)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from complaints(schema.get("items"), item, f"{where}[{index}]")


def _object_complaints(schema: Mapping[str, Any], value: dict[str, Any], where: str) -> Iterator[str]:
    properties = schema.get("properties") or {}
    yield from (f"missing {name!r} at {where}" for name in schema.get("required") or () if name not in value)
    rest = schema.get("additionalProperties")
    for name, item in value.items():
        if name in properties:
            yield from complaints(properties[name], item, f"{where}.{name}")
        elif rest is False and not schema.get("patternProperties"):
            yield f"unknown {name!r} at {where}"
        else:
            yield from complaints(rest, item, f"{where}.{name}")


def _is_of(kind: object, value: Any) -> bool:
    known = _TYPES.get(str(kind))
    if known is None:
        return True  # a type of a schema language that is not known here
    if isinstance(value, bool):
        return bool in known
    return isinstance(value, known) or (kind == "integer" and isinstance(value, float) and value.is_integer())


def _kind_of(value: Any) -> str:
    if isinstance(value, bool):
        return "boolean"
    return next((name for name, kinds in _TYPES.items() if isinstance(value, kinds)), type(value).__name__)
