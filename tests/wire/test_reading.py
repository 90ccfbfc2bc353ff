"""The compiler of readers."""

import copy
import pickle
from collections.abc import Callable
from typing import Any

import attrs
import pytest

from claude_control.wire.content import TextBlock
from claude_control.wire.messages import AssistantMessage, decode
from claude_control.wire.reading import reader, using
from claude_control.wire.record import WireRecord
from tests.threads import together


@attrs.frozen(repr=False)
class Part(WireRecord):
    size: int = 1


@attrs.frozen(repr=False)
class Whole(WireRecord):
    text: str = ""
    maybe: str | None = None
    count: int = -1
    ratio: float | None = None
    flag: bool = False
    names: list[str] = attrs.field(factory=list)
    rows: list[dict[str, Any]] | None = None
    tree: dict[str, dict[str, Any]] | None = None
    either: str | list[int] | None = None
    anything: Any = None
    part: Part | None = None
    made: tuple[str, ...] = attrs.field(default=(), metadata=using(lambda value: (str(value),)))


@attrs.frozen(repr=False)
class Child(Whole):
    text: str = "child"
    more: int = 0


FITTING: dict[str, Any] = {
    "text": "t",
    "maybe": "m",
    "count": 3,
    "ratio": 0.5,
    "flag": True,
    "names": ["a", "b"],
    "rows": [{"x": 1}],
    "tree": {"k": {"y": 2}},
    "either": [1, 2],
    "anything": [None, {"z": 3}],
}


@pytest.mark.parametrize("name", FITTING)
def test_fitting_value_is_the_field(name: str) -> None:
    """A value that fits the annotation becomes the field, itself and not a copy."""
    assert getattr(reader(Whole)(FITTING), name) is FITTING[name]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("text", None),
        ("text", 5),
        ("maybe", ["m"]),
        ("count", True),
        ("count", 1.5),
        ("count", "3"),
        ("ratio", "0.5"),
        ("ratio", False),
        ("flag", 1),
        ("flag", None),
        ("names", "ab"),
        ("names", ["a", 1]),
        ("names", {"a": "b"}),
        ("rows", [{}, []]),
        ("rows", {}),
        ("tree", {"k": 1}),
        ("tree", [{}]),
        ("either", [1, "2"]),
        ("either", 1),
        ("part", []),
    ],
)
def test_unfitting_value_is_the_default(name: str, value: Any) -> None:
    """A value of another type than the annotation leaves the default, and stays in `raw`."""
    read = reader(Whole)({name: value})
    assert getattr(read, name) == getattr(Whole(), name)
    assert read.raw == {name: value}


def test_missing_keys_are_defaults() -> None:
    """Of an empty object every field is its default."""
    assert reader(Whole)({}) == Whole()


def test_default_containers_are_not_shared() -> None:
    """Two records that miss a list do not get the same one."""
    assert reader(Whole)({}).names is not reader(Whole)({}).names


def test_number_without_fraction_is_a_float_too() -> None:
    """JSON has one kind of number, so a float field takes an integer."""
    assert reader(Whole)({"ratio": 2}).ratio == 2


def test_union_takes_each_member() -> None:
    """A field of several types takes a value of any of them."""
    assert reader(Whole)({"either": "text"}).either == "text"
    assert reader(Whole)({"either": [1]}).either == [1]


def test_nested_record_is_read_by_its_own_reader() -> None:
    """A field that is a record is read as one, wrong parts and all."""
    assert reader(Whole)({"part": {"size": 4}}).part == Part(4, raw={"size": 4})
    assert reader(Whole)({"part": {"size": "big"}}).part == Part(1, raw={"size": "big"})


def test_own_function_makes_the_field() -> None:
    """A field declared with `using` is what its function makes of the wire value."""
    assert reader(Whole)({"made": 7}).made == ("7",)
    assert reader(Whole)({}).made == ()


def test_inherited_and_redefined_fields_are_read() -> None:
    """A subclass reads its base's fields, with its own default where it has one."""
    child = reader(Child)({"count": 5, "more": 6})
    assert (child.count, child.more, child.text) == (5, 6, "child")


def test_record_is_of_its_class_and_frozen() -> None:
    """What a reader returns is the record's own class and cannot be changed."""
    read = reader(Child)({"more": 1})
    assert type(read) is Child
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        read.more = 2  # type: ignore[misc]  # this is what must fail
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        del read.more
    assert not hasattr(read, "__dict__")


def test_read_record_equals_a_constructed_one() -> None:
    """A record that was read is the same as one that was constructed with the same fields."""
    raw = {"text": "t", "names": ["a"]}
    assert reader(Whole)(raw) == Whole("t", names=["a"], raw=raw)


def test_reader_is_compiled_once() -> None:
    """The same class gives the same function."""
    assert reader(Whole) is reader(Whole)


RAW: dict[str, Any] = {
    "type": "assistant",
    "message": {"id": "m1", "model": "opus", "content": [{"type": "text", "text": "hi"}], "stop_reason": 5},
    "uuid": "u1",
    "aborted": True,
    "supersedes": ["u0"],
}


def late() -> AssistantMessage:
    """Return a message of which nothing was asked yet."""
    message = decode(RAW)
    assert isinstance(message, AssistantMessage)
    return message


def test_late_fields_are_what_they_are_when_read_at_once() -> None:
    """A message's plain fields are read when they are asked for, by the same rules, and are then kept."""
    message = late()
    assert (message.uuid, message.model, message.message_id, message.aborted) == ("u1", "opus", "m1", True)
    assert message.supersedes is RAW["supersedes"] is message.supersedes
    assert (message.stop_reason, message.error, message.is_api_error_message) == (None, None, False)
    with pytest.raises(AttributeError, match="'AssistantMessage' object has no attribute 'modell'"):
        _ = message.modell  # type: ignore[attr-defined]  # this is what must fail


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, attrs.evolve, lambda m: pickle.loads(pickle.dumps(m))])
def test_late_message_is_a_record_like_any_other(copied: Callable[[Any], Any]) -> None:
    """A message of which nothing was asked yet can be compared, shown, copied, pickled and taken apart."""
    whole = AssistantMessage(
        content=[TextBlock("hi")], model="opus", message_id="m1", uuid="u1", aborted=True, supersedes=["u0"]
    )
    assert late() == whole == late()
    assert repr(late()) == repr(whole)
    assert copied(late()) == whole
    assert attrs.asdict(late(), recurse=False) == {**attrs.asdict(whole, recurse=False), "raw": RAW}
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        late().model = "other"  # type: ignore[misc]  # this is what must fail


def test_late_fields_are_read_by_many_threads_at_once() -> None:
    """Whoever asks first, and however many at once, all get the same."""
    for _ in range(50):
        message, seen = late(), list[Any]()
        together([lambda m=message, s=seen: s.append((m.uuid, m.model, m.supersedes)) for _ in range(4)])  # type: ignore[misc]
        assert seen == [("u1", "opus", ["u0"])] * 4


def test_field_without_a_default_is_refused() -> None:
    """A record whose field has no default cannot be read, as the field may be missing; this is our mistake."""

    @attrs.frozen
    class Strict:
        needed: str

    with pytest.raises(TypeError, match="needed"):
        reader(Strict)
