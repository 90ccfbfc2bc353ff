"""Records are what attrs makes of them, though attrs comes to them only when they are first used."""

import copy
import gc
import inspect
import itertools
import pickle
import re
import sys
import threading
import weakref
from collections.abc import Callable
from typing import Any, ClassVar, Generic, TypeVar

import attrs
import pytest

from claude_control import records
from claude_control.errors import OptionsError
from tests.threads import together

T = TypeVar("T")


def positive(_record: Any, attribute: "attrs.Attribute[Any]", value: Any) -> None:
    """Refuse what is not above zero."""
    if not value > 0:
        raise OptionsError(f"{attribute.name} must be above zero", field=attribute.name)


@records.frozen
class Point:
    """A record of this module, so that it can be pickled."""

    x: int
    y: int = 0


def plain_shapes(maker: Any) -> dict[str, Any]:
    """Return classes that leave everything to attrs."""

    @maker.frozen(repr=False)
    class Root:
        raw: dict[str, Any] = attrs.field(factory=dict, kw_only=True, repr=False, eq=False)

        def __repr__(self) -> str:
            return f"{type(self).__name__} of {__class__.__name__}"  # type: ignore[name-defined]

    @maker.frozen(repr=False)
    class Leaf(Root):
        """A leaf."""

        kind: ClassVar[str] = "leaf"
        name: str = ""
        size: int = attrs.field(default=1, validator=positive)
        raw: dict[str, Any] = attrs.field(factory=dict)

        @property
        def shown(self) -> str:
            return super().__repr__()

        @classmethod
        def of(cls, name: str) -> Any:
            return cls(name)  # type: ignore[call-arg]

    class Asking(Generic[T]):
        __slots__ = ()

    @maker.frozen
    class Question(Asking[int]):
        text: str = attrs.field(converter=str)
        count: int = attrs.field(default=attrs.Factory(lambda self: len(self.text), takes_self=True))

        @count.validator  # type: ignore[attr-defined,untyped-decorator]
        def _small(self, _attribute: object, value: int) -> None:
            if value > 5:
                raise OptionsError("too long", field="count")

    return {made.__name__: made for made in (Root, Leaf, Question)}


def odd_shapes(maker: Any) -> dict[str, Any]:
    """Return classes that choose what attrs does, or do some of it themselves."""

    @maker.frozen(kw_only=True, eq=False)
    class Strict:
        one: int
        two: int = 2

        def __attrs_post_init__(self) -> None:
            positive(self, attrs.fields(type(self)).two, self.one + self.two)  # type: ignore[arg-type]

    @maker.define
    class Box:
        content: Any = None

    @maker.define(eq=False)
    class Count:
        number: int = attrs.field(default=0, validator=positive)

        def __getstate__(self) -> dict[str, int]:
            return {"number": self.number}

    @maker.frozen(init=False)
    class Made:
        name: str

        def __init__(self, *parts: str) -> None:
            self.__attrs_init__("-".join(parts))  # type: ignore[attr-defined]

    return {made.__name__: made for made in (Strict, Box, Count, Made)}


def shapes(maker: Any) -> dict[str, Any]:
    """Return classes of every form that records of ours have, made by `attrs` or by `records`."""
    return plain_shapes(maker) | odd_shapes(maker)


OURS, THEIRS = shapes(records), shapes(attrs)


def looks(record: type) -> dict[str, Any]:
    """Return what can be seen of a class from outside."""
    fields = [re.sub("0x[0-9a-f]+", "", repr(field)) for field in attrs.fields(record)]  # functions show where they lie
    names = {name for name in vars(record) if name not in ("__attrs_base_of_slotted__",)}
    told = (inspect.signature(record), record.__doc__, record.__qualname__, record.__module__)
    return {"fields": fields, "names": names, "slots": vars(record)["__slots__"], "told": told}


@pytest.mark.parametrize("name", OURS)
def test_class_is_what_attrs_makes_of_it(name: str) -> None:
    """Fields, slots, methods, signature and docstring are those that attrs gives."""
    assert looks(OURS[name]) == looks(THEIRS[name])
    assert OURS[name].__match_args__ == THEIRS[name].__match_args__


