"""Bytes to lines to objects: what comes in, however it is cut and whatever it is."""

import json
import sys
import tracemalloc
from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claude_control.wire import framing
from claude_control.wire.framing import (
    HEAD_BYTES,
    Decoder,
    LineSplitter,
    LongLine,
    cut,
    encode,
)

KIB, MIB = 1024, 1024 * 1024


def whole(stream: bytes, _seed: int = 0) -> list[bytes]:
    """Return the stream as one chunk."""
    return [stream]


def single(stream: bytes, _seed: int = 0) -> list[bytes]:
    """Return the stream one byte at a time."""
    return [stream[i : i + 1] for i in range(len(stream))]


def pieces(stream: bytes, seed: int) -> list[bytes]:
    """Return the stream in chunks of changing sizes, empty ones among them."""
    sizes = [(seed >> shift) % 9 for shift in range(0, 60, 3)] or [1]
    cuts, position = [0], 0
    while position < len(stream):
        position += sizes[len(cuts) % len(sizes)] or (1 if cuts[-2:] == [position, position] else 0)
        cuts.append(min(position, len(stream)))
    return [stream[start:end] for start, end in pairwise(cuts)]


CUTS: dict[str, Callable[[bytes, int], list[bytes]]] = {"whole": whole, "single": single, "pieces": pieces}
CUT = pytest.mark.parametrize("cut", CUTS.values(), ids=CUTS)


def split(chunks: Iterable[bytes], limit: int) -> list[bytes | LongLine]:
    """Return all lines of a stream."""
    splitter = LineSplitter(limit)
    return [line for chunk in chunks for line in splitter.feed(chunk)] + splitter.finish()


def end_in(chunk: bytes) -> int:
    """Return where the last line ends in a chunk, 0 if none does."""
    return chunk.rfind(b"\n") + 1


BEGIN = b"{}"
"""How lines begin that are taken together."""


def split_blocks(chunks: Iterable[bytes], limit: int) -> list[bytes | LongLine]:
    """Return all lines of a stream, taken as blocks wherever that is possible, as the reader takes them."""
    splitter, lines = LineSplitter(limit), list[bytes | LongLine]()
    for chunk in chunks:
        if alike := splitter.feed_alike(chunk, end_in(chunk), BEGIN):
            pieces, count = alike
            new = b"".join(pieces).split(b"\n")
            assert len(new) == count
            assert all(line.startswith(BEGIN) for line in new)
            lines += new
            continue
        found = splitter.feed_block(chunk, end_in(chunk))
        assert not found or b"\n" not in found[: splitter.whole]
        if found is None:
            lines += splitter.feed(chunk)
        elif b"\n" in chunk:
            lines += found.split(b"\n")
        else:
            assert found == b""
    return lines + splitter.finish()


def naive(stream: bytes, limit: int) -> list[bytes | LongLine]:
    """Return the same in the plainest way."""
    lines = stream.split(b"\n")
    if not lines[-1]:
        lines.pop()
    return [LongLine(len(line), line[:HEAD_BYTES]) if len(line) > limit else line for line in lines]


# -- lines -------------------------------------------------------------------------------------------------------------


@CUT
@given(
    lines=st.lists(st.binary(max_size=12) | st.sampled_from([b"", b"\r", b"\xe2\x80\xa8", b"{}", b"{}{}", b"{}\r{}"])),
    tail=st.binary(max_size=5),
    limit=st.integers(1, 14),
    seed=st.integers(0, 2**60),
)
def test_lines_do_not_depend_on_the_chunks(
    cut: Callable[[bytes, int], list[bytes]], lines: list[bytes], tail: bytes, limit: int, seed: int
) -> None:
    """Whatever the bytes and however they are cut, the lines are those of splitting the whole at newlines."""
    begin = BEGIN if seed % 2 else b""
    stream = b"".join(begin + line + b"\n" for line in lines) + begin + tail
    chunks = cut(stream, seed)
    assert b"".join(chunks) == stream
    assert split(chunks, limit) == naive(stream, limit)
    assert split_blocks(chunks, limit) == naive(stream, limit)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(framing, "_SMALL_PART", 0)  # so that every chunk is taken in pieces that may be
        assert split_blocks(chunks, limit) == naive(stream, limit)


