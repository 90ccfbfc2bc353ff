"""Whole lines in order, whatever the threads, the pipe and the program do."""

import contextlib
import random
import threading
from collections.abc import Callable, Iterator

import pytest

from claude_control.deadline import Deadline
from claude_control.session import writer as writer_module
from claude_control.session.writer import PIPE_BUF, Ticket, Writer
from tests.session.pipe_transport import CountingTransport, PipeTransport, PlainPipeTransport
from tests.threads import LIVELOCKS_WHEN_TRACED, struck, together
from tests.waiting import wait_until

NAME = "claude-test-writer"
SHORT, LONG = b"short\n", b"x" * (300 * 1024) + b"\n"


class Pipe:
    """A writer on a transport of the test's own."""

    def __init__(self, transport: PlainPipeTransport) -> None:
        self.transport = transport
        self.writer = Writer(transport, NAME)

    def put(self, line: bytes) -> Ticket:
        """Hand over a line that has to wait."""
        ticket = self.writer.put(line)
        assert ticket is not None
        return ticket

    def end(self) -> None:
        """End everything."""
        self.writer.close()
        self.transport.end_input()
        assert self.writer.join(Deadline(10))
        self.transport.stop_reading()


@pytest.fixture
def pipe() -> Iterator[Pipe]:
    """A writer whose transport can write without waiting."""
    made = Pipe(PipeTransport())
    yield made
    made.end()


@pytest.fixture
def plain() -> Iterator[Pipe]:
    """A writer whose transport has only what every transport has."""
    made = Pipe(PlainPipeTransport())
    yield made
    made.end()


def writing() -> bool:
    """Whether a writer thread runs."""
    return any(thread.name == NAME for thread in threading.enumerate())


def begun(ticket: Ticket) -> bool:
    """Wait until the line is being written."""
    wait_until(lambda: ticket.begun)
    return True


# -- ways to write -----------------------------------------------------------------------------------------------------


def test_short_line_is_written_at_once(pipe: Pipe) -> None:
    """A line that fits is written by its own thread before `put` returns, and starts no other."""
    assert pipe.writer.put(SHORT) is None
    assert pipe.transport.take(len(SHORT)) == SHORT
    assert pipe.transport.writers == {threading.current_thread().name}
    assert not writing()
    assert pipe.writer.bytes_written == len(SHORT)


@pytest.mark.parametrize(("size", "direct"), [(PIPE_BUF, True), (PIPE_BUF + 1, False)])
def test_pipe_buf_is_the_limit(pipe: Pipe, size: int, direct: bool) -> None:
    """Up to PIPE_BUF bytes go directly, one more goes to the writer thread."""
    ticket = pipe.writer.put(b"y" * size)
    assert (ticket is None) is direct
    assert pipe.transport.take(size) == b"y" * size


def test_long_line_is_written_by_the_writer_thread(pipe: Pipe) -> None:
    """A long line returns a ticket at once, which is done when the line is whole in the pipe."""
    ticket = pipe.put(LONG)
    assert not ticket.wait_for_write(Deadline(0.01))
    assert pipe.transport.take(len(LONG)) == LONG
    assert ticket.wait_for_write(Deadline(10))
    assert ticket.error is None
    assert pipe.transport.writers == {NAME}
    wait_until(lambda: pipe.writer.bytes_written == len(LONG))


def test_reader_writes_nothing_itself(pipe: Pipe) -> None:
    """With `direct=False` even a short line is left to the writer thread."""
    ticket = pipe.writer.put(SHORT, direct=False)
    assert ticket is not None and ticket.wait_for_write(Deadline(10))
    assert pipe.transport.take(len(SHORT)) == SHORT
    assert pipe.transport.writers == {NAME}


