"""Lines that are held until others come, or somebody releases them: none is lost, late or out of order."""

from collections.abc import Iterator

import pytest

from claude_control.deadline import Deadline
from claude_control.session import writer as writer_module
from claude_control.session.writer import Ticket
from tests.session.pipe_transport import PlainPipeTransport
from tests.session.writers import LONG, NAME, SHORT, CountingTransport, Pipe, begun, writing
from tests.waiting import wait_until


@pytest.fixture
def counting() -> Iterator[Pipe]:
    """A writer whose transport counts."""
    made = Pipe(CountingTransport())
    yield made
    made.end()


@pytest.fixture
def plain() -> Iterator[Pipe]:
    """A writer whose transport has only what every transport has."""
    made = Pipe(PlainPipeTransport())
    yield made
    made.end()


def held(pipe: Pipe, *lines: bytes) -> list[Ticket]:
    """Hand lines over that are to be held, and return their tickets; none of them is written by that."""
    assert isinstance(pipe.transport, CountingTransport)
    before = len(pipe.transport.written)
    tickets = [pipe.writer.put(line, hold=True) for line in lines]
    assert len(pipe.transport.written) == before
    return [ticket for ticket in tickets if ticket is not None]


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines may be held as long as the test takes."""
    monkeypatch.setattr(writer_module, "HOLD", 60.0)


@pytest.mark.usefixtures("patient")
def test_held_lines_are_released_together(counting: Pipe) -> None:
    """They go out in one write, in order, by the thread that releases them; to release nothing does nothing."""
    assert isinstance(counting.transport, CountingTransport)
    tickets = held(counting, b"one\n", b"two\n", b"three\n")
    assert not any(ticket.done.is_set() for ticket in tickets)
    counting.writer.release()
    assert all(ticket.wait(Deadline(0)) and ticket.error is None for ticket in tickets)
    counting.writer.release()
    assert counting.transport.written == [b"one\ntwo\nthree\n"]
    assert counting.writer.bytes_written == 14
    assert not writing()


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize("direct", [True, False])
def test_a_line_follows_those_that_are_held(counting: Pipe, direct: bool) -> None:
    """Whoever writes next writes them first, and the writer thread if he may not write himself."""
    held(counting, b"one\n", b"two\n")
    ticket = counting.writer.put(b"three\n", direct=direct)
    assert ticket is None or ticket.wait(Deadline(10))
    assert counting.transport.take(14) == b"one\ntwo\nthree\n"


@pytest.mark.usefixtures("patient")
def test_lines_are_held_up_to_what_one_write_takes(counting: Pipe) -> None:
    """The line with which they would be more is written with those before it."""
    assert isinstance(counting.transport, CountingTransport)
    lines = [b"%d\n" % number * 200 for number in range(1000, 1011)]
    for line in lines:
        counting.writer.put(line, hold=True)
    assert counting.transport.take(5000) == b"".join(lines[:5])
    assert [len(written) for written in counting.transport.written] == [4000, 1000, 4000, 1000]
    counting.writer.release()
    assert counting.transport.take(6000) == b"".join(lines[5:])


def test_a_line_is_not_held_for_long(counting: Pipe, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a line that comes later than it may wait, the next one goes out at once, and takes it along."""
    monkeypatch.setattr(writer_module, "HOLD", -1.0)
    assert counting.writer.put(SHORT, hold=True) is None
    assert counting.transport.take(len(SHORT)) == SHORT


@pytest.mark.usefixtures("patient")
def test_held_lines_are_flushed(counting: Pipe) -> None:
    """A flush writes what is held."""
    held(counting, b"one\n", b"two\n")
    assert counting.writer.flush(Deadline(10))
    assert counting.transport.take(8) == b"one\ntwo\n"


@pytest.mark.usefixtures("patient")
def test_held_lines_are_dropped_like_any_that_wait(counting: Pipe) -> None:
    """Closing without a flush drops them, and says so to whoever handed them over."""
    told: list[OSError] = []
    ticket = counting.writer.put(SHORT, on_error=told.append, hold=True)
    counting.writer.close()
    assert ticket is not None
    assert ticket.wait(Deadline(10))
    assert [type(ticket.error), *map(type, told)] == [BrokenPipeError] * 2


@pytest.mark.usefixtures("patient")
def test_held_line_can_be_taken_back(counting: Pipe) -> None:
    """As any that waits."""
    first, second = held(counting, b"one\n", b"two\n")
    assert counting.writer.has(first)
    assert counting.writer.withdraw(first)
    counting.writer.release()
    assert counting.transport.take(4) == b"two\n"
    assert not counting.writer.withdraw(second)


@pytest.mark.usefixtures("patient")
def test_held_lines_without_room_are_left_to_the_thread(counting: Pipe) -> None:
    """Who releases them never waits for the program."""
    assert isinstance(counting.transport, CountingTransport)
    tickets = held(counting, b"one\n", b"two\n")
    counting.transport.refuses = True
    counting.writer.release()
    assert counting.transport.take(8) == b"one\ntwo\n"
    assert all(ticket.wait(Deadline(10)) for ticket in tickets)
    assert counting.transport.writers == {NAME}


@pytest.mark.usefixtures("patient")
def test_line_behind_a_long_one_is_not_held(counting: Pipe) -> None:
    """What waits for the writer thread anyway is none of those that somebody must release."""
    assert begun(counting.put(LONG))
    ticket = counting.writer.put(SHORT, hold=True)
    assert counting.transport.take(len(LONG + SHORT)) == LONG + SHORT
    assert ticket is not None
    assert ticket.wait(Deadline(10))


@pytest.mark.usefixtures("patient")
def test_plain_transport_holds_nothing(plain: Pipe) -> None:
    """Where only the writer thread may write, it does so at once."""
    ticket = plain.writer.put(SHORT, hold=True)
    assert plain.transport.take(len(SHORT)) == SHORT
    assert ticket is not None
    assert ticket.wait(Deadline(10))


@pytest.mark.usefixtures("patient")
def test_held_line_for_a_dead_program_fails(counting: Pipe) -> None:
    """Whoever handed it over is told, although somebody else releases it."""
    told: list[OSError] = []
    counting.writer.put(SHORT, on_error=told.append, hold=True)
    counting.transport.stop_reading()
    counting.writer.release()
    wait_until(lambda: told)
