"""Types to JSON Schema, and JSON values to types, by msgspec; by pydantic where a type is pydantic's."""

import pathlib
import sys
import typing
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar

import msgspec

from claude_control.records import frozen

__all__ = ["Converter", "compile_fields", "compile_type"]

_PYDANTIC = ("pydantic", "pydantic_core", "annotated_types")


@frozen
class Converter:
    """Makes values of JSON values: `schema` describes what it takes.

    `convert` raises ValueError with a text for the model. No text is taken for a number, and none the other way round,
    unless a type of pydantic's says so.
    """

    schema: dict[str, Any]
    convert: Callable[[Any], Any]


class _Adapted:
    """What stands for a type of pydantic's within one of msgspec's: msgspec asks the hooks about foreign classes."""

    adapter: ClassVar[Any]

    def __init__(self, value: Any) -> None:
        self.value = value


def compile_fields(name: str, fields: Mapping[str, tuple[Any, bool]]) -> Converter:
    """Return the converter of an object with these fields to a dict; each is an annotation and whether it is required.

    Of the others, the dict has those that were given. Raises TypeError for an annotation that has no schema.
    """
    members: list[Any] = []
    for field, (annotation, required) in fields.items():
        kind = _adapted(annotation) if _is_pydantic(annotation) else annotation
        members.append((field, kind) if required else (field, kind, msgspec.UNSET))
    record = msgspec.defstruct(name, members, kw_only=True, forbid_unknown_fields=True)

    def convert(value: Any) -> dict[str, Any]:
        made = msgspec.convert(value, record, dec_hook=_from_json)
        given = {field: getattr(made, field) for field in fields}
        return {field: _unwrapped(each) for field, each in given.items() if each is not msgspec.UNSET}

    return Converter(_schema(record), convert)


def compile_type(annotation: Any) -> Converter:
    """Return the converter to one type; raises TypeError for one that has no schema."""
    kind = _adapted(annotation) if _is_pydantic(annotation) else annotation
    return Converter(_schema(kind), lambda value: _unwrapped(msgspec.convert(value, kind, dec_hook=_from_json)))


def _schema(kind: Any) -> dict[str, Any]:
    definitions: dict[str, Any] = {}

    def ask(foreign: Any) -> dict[str, Any]:
        return _foreign_schema(foreign, definitions)

    (top,), components = msgspec.json.schema_components((kind,), schema_hook=ask, ref_template="#/$defs/{name}")
    own = top.get("$ref", "").removeprefix("#/$defs/")
    schema: dict[str, Any] = dict(components.get(own, top))  # MCP wants the object itself on top, not a reference
    schema.pop("title", None)
    contains_itself = f"'#/$defs/{own}'" in repr(components)
    definitions |= {name: each for name, each in components.items() if name != own or contains_itself}
    return {**schema, "$defs": definitions} if definitions else schema


# -- what msgspec does not know ----------------------------------------------------------------------------------------


def _is_pydantic(annotation: Any) -> bool:
    """Whether some part of an annotation means something to pydantic alone."""
    if "pydantic" not in sys.modules:  # then none of its types can have been used
        return False
    return any(
        hasattr(part, "__get_pydantic_core_schema__") or type(part).__module__.partition(".")[0] in _PYDANTIC
        for part in _parts(annotation)
    )


def _parts(annotation: Any) -> Iterator[Any]:
    yield annotation
    yield from getattr(annotation, "__metadata__", ())
    for part in typing.get_args(annotation):
        yield from _parts(part)


def _adapted(annotation: Any) -> type[_Adapted]:
    import pydantic

    return type("Adapted", (_Adapted,), {"adapter": pydantic.TypeAdapter(annotation)})


def _unwrapped(value: Any) -> Any:
    return value.value if isinstance(value, _Adapted) else value


def _foreign_schema(foreign: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a class that msgspec does not know; what it refers to goes into the definitions."""
    if isinstance(foreign, type) and issubclass(foreign, pathlib.PurePath):
        return {"type": "string"}
    if not (isinstance(foreign, type) and issubclass(foreign, _Adapted)):
        if not _is_pydantic(foreign):
            raise NotImplementedError  # msgspec then says what is wrong
        foreign = _adapted(foreign)
    prefix = f"{len(definitions)}." if definitions else ""  # two parameters may have models of one name
    schema: dict[str, Any] = foreign.adapter.json_schema(ref_template=f"#/$defs/{prefix}{{model}}")
    definitions |= {prefix + name: each for name, each in schema.pop("$defs", {}).items()}
    return schema


def _from_json(kind: type, value: Any) -> Any:
    if issubclass(kind, pathlib.PurePath):
        if not isinstance(value, str):
            raise ValueError(f"Expected `str`, got `{type(value).__name__}`")
        return kind(value)
    if issubclass(kind, _Adapted):
        return kind(_validated(kind.adapter, value))
    return _validated(_adapted(kind).adapter, value)


def _validated(adapter: Any, value: Any) -> Any:
    try:
        return adapter.validate_python(value)
    except ValueError as error:
        errors = getattr(error, "errors", None)
        if not callable(errors):
            raise
        parts = [f"{each['msg']} ({'.'.join(map(str, each['loc'])) or 'all of it'})" for each in errors()]
        raise ValueError("; ".join(parts)) from error
