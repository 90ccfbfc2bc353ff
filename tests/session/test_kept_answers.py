"""Answers of callbacks that follow each other at once are written together, and none waits for a slow one."""

import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, cast

import pytest

from claude_control import Allow
from claude_control.deadline import Deadline
from claude_control.process.descriptors import pipe
from claude_control.process.pipes import InputPipe
from claude_control.session.pool import CallbackPool
from claude_control.session.writer import KEPT_BYTES, PIPE_BUF, Writer
from claude_control.testing.scripted_cli import ScriptedCLIFactory
from claude_control.testing.steps import ask_permission, reply, wait_answers
from tests.session.conftest import OpenScripted
from tests.session.pipe_transport import CountingTransport
from tests.threads import LIVELOCKS_WHEN_TRACED, struck, together
from tests.waiting import wait_until


@pytest.fixture
def transport() -> Iterator[CountingTransport]:
    """A pipe that the test reads."""
    made = CountingTransport()
    yield made
    made.stop_reading()


@pytest.fixture
def writer(transport: CountingTransport) -> Iterator[Writer]:
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


def test_lines_that_follow_each_other_are_written_together(writer: Writer, transport: CountingTransport) -> None:
    """A line is kept while another one follows, up to a number of bytes; they are counted when they are written."""
    line = b"x" * (KEPT_BYTES // 4 - 1) + b"\n"
    for _ in range(3):
        assert writer.put(line, follows=more) is None
    assert transport.written == [] and writer.bytes_written == 0
    writer.put(line, follows=more)
    assert transport.written == [4 * line]
    assert writer.bytes_written == len(transport.written[0])


@pytest.mark.parametrize("how", ["put", "last", "long", "reader", "release", "flush"])
def test_kept_lines_go_out_with_whatever_comes_next(writer: Writer, transport: CountingTransport, how: str) -> None:
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


def test_whether_another_one_follows_is_asked_when_the_line_can_be_found(
    writer: Writer, transport: CountingTransport
) -> None:
    """Who leaves, and has written then what was kept, has written this one or makes the answer no."""
    found: list[bytes] = []

    def follows() -> bool:
        found.append(writer._kept)
        return False

    writer.put(b"line\n", follows=follows)
    assert found == [b"line\n"]
    assert transport.written == [b"line\n"]


def test_kept_lines_that_find_no_room_are_the_threads(writer: Writer, transport: CountingTransport) -> None:
    """Where the pipe is full the writer thread writes what was kept, in its place."""
    for line in lines(3):
        writer.put(line, follows=more)
    transport.refuses = True
    writer.put(b"next\n")
    assert transport.take(11) == b"".join(lines(3)) + b"next\n"


def test_no_more_is_kept_than_one_write_takes(writer: Writer, transport: CountingTransport) -> None:
    """What is kept is written in one piece, whatever other threads write."""
    line = b"x" * (PIPE_BUF // 2) + b"\n"
    for _ in range(3):
        writer.put(line, follows=more)
    writer.release()
    assert b"".join(transport.written) == 3 * line
    assert max(map(len, transport.written)) <= PIPE_BUF


@pytest.mark.parametrize("refuses", [False, True])
def test_lines_that_were_kept_in_vain_are_told_of(writer: Writer, transport: CountingTransport, refuses: bool) -> None:
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


def test_kept_lines_are_written_before_the_end(writer: Writer, transport: CountingTransport) -> None:
    """Who closes the writer leaves no line behind that was handed over before."""
    writer.put(b"line\n", follows=more)
    writer.close()
    assert transport.written == [b"line\n"]
    with pytest.raises(BrokenPipeError):
        writer.put(b"next\n", follows=more)


WORKS: dict[str, Callable[[Writer], object]] = {
    "release": lambda writer: writer.release(),
    "put": lambda writer: writer.put(b"next\n"),
    "keep": lambda writer: writer.put(b"next\n", follows=more),
    "keep the last": lambda writer: writer.put(b"next\n", follows=last),
}


@LIVELOCKS_WHEN_TRACED
@pytest.mark.parametrize("how", WORKS)
def test_kept_lines_survive_a_strike(how: str) -> None:
    """Wherever a thread is struck that keeps or writes lines: those of others go out, whole and in order."""
    number, was_struck = 0, True
    while was_struck:
        number += 1
        transport = CountingTransport()
        writer = Writer(transport, "claude-test-writer")
        for line in lines(2):
            writer.put(line, follows=more)
        was_struck = struck(partial(WORKS[how], writer), number)
        writer.put(b"end\n", follows=last)
        written = b"".join(transport.written)
        assert re.fullmatch(rb"(0\n1\n(next\n)?){1,2}end\n", written), (number, written)
        transport.end_input()
        transport.stop_reading()
    assert number > 5


@LIVELOCKS_WHEN_TRACED
def test_struck_thread_does_not_have_others_wait_for_room() -> None:
    """Wherever a thread is struck that finds no room for what is kept: nobody waits under the lock for the program."""
    number, was_struck = 0, True
    while was_struck:
        number += 1
        reading, writing = pipe()
        end = InputPipe(writing)
        while end.try_write(bytes(PIPE_BUF)):
            pass
        writer = Writer(cast(Any, end), "claude-test-writer")
        writer.put(b"line\n", follows=more)
        was_struck = struck(writer.release, number)
        others: list[Callable[[], object]] = [writer.release, partial(writer.put, b"next\n", False)]
        together(others)
        reading.close()  # whoever writes is told so
        writer.close()
        assert writer.join(Deadline(10)), number
        end.close()
    assert number > 5


def test_nothing_is_kept_for_a_lookout_that_does_not_look(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is said to follow where no lookout is to be had: nobody else would have a kept line written."""
    pool, said = CallbackPool("claude-test-callback"), list[bool]()

    def start(worker: object) -> bool:
        said.append(pool.follows())
        return False

    def work() -> None:
        monkeypatch.setattr(pool, "_start", start)
        pool.submit(lambda: said.append(pool.follows()))
        said.append(pool.follows())

    pool.submit(work)
    wait_until(lambda: len(said) == 3)
    assert said == [False, False, False]
    pool.close()
    assert pool.join(Deadline(20)) == []


def test_kept_line_does_not_wait_for_work_that_is_held_up(writer: Writer, transport: CountingTransport) -> None:
    """A line that was kept because more work waits is written while that work waits for something else."""
    pool = CallbackPool("claude-test-callback", writer.release)
    kept, done = list[bool](), list[bytes]()

    def first(line: bytes) -> None:
        writer.put(line, follows=pool.follows)
        kept.append(bool(writer._kept))

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
    wait_until(lambda: not session._live().writer._kept)