def test_plain_transport_is_written_by_the_writer_thread(plain: Pipe) -> None:
    """Where a transport cannot write without waiting, no caller's thread ever writes."""
    assert plain.put(SHORT).wait_for_write(Deadline(10))
    assert plain.put(SHORT).wait_for_write(Deadline(10))
    assert plain.transport.take(2 * len(SHORT)) == SHORT + SHORT
    assert plain.transport.writers == {NAME}


def test_full_pipe_does_not_hold_up_the_caller(pipe: Pipe) -> None:
    """A short line that finds the pipe full waits with the writer thread, not with the caller."""
    filled = pipe.transport.fill()
    ticket = pipe.put(SHORT)
    assert not ticket.wait_for_write(Deadline(0.01))
    pipe.transport.take(filled)
    assert pipe.transport.take(len(SHORT)) == SHORT
    assert ticket.wait_for_write(Deadline(10))


# -- order -------------------------------------------------------------------------------------------------------------


def test_short_line_never_overtakes_a_long_one(pipe: Pipe) -> None:
    """Lines come out in the order in which they were handed over, also while a long one is half written."""
    long = pipe.put(LONG)
    assert begun(long)
    for number in range(20):
        pipe.put(b"%d\n" % number)
    expected = LONG + b"".join(b"%d\n" % number for number in range(20))
    assert pipe.transport.take(len(expected)) == expected
    wait_until(lambda: pipe.writer.put(SHORT) is None)


@pytest.fixture
def counting() -> Iterator[Pipe]:
    """A writer whose transport counts."""
    made = Pipe(CountingTransport())
    yield made
    made.end()


def test_lines_that_have_gathered_are_written_together(counting: Pipe) -> None:
    """Short lines that wait behind a long one then go out in atomic writes of many, whole and in order."""
    assert isinstance(counting.transport, CountingTransport)
    assert begun(counting.put(LONG))
    tickets = [counting.put(b"%d\n" % number * 50) for number in range(1000, 1040)]
    expected = LONG + b"".join(b"%d\n" % number * 50 for number in range(1000, 1040))
    assert counting.transport.take(len(expected)) == expected
    assert all(ticket.wait_for_write(Deadline(10)) and ticket.error is None for ticket in tickets)
    assert all(counting.writer.has(ticket) for ticket in tickets)
    assert [len(data) for data in counting.transport.written] == [4000, 4000, 2000]
    wait_until(lambda: counting.writer.bytes_written == len(expected))


@pytest.mark.parametrize("refuses", [False, True])
def test_line_that_is_left_to_gather_is_written_soon(counting: Pipe, refuses: bool) -> None:
    """With `gather` the writer thread writes a line, also where nothing can be written without waiting."""
    assert isinstance(counting.transport, CountingTransport)
    counting.transport.refuses = refuses
    lines = [b"%d\n" % number for number in range(300)]
    tickets = [counting.writer.gather(line) for line in lines]
    assert counting.transport.take(len(b"".join(lines))) == b"".join(lines)
    assert all(ticket is not None and ticket.wait_for_write(Deadline(10)) for ticket in tickets)
    assert counting.transport.writers == {NAME}


def test_lines_that_gather_share_a_ticket_up_to_an_atomic_write(pipe: Pipe) -> None:
    """Lines left to gather have one ticket while it waits and they fit into one write; a line of others never joins."""
    long = pipe.put(LONG)
    assert begun(long)
    lines = [b"%04d%s\n" % (number, b"x" * 1000) for number in range(5)]
    first, second, third, fourth = (pipe.writer.gather(line) for line in lines[:4])
    other = pipe.put(b"other\n")
    fifth = pipe.writer.gather(lines[4])
    assert first is second is third is fourth and len({first, other, fifth, long}) == 4
    more = [pipe.writer.gather(b"y" * 2000 + b"\n") for _ in range(3)]
    assert more[0] is fifth and more[1] is more[2] is not fifth, "the third one would not fit"
    expected = LONG + b"".join(lines[:4]) + b"other\n" + lines[4] + (b"y" * 2000 + b"\n") * 3
    assert pipe.transport.take(len(expected)) == expected
    assert pipe.writer.flush(Deadline(10))
    assert pipe.writer.bytes_written == len(expected)


