"""Reads the payload of an answer into its reply record, as the record's annotations say.

A field is called on the wire as `wire.fields` says, or as here, or the same in camel case (the program mixes the two).
What is missing, null or a value of another kind is the field's default. Only a wrong container, such as a text where a
list should be, is an error: half an answer would be worse than none.
"""

import functools
import types
import typing
from collections.abc import Callable
from typing import Any

import attrs

from claude_control.errors import ProtocolError
from claude_control.wire.fields import WHOLE, wire_name

__all__ = ["ODD", "camel", "read_reply"]

ODD: Any = object()
"""Stands for a value of another kind than its field's."""

Convert = Callable[[Any, str, "_Place"], Any]


@attrs.frozen
class _Place:
    """Which answer is being read, for errors."""

    subtype: str
    payload: dict[str, Any]

    def wrong(self, name: str, expected: str, value: object) -> ProtocolError:
        text = f"{name} in the answer to {self.subtype} is not {expected} but {type(value).__name__}"
        return ProtocolError(text, raw=self.payload)


def read_reply(record: type, payload: dict[str, Any], subtype: str) -> Any:
    """Return the record of an answer's payload; raises `ProtocolError` for a wrong container."""
    return _read(record, payload, _Place(subtype, payload))


def camel(name: str) -> str:
    """Return "total_tokens" as "totalTokens"."""
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)


def _read(record: type, value: dict[str, Any], place: _Place) -> Any:
    found: dict[str, Any] = {"raw": value}
    for name, keys, convert in _plan(record):
        for key in keys:
            if value.get(key) is not None:
                converted = convert(value[key], key, place)
                if converted is not ODD:
                    found[name] = converted
    return record(**found)


@functools.cache
def _plan(record: type) -> tuple[tuple[str, tuple[str, ...], Convert], ...]:
    """Return (field, its names on the wire, how it is read) for every field of a record."""
    rows = []
    for field in attrs.fields(record):
        name = wire_name(record, field.name)
        if name != WHOLE:
            keys = (name,) if name != field.name else tuple(dict.fromkeys((name, camel(name))))
            rows.append((field.name, keys, _converter(field.type)))
    return tuple(rows)


def _converter(annotation: Any) -> Convert:
    if isinstance(annotation, types.UnionType):
        kinds = [kind for kind in typing.get_args(annotation) if kind is not types.NoneType]
        return _converter(kinds[0]) if len(kinds) == 1 else _any_of(tuple(kinds))
    outer, members = typing.get_origin(annotation), typing.get_args(annotation)
    if annotation is Any:
        return lambda value, _name, _place: value
    if outer is tuple:
        member = members[0]
        return _tuple_of(_any_of((dict,)) if typing.get_origin(member) is dict else _converter(member))
    if outer is dict:
        return _dict_of(_converter(members[1]))
    return _record(annotation) if attrs.has(annotation) else _any_of((annotation,))


def _any_of(kinds: tuple[type, ...]) -> Convert:
    """Read a scalar; JSON has one kind of number, and its truth values are no numbers."""
    exact = {*kinds, int} if float in kinds else set(kinds)
    return lambda value, _name, _place: value if type(value) in exact else ODD


def _record(record: type) -> Convert:
    def convert(value: Any, name: str, place: _Place) -> Any:
        if not isinstance(value, dict):
            raise place.wrong(name, "a JSON object", value)
        return _read(record, value, place)

    return convert


def _tuple_of(member: Convert) -> Convert:
    """Read a list; members that are odd are left out."""

    def convert(value: Any, name: str, place: _Place) -> Any:
        if not isinstance(value, list):
            raise place.wrong(name, "a list", value)
        converted = (member(item, f"a member of {name}", place) for item in value)
        return tuple(item for item in converted if item is not ODD)

    return convert


def _dict_of(member: Convert) -> Convert:
    """Read a JSON object with names of the user's or the program's own as keys."""

    def convert(value: Any, name: str, place: _Place) -> Any:
        if not isinstance(value, dict):
            raise place.wrong(name, "a JSON object", value)
        converted = {key: member(item, f"{name}[{key!r}]", place) for key, item in value.items()}
        return {key: item for key, item in converted.items() if item is not ODD}

    return convert
