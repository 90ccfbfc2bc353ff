"""Objects to lines: what goes out is one line of strict JSON, or is refused with its place."""

import enum
import json
import math
from collections import OrderedDict, namedtuple
from decimal import Decimal
from pathlib import Path, PurePosixPath, PureWindowsPath
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claude_control.errors import OptionsError
from claude_control.wire.framing import Decoder, encode
from tests.wire.messages.samples import json_values

# A value that orjson refuses sends the whole record through the standard encoder: both must write the same.
WAYS = pytest.mark.parametrize("beside", [{}, {"long": 10**30}, {"half": "\ud83d"}], ids=["fast", "long", "half"])


def parsed(line: bytes) -> Any:
    """Return what a strict reader of JSON lines makes of a line."""
    assert line.endswith(b"\n") and line.count(b"\n") == 1

    def refuse(word: str) -> Any:
        raise AssertionError(f"{word} is not JSON")

    return json.loads(line.decode(), parse_constant=refuse)


def expected(value: Any) -> Any:
    """Return what the reader is to get of a value."""
    if isinstance(value, str):
        return "".join("\ufffd" if "\ud800" <= letter <= "\udfff" else letter for letter in value)
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {expected(key): expected(item) for key, item in value.items()}
    return [expected(item) for item in value] if isinstance(value, list) else value


surrogates = st.text(st.characters(categories=["Cs", "L", "Zl", "Cc"]), max_size=6)
anything = json_values | st.recursive(
    surrogates | st.integers() | st.floats(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(surrogates, inner, max_size=3),
    max_leaves=8,
)


@given(record=st.dictionaries(st.text() | surrogates, anything, max_size=4))
def test_every_json_value_becomes_one_strict_line(record: dict[str, Any]) -> None:
    """Whatever JSON-like value is sent, the line is strict JSON, ends with the only newline and says the same."""
    assert parsed(encode(record)) == expected(record)


plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
)


@given(record=st.dictionaries(st.text(), plain, max_size=4))
def test_what_is_encoded_decodes_to_itself(record: dict[str, Any]) -> None:
    """Encoding and decoding give back the same object, types included."""
    back = Decoder().decode(encode(record)[:-1])
    assert back == record
    assert repr(back) == repr(record)


@given(numbers=st.lists(st.integers()))
def test_integers_of_a_request_make_the_round_trip(numbers: list[int]) -> None:
    """Integers of any length pass both ways inside of a control request."""
    frame = {"type": "control_request", "request": {"numbers": numbers}}
    assert Decoder().decode(encode(frame)[:-1]) == frame


class Mode(enum.StrEnum):
    PLAN = "plan"


class Odd:
    """Something that JSON has no form for."""


Pair = namedtuple("Pair", "left right")

SENDABLE: dict[str, tuple[Any, Any]] = {
    "nan": (math.nan, None),
    "infinity": ([math.inf, -math.inf], [None, None]),
    "half pair": ("x\ud83dy", "x\ufffdy"),
    "half pair key": ({"\udc00": 1}, {"\ufffd": 1}),
    "separators": ("\u2028\u2029\u0085\x00\n\r", "\u2028\u2029\u0085\x00\n\r"),
    "emoji": ("\U0001f600", "\U0001f600"),
    "path": (Path("/a/b"), "/a/b"),
    "paths": ([PurePosixPath("x"), PureWindowsPath("c:/x")], ["x", "c:\\x"]),
    "path that is not UTF-8": (Path("/a/\udcff"), "/a/\ufffd"),
    "tuple": ((1, (2,)), [1, [2]]),
    "named tuple": (Pair(1, 2), [1, 2]),
    "text enum": (Mode.PLAN, "plan"),
    "ordered dict": (OrderedDict(b=1, a=2), {"b": 1, "a": 2}),
    "whole keys": ({1: "a", -2: "b"}, {"1": "a", "-2": "b"}),
    "odd keys": ({True: 1, None: 2, 1.5: 3}, {"true": 1, "null": 2, "1.5": 3}),
    "long": (2**64, 2**64),
    "longer": (-(10**40), -(10**40)),
    "empty": ({"": {}}, {"": {}}),
    "zero": (-0.0, -0.0),
}