def test_one_of_the_lines_with_a_ticket_can_be_taken_back(pipe: Pipe) -> None:
    """Of lines that gather each is taken back by its beginning; the others are written, and their ticket says so."""
    assert begun(pipe.put(LONG))
    tickets = [pipe.writer.gather(b"%d-line\n" % number) for number in range(3)]
    ticket = tickets[0]
    assert ticket is not None and ticket is tickets[1] is tickets[2]
    assert pipe.writer.withdraw(ticket, b"1-")
    assert not pipe.writer.withdraw(ticket, b"1-"), "it is gone"
    assert pipe.transport.take(len(LONG) + 14) == LONG + b"0-line\n2-line\n"
    assert ticket.wait_for_write(Deadline(10)) and ticket.error is None


def test_ticket_whose_last_line_is_taken_back_is_over(pipe: Pipe) -> None:
    """Once all lines of a ticket are taken back nothing is written for it, and it says why."""
    long = pipe.put(LONG)
    assert begun(long)
    ticket = pipe.writer.gather(b"0-line\n")
    assert pipe.writer.gather(b"1-line\n") is ticket is not None
    assert pipe.writer.withdraw(ticket, b"0-") and not ticket.is_set()
    assert pipe.writer.withdraw(ticket, b"1-") and ticket.is_set() and ticket.error is not None
    assert pipe.writer.gather(b"2-line\n") is not ticket
    assert pipe.transport.take(len(LONG) + 7) == LONG + b"2-line\n"


@LIVELOCKS_WHEN_TRACED
@pytest.mark.parametrize("what", ["put", "withdraw", "close"])
def test_strike_leaves_what_gathers_whole(what: str) -> None:
    """Wherever a thread is struck at lines that gather, the others' are written or told, and the lock is free."""
    number, was_struck = 0, True
    while was_struck:
        number, own = number + 1, Pipe(PipeTransport())
        assert begun(own.put(LONG))
        tickets = [own.writer.gather(b"%d-line\n" % each) for each in range(3)]
        ticket = tickets[0]
        assert ticket is not None
        works: dict[str, Callable[[], object]] = {
            "put": lambda: own.writer.gather(b"mine\n"),  # noqa: B023
            "withdraw": lambda: own.writer.withdraw(ticket, b"1-"),  # noqa: B023
            "close": own.writer.close,
        }
        was_struck = struck(works[what], number)
        assert own.writer._lock.acquire(timeout=5), f"taken, after a strike at {number}"
        own.writer._lock.release()
        if what == "close":
            own.writer.close()
            assert ticket.wait_for_write(Deadline(5)) and ticket.error is not None, number
        else:
            own.transport.take(len(LONG))
            assert ticket.wait_for_write(Deadline(5)) and ticket.error is None, number
            assert own.transport.take(7) == b"0-line\n"
        own.end()
    assert number > 4


def test_line_gathers_only_where_a_thread_can_be_had(pipe: Pipe) -> None:
    """At the interpreter's end, when no thread can be started, a line is written by its own thread all the same."""
    pipe.writer.start_no_thread()
    assert pipe.writer.gather(SHORT) is None
    assert pipe.transport.take(len(SHORT)) == SHORT


def sizes(seed: int, count: int) -> Iterator[int]:
    """Yield sizes from 1 byte to 1 MiB, mostly small."""
    chance = random.Random(seed)
    for _ in range(count):
        kind = chance.random()
        yield chance.randint(1, 200) if kind < 0.93 else chance.randint(3000, 9000) if kind < 0.998 else 1024 * 1024


