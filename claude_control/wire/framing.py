"""Bytes to lines to JSON objects, and back; the one place that knows what orjson refuses and what it changes.

A line ends at the newline byte and nowhere else: Node leaves U+2028 unescaped, and a text-mode split would cut a record
there.
"""

import io
import json
import math
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate, repeat
from pathlib import PurePath
from typing import Any

import orjson

from claude_control import loading
from claude_control.errors import OptionsError
from claude_control.records import frozen

__all__ = ["DELTA", "MESSAGE", "Decoder", "LineSplitter", "LongLine", "Piece", "cut", "encode"]

HEAD_BYTES = 256
"""How much of a line that is too long is kept, to say what it was."""


DELTA = b'{"type":"stream_event","event":{"type":"content_block_delta",'
"""How a line begins that is a piece of streamed text, input or thinking, on 2.0.75, 2.1.7 and 2.1.332.

So it is known without being decoded; one that begins otherwise is known when it is.
"""

MESSAGE = b'{"type":"assistant",'
"""How a line begins that is a whole message of the model's, on the same versions."""

Piece = bytes | memoryview
"""Some bytes of a block of lines."""

_CONTROL = re.compile(rb'"type"\s*:\s*"control_re')
_SMALL_PART = 8  # of a chunk is one of so many


@frozen
class LongLine:
    """A line beyond the limit that was skipped to its newline: its `size` in bytes and its first bytes."""

    size: int
    head: bytes

    @property
    def is_control(self) -> bool:
        """Whether the line belonged to the control protocol, so that its loss cannot be survived."""
        # control_request or control_response; a lost cancel is not that long. Inside of a text the quotes would be
        # escaped.
        return _CONTROL.search(self.head) is not None


class LineSplitter:
    """Cuts a stream of chunks into lines, in time linear in their size whatever the size of the chunks.

    The limit is per line. Of a longer one only the head is kept while the rest passes by.
    """

    __slots__ = ("_fragments", "_size", "limit", "whole")

    def __init__(self, max_line_bytes: int) -> None:
        self.limit = max_line_bytes
        self.whole = 0
        """How many bytes at the beginning of the last block are known to have no newline among them."""
        # Joined once, when the newline comes: adding to one bytes object is quadratic.
        self._fragments: list[bytes] = []
        self._size = 0

    @property
    def is_empty(self) -> bool:
        """Whether the last chunk ended with a whole line."""
        return not self._size

    def feed(self, chunk: bytes) -> list[bytes | LongLine]:
        """Return the lines that end in this chunk, without their newline bytes."""
        if b"\n" not in chunk:  # the middle of a long line; this test is many times as fast as a split
            self._keep(chunk)
            return []
        lines: list[bytes | LongLine] = chunk.split(b"\n")  # type: ignore[assignment]  # a fresh list, all bytes so far
        tail = lines.pop()
        assert isinstance(tail, bytes)
        if self._size:
            first = lines[0]
            assert isinstance(first, bytes)
            self._keep(first)
            lines[0] = self._take()
        if len(chunk) > self.limit:
            lines = [self._checked(line) for line in lines]
        if tail:
            self._keep(tail)
        return lines

    def feed_block(self, chunk: bytes, end: int) -> bytes | None:
        """Return the lines that end in this chunk as they are, with newlines between them, or nothing if none ends.

        `end` is behind the last newline in it, 0 if there is none. That takes a quarter of the time of cutting them
        apart. None if one may be too long: then `feed` is to be used.
        """
        if self._size + len(chunk) > self.limit:
            return None
        if not end:
            self._keep(chunk)
            return b""
        self.whole = self._size
        if not self._size and end == len(chunk):  # whole lines, as of every answer
            return chunk[:-1]
        block = b"".join([*self._fragments, memoryview(chunk)[: end - 1]])
        self._keep_only(chunk[end:])
        return block

    def feed_alike(self, chunk: bytes, end: int, begin: bytes) -> tuple[Sequence[Piece], int] | None:
        """Return the lines that end in this chunk if all of them begin so: in one or two pieces, and their number.

        `end` is that of `feed_block`, and together the pieces are what that returns, which saves the copying. None if
        any line begins otherwise, or may be too long, or none ends, or if they are not most of what there is: then
        nothing has happened. The chunk is kept as a whole, and long lines are the faster for being put together by the
        reader.
        """
        rest = len(chunk) - end
        if not end or not (self._fragments[0] if self._fragments else chunk).startswith(begin):
            return None
        if self._size + len(chunk) > self.limit or max(self._size, rest) * _SMALL_PART > len(chunk):
            return None
        # A file's lines are found many times as fast as to count goes, see `cut`; and none of them is kept.
        file = io.BytesIO(chunk)
        file.seek(chunk.find(b"\n") + 1)
        alike = [*map(bytes.startswith, file, repeat(begin))]
        if not all(alike[:-1] if rest else alike):
            return None
        begun = [b"".join(self._fragments)] if self._size else []
        self._keep_only(chunk[end:])
        return [*begun, memoryview(chunk)[: end - 1]], len(alike) + (not rest)

    def finish(self) -> list[bytes | LongLine]:
        """Return what is left at the end of the stream: a last line that has no newline."""
        return [self._take()] if self._size else []

    def _keep_only(self, tail: bytes) -> None:
        self._fragments, self._size = [tail] if tail else [], len(tail)

    def _keep(self, fragment: bytes) -> None:
        before, self._size = self._size, self._size + len(fragment)
        if self._size <= self.limit:
            self._fragments.append(fragment)
        elif before <= max(self.limit, HEAD_BYTES):  # just now too long: keep the head only
            self._fragments = [b"".join([*self._fragments, fragment[:HEAD_BYTES]])[:HEAD_BYTES]]

    def _take(self) -> bytes | LongLine:
        line, size = b"".join(self._fragments), self._size
        self._fragments, self._size = [], 0
        return LongLine(size, line) if size > self.limit else line

    def _checked(self, line: bytes | LongLine) -> bytes | LongLine:
        if isinstance(line, bytes) and len(line) > self.limit:
            return LongLine(len(line), line[:HEAD_BYTES])
        return line


