"""`frozen` and `define` of attrs, put off: a record class gets its methods when it is used first.

attrs writes and compiles the methods of every class as soon as it is made, half a millisecond each. This package has
some three hundred record classes, and a program uses a few dozen of them: so at first only the slotted class is made,
which takes a tenth of that, and what attrs adds to it comes when an instance is made or the class is looked into. From
then on it is what attrs makes of it, in every respect. Records that every session needs at its start are attrs' own.
"""

import contextlib
import copy
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, get_origin

import attrs

if TYPE_CHECKING:
    from attrs import define, frozen  # for type checkers there is no difference
else:

    def define(pattern: type | None = None, **choices: Any) -> Any:
        """Do as `attrs.define` does, later; every field needs an annotation."""
        return _postpone(pattern, attrs.define, choices)

    def frozen(pattern: type | None = None, **choices: Any) -> Any:
        """Do as `attrs.frozen` does, later; every field needs an annotation."""
        return _postpone(pattern, attrs.frozen, choices)


__all__ = ["define", "fields", "frozen"]


def fields(record: type) -> "Sequence[attrs.Attribute[Any]]":
    """Return the fields of a record class as `attrs.fields` does, and leave it incomplete if it is."""
    later = vars(record).get("__attrs_attrs__")
    return later.work.fields() if isinstance(later, _Later) else attrs.fields(record)


_NOT_EMPTY = frozenset(("__attrs_attrs__", "__attrs_pre_init__", "__attrs_post_init__", "__init__"))


def _postpone(pattern: type | None, decorator: Callable[..., Any], choices: dict[str, Any]) -> Any:
    if pattern is None:
        return lambda pattern: _postpone(pattern, decorator, choices)
    if _is_empty(pattern):
        choices = {"init": False, **choices}  # it would do nothing, and take as long as any other
    given, work = vars(pattern), _Work(pattern, decorator, choices)
    body = {name: _Later(work) for name in _generated(given, choices, is_frozen=decorator is attrs.frozen)}
    body |= _body(pattern, given)
    record = type(pattern)(pattern.__name__, pattern.__bases__, body)
    for cell in _cells(given.values()):
        with contextlib.suppress(ValueError):  # an empty one
            if cell.cell_contents is pattern:  # what `super()` and `__class__` in its methods stand for
                cell.cell_contents = record
    return record


class _Enough(Exception):
    """Ends what attrs does to a class."""


class _Work:
    """What is left to do for a class. The pattern stays as it is, so that it can be done any number of times."""

    __slots__ = ("_choices", "_decorator", "_pattern")

    def __init__(self, pattern: type, decorator: Callable[..., Any], choices: dict[str, Any]) -> None:
        self._pattern = pattern
        self._decorator = decorator
        self._choices = choices

    def complete(self, record: type) -> None:
        """Give the class what attrs adds to its pattern.

        Two threads may be here at once, and an exception may strike in the middle. Each name is set for good, and until
        it is, whoever looks it up does all of this again.
        """
        made = vars(self._decorator(self._pattern, **self._choices))
        for name in made.keys() - vars(self._pattern).keys() - {"__slots__", *vars(record)["__slots__"]}:
            setattr(record, name, made[name])

    def fields(self) -> "list[attrs.Attribute[Any]]":
        """Return the fields that attrs finds, before it generates anything."""
        found: list[attrs.Attribute[Any]] = []

        def note(_: type, fields: "list[attrs.Attribute[Any]]") -> Any:
            found.extend(fields)
            raise _Enough

        with contextlib.suppress(_Enough):
            self._decorator(self._pattern, **self._choices, field_transformer=note)
        return found


class _Later:
    """Stands where attrs will put something, and has that done when it is looked up."""

    __slots__ = ("_name", "_record", "work")

    def __init__(self, work: _Work) -> None:
        self.work = work

    def __set_name__(self, record: type, name: str) -> None:
        self._record = record
        self._name = name

    def __get__(self, instance: object, kind: type | None = None) -> Any:
        self.work.complete(self._record)
        found = vars(self._record)[self._name]
        if found is self:
            raise AttributeError(self._name)  # this release of attrs does not know it
        return found.__get__(instance, kind) if hasattr(found, "__get__") else found


def _generated(given: Mapping[str, Any], choices: Mapping[str, Any], *, is_frozen: bool) -> Iterator[str]:
    """Yield what attrs will add, but for what nobody looks up before any of it."""
    yield "__attrs_attrs__"
    yield "__init__" if choices.get("init", True) and "__init__" not in given else "__attrs_init__"
    if "__match_args__" not in given:
        yield "__match_args__"
    if "__getstate__" not in given and "__setstate__" not in given:
        yield from ("__getstate__", "__setstate__")
    if choices.get("repr", True) and "__repr__" not in given:
        yield "__repr__"
    if choices.get("eq", True) and "__eq__" not in given:
        yield from ("__eq__", "__ne__", "__hash__") if is_frozen else ("__eq__", "__ne__")
    if is_frozen:
        yield from ("__setattr__", "__delattr__")
    if hasattr(copy, "replace"):  # Python 3.13
        yield "__replace__"


def _body(pattern: type, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the slotted class has in common with the pattern, and its slots: none for what a base has."""
    bases = [vars(base) for base in pattern.__mro__[1:-1]]
    names = list(_field_names(pattern))
    taken = {slot: base[slot] for base in bases for slot in base.get("__slots__", ()) if slot in names}
    slots = [name for name in names if name not in taken]
    if not any("__weakref__" in base for base in bases):
        slots.append("__weakref__")
    gone = {*names, "__dict__", "__weakref__"}
    body = {name: value for name, value in given.items() if name not in gone}
    return {**body, **taken, "__slots__": tuple(slots), "__qualname__": pattern.__qualname__}


def _is_empty(pattern: type) -> bool:
    """Tell whether there is nothing to do when an instance is made."""
    given = {name for base in pattern.__mro__[:-1] for name in vars(base)}
    return _NOT_EMPTY.isdisjoint(given) and not any(_field_names(pattern))


def _field_names(pattern: type) -> Iterator[str]:
    """Yield the names of the fields that are its own."""
    return (name for name, kind in pattern.__annotations__.items() if not _is_class_variable(kind))


def _is_class_variable(annotation: Any) -> bool:
    if isinstance(annotation, str):
        return "ClassVar" in annotation
    return annotation is ClassVar or get_origin(annotation) is ClassVar


def _cells(values: Iterable[Any]) -> Iterator[Any]:
    """Yield the closure cells of functions, and of those in properties, class methods and static methods."""
    for value in values:
        for function in (getattr(value, "fget", None), getattr(value, "__func__", value)):
            yield from getattr(function, "__closure__", None) or ()