@pytest.mark.parametrize("kind", [PipeTransport, PlainPipeTransport], ids=["direct", "plain"])
def test_many_threads_write_whole_lines(kind: Callable[[], PlainPipeTransport]) -> None:
    """64 threads' lines of 1 byte to 1 MiB all come out whole, once, and in the order of each thread."""
    pipe, count = Pipe(kind()), 200 if kind is PipeTransport else 40

    def write(number: int) -> None:
        for step, size in enumerate(sizes(number, count)):
            pipe.writer.put(b"%d %d %s\n" % (number, step, b"abcdefghij"[number % 10 :][:1] * size))

    found: list[bytes] = []
    reader = threading.Thread(target=lambda: found.extend(pipe.transport.lines()))
    reader.start()
    together([lambda number=number: write(number) for number in range(64)])  # type: ignore[misc]
    assert pipe.writer.flush(Deadline(20))
    pipe.transport.end_input()
    reader.join(10)
    pipe.end()
    steps = [0] * 64
    expected = [list(sizes(number, count)) for number in range(64)]
    for line in found:
        number, step, text = line.split(b" ")
        assert int(step) == steps[int(number)]
        assert text == text[:1] * expected[int(number)][int(step)]
        steps[int(number)] += 1
    assert steps == [count] * 64


def test_slow_reader_gets_whole_lines(pipe: Pipe) -> None:
    """A program that reads a few bytes at a time sees the same lines."""
    lines = [bytes([65 + number % 26]) * (number * 37 + 1) for number in range(150)]
    for line in lines:
        pipe.writer.put(line + b"\n")
    found: list[bytes] = []
    reader = threading.Thread(target=lambda: found.extend(pipe.transport.lines(chunk=97)))
    reader.start()
    assert pipe.writer.flush(Deadline(10))
    pipe.transport.end_input()
    reader.join(10)
    assert found == lines


# -- taking back -------------------------------------------------------------------------------------------------------


def test_waiting_line_can_be_taken_back(pipe: Pipe) -> None:
    """A line that has not been begun is taken back and never written; one that has been is finished."""
    first = pipe.put(LONG)
    second, third = pipe.put(b"second\n"), pipe.put(b"third\n")
    assert begun(first)
    assert pipe.writer.withdraw(first) is False
    assert pipe.writer.withdraw(second) is True
    assert pipe.writer.withdraw(second) is False
    assert second.is_set() and second.error is not None
    assert pipe.transport.take(len(LONG) + 6) == LONG + b"third\n"
    assert third.wait_for_write(Deadline(10)) and first.error is third.error is None
    assert pipe.writer.withdraw(third) is False


def test_line_is_taken_back_or_written_never_both(pipe: Pipe) -> None:
    """When taking back and writing race, exactly one of them happens."""
    for _ in range(100):
        ticket = pipe.put(b"z" * (PIPE_BUF + 1))
        if pipe.writer.withdraw(ticket):
            continue
        assert pipe.transport.take(PIPE_BUF + 1) == b"z" * (PIPE_BUF + 1)
    assert pipe.writer.flush(Deadline(10))
    assert pipe.writer.put(SHORT) is None or pipe.writer.flush(Deadline(10))
    assert pipe.transport.take(len(SHORT)) == SHORT


# -- flush -------------------------------------------------------------------------------------------------------------


def test_flush_waits_for_every_line(pipe: Pipe) -> None:
    """Flushing ends when all lines are out, or at its time; with nothing to write it ends at once."""
    assert pipe.writer.flush(Deadline(0))
    pipe.put(LONG)
    pipe.put(SHORT)
    assert not pipe.writer.flush(Deadline(0.02))
    pipe.transport.take(len(LONG) + len(SHORT))
    assert pipe.writer.flush(Deadline(10))


def test_flush_does_not_wait_for_what_was_taken_back(pipe: Pipe) -> None:
    """A flush that waits behind a line that is then taken back still waits for the others, and for nothing else."""
    pipe.put(LONG)
    last = pipe.put(SHORT)
    results: list[bool] = []
    flusher = threading.Thread(target=lambda: results.append(pipe.writer.flush(Deadline(10))))
    flusher.start()
    assert pipe.writer.withdraw(last)
    assert not pipe.writer.flush(Deadline(0.02)), "the long line is not out yet"
    pipe.transport.take(len(LONG))
    flusher.join(10)
    assert results == [True]