@pytest.mark.parametrize(
    ("chunks", "pieces", "count"),
    [
        ([b"{}1\n{}2\n"], [b"{}1\n{}2"], 2),
        ([b"{}1\n"], [b"{}1"], 1),
        ([b"{}1", b"1\n{}" + b"2" * 30 + b"\n{"], [b"{}1", b"1\n{}" + b"2" * 30], 2),
        ([b"{}", b"1", b"1" * 30 + b"\n"], [b"{}1", b"1" * 30], 1),
    ],
)
def test_lines_that_begin_alike_are_taken_in_pieces(chunks: list[bytes], pieces: list[bytes], count: int) -> None:
    """Little is copied of what is taken, and what follows it is the beginning of the next line."""
    splitter = LineSplitter(100)
    for chunk in chunks[:-1]:
        assert splitter.feed_alike(chunk, end_in(chunk), BEGIN) is None
        splitter.feed(chunk)
    assert splitter.feed_alike(chunks[-1], end_in(chunks[-1]), BEGIN) == (pieces, count)
    assert splitter.feed(b"}\n") == [chunks[-1].rpartition(b"\n")[2] + b"}"]


@pytest.mark.parametrize("chunk", [b"", b"{}1", b"1\n{}2\n", b"{}1\n2\n", b"{}1\n\n", b"\n{}1\n", b"{}" * 60 + b"\n"])
def test_other_lines_are_left_to_be_taken_otherwise(chunk: bytes) -> None:
    """A chunk is not touched if no line ends in it, one begins otherwise or is empty, or one may be too long."""
    splitter = LineSplitter(100)
    assert splitter.feed_alike(chunk, end_in(chunk), BEGIN) is None
    assert splitter.is_empty
    assert splitter.finish() == []


def test_only_a_chunk_of_whole_lines_is_taken_in_pieces() -> None:
    """A chunk of which much is the next line's would be kept with the lines, so it is left; and so is a long line."""
    line, part = b"{}" + b"1" * 100 + b"\n", b"{}" + b"2" * 60
    assert LineSplitter(10_000).feed_alike(line + part, len(line), BEGIN) is None
    assert LineSplitter(10_000).feed_alike(line * 20 + part, len(line) * 20, BEGIN) == ([(line * 20)[:-1]], 20)
    splitter = LineSplitter(10_000)
    splitter.feed(part)
    assert splitter.feed_alike(line, len(line), BEGIN) is None
    assert splitter.feed(line) == [part + line[:-1]]


def test_a_line_over_the_limit_is_not_taken_in_pieces() -> None:
    """What was read of it before counts, too."""
    splitter = LineSplitter(100)
    splitter.feed(b"{}" + b"1" * 8)
    assert splitter.feed_alike(b"1" * 94 + b"\n", 95, BEGIN) is None
    assert splitter.feed(b"1" * 94 + b"\n") == [LongLine(104, b"{}" + b"1" * 102)]


