"""Reads the payload of an answer into a reply record, as the annotations of its fields say.

A field is called on the wire as `wire.fields` says, or as here, or the same in camel case (the program mixes the two).
What is missing, null or a value of another kind is the field's default. Only a wrong container, such as a text where a
list should be, is an error: half an answer would be worse than none.

The containers are looked at when the answer is read, by generated code, because a control call has microseconds only;
the fields when they are asked for, because most programs look at few of them.
"""

import functools
import types
import typing
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import attrs

from claude_control import records
from claude_control.errors import ProtocolError
from claude_control.records import frozen
from claude_control.wire.fields import WHOLE, wire_name
from claude_control.wire.record import WireRecord

__all__ = ["ReplyRecord", "camel", "reply_reader"]

Place = tuple[str, dict[str, Any]]  # which answer is being read, for errors: the subtype and the payload
Check = Callable[[Any, str, Place], None]


@frozen(repr=False)
class ReplyRecord(WireRecord):
    """The base of replies and of their parts. A field is read from `raw` when it is looked at first, and kept."""

    if not TYPE_CHECKING:  # a type checker would take it for leave to ask for any name

        def __getattr__(self, name: str) -> Any:
            """Read a field that was left for later; called for what is not set yet."""
            value = _field_reader(type(self), name)(self.raw)
            object.__setattr__(self, name, value)
            return value


class _Kind(NamedTuple):
    """What the values of an annotation are."""

    fits: frozenset[type] | None = None
    """JSON classes; a value of another one is the default, or left out of a list. None: whatever `check` passes."""
    check: Check | None = None
    """Raises for a wrong container; takes what it is called and where. None: it is no container."""
    read: Callable[[Any], Any] = lambda value: value
    """Makes the field's value of what fits."""
    member_check: Check | None = None
    """The check of a list's members."""


def camel(name: str) -> str:
    """Return "total_tokens" as "totalTokens"."""
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)


@functools.cache
def reply_reader(record: Any) -> tuple[Check, Callable[[Any], Any], Callable[[Any, Any], None]]:
    """Return the three steps of reading a record: what checks its `raw`, what makes it, and what puts `raw` into it.

    The first raises `ProtocolError` for a payload, or a part of one, with a wrong container.
    """
    names: dict[str, Any] = {"wrong": _wrong}
    lines = ["if raw.__class__ is not dict: raise wrong(place, name, dict, raw)"]
    for field in _fields(record).values():
        kind = _kind_of(field)
        if kind.check is not None:
            names[f"check_{field.name}"] = kind.member_check or kind.check
            lines += _field_check(field.name, *_keys(record, field.name), kind)
    exec(compile("\n ".join(["def check(raw, name, place):", *lines]), f"<check of {record.__name__}>", "exec"), names)
    return names["check"], object.__new__, record.raw.__set__


def _field_check(name: str, key: str, other: str, kind: _Kind) -> Iterator[str]:
    """Yield the lines that check the field called `other`, or else `key`; what is common is not left to a call."""
    called = repr(key) if key == other else f"{other!r} if {other!r} in raw else {key!r}"
    yield f"v = raw[{other!r}] if {other!r} in raw else {'None' if key == other else f'raw.get({key!r})'}"
    plain = [outer for outer in (dict, list) if kind.check is _container(outer)]
    if kind.member_check:
        yield "if v.__class__ is list:"
        yield f" for item in v: check_{name}(item, 'a member of ' + ({called}), place)"
        yield f"elif v is not None: raise wrong(place, {called}, list, v)"
    elif plain:
        yield f"if v.__class__ is not {plain[0].__name__} and v is not None:"
        yield f" raise wrong(place, {called}, {plain[0].__name__}, v)"
    else:
        yield f"if v is not None: check_{name}(v, {called}, place)"


