"""Compiles a record class into the function that reads it from a decoded JSON object.

The rules come from the class itself: the annotation of a field says which JSON values fit it, its default stands for
all others, and `wire.fields` says what it is called on the wire. So a field is declared in one line, and none can be
forgotten in a second place.

The function is generated, as attrs generates `__init__`, because a stream of deltas brings ten thousand messages a
second. It fills an *open twin* of the record, a subclass without the frozen `__setattr__`, by plain assignments, and
then turns it into the record: setting ten fields of a frozen record in `__init__` takes about three times as long.

A class with `reads_late` has many fields of which most programs look at few. All but `raw` are left unset, and read
from it when they are asked for; many such records are made at once, by functions in C.
"""

import collections
import itertools
import types
import typing
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

import attrs

from claude_control import records
from claude_control.wire.fields import WHOLE, wire_name

__all__ = ["ManyReader", "Reader", "late_reader", "many_reader", "open_twin", "reader", "using"]

R = TypeVar("R")
Reader = Callable[[dict[str, Any]], R]
"""Reads a record from a decoded JSON object; raises nothing, whatever the object holds."""

ManyReader = Callable[[list[dict[str, Any]]], list[R]]
"""Reads a record from each of many objects; there is no call for each."""

_READ = "read"
_INDENT = "    "

_compiled: dict[type, Reader[Any]] = {}
_late: dict[tuple[type, str], Reader[Any]] = {}


def using(read: Callable[[Any], Any]) -> dict[str, Any]:
    """Return the attrs metadata of a field that is made by `read`.

    `read` gets the field's wire value, which may be any JSON value, and must not raise.
    """
    return {_READ: read}


def reader(record: type[R]) -> Reader[R]:
    """Return the function that reads this record class, compiled at the first call."""
    read = _compiled.get(record)
    if read is None:
        read = _compiled[record] = _compile(record)
    return read


def many_reader(record: type[R]) -> ManyReader[R]:
    """Return the function that reads many records of a class that `reads_late`."""
    assert _reads_late(record)
    new, setters = object.__new__, _setters(record)

    def read(raws: list[dict[str, Any]]) -> list[R]:
        made = list(map(new, itertools.repeat(record, len(raws))))
        for put in setters:
            collections.deque(map(put, made, raws), maxlen=0)  # no line of Python for each: half of the time
        return made

    return read


def late_reader(record: type, name: str) -> Reader[Any]:
    """Return what reads a field that is read late; raises AttributeError if the record has no such field."""
    read = _late.get((record, name))
    if read is None:
        fields = [field for field in records.fields(record) if field.name == name and _is_late(record, field)]
        if not fields:
            raise AttributeError(f"{record.__name__!r} object has no attribute {name!r}")
        names = _names() | {"space": types.SimpleNamespace}
        lines = ["record = space()", *_fill(record, fields, names), f"return record.{name}"]
        read = _late[record, name] = _function(record, lines, names)
    return read


def _reads_late(record: type) -> bool:
    return getattr(record, "reads_late", False)


def _is_late(record: type, field: "attrs.Attribute[Any]") -> bool:
    return _reads_late(record) and wire_name(record, field.name) != WHOLE


def _setters(record: type) -> list[Callable[[Any, dict[str, Any]], None]]:
    """Return what sets the fields that are the whole object, `raw` first: their slots' own functions, which may."""
    whole = [field.name for field in records.fields(record) if not _is_late(record, field)]
    return [getattr(record, name).__set__ for name in whole]


def _compile(record: type) -> Reader[Any]:
    lines, names = _steps(record)
    return _function(record, [*lines, "return record"], names)


def _steps(record: type) -> tuple[list[str], dict[str, Any]]:
    """Return the lines that make a `record` of `raw`, and what they know by name."""
    names = _names() | {"record_class": record, "new": object.__new__}
    if _reads_late(record):
        setters = {f"put_{number}": put for number, put in enumerate(_setters(record))}
        return ["record = new(record_class)", *(f"{name}(record, raw)" for name in setters)], names | setters
    names["twin"] = open_twin(record)
    fields = records.fields(record)
    return ["record = new(twin)", *_fill(record, fields, names), "record.__class__ = record_class"], names


def _names() -> dict[str, Any]:
    """Return what the source of a function knows by name."""
    kinds = {kind.__name__: kind for kind in (bool, dict, float, int, list, str)}
    return {"all_are": _all_are, "nothing": {}, **kinds}