TRIALS: dict[str, Callable[[dict[str, Any]], object]] = {
    "repr": lambda made: (repr(made["Root"]()), made["Leaf"]("a").shown, repr(made["Question"]("abc")).split(".")[-1]),
    "class method": lambda made: made["Leaf"].of("b").name,
    "class variable": lambda made: (made["Leaf"].kind, made["Leaf"]().kind),
    "equal": lambda made: (made["Leaf"]("a") == made["Leaf"]("a"), made["Leaf"]("a") != made["Leaf"]("b")),
    "own raw": lambda made: made["Leaf"](raw={"a": 1}) == made["Leaf"](raw={"a": 2}),
    "raw is no part": lambda made: made["Root"](raw={"a": 1}) == made["Root"](raw={"a": 2}),
    "not equal": lambda made: made["Strict"](one=1) == made["Strict"](one=1),
    "hash": lambda made: len({made["Question"]("a"), made["Question"]("a"), made["Question"]("b")}),
    "no hash": lambda made: hash(made["Box"]()),
    "frozen": lambda made: setattr(made["Question"]("a"), "text", "b"),
    "kept": lambda made: delattr(made["Question"]("a"), "text"),
    "no other": lambda made: setattr(made["Box"](), "other", 1),
    "set": lambda made: setattr(made["Count"](1), "number", -1),
    "validator": lambda made: made["Leaf"](size=0),
    "own validator": lambda made: made["Question"]("a" * 6),
    "converter": lambda made: made["Question"](12).text,
    "after init": lambda made: made["Strict"](one=-2),
    "keywords": lambda made: made["Strict"](1),
    "unknown": lambda made: made["Leaf"](nothing=1),
    "own init": lambda made: made["Made"]("a", "b").name,
    "evolve": lambda made: attrs.evolve(made["Leaf"]("a", 2), size=3).size,
    "copy": lambda made: copy.copy(made["Leaf"]("a", 2)).size + copy.deepcopy(made["Count"](2)).number,
    "weak": lambda made: weakref.ref(made["Box"]())(),
    "dict": lambda made: attrs.asdict(made["Leaf"]("a")),
    "has": lambda made: [attrs.has(record) for record in made.values()],
}


@pytest.mark.parametrize("name", TRIALS)
def test_record_does_what_that_of_attrs_does(name: str) -> None:
    """A record returns and raises what one of attrs does, also when this is the first use of its class."""

    def outcome(made: dict[str, Any]) -> object:
        try:
            return TRIALS[name](made)
        except Exception as error:
            return type(error), str(error)

    assert outcome(shapes(records)) == outcome(shapes(attrs))


def is_complete(record: type) -> bool:
    """Tell whether attrs has come to a class."""
    return inspect.isfunction(vars(record)["__init__"])


@pytest.mark.parametrize("name", ["Root", "Leaf"])
def test_fields_are_known_before(name: str) -> None:
    """The fields of a class can be had without completing it, and are those that attrs has."""
    made = shapes(records)[name]
    known = [(field.name, field.type, field.default, field.metadata) for field in records.fields(made)]
    assert not is_complete(made)
    assert known == [(field.name, field.type, field.default, field.metadata) for field in attrs.fields(made)]
    assert is_complete(made)
    assert records.fields(made) == attrs.fields(made)


FIRST_LOOKS: dict[str, Callable[[Any], object]] = {
    "equal": lambda leaf: (leaf == "other", leaf != "other"),
    "hash": hash,
    "frozen": lambda leaf: setattr(leaf, "name", "b"),
    "kept": lambda leaf: delattr(leaf, "name"),
    "repr": repr,
    "copy": lambda leaf: copy.copy(leaf).name,
    "state": lambda leaf: leaf.__getstate__(),
    "evolve": lambda leaf: attrs.evolve(leaf, name="b").name,
    "dict": attrs.asdict,
    "fields": lambda leaf: [field.name for field in attrs.fields(type(leaf))],
}


