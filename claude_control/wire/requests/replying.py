"""Compiles a reply record into the function that reads it from an answer's payload, as its annotations say.

A field is called on the wire as `wire.fields` says, or as here, or the same in camel case (the program mixes the two).
What is missing, null or a value of another kind is the field's default. Only a wrong container, such as a text where a
list should be, is an error: half an answer would be worse than none.

It is generated code, like the readers of messages (`wire.reading`), because a control call has microseconds only.
"""

import functools
import types
import typing
from collections.abc import Callable, Iterator
from typing import Any

import attrs

from claude_control import records
from claude_control.errors import ProtocolError
from claude_control.wire.fields import WHOLE, wire_name
from claude_control.wire.reading import default_source, open_twin

__all__ = ["camel", "reply_reader"]

Place = tuple[str, dict[str, Any]]  # which answer is being read, for errors: the subtype and the payload
Convert = Callable[[Any, str, Place], Any]


def camel(name: str) -> str:
    """Return "total_tokens" as "totalTokens"."""
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)


@functools.cache
def reply_reader(record: Any) -> Convert:
    """Return the function that reads a payload, or a part of one, into this record, compiled at the first call.

    It takes the JSON object and, for errors, what it is called and of which answer it is; it raises `ProtocolError`.
    """
    names: dict[str, Any] = {"record_class": record, "twin": open_twin(record), "new": object.__new__}
    names |= {"wrong": _wrong, "dict": dict}
    lines = ["if raw.__class__ is not dict: raise wrong(place, name, 'a JSON object', raw)", "record = new(twin)"]
    for field in records.fields(record):
        lines += _assignment(record, field, names)
    lines += ["record.__class__ = record_class", "return record"]
    source = "\n ".join(["def read(raw, name, place):", *lines])
    exec(compile(source, f"<reader of {record.__name__}>", "exec"), names)
    read: Convert = names["read"]
    return read


def _assignment(record: type, field: "attrs.Attribute[Any]", names: dict[str, Any]) -> Iterator[str]:
    """Yield the lines that set one field."""
    name = wire_name(record, field.name)
    if name == WHOLE:
        yield f"record.{field.name} = raw"
        return
    other = camel(name) if name == field.name else name
    key, default = repr(name), default_source(field, names)
    if other != name:
        key = "key"
        yield f"key = {other!r} if {other!r} in raw else {name!r}"
    member = _member(field.type)
    if member is not None:
        yield from _list_assignment(field, key, member, names)
        return
    value = f"({_conversion(field, key, default, names)}) if {key} in raw else {default}"
    yield f"record.{field.name} = {value}"


def _list_assignment(
    field: "attrs.Attribute[Any]", key: str, member: Convert | frozenset[type], names: dict[str, Any]
) -> Iterator[str]:
    """Yield the lines that set a field to the members of a list, as `_tuple_of` reads them; most lists are short."""
    yield f"v = raw[{key}] if {key} in raw else None"
    yield f"if v is None: record.{field.name} = {default_source(field, names)}"
    yield "elif v.__class__ is list:"
    yield f" items, inside = [], 'a member of ' + {key}"
    yield " for item in v:"
    if isinstance(member, frozenset):
        yield f"  if item.__class__ {_among(member, names)}: items.append(item)"
    else:
        names[f"read_{field.name}"] = member
        yield f"  items.append(read_{field.name}(item, inside, place))"
    yield f" record.{field.name} = tuple(items)"
    yield f"else: raise wrong(place, {key}, 'a list', v)"


def _conversion(field: "attrs.Attribute[Any]", key: str, default: str, names: dict[str, Any]) -> str:
    """Return the source of what a field becomes whose key is there."""
    convert = _converter(field.type)
    if isinstance(convert, frozenset):
        return f"v if (v := raw[{key}]).__class__ {_among(convert, names)} else {default}"
    names[f"read_{field.name}"] = convert
    otherwise = f"{default} if v is None else read_{field.name}(v, {key}, place)"
    if convert is _object:
        return f"v if (v := raw[{key}]).__class__ is dict else {otherwise}"
    return f"{default} if (v := raw[{key}]) is None else read_{field.name}(v, {key}, place)"


def _among(kinds: frozenset[type], names: dict[str, Any]) -> str:
    """Return the source of the test that a class is one of these, without the class."""
    names |= {kind.__name__: kind for kind in kinds}
    found = [kind.__name__ for kind in kinds]
    return f"is {found[0]}" if len(found) == 1 else f"in ({', '.join(found)})"


def _converter(annotation: Any) -> Convert | frozenset[type]:
    """Return how a value is read: the classes that fit a scalar, or a function for everything else."""
    if isinstance(annotation, types.UnionType):
        kinds = [kind for kind in typing.get_args(annotation) if kind is not types.NoneType]
        return _converter(kinds[0]) if len(kinds) == 1 else _any_of(*kinds)
    outer, members = typing.get_origin(annotation), typing.get_args(annotation)
    if annotation is Any:
        return lambda value, _name, _place: value
    if outer is tuple:
        return _tuple_of(_converter_of_members(members[0]))
    if outer is dict:
        return _object if members[1] is Any else _dict_of(_converter(members[1]))
    return reply_reader(annotation) if attrs.has(annotation) else _any_of(annotation)


def _converter_of_members(annotation: Any) -> Convert | frozenset[type]:
    plain = typing.get_origin(annotation) is dict  # a list of objects that no record stands for
    return frozenset({dict}) if plain else _converter(annotation)


def _member(annotation: Any) -> Convert | frozenset[type] | None:
    """Return how the members of a list are read; None for what is no list."""
    if isinstance(annotation, types.UnionType):
        kinds = [kind for kind in typing.get_args(annotation) if kind is not types.NoneType]
        return _member(kinds[0]) if len(kinds) == 1 else None
    is_list = typing.get_origin(annotation) is tuple
    return _converter_of_members(typing.get_args(annotation)[0]) if is_list else None


def _any_of(*kinds: type) -> frozenset[type]:
    """JSON has one kind of number, and its truth values are no numbers."""
    return frozenset({*kinds, int} if float in kinds else kinds)


def _object(value: Any, name: str, place: Place) -> Any:
    if value.__class__ is not dict:
        raise _wrong(place, name, "a JSON object", value)
    return value


def _tuple_of(member: Convert | frozenset[type]) -> Convert:
    """Read a list; members that are odd are left out."""

    def convert(value: Any, name: str, place: Place) -> Any:
        if value.__class__ is not list:
            raise _wrong(place, name, "a list", value)
        if kinds is not None:
            return tuple([item for item in value if item.__class__ in kinds])
        name = f"a member of {name}"
        return tuple([read(item, name, place) for item in value])

    kinds, read = _either(member)
    return convert


def _dict_of(member: Convert | frozenset[type]) -> Convert:
    """Read a JSON object with names of the user's or the program's own as keys; odd members are left out."""

    def convert(value: Any, name: str, place: Place) -> Any:
        _object(value, name, place)
        if kinds is not None:
            return {key: item for key, item in value.items() if item.__class__ in kinds}
        return {key: read(item, f"{name}[{key!r}]", place) for key, item in value.items()}

    kinds, read = _either(member)
    return convert


def _either(member: Convert | frozenset[type]) -> tuple[frozenset[type] | None, Any]:
    return (member, None) if isinstance(member, frozenset) else (None, member)


def _wrong(place: Place, name: str, expected: str, value: object) -> ProtocolError:
    subtype, payload = place
    return ProtocolError(f"{name} in the answer to {subtype} is not {expected} but {type(value).__name__}", raw=payload)