# -- closing -----------------------------------------------------------------------------------------------------------


def test_close_drops_what_waits(pipe: Pipe) -> None:
    """At close the line that is being written is finished, the others fail unwritten, and no more are taken."""
    failed: list[OSError] = []
    first = pipe.put(LONG)
    assert begun(first)
    second = pipe.writer.put(SHORT, on_error=failed.append)
    assert second is not None
    pipe.writer.close()
    pipe.writer.close()
    assert second.is_set() and failed == [second.error]
    assert pipe.writer.withdraw(second) is False
    with pytest.raises(BrokenPipeError, match="closed"):
        pipe.writer.put(SHORT)
    assert not pipe.writer.join(Deadline(0.02)), "it still writes"
    assert pipe.transport.take(len(LONG)) == LONG
    assert pipe.writer.join(Deadline(10))
    assert first.error is None


def test_close_while_blocked_ends_with_the_input(pipe: Pipe) -> None:
    """A writer that is blocked in a full pipe ends when the input does, and its line says so."""
    ticket = pipe.put(LONG)
    assert begun(ticket)
    pipe.writer.close()
    pipe.transport.end_input()
    assert ticket.wait_for_write(Deadline(10))
    assert isinstance(ticket.error, BrokenPipeError)
    assert pipe.writer.join(Deadline(10))


def test_line_that_is_being_dropped_cannot_be_taken_back(pipe: Pipe) -> None:
    """While a close tells one line after the other, those that are still to be told show their error already."""
    seen: list[object] = []
    pipe.put(LONG)
    pipe.writer.put(SHORT, on_error=lambda _: seen.extend((pipe.writer.withdraw(last), last.error, last.is_set())))
    last = pipe.put(SHORT)
    pipe.writer.close()
    assert seen == [False, last.error, False]
    assert isinstance(last.error, BrokenPipeError)
    assert last.is_set()


def test_dropped_line_always_shows_its_error(pipe: Pipe) -> None:
    """Whoever finds that a line cannot be taken back any more sees that it was written, or why it was not."""
    for _ in range(50):
        own = Pipe(PipeTransport())
        own.put(LONG)
        ticket = own.put(SHORT)
        withdraw: Callable[[], object] = lambda: own.writer.withdraw(ticket) or ticket.error  # noqa: B023, E731
        seen, _ = together([withdraw, own.writer.close])
        assert seen, "not taken back, and no error to be seen"
        assert ticket.error is not None and ticket.is_set()
        own.end()


# -- errors ------------------------------------------------------------------------------------------------------------


def test_dead_program_fails_every_line(pipe: Pipe) -> None:
    """When the program is gone, the line that is being written and all that wait fail, and later ones are refused."""
    failed: list[OSError] = []
    tickets = [pipe.put(LONG), pipe.put(SHORT), pipe.writer.put(LONG, on_error=failed.append)]
    pipe.transport.stop_reading()
    for ticket in tickets:
        assert ticket is not None and ticket.wait_for_write(Deadline(10))
        assert isinstance(ticket.error, BrokenPipeError)
    wait_until(lambda: len(failed) == 1)
    with pytest.raises(BrokenPipeError):
        pipe.writer.put(SHORT)
    assert pipe.writer.join(Deadline(10))


def test_direct_write_to_a_dead_program_raises(pipe: Pipe) -> None:
    """A short line that cannot be written says so where it is handed over."""
    pipe.transport.stop_reading()
    with pytest.raises(BrokenPipeError):
        pipe.writer.put(SHORT)


class Tearing(PipeTransport):
    """A user's own transport that loses the end of a line and then works again."""

    torn = False

    def write(self, data: bytes) -> None:
        if not self.torn:
            self.torn = True
            super().write(data[:10])
            raise OSError("a cable came loose")
        super().write(data)