# orjson turns integers beyond 64 bits into floats without a word; 20 digits, below zero 19, are the first that may not
# fit. The pattern is slow, so a line is first looked through for so many digits of any kind, in a tenth of its time.
_LONG_NUMBER = re.compile(rb"[0-9]{20}|-[0-9]{19}")
_DIGITS_TO_ZERO = bytes(ord("0") if chr(code) in "0123456789" else ord(" ") for code in range(256))
_MANY_DIGITS = b"0" * 19
_SURROGATE = re.compile("[\ud800-\udfff]")


_loads = orjson.loads
_ONE_LIST = 128 * 1024  # bytes up to which a block is copied to be decoded as one list
_HUGE = 4 * 1024 * 1024  # bytes from which on a line is decoded without a copy; of shorter ones orjson is the faster


def _load_huge(line: bytes) -> Any:
    """Return the value of a line as orjson does; raises `orjson.JSONDecodeError`.

    orjson copies what it decodes, into memory that is new to the process each time where it is much: msgspec, which
    does not, takes less than half of the time of an image or a file of 16 MiB, and the memory of one copy less.
    """
    try:
        return loading.import_module("msgspec").json.decode(line)
    except Exception:  # whatever it refuses, orjson says whether it is JSON, as of shorter lines
        return _loads(line)


def cut(block: bytes, kinds: Mapping[bytes, int], whole: int = 0) -> Iterator[tuple[bytes | None, bytes, int]]:
    """Cut a block of lines into runs of lines in a row that begin alike, and others one by one.

    `kinds` says how lines begin that stay together, and behind how many bytes of them a run ends with its line. Yields
    how the lines of each part begin, or None, the part, and its number of lines. Among the first `whole` bytes is no
    newline.
    """
    # A file's lines are found many times as fast as to split or to count goes, for which CPython 3.11 and 3.12 look at
    # every byte: of one long line that was a third of the time of decoding it, of many a fifth.
    first = block.find(b"\n", whole) + 1 or len(block)
    file = io.BytesIO(block)  # which does not copy it
    file.seek(first)
    others = [*file, b""] if block.endswith(b"\n") else [*file]
    begin = next(filter(block.startswith, kinds), None)
    if begin is not None and len(block) <= kinds[begin] and all(map(bytes.startswith, others, repeat(begin))):
        yield begin, block, len(others) + 1  # nearly always
        return
    starts = [0, *accumulate(map(len, others), initial=first)]
    starts[-1] += 1  # as if another line came
    alike: dict[bytes, bytes] = {}  # which lines begin so; of the first one nobody asks
    at = 0
    while at <= len(others):
        start, stop = starts[at], at + 1
        begin = next((begin for begin in kinds if block.startswith(begin, start)), None)
        if begin is not None:
            if begin not in alike:
                alike[begin] = bytes((True, *map(bytes.startswith, others, repeat(begin)), False))
            stop = bisect_right(starts, start + kinds[begin], stop, alike[begin].index(0, stop))
        yield begin, block[start : starts[stop] - 1], stop - at
        at = stop