@WAYS
@pytest.mark.parametrize(("value", "read"), SENDABLE.values(), ids=SENDABLE)
def test_value_is_sent_as(value: Any, read: Any, beside: dict[str, Any]) -> None:
    """Each of these values is written the same way whatever else is in the record."""
    assert parsed(encode({"value": value, **beside}))["value"] == read


@WAYS
def test_halves_are_replaced_everywhere(beside: dict[str, Any]) -> None:
    """No half of a surrogate pair reaches the program, not even escaped."""
    line = encode({"a": ["\ud83d", {"\udc00": Path("\udcff")}], **beside})
    assert b"\\ud" not in line.lower()


REFUSED: dict[str, tuple[Any, str]] = {
    "set": ({"a": {1, 2}}, "$.a is a set"),
    "bytes": ({"a": [0, {"b": b"x"}]}, "$.a[1].b is a bytes"),
    "bytearray": ({"a": bytearray(b"x")}, "$.a is a bytearray"),
    "object": ({"a": {"b": [[Odd()]]}}, "$.a.b[0][0] is a Odd"),
    "class": ({"a": Odd}, "$.a is a type"),
    "function": ({"a": len}, "$.a is a builtin_function_or_method"),
    "decimal": ({"a": Decimal(1)}, "$.a is a Decimal"),
    "complex": ({"a": 1j}, "$.a is a complex"),
    "mapping": ({"a": MappingProxyType({})}, "$.a is a mappingproxy"),
    "generator": ({"a": (x for x in "b")}, "$.a is a generator"),
    "exception": ({"a": ValueError("x")}, "$.a is a ValueError"),
    "tuple key": ({"a": {(1, 2): 3}}, "a key of $.a is a tuple"),
    "bytes key": ({b"a": 3}, "a key of $ is a bytes"),
    "first of two": ({"a": {"x": 1}, "b": {3}, "c": {4}}, "$.b is a set"),
}


@WAYS
@pytest.mark.parametrize(("record", "where"), REFUSED.values(), ids=REFUSED)
def test_value_is_refused_with_its_place(record: dict[Any, Any], where: str, beside: dict[str, Any]) -> None:
    """A value without a JSON form is the caller's mistake, and the message says where it stands and what it is."""
    with pytest.raises(OptionsError) as caught:
        encode({**record, **beside})
    assert where in str(caught.value)


def nested(depth: int, leaf: Any) -> dict[str, Any]:
    """Return lists in lists."""
    for _ in range(depth):
        leaf = [leaf]
    return {"a": leaf}


@pytest.mark.parametrize("leaf", [1, "\ud83d", 10**30, math.nan], ids=["plain", "half", "long", "nan"])
def test_deep_value_is_sent(leaf: Any) -> None:
    """A value 300 levels deep, which the program may send, can be sent back."""
    value = parsed(encode(nested(300, leaf)))["a"]
    for _ in range(300):
        (value,) = value
    assert value == expected(leaf)


@pytest.mark.parametrize("depth", [2000, 100_000])
def test_deeper_value_is_refused(depth: int) -> None:
    """A value that is too deep is refused as the caller's mistake; the interpreter survives."""
    with pytest.raises(OptionsError, match="nested too deeply"):
        encode(nested(depth, 1))


def test_odd_value_is_found_at_any_depth() -> None:
    """The place of a value is told however deep it is."""
    with pytest.raises(OptionsError, match=r"\[0\] is a set"):
        encode(nested(2000, {1}))


def test_value_that_contains_itself_is_refused_at_once() -> None:
    """A record that contains itself many times over is refused, not followed for ever."""
    parent: dict[str, Any] = {"name": "parent"}
    parent["children"] = [{"parent": parent, "other": parent} for _ in range(5)]
    with pytest.raises(OptionsError, match="contains itself"):
        encode(parent)


def test_encoding_leaves_the_record_alone() -> None:
    """The caller's own objects are not changed by being cleaned."""
    record = {"a": ["\ud83d", math.nan, Path("x"), (1,)], 5: 10**30}
    before = repr(record)
    encode(record)  # type: ignore[arg-type]  # keys that are no texts are what it is about
    assert repr(record) == before