def _function(record: type, lines: list[str], names: dict[str, Any]) -> Callable[[Any], Any]:
    source = "\n".join(["def read(raw):", *(_INDENT + line for line in lines)])
    exec(compile(source, f"<reader of {record.__name__}>", "exec"), names)
    read: Callable[[Any], Any] = names[_READ]
    return read


def open_twin(record: type) -> type:
    """Return a subclass of the same layout whose instances can be assigned to."""
    open_again = {"__slots__": (), "__setattr__": object.__setattr__, "__delattr__": object.__delattr__}
    return type(record.__name__, (record,), open_again)


def _fill(record: type, fields: "Iterable[attrs.Attribute[Any]]", names: dict[str, Any]) -> Iterator[str]:
    """Yield the lines that set fields."""
    objects = {"": "raw"}
    for field in fields:
        path = wire_name(record, field.name)
        if path == WHOLE:
            yield f"record.{field.name} = raw"
            continue
        parent, _, key = path.rpartition(".")
        if parent not in objects:
            objects[parent] = f"in_{parent}"
            yield f"{objects[parent]} = raw.get({parent!r})"
            yield f"if {objects[parent]}.__class__ is not dict: {objects[parent]} = nothing"
        yield from _assignment(field, objects[parent], key, names)


def _assignment(field: "attrs.Attribute[Any]", source: str, key: str, names: dict[str, Any]) -> Iterator[str]:
    """Yield the lines that set one field, to its default if the key is missing or its value does not fit."""
    target, default = f"record.{field.name}", _default_source(field, names)
    value, fits = _conversion(field, names)
    yield f"if {key!r} in {source}:"
    yield f"{_INDENT}v = {source}[{key!r}]"
    yield f"{_INDENT}{target} = {value if fits is None else f'{value} if {fits} else {default}'}"
    yield "else:"
    yield f"{_INDENT}{target} = {default}"


def _default_source(field: "attrs.Attribute[Any]", names: dict[str, Any]) -> str:
    """Return the source of a field's default; lists and dicts are made anew for each record."""
    default: Any = field.default
    if default is attrs.NOTHING:
        raise TypeError(f"the field {field.name} needs a default: it may be missing on the wire")
    if isinstance(default, attrs.Factory):  # type: ignore[arg-type]  # the stubs show the class as a function
        made_by = default.factory
        if made_by in (dict, list):
            return repr(made_by())
        names[f"make_{field.name}"] = made_by
        return f"make_{field.name}()"
    return repr(default)  # None, a text, a number: their repr is their source


def _conversion(field: "attrs.Attribute[Any]", names: dict[str, Any]) -> tuple[str, str | None]:
    """Return the source of the value to set, made of the wire value `v`, and of the test that `v` fits (None: any)."""
    if _READ in field.metadata:
        names[f"read_{field.name}"] = field.metadata[_READ]
        return f"read_{field.name}(v)", None
    if field.type is Any:
        return "v", None
    kinds = [kind for kind in _alternatives(field.type) if kind is not types.NoneType]
    if len(kinds) == 1 and attrs.has(kinds[0]):
        names[f"read_{field.name}"] = reader(kinds[0])
        return f"read_{field.name}(v)", "v.__class__ is dict"
    return "v", " or ".join(map(_test, kinds))


def _alternatives(annotation: Any) -> tuple[Any, ...]:
    """Return the members of a union; an annotation that is none is its own only member."""
    return typing.get_args(annotation) if isinstance(annotation, types.UnionType) else (annotation,)


def _test(kind: Any) -> str:
    """Return the source of the test that `v` is of one kind; JSON values are of the exact classes."""
    if kind is float:
        return "v.__class__ is float or v.__class__ is int"  # JSON has one kind of number
    outer, members = typing.get_origin(kind) or kind, typing.get_args(kind)
    test = f"v.__class__ is {outer.__name__}"
    if not members or members[-1] is Any:
        return test
    member = typing.get_origin(members[-1]) or members[-1]
    return f"{test} and all_are({member.__name__}, v{'.values()' if outer is dict else ''})"


def _all_are(kind: type, items: Any) -> bool:
    """Whether every item is of exactly this class."""
    for item in items:  # noqa: SIM110  # a generator for all() would cost more than the test
        if item.__class__ is not kind:
            return False
    return True