def test_nothing_follows_a_torn_line() -> None:
    """A line of which a part is out ends the writer: already the function that is told of it finds it closed."""
    pipe, seen = Pipe(Tearing()), list[object]()

    def failed(_error: OSError) -> None:
        try:
            seen.append(pipe.writer.put(SHORT))
        except OSError as error:
            seen.append(str(error))

    pipe.writer.put(LONG, on_error=failed)
    with contextlib.suppress(OSError):  # it may have failed already
        pipe.writer.put(SHORT)
    wait_until(lambda: seen)
    pipe.end()
    assert seen == ["a cable came loose"]
    assert pipe.transport.received == LONG[:10]


class ClosedFile(PlainPipeTransport):
    """A user's own transport, on a file that somebody closed."""

    def write(self, data: bytes) -> None:
        raise ValueError("I/O operation on closed file")


def test_odd_error_of_a_transport_reaches_the_ticket() -> None:
    """A transport of the user's that raises something else fails its lines all the same, and nobody waits for ever."""
    pipe = Pipe(ClosedFile())
    first, second = pipe.put(LONG), pipe.writer
    assert first.wait_for_write(Deadline(10))
    assert "closed file" in str(first.error)
    wait_until(lambda: not writing())
    with pytest.raises(BrokenPipeError, match="closed file"):
        second.put(SHORT)
    pipe.end()


# -- the thread --------------------------------------------------------------------------------------------------------


def test_thread_ends_when_idle(pipe: Pipe, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without long lines the thread ends after a while, and the next long line starts another."""
    monkeypatch.setattr(writer_module, "LINGER", 0.01)
    for _ in range(3):
        ticket = pipe.put(LONG)
        assert pipe.transport.take(len(LONG)) == LONG
        assert ticket.wait_for_write(Deadline(10))
        wait_until(lambda: not writing())
    assert pipe.writer.join(Deadline(0))


def test_lines_that_come_as_the_thread_ends_are_written(pipe: Pipe, monkeypatch: pytest.MonkeyPatch) -> None:
    """A line handed over at the moment at which the thread gives up is not forgotten."""
    monkeypatch.setattr(writer_module, "LINGER", 0.0001)
    for number in range(300):
        ticket = pipe.writer.put(b"%d\n" % number, direct=False)
        assert ticket is not None and ticket.wait_for_write(Deadline(10)), f"line {number} was forgotten"
    expected = b"".join(b"%d\n" % number for number in range(300))
    assert pipe.transport.take(len(expected)) == expected


def test_ctrl_c_while_the_thread_starts_writes_no_line_twice(pipe: Pipe, monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread that was started while Ctrl-C struck leaves, so that two never write the same line."""
    start = threading.Thread.start
    started: list[threading.Thread] = []

    def interrupted(thread: threading.Thread) -> None:
        start(thread)
        started.append(thread)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", interrupted)
        with pytest.raises(KeyboardInterrupt):
            pipe.writer.put(LONG)
    tickets = [pipe.put(LONG), pipe.put(SHORT)]
    assert begun(tickets[0])
    wait_until(lambda: not started[0].is_alive())
    assert pipe.transport.take(len(LONG) + len(SHORT)) == LONG + SHORT
    assert all(ticket.wait_for_write(Deadline(10)) for ticket in tickets)
    assert pipe.writer.put(SHORT) is None
    assert pipe.transport.take(len(SHORT)) == SHORT


def test_no_thread_at_the_end_of_the_interpreter(pipe: Pipe, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no thread can be started any more, a long line is refused and leaves nothing behind."""

    def refused(_thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread at interpreter shutdown")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refused)
        with pytest.raises(BrokenPipeError, match="no thread"):
            pipe.writer.put(LONG)
    assert pipe.writer.put(SHORT) is None
    assert pipe.transport.take(len(SHORT)) == SHORT