@CUT
@pytest.mark.parametrize("limit", [1, 2, 255, 256, 257, 1000])
@pytest.mark.parametrize("beyond", [-1, 0, 1, 2])
def test_limit_is_exact(cut: Callable[[bytes, int], list[bytes]], limit: int, beyond: int) -> None:
    """A line of exactly the limit passes, one byte more is too long; the lines around it are whole."""
    line = (b"0123456789" * (limit // 10 + 1))[: limit + beyond]
    chunks = cut(b"a\n" + line + b"\nb\n", 0o7531246)
    lines = split(chunks, limit)
    assert split_blocks(chunks, limit) == lines
    assert lines[0] == b"a"
    assert lines[1] == (LongLine(len(line), line[:HEAD_BYTES]) if beyond > 0 else line)
    assert lines[2:] == [b"b"]


@CUT
def test_last_line_needs_no_newline(cut: Callable[[bytes, int], list[bytes]]) -> None:
    """What is left at the end of the stream is a line too, once."""
    assert split(cut(b"a\nbc", 0o123), 10) == [b"a", b"bc"]
    assert split(cut(b"a\n" + b"x" * 300, 0o123), 10) == [b"a", LongLine(300, b"x" * HEAD_BYTES)]
    splitter = LineSplitter(10)
    splitter.feed(b"a")
    assert (splitter.finish(), splitter.finish()) == ([b"a"], [])


@CUT
def test_only_the_newline_byte_ends_a_line(cut: Callable[[bytes, int], list[bytes]]) -> None:
    """Carriage returns, U+2028 and everything else that text files break at stay inside of their line."""
    line = "a\r\u2028\u2029\u0085\x0b\x0c\x1c\x1eb".encode()
    assert split(cut(line + b"\n", 0o3412), 100) == [line]


def test_empty_chunk_changes_nothing() -> None:
    """A chunk without bytes neither ends a line nor loses one."""
    splitter = LineSplitter(10)
    assert splitter.feed(b"") == []
    assert splitter.feed(b"ab") == []
    assert splitter.feed(b"") == []
    assert splitter.feed(b"c\n") == [b"abc"]


def test_long_lines_cost_linear_time() -> None:
    """A line of 60 MB in 200,000 chunks is put together at once: adding each to what came before takes many minutes."""
    chunk, count = b"0123456789" * 30, 200_000
    splitter = LineSplitter(64 * MIB)
    assert not any(splitter.feed(chunk) for _ in range(count))
    (line,) = splitter.feed(b"\n")
    assert line == chunk * count


def test_block_is_decoded_line_by_line_or_not_at_all() -> None:
    """A block's objects are those of its lines; if a line is odd, or one is two, there are none: each is looked at."""
    lines = [b'{"type":"assistant","n":%d}' % number for number in range(3)]
    assert Decoder().decode_block([b"\n".join(lines)], 3) == [{"type": "assistant", "n": number} for number in range(3)]
    assert Decoder().decode_block([lines[0]], 1) == [{"type": "assistant", "n": 0}]
    for odd in (b"{", b"", b'{"a":"\\ud83d"}', b'{"a":NaN}', b"{},{}", b"\xff", b"]", b"[", b"],[", b'{"a":1e999}x'):
        assert Decoder().decode_block([b"\n".join([lines[0], odd, lines[1]])], 3) is None, odd


LINES = st.lists(st.sampled_from([b"begin one", b"begin", b"", b"beg", b"other", b"also this", b"also"]), min_size=1)


@given(LINES, st.integers(0, 30), st.booleans())
def test_block_is_cut_into_runs_that_begin_alike(lines: list[bytes], size: int, known: bool) -> None:
    """The parts of a block are its lines in order: as many as begin alike up to the size, others one by one."""
    kinds, expected, at = {b"begin": size, b"also": sys.maxsize}, list[tuple[bytes | None, list[bytes]]](), 0
    while at < len(lines):
        begin = next((begin for begin in kinds if lines[at].startswith(begin)), None)
        part = [lines[at]]
        while begin and lines[at + len(part) :][:1] and lines[at + len(part)].startswith(begin):
            if len(b"\n".join(part)) >= kinds[begin]:
                break
            part.append(lines[at + len(part)])
        expected.append((begin, part))
        at += len(part)
    parts = cut(b"\n".join(lines), kinds, len(lines[0]) if known else 0)
    assert [*parts] == [(begin, b"\n".join(part), len(part)) for begin, part in expected]


@pytest.mark.parametrize("chunk", [64 * KIB, 10 * MIB], ids=["small chunks", "one chunk"])
def test_skipped_line_takes_no_memory(chunk: int) -> None:
    """Of a line beyond the limit only the head is kept while it passes by, and its size is still counted."""
    splitter, data = LineSplitter(KIB), b"y" * chunk
    tracemalloc.start()
    try:
        for _ in range(40 * MIB // chunk):
            splitter.feed(data)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < chunk + 256 * KIB
    assert splitter.feed(b"\n{}\n") == [LongLine(40 * MIB, b"y" * HEAD_BYTES), b"{}"]


@pytest.mark.parametrize(
    ("head", "is_control"),
    [
        (b'{"type":"control_request","request_id":"1"', True),
        (b'{"type": "control_response", "response": {', True),
        (b'{"response":{"subtype":"success"},"type":"control_response"', True),
        (b'{"type":"assistant","message":{"content":[{"type":"text","text":"say \\"control_request\\" to', False),
        (b'{"type":"user","content":"{\\"type\\":\\"control_request\\"', False),
        (b'{"type":"control_cancel_request"', False),
        (b"", False),
    ],
)
def test_long_control_lines_are_told_apart(head: bytes, is_control: bool) -> None:
    """A lost line counts as control only by its own type: a text about control messages ends no session."""
    assert LongLine(10**9, head).is_control is is_control


# -- objects -----------------------------------------------------------------------------------------------------------

HUGE = 5 * 1024 * 1024  # bytes of a line that another library decodes

Pad = Callable[[bytes], bytes]


@pytest.fixture(params=[0, HUGE], ids=["short", "huge"])
def pad(request: pytest.FixtureRequest) -> Pad:
    """Return what leaves a line alone, or makes it a huge one that says the same."""
    length: int = request.param
    return lambda line: line + b" " * length


def counts(decoder: Decoder) -> tuple[int, int]:
    """Return how many lines were flawed and bad."""
    return decoder.flawed, decoder.bad


@pytest.mark.parametrize(
    ("line", "value"),
    [
        (b"{}", {}),
        (b' {"a" : 1}\r', {"a": 1}),
        (b"\t{}\t", {}),
        (b'{"a":1,"a":2}', {"a": 2}),
        (b'{"a":"\\u2028\\ud83d\\ude00"}', {"a": "\u2028\U0001f600"}),
        ('{"a":"\u2028\U0001f600"}'.encode(), {"a": "\u2028\U0001f600"}),
        (b'{"a":18446744073709551615,"b":-9223372036854775808}', {"a": 2**64 - 1, "b": -(2**63)}),
    ],
)
def test_object_is_decoded(line: bytes, value: dict[str, Any], pad: Pad) -> None:
    """A JSON object is decoded, with whatever whitespace is around it, and no count rises."""
    decoder = Decoder()
    assert decoder.decode(pad(line)) == value
    assert counts(decoder) == (0, 0)


@pytest.mark.parametrize(
    ("line", "value"),
    [
        (b'{"a":"\\ud83d"}', {"a": "\ufffd"}),
        (b'{"a":["x\\ude00y"]}', {"a": ["x\ufffdy"]}),
        (b'{"\\udc00":1}', {"\ufffd": 1}),
        (b'{"a":"\\ude00\\ud83d"}', {"a": "\ufffd\ufffd"}),
        (b'{"a":"\\ud83d \\ud83d\\ude00"}', {"a": "\ufffd \U0001f600"}),
        (b'{"a":"\xff\xfe"}', {"a": "\ufffd\ufffd"}),
        (b'{"a":"caf\xe9"}', {"a": "caf\ufffd"}),
        (b'{"a":"\xed\xa0\xbd"}', {"a": "\ufffd\ufffd\ufffd"}),
        (b'{"a":Infinity,"b":-Infinity}', {"a": float("inf"), "b": float("-inf")}),
        (b'{"\\ud83d":123456789012345678901234567890}', {"\ufffd": 123456789012345678901234567890}),
    ],
)
def test_flawed_line_is_read_all_the_same(line: bytes, value: dict[str, Any], pad: Pad) -> None:
    """Half surrogate pairs, bytes that are not UTF-8 and infinities cost the odd character, not the line."""
    decoder = Decoder()
    assert decoder.decode(pad(line)) == value
    assert counts(decoder) == (1, 0)


def test_nan_is_read(pad: Pad) -> None:
    """NaN, which Python programs write, is read as such."""
    decoder = Decoder()
    frame = decoder.decode(pad(b'{"a":NaN}'))
    assert frame is not None and frame["a"] != frame["a"]
    assert counts(decoder) == (1, 0)


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"   ",
        b"\r",
        b"[]",
        b'[{"type":"user"}]',
        b"12",
        b"1e999",
        b'"text"',
        b"null",
        b"true",
        b"NaN",
        b"{",
        b'{"a":1',
        b'{"a":1}}',
        b'{"a":1} {"b":2}',
        b'{"a":1}{"b":2}',
        b"{'a':1}",
        b"{a:1}",
        b'{"a":1,}',
        b'\xef\xbb\xbf{"a":1}',
        '{"a":1}'.encode("utf-16"),
        b"\x00",
        b'{"a":"\n"}',
        b"Error: something",
        b'{"a":' + b"9" * 5000 + b',"b":NaN}',
        b'{"a":' + b"[" * 200_000,
    ],
    ids=lambda line: repr(line[:20]),
)
def test_bad_line_is_counted(line: bytes, pad: Pad) -> None:
    """A line that is no JSON object is None and counted; nothing is raised, and the next line is read as ever."""
    decoder = Decoder()
    assert decoder.decode(pad(line)) is None
    assert counts(decoder) == (0, 1)
    assert decoder.decode(b'{"a":1}') == {"a": 1}


@pytest.mark.parametrize("depth", [300, 600, 900, 1000, 2000])
@pytest.mark.parametrize("leaf", [b"1", b'"\\ud83d"'], ids=["clean", "flawed"])
def test_deep_line_never_raises(depth: int, leaf: bytes, pad: Pad) -> None:
    """However deep an object is, clean or flawed, it is decoded or counted as bad."""
    decoder = Decoder()
    frame = decoder.decode(pad(b'{"a":' + b"[" * depth + leaf + b"]" * depth + b"}"))
    assert sum(counts(decoder)) == (1 if frame is None or leaf != b"1" else 0)
    if depth == 300:
        assert frame is not None


@given(line=st.binary() | st.text(alphabet='{}[]",:\\ud8001e-NaI \n').map(str.encode))
def test_no_bytes_raise(line: bytes) -> None:
    """Whatever a line holds, decoding it gives an object or None."""
    decoder = Decoder()
    frame = decoder.decode(line)
    assert type(frame) is dict or (frame is None and decoder.bad == 1)


NUMBERS = [
    10**19 - 1,
    10**19,
    2**64 - 1,
    2**64,
    12345678901234567890,
    98765432109876543210,
    10**40 + 7,
    -(2**63),
    -(2**63) - 1,
    -(10**19) + 1,
    -(10**25) - 1,
]


@pytest.mark.parametrize("number", NUMBERS)
def test_number_of_a_request_survives_its_echo(number: int, pad: Pad) -> None:
    """An integer of any length in a tool's input comes in exactly, and goes back exactly when the tool is allowed."""
    decoder, tool_input = Decoder(), {"id": number, "deep": [{"n": number}], "f": 1.5}
    frame = decoder.decode(pad(json.dumps({"type": "control_request", "request": {"input": tool_input}}).encode()))
    assert frame is not None and frame["request"]["input"] == tool_input
    assert all(
        type(value) is int for value in (frame["request"]["input"]["id"], frame["request"]["input"]["deep"][0]["n"])
    )
    echo = json.loads(encode({"type": "control_response", "updatedInput": frame["request"]["input"]}))
    assert echo["updatedInput"] == tool_input
    assert type(echo["updatedInput"]["id"]) is int


def test_endless_number_of_a_request_is_no_error(pad: Pad) -> None:
    """A number that Python refuses to read exactly leaves the rest of the request as it is."""
    line = b'{"type":"control_request","request_id":"r","request":{"input":{"n":' + b"9" * 5000 + b"}}}"
    frame = Decoder().decode(pad(line))
    assert frame is None or frame["request_id"] == "r"


def test_huge_line_keeps_its_integers() -> None:
    """What no float holds is exact in a huge line of any kind: it is not orjson that decodes it."""
    line = b'{"type":"user","n":%d}' % 10**40
    assert Decoder().decode(line + b" " * HUGE) == {"type": "user", "n": 10**40}


def test_digits_in_texts_and_fractions_are_harmless() -> None:
    """Runs of digits that are no integers do not change what a request says."""
    body = {"text": "12345678901234567890 \u2028", "f": 0.12345678901234567890, "e": 1.2e30}
    frame = Decoder().decode(json.dumps({"type": "control_request", "request": body}).encode())
    assert frame is not None and frame["request"] == body