class Decoder:
    """Turns lines into JSON objects and counts the odd ones.

    `flawed` counts lines that only the standard parser could read: with half of a surrogate pair (Node writes one where
    it cuts an emoji), bytes that are not UTF-8, or NaN. `bad` counts lines that are no JSON object at all. Counted are
    lines that begin with `counted`. Any thread may decode.
    """

    __slots__ = ("_counted", "bad", "flawed")

    def __init__(self, counted: bytes = b"") -> None:
        self._counted = counted
        self.flawed = 0
        self.bad = 0

    def decode(self, line: bytes) -> dict[str, Any] | None:
        """Return the line's object; None if it is no JSON object."""
        try:
            frame = _loads(line) if len(line) < _HUGE else _load_huge(line)
        except orjson.JSONDecodeError:
            frame = self._decode_flawed(line)
        if frame.__class__ is not dict:
            counts = line.startswith(self._counted)
            self.bad += counts  # nothing is called in between, so that no thread comes between
            return None
        if "request" in frame and frame.get("type") == "control_request" and _has_long_number(line):
            return _decode_exactly(line, frame)
        return frame

    def decode_block(self, pieces: Sequence[Piece], count: int, *, exact: bool = False) -> list[dict[str, Any]] | None:
        """Return the objects of so many lines with newlines between them; requests must be `exact`, as in `decode`.

        Short ones are decoded as one list, which takes no longer than to decode them, where cutting them apart before
        would take a third of that again. None if any of them is odd: to be decoded by itself.
        """
        if exact and _has_long_number(b"".join(pieces)):
            return None
        try:
            if count == 1 or sum(map(len, pieces)) > _ONE_LIST:
                block = b"".join(pieces)
                lines = block.split(b"\n") if count > 1 else [block]
                return [_loads(line) if len(line) < _HUGE else _load_huge(line) for line in lines]
            frames: list[dict[str, Any]] = _loads(b"".join([b"[", *pieces, b"]"]).replace(b"\n", b","))
        except orjson.JSONDecodeError:
            return None
        return frames if len(frames) == count else None

    def _decode_flawed(self, line: bytes) -> Any:
        try:
            frame = _each(json.loads(line.decode("utf-8", "replace")), _whole)
        except (ValueError, RecursionError):
            return None
        counts = type(frame) is dict and line.startswith(self._counted)
        self.flawed += counts
        return frame


def _has_long_number(line: bytes) -> bool:
    return _MANY_DIGITS in line.translate(_DIGITS_TO_ZERO) and _LONG_NUMBER.search(line) is not None


def _decode_exactly(line: bytes, frame: dict[str, Any]) -> dict[str, Any]:
    """Decode a control request again with the parser that keeps integers of any length: its input is echoed back."""
    try:
        exact: dict[str, Any] = json.loads(line)
    except (ValueError, RecursionError):
        return frame
    return exact


# Keys that are not texts are rare, and to expect them doubles the time.
_OPTIONS = (orjson.OPT_APPEND_NEWLINE, orjson.OPT_APPEND_NEWLINE | orjson.OPT_NON_STR_KEYS)


def encode(record: dict[str, Any]) -> bytes:
    """Return the record as one line of JSON with its newline.

    Halves of surrogate pairs become U+FFFD, NaN becomes null, integers of any length and keys that are not texts are
    written as they are. Raises `OptionsError` for a value that JSON has no form for, naming where it stands.
    """
    for option in _OPTIONS:
        try:
            return orjson.dumps(record, default=_stand_in, option=option)
        except TypeError:  # orjson's own error is a TypeError: surrogates, long integers, depth, unknown types
            continue
    return _encode_leniently(record)


def _encode_leniently(record: dict[str, Any]) -> bytes:
    try:
        # The standard encoder has no word for NaN but one that is not JSON, so nothing like it may reach it.
        sendable = _each(record, _sendable)
        return json.dumps(sendable, default=_stand_in, separators=(",", ":"), allow_nan=False).encode() + b"\n"
    except (TypeError, ValueError, RecursionError) as error:
        where = _find_odd(record) or "it is nested too deeply or contains itself"
        raise OptionsError(
            f"cannot be sent as JSON: {where}; use texts, numbers, booleans, None, lists and dicts"
        ) from error


def _stand_in(value: Any) -> Any:
    if isinstance(value, PurePath):
        return str(value)
    raise TypeError(type(value).__name__)


def _each(value: Any, leaf: Callable[[Any], Any]) -> Any:
    """Return a copy in which every text, number and other leaf went through a function, keys too."""
    if isinstance(value, dict):
        return {_each(key, leaf): _each(item, leaf) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_each(item, leaf) for item in value]
    return leaf(value)


def _whole(value: Any) -> Any:
    return _SURROGATE.sub("�", value) if isinstance(value, str) else value


def _sendable(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return _whole(str(value) if isinstance(value, PurePath) else value)


def _find_odd(record: Any) -> str | None:
    """Say where the first value stands that JSON has no form for."""
    seen: set[int] = set()  # containers; one that contains itself is not entered twice
    stack = [("$", record)]
    while stack:
        path, value = stack.pop()
        if isinstance(value, dict | list | tuple) and id(value) not in seen:
            seen.add(id(value))
            odd = [key for key in value if not isinstance(key, _LEAVES)] if isinstance(value, dict) else []
            if odd:
                return f"a key of {path} is a {type(odd[0]).__name__}"
            stack += reversed(_children(path, value))
        elif not isinstance(value, _LEAVES | dict | list | tuple):
            return f"{path} is a {type(value).__name__}"
    return None


_LEAVES = str | int | float | bool | None | PurePath


def _children(path: str, value: dict[Any, Any] | list[Any] | tuple[Any, ...]) -> list[tuple[str, Any]]:
    if isinstance(value, dict):
        return [(f"{path}.{key}", item) for key, item in value.items()]
    return [(f"{path}[{index}]", item) for index, item in enumerate(value)]
