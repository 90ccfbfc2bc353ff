"""Answers of callbacks that follow each other at once are written together, and none waits for a slow one."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from claude_control import Allow
from claude_control.deadline import Deadline
from claude_control.session.pool import CallbackPool
from claude_control.session.writer import HELD, PIPE_BUF, Writer
from claude_control.testing.scripted_cli import ScriptedCLIFactory
from claude_control.testing.steps import ask_permission, reply, wait_answers
from tests.session.conftest import OpenScripted
from tests.session.pipe_transport import PipeTransport
from tests.threads import LIVELOCKS_WHEN_TRACED, struck
from tests.waiting import wait_until


class Transport(PipeTransport):
    """Notes the writes that do not wait, and can refuse them."""

    def __init__(self) -> None:
        super().__init__()
        self.written: list[bytes] = []
        self.refuses = False

    def try_write(self, data: bytes) -> bool:
        """Write all of it or nothing, without waiting."""
        if self.refuses:
            return False
        self.written.append(data)
        return super().try_write(data)


@pytest.fixture
def transport() -> Iterator[Transport]:
    """A pipe that the test reads."""
    made = Transport()
    yield made
    made.stop_reading()


@pytest.fixture
def writer(transport: Transport) -> Iterator[Writer]:
    """A writer on it."""
    made = Writer(transport, "claude-test-writer")
    yield made
    made.close()
    transport.end_input()
    assert made.join(Deadline(10))


def more() -> bool:
    """Say that another line follows."""
    return True


def last() -> bool:
    """Say that none does."""
    return False


def lines(count: int) -> list[bytes]:
    """Return so many lines."""
    return [b"%d\n" % number for number in range(count)]


def test_lines_that_follow_each_other_are_written_together(writer: Writer, transport: Transport) -> None:
    """A line is kept while another one follows, up to a number of them; they are counted when they are written."""
    for line in lines(HELD - 1):
        assert writer.put(line, follows=more) is None
    assert transport.written == [] and writer.bytes_written == 0
    writer.put(b"end\n", follows=more)
    assert transport.written == [b"".join(lines(HELD - 1)) + b"end\n"]
    assert writer.bytes_written == len(transport.written[0])


@pytest.mark.parametrize("how", ["put", "last", "long", "reader", "release", "flush"])
def test_kept_lines_go_out_with_whatever_comes_next(writer: Writer, transport: Transport, how: str) -> None:
    """What is kept is written before any other line, when none follows, and when somebody asks for it."""
    for line in lines(3):
        writer.put(line, follows=more)
    next_lines = {"put": b"next\n", "last": b"next\n", "reader": b"next\n", "long": b"x" * PIPE_BUF + b"\n"}
    following = next_lines.get(how, b"")
    if following:
        writer.put(following, how != "reader", follows=last if how == "last" else None)
    elif how == "release":
        writer.release()
    else:
        assert writer.flush(Deadline(10))
    expected = b"".join(lines(3)) + following
    assert transport.take(len(expected)) == expected
    assert transport.writers == ({"claude-test-writer"} if how == "reader" else transport.writers)


def test_line_is_not_kept_if_its_follower_is_gone_meanwhile(writer: Writer, transport: Transport) -> None:
    """Whether another one follows is asked again once the line is kept, for who says no then has not seen it."""
    said = iter([True, False])
    writer.put(b"line\n", follows=lambda: next(said))
    assert transport.written == [b"line\n"]


def test_kept_lines_that_find_no_room_are_the_threads(writer: Writer, transport: Transport) -> None:
    """Where the pipe is full the writer thread writes what was kept, in its place."""
    for line in lines(3):
        writer.put(line, follows=more)
    transport.refuses = True
    writer.put(b"next\n")
    assert transport.take(11) == b"".join(lines(3)) + b"next\n"


def test_no_more_is_kept_than_one_write_takes(writer: Writer, transport: Transport) -> None:
    """What is kept is written in one piece, whatever other threads write."""
    line = b"x" * (PIPE_BUF // 2) + b"\n"
    for _ in range(3):
        writer.put(line, follows=more)
    writer.release()
    assert b"".join(transport.written) == 3 * line
    assert max(map(len, transport.written)) <= PIPE_BUF


@pytest.mark.parametrize("refuses", [False, True])
def test_lines_that_were_kept_in_vain_are_told_of(writer: Writer, transport: Transport, refuses: bool) -> None:
    """Where the program reads no more, whoever handed over the last line that was kept is told, once."""
    errors: list[OSError] = []
    for line in lines(3):
        writer.put(line, on_error=errors.append, follows=more)
    transport.refuses = refuses
    transport.stop_reading()
    writer.release()
    wait_until(lambda: errors)
    writer.release()
    assert len(errors) == 1


@LIVELOCKS_WHEN_TRACED
@pytest.mark.parametrize("how", ["release", "put"])
def test_kept_lines_survive_a_strike(how: str) -> None:
    """Wherever a thread is struck that writes what others have kept: each line goes out, whole, in order."""
    number, was_struck = 0, True
    while was_struck:
        number += 1
        transport = Transport()
        writer = Writer(transport, "claude-test-writer")
        for line in lines(2):
            writer.put(line, follows=more)
        work: Callable[[], object] = writer.release if how == "release" else partial(writer.put, b"next\n")
        was_struck = struck(work, number)
        writer.release()
        kept = b"".join(lines(2))
        written = b"".join(transport.written)
        assert written.replace(b"next\n", b"") in (kept, kept + kept), number
        transport.end_input()
        transport.stop_reading()
    assert number > 5


def test_kept_line_does_not_wait_for_work_that_is_held_up(writer: Writer, transport: Transport) -> None:
    """A line that was kept because more work waits is written while that work waits for something else."""
    pool = CallbackPool("claude-test-callback", writer.release)
    kept, done = list[bool](), list[bytes]()

    def first(line: bytes) -> None:
        writer.put(line, follows=pool.follows)
        kept.append(bool(writer._held))

    def second(line: bytes) -> None:
        wait_until(lambda: any(line in written for written in transport.written), 10)
        done.append(line)

    def try_once() -> bool:
        line = b"%d\n" % len(kept)
        for work in (first, second, second, second):
            pool.submit(partial(work, line))
        wait_until(lambda: done.count(line) == 3)
        return any(kept)

    wait_until(try_once)
    pool.close()
    assert pool.join(Deadline(20)) == []


def test_every_answer_of_a_burst_is_written(scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted) -> None:
    """However many are due at once, each has its answer at the end, and the next one by itself, too."""
    asks = [ask_permission("Bash", {"n": number}, wait=False) for number in range(100)]
    lone = ask_permission("Bash", {"n": 100})
    cli = scripted_cli(prompts=[[*asks, wait_answers(), lone, reply("done")]] * 5)
    asked: list[int] = []

    def decide(_tool: str, tool_input: dict[str, Any], _context: object) -> Allow:
        asked.append(tool_input["n"])
        return Allow()

    session = open_scripted(cli, can_use_tool=decide)
    for _ in range(5):
        asked.clear()
        assert session.ask("x").result(timeout=30).result == "done"
        assert sorted(asked) == [*range(101)]
    wait_until(lambda: not session._live().writer._held)