@pytest.mark.parametrize("name", FIRST_LOOKS)
def test_instance_that_was_not_made_by_init(name: str) -> None:
    """A record that a reader filled does what any other does, also when that is the first use of its class."""

    def outcome(maker: Any) -> object:
        leaf = object.__new__(shapes(maker)["Leaf"])
        for field, value in {"name": "a", "size": 1, "raw": {}}.items():
            object.__setattr__(leaf, field, value)
        try:
            return FIRST_LOOKS[name](leaf)
        except Exception as error:
            return type(error), str(error)

    assert outcome(records) == outcome(attrs)


def test_nothing_is_generated_before_it_is_needed() -> None:
    """A class that nobody uses costs no generated code, and the first instance brings it, of its bases too."""
    made = shapes(records)
    assert not any(is_complete(record) for name, record in made.items() if name != "Made")
    made["Leaf"]()
    assert is_complete(made["Leaf"])
    assert is_complete(made["Root"])
    assert not is_complete(made["Strict"])


def test_match_and_pickle_find_the_class_incomplete() -> None:
    """Matching by position works, and unpickling may be the first thing that happens to a class."""
    match Point(3, 4):
        case Point(x, y):
            assert (x, y) == (3, 4)
    line = pickle.dumps(Point(1))
    assert pickle.loads(line) == Point(1)
    made = shapes(records)["Leaf"]
    fresh = made.__new__(made)
    fresh.__setstate__({"name": "a", "size": 2, "raw": {}})
    assert fresh == made("a", 2)


def test_first_use_by_many_threads() -> None:
    """Threads that use a class first at the same time all get whole instances."""
    for _ in range(20):
        made = shapes(records)
        barrier = threading.Barrier(8)

        def use(made: dict[str, Any] = made, barrier: threading.Barrier = barrier) -> Any:
            barrier.wait()
            return made["Leaf"]("a", 2)

        assert together([use] * 8) == [made["Leaf"]("a", 2)] * 8


class Struck(Exception):
    """What a task runner's time limit raises, anywhere."""


def struck_at(step: int) -> Callable[..., Any]:
    """Return a trace function that raises in the `step`-th line, call or return that is traced."""
    steps = itertools.count(1)

    def trace(*_: object) -> Any:
        if next(steps) == step:
            raise Struck
        return trace

    return trace


def test_an_exception_amid_the_first_use_does_no_harm() -> None:
    """However far attrs has come when an exception strikes, the next use has the whole class."""
    struck: list[int] = []

    def use(leaf: Any, step: int) -> None:
        gc.disable()  # what raises in a callback of the collector's is printed, and lost
        sys.settrace(struck_at(step))
        try:
            leaf("a", 2)
        except Struck:
            struck.append(step)
        finally:
            sys.settrace(None)
            gc.enable()

    for step in itertools.count(1, 7):
        made: dict[str, Any] = shapes(records)
        thread = threading.Thread(target=use, args=(made["Leaf"], step), daemon=True)
        thread.start()
        thread.join(10)
        leaf = made["Leaf"]("a", 2)
        assert (leaf, leaf.raw, repr(attrs.evolve(leaf, size=3))) == (made["Leaf"]("a", 2), {}, "Leaf of Root")
        if step not in struck:
            break
    assert len(struck) > 100


def test_record_with_nothing_to_do_is_made_without_a_step_of_python() -> None:
    """A record without fields is made by `object` alone; what has a field, in a base too, or a hook of attrs is not."""

    @records.frozen
    class Empty:
        kind: ClassVar[str] = "empty"

    @records.frozen
    class Counted:
        made: ClassVar[list[int]] = []

        def __attrs_post_init__(self) -> None:
            self.made.append(1)

    class Plain:
        def __init__(self) -> None:
            raise OptionsError("attrs never calls this", field="plain")

    @records.frozen
    class Heir(Plain):
        """An heir of what is no record."""

    @records.frozen
    class Child(Point):
        """A point."""

    assert Empty() == Empty()
    assert Empty.__init__ is object.__init__
    with pytest.raises(TypeError, match="Empty"):
        Empty(1)  # type: ignore[call-arg]
    assert attrs.fields(Empty) == ()
    assert Counted() == Counted()
    assert Counted.made == [1, 1]
    assert Heir() == Heir()
    assert Child(1, y=2).x == 1
