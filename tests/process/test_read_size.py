"""What is read at once follows what comes."""

import pytest

from claude_control.process.read_size import (
    FIRST_BYTES,
    LONG_BYTES,
    LONGEST_BYTES,
    READ_BYTES,
    WAITING_BYTES,
    ReadSize,
)


def following(*chunks: bytes) -> int:
    """Return how much is read behind these chunks."""
    size = ReadSize()
    for chunk in chunks:
        size.note(chunk)
    return size.next


def line(size: int) -> bytes:
    """Return a line of so many bytes, the last of which ends it."""
    return b"x" * (size - 1) + b"\n"


def test_the_first_answer_is_read_at_once() -> None:
    """Nothing is known at first, and the answer to the handshake is to come whole."""
    assert following() == FIRST_BYTES


def test_a_read_that_may_wait_asks_for_little() -> None:
    """Behind less than was asked for, nothing more is there; behind all of it, more is."""
    assert following(line(100)) == WAITING_BYTES
    assert following(line(100), line(WAITING_BYTES)) == READ_BYTES
    assert following(line(FIRST_BYTES), line(READ_BYTES // 8)) == READ_BYTES
    assert following(line(FIRST_BYTES), line(READ_BYTES // 8 - 1)) == WAITING_BYTES


def test_short_lines_are_read_in_small_chunks() -> None:
    """However many short lines come, and whatever is cut in the middle, the chunks stay in a cache."""
    assert following(*[line(1000) * 65 + b"x" * 536] * 10) == READ_BYTES


def test_more_is_read_in_the_middle_of_a_long_line() -> None:
    """Nothing can be made of it before its end comes."""
    assert following(b"x" * READ_BYTES) == LONG_BYTES
    assert following(b"x" * READ_BYTES, line(READ_BYTES + 1)) == LONG_BYTES
    assert following(b"x" * READ_BYTES, line(1000) + b"x" * LONG_BYTES) == READ_BYTES


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        (2 * LONG_BYTES, LONG_BYTES),
        (2 * LONG_BYTES + 1, 2 * LONG_BYTES),
        (3 * LONG_BYTES, 2 * LONG_BYTES),
        (3 * LONG_BYTES + 1, LONGEST_BYTES),
        (9 * LONG_BYTES, LONGEST_BYTES),
    ],
)
def test_more_is_read_where_lines_are_longer_but_less_than_one(size: int, expected: int) -> None:
    """The last long line tells, in whatever chunks it came; its newline does not count."""
    rest = b"x" * READ_BYTES
    at_once = following(rest, line(size - len(rest)) + rest)
    assert at_once == expected
    parts = [rest, *[b"x" * LONG_BYTES] * ((size - 2 * len(rest)) // LONG_BYTES)]
    in_parts = following(*parts, line(size - sum(map(len, parts))) + rest)
    assert in_parts == expected


def test_of_several_lines_in_a_chunk_the_first_is_the_long_one() -> None:
    """What follows it in the same chunk does not make it longer."""
    rest = b"x" * READ_BYTES
    assert following(rest, line(LONG_BYTES) + line(LONGEST_BYTES) + rest) == LONG_BYTES


def test_long_lines_are_forgotten_once_short_ones_come() -> None:
    """What a line began with counts no more behind a chunk of little."""
    rest = b"x" * READ_BYTES
    found = following(rest, b"x" * LONGEST_BYTES, line(10), rest, line(READ_BYTES + 1))
    assert found == LONG_BYTES


def test_only_a_read_in_the_middle_of_a_long_line_is_long() -> None:
    """That is when a pipe has to hold more."""
    size = ReadSize()
    assert not size.is_long
    size.note(line(READ_BYTES))
    assert not size.is_long
    size.note(b"x" * READ_BYTES)
    assert size.is_long