@functools.cache
def _field_reader(record: Any, name: str) -> Callable[[dict[str, Any]], Any]:
    """Return what reads a field of a record from its `raw`; raises AttributeError if it has no such field."""
    field = _fields(record).get(name)
    if field is None or wire_name(record, name) == WHOLE:
        raise AttributeError(f"{record.__name__!r} object has no attribute {name!r}")
    default, (key, other) = field.default, _keys(record, name)
    kind = _kind_of(field)
    fits, convert = kind.fits, kind.read

    def read(raw: dict[str, Any]) -> Any:
        value = raw.get(other if other in raw else key)
        if value is None or (fits is not None and value.__class__ not in fits):
            return default.factory() if isinstance(default, _FACTORY) else default
        return convert(value)

    return read


@functools.cache
def _fields(record: Any) -> "dict[str, attrs.Attribute[Any]]":
    """Return the fields of a record by name; to find them takes as long as some control calls."""
    return {field.name: field for field in records.fields(record)}


_FACTORY: Any = attrs.Factory  # the stubs show the class as a function


def _keys(record: type, name: str) -> tuple[str, str]:
    """Return what a field is called on the wire, and what it is called there instead where that is found."""
    key = wire_name(record, name)
    return key, camel(key) if key == name else key


def _kind_of(field: "attrs.Attribute[Any]") -> _Kind:
    annotation: Any = field.type  # the stubs of attrs and of functools disagree about what can be hashed
    return _kind(annotation)


@functools.cache
def _kind(annotation: Any) -> _Kind:
    if isinstance(annotation, types.UnionType):
        kinds = [kind for kind in typing.get_args(annotation) if kind is not types.NoneType]
        return _kind(kinds[0]) if len(kinds) == 1 else _plain(*kinds)
    outer, members = typing.get_origin(annotation), typing.get_args(annotation)
    if annotation is Any:
        return _Kind()
    if outer is tuple:
        return _list(_kind_of_members(members[0]))
    if outer is dict:
        return _Kind(check=_container(dict)) if members[1] is Any else _object(_kind(members[1]))
    return _part(annotation) if attrs.has(annotation) else _plain(annotation)


def _kind_of_members(annotation: Any) -> _Kind:
    plain = typing.get_origin(annotation) is dict  # a list of objects that no record stands for
    return _plain(dict) if plain else _kind(annotation)


def _plain(*kinds: type) -> _Kind:
    """JSON has one kind of number, and its truth values are no numbers."""
    return _Kind(frozenset({*kinds, int} if float in kinds else kinds))


def _part(record: Any) -> _Kind:
    """Return what a record inside of another one is."""

    def read(value: Any) -> Any:
        made = new(record)
        put_raw(made, value)
        return made

    check, new, put_raw = reply_reader(record)
    return _Kind(check=check, read=read)


def _list(member: _Kind) -> _Kind:
    """Return what a list is; members that are odd are left out."""

    def check(value: Any, name: str, place: Place) -> None:
        _container(list)(value, name, place)
        inside = f"a member of {name}"
        for item in value:
            check_member(item, inside, place)

    def read(value: Any) -> Any:
        return tuple([convert(item) for item in value if fits is None or item.__class__ in fits])

    fits, convert = member.fits, member.read
    check_member: Any = member.check
    return _Kind(check=check if check_member else _container(list), read=read, member_check=check_member)


def _object(member: _Kind) -> _Kind:
    """Return what an object is with names of the user's or the program's own as keys; odd members are left out."""

    def check(value: Any, name: str, place: Place) -> None:
        _container(dict)(value, name, place)
        for key, item in value.items():
            check_member(item, f"{name}[{key!r}]", place)

    def read(value: Any) -> Any:
        return {key: convert(item) for key, item in value.items() if fits is None or item.__class__ in fits}

    fits, convert = member.fits, member.read
    check_member: Any = member.check
    return _Kind(check=check if check_member else _container(dict), read=read)


@functools.cache
def _container(kind: type) -> Check:
    def check(value: Any, name: str, place: Place) -> None:
        if value.__class__ is not kind:
            raise _wrong(place, name, kind, value)

    return check


_EXPECTED: dict[type, str] = {dict: "a JSON object", list: "a list"}


def _wrong(place: Place, name: str, kind: type, value: object) -> ProtocolError:
    subtype, payload = place
    found = type(value).__name__
    return ProtocolError(f"{name} in the answer to {subtype} is not {_EXPECTED[kind]} but {found}", raw=payload)
