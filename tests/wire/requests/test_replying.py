"""How answers are read into their records."""

import copy
import pickle
from typing import Any, ClassVar

import attrs
import pytest

from claude_control.errors import ProtocolError
from claude_control.wire.requests.base import Request
from claude_control.wire.requests.replying import ReplyRecord, camel


@attrs.frozen(repr=False)
class Part(ReplyRecord):
    """A part of an answer."""

    name: str = "-"
    some_count: int | None = None


@attrs.frozen(repr=False)
class Whole(ReplyRecord):
    """An answer with a field of each kind."""

    text: str | None = None
    flag: bool = False
    number: float | None = None
    either: str | list | None = None  # type: ignore[type-arg]  # as MCPCallReply has it
    texts: tuple[str, ...] = ()
    part: Part | None = None
    some_parts: tuple[Part, ...] = ()
    rows: tuple[tuple[Part, ...], ...] = ()
    objects: tuple[dict[str, Any], ...] = ()
    named: dict[str, Part] = attrs.field(factory=dict)
    counts: dict[str, int] = attrs.field(factory=dict)
    anything: Any = None


@attrs.frozen
class Ask(Request[Whole]):
    """The request."""

    subtype: ClassVar[str] = "ask"


def read(payload: dict[str, Any]) -> Whole:
    """Read an answer."""
    return Ask().reply(payload)


def test_names_are_read_in_both_spellings() -> None:
    """A field is found as it is called here and in camel case."""
    assert camel("total_tokens_used") == "totalTokensUsed"
    assert read({"part": {"some_count": 5}}).part == read({"part": {"someCount": 5}}).part == Part(some_count=5)


def test_missing_null_and_odd_values_are_defaults() -> None:
    """A scalar that is missing, null or of another kind is its default; the rest is read all the same."""
    assert read({}) == read({"text": None, "flag": None, "texts": None, "part": None, "named": None}) == Whole()
    assert read({"text": 5, "flag": 1, "number": True, "either": {}, "texts": ["a"]}) == Whole(texts=("a",))
    assert read({"number": 5}).number == 5
    assert [read({"either": value}).either for value in ("a", ["b"])] == ["a", ["b"]]
    assert read({"anything": {"a": [1]}}).anything == {"a": [1]}


def test_parts_keep_their_own_raw() -> None:
    """Parts of an answer are records with what they came from, in lists, lists of lists and objects."""
    payload = {"someParts": [{"name": "a", "x": 1}], "rows": [[{"name": "b"}], []], "named": {"k": {"name": "c"}}}
    whole = read(payload)
    assert (whole.some_parts, whole.rows) == ((Part("a"),), ((Part("b"),), ()))
    assert whole.named == {"k": Part("c")}
    assert whole.some_parts[0].raw == {"name": "a", "x": 1}
    assert whole.raw is payload


def test_odd_members_are_left_out() -> None:
    """Of a list or object of plain values what is of another kind is left out."""
    assert read({"objects": ["a", {"b": 1}, None]}).objects == ({"b": 1},)
    whole = read({"texts": ["x", None, 5, ["y"], "z"], "counts": {"a": 1, "b": "2", "c": True}})
    assert (whole.texts, whole.counts) == (("x", "z"), {"a": 1})


@pytest.mark.parametrize(
    ("payload", "text"),
    [
        ({"texts": "x"}, "texts in the answer to ask is not a list but str"),
        ({"texts": {}}, "texts in the answer to ask is not a list but dict"),
        ({"part": []}, "part in the answer to ask is not a JSON object but list"),
        ({"someParts": [{}, 5]}, "a member of someParts in the answer to ask is not a JSON object but int"),
        ({"rows": [{}]}, "a member of rows in the answer to ask is not a list but dict"),
        ({"named": [1]}, "named in the answer to ask is not a JSON object but list"),
        ({"named": {"k": 1}}, "named['k'] in the answer to ask is not a JSON object but int"),
    ],
    ids=repr,
)
def test_wrong_container_is_an_error(payload: dict[str, Any], text: str) -> None:
    """A container of another kind is an error that names the field, with the whole payload."""
    with pytest.raises(ProtocolError) as caught:
        read(payload)
    assert str(caught.value).startswith(text)
    assert caught.value.raw is payload


def test_fields_are_read_once_when_they_are_asked_for() -> None:
    """A reply is what it was however late it is looked into: the same objects each time, none of them shared."""
    payload = {"someParts": [{"name": "a"}], "text": "b"}
    whole = read(payload)
    assert whole.some_parts is whole.some_parts
    assert whole.named is whole.named
    assert read(payload).named is not whole.named
    for made in (copy.copy(read(payload)), copy.deepcopy(read(payload)), pickle.loads(pickle.dumps(read(payload)))):
        assert made == whole == Whole(text="b", some_parts=(Part("a"),))
        assert made.raw == payload
    assert attrs.asdict(read(payload))["some_parts"] == ({"name": "a", "some_count": None, "raw": {"name": "a"}},)
    assert repr(read(payload)) == "Whole(text='b', some_parts=(Part(name='a'),))"


def test_unknown_field_is_an_attribute_error() -> None:
    """A name that a reply has no field for is an AttributeError that says so, as for any other object."""
    assert not hasattr(read({}), "nothing")
    with pytest.raises(AttributeError, match="'Whole' object has no attribute 'nothing'"):
        _ = read({}).nothing  # type: ignore[attr-defined]
