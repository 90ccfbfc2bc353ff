"""Whoever waits for an answer may read it while the reader stands by, and each byte is read once, by one of them."""

import operator
import os
import select
import signal
import threading
import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from claude_control.process import standby
from claude_control.process.standby import Standby, open_standby
from tests.process.standing import Pipe
from tests.threads import LIVELOCKS_WHEN_TRACED, struck
from tests.waiting import wait_until

pytestmark = pytest.mark.skipif(not hasattr(select, "epoll"), reason="epoll is Linux")


class Lead:
    """A thread that waits for an answer."""

    def __init__(self, pipe: Pipe, answer: bytes) -> None:
        self.taken: list[bytes] = []
        self.waits = False  # once it does, the reader is not told of what comes then

        def waits() -> bool:
            self.waits = True
            return not self.taken

        def take(chunk: bytes) -> bytes:
            if chunk != answer:
                return chunk
            self.taken.append(chunk)
            return b""

        def run() -> None:
            pipe.standby.lead(waits, take, 10)

        self.thread = threading.Thread(target=run, daemon=True)
        self.thread.start()


def leading(pipe: Pipe, answer: bytes) -> Lead:
    """Return a thread that leads; that it already sleeps cannot be seen."""
    lead = Lead(pipe, answer)
    wait_until(lambda: lead.waits)
    return lead


def test_each_answer_is_read_once(pipe: Pipe, monkeypatch: pytest.MonkeyPatch) -> None:
    """Answers are read by the thread that waits for one, and the reader is not even told of them."""
    monkeypatch.setattr(standby, "_LOOK", 60)
    pipe.stand()
    for number in range(50):
        lead = leading(pipe, b"answer %d" % number)
        pipe.write(b"answer %d" % number)
        lead.thread.join(10)
        assert lead.taken == [b"answer %d" % number]
    assert pipe.standby._standing
    pipe.write(b"other")
    assert (pipe.read(), pipe.was_left) == (b"other", [])


class Waits:
    """Keeps for how long output was waited for, and how often it was looked for without waiting."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, spin: float) -> None:
        self.slept: list[float] = []
        self.looks = 0
        original = Standby._next_chunk
        monkeypatch.setattr(standby, "SPIN", spin)

        def next_chunk(of: Standby, seconds: float) -> Iterator[bytes]:
            if seconds:
                self.slept.append(seconds)
            else:
                self.looks += 1
            return original(of, seconds)

        monkeypatch.setattr(Standby, "_next_chunk", next_chunk)


def test_who_leads_looks_before_it_sleeps_where_answers_come_at_once(
    pipe: Pipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After one wait that was over soon the next answer is looked for; in vain twice as many must be over soon."""
    pipe.stand()

    def exchange(answer: bytes) -> None:
        steps = [partial(pipe.write, answer)]  # once it has begun to wait, for the reader has what comes before that
        taken: list[bytes] = []

        def waits() -> bool:
            while steps:
                steps.pop()()
            return not taken

        pipe.standby.lead(waits, lambda chunk: taken.append(chunk) or b"", 10)  # type: ignore[func-returns-value]
        assert taken == [answer]

    waits = Waits(monkeypatch, spin=20)
    exchange(b"first")
    assert (len(waits.slept), waits.looks) == (1, 0)
    exchange(b"second")
    assert (len(waits.slept), waits.looks) == (1, 1)
    waits = Waits(monkeypatch, spin=0.001)
    pipe.standby.lead(lambda: True, bytes, 0.05)  # nothing comes
    assert len(waits.slept) == 1
    assert waits.looks > 1
    for enough in (2, 4, 8):
        monkeypatch.setattr(standby, "SPIN", 20)
        waits.looks = 0
        for _ in range(enough):
            assert waits.looks == 0
            exchange(b"answer")
        monkeypatch.setattr(standby, "SPIN", 0.001)
        pipe.standby.lead(lambda: True, bytes, 0.05)
        assert waits.looks > 0
    pipe.write(b"end")
    assert pipe.read() == b"end"


@pytest.mark.parametrize("how", ["answered", "released", "recalled"])
def test_look_ends_when_nothing_is_waited_for_any_longer(pipe: Pipe, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    """Who looks for output leaves at once when what it waits for has come by another way, or the reader is to read."""
    pipe.stand()
    waits, waiting = Waits(monkeypatch, spin=60), True
    pipe.standby._quick = 1
    thread = threading.Thread(target=pipe.standby.lead, args=(lambda: waiting, bool, 60), daemon=True)
    thread.start()
    wait_until(lambda: waits.looks > 100)
    if how in ("answered", "released"):
        waiting = False
    if how == "released":
        pipe.standby.release()
    elif how == "recalled":
        pipe.standby.recall()
    thread.join(10)
    assert not thread.is_alive()
    assert waits.slept == []
    pipe.write(b"end")
    assert pipe.read() == b"end"


def test_end_of_output_does_not_keep_the_reader_busy(no_leaks: None) -> None:
    """While somebody deals with output, the end that comes behind it does not wake the reader over and over."""
    pipe = Pipe()
    pipe.stand()
    assert pipe._thread is not None and pipe._thread.ident is not None
    clock, used, writes = time.pthread_getcpuclockid(pipe._thread.ident), list[float](), [b"answer"]

    def waits() -> bool:
        while writes:  # once it leads, for the reader has what comes before that
            pipe.write(writes.pop())
        return not used

    def take(chunk: bytes) -> bytes:
        os.close(pipe.writing)
        before = time.clock_gettime(clock)
        threading.Event().wait(0.3)
        used.append(time.clock_gettime(clock) - before)
        return b""

    pipe.standby.lead(waits, take, 10)
    assert used[0] < 0.1
    assert pipe.read() == b""
    pipe.standby.close()
    os.close(pipe.reading)


def test_other_output_is_left_to_the_reader(pipe: Pipe) -> None:
    """What is not the answer goes to the reader as it came; who waits for the answer leaves."""
    pipe.stand()
    lead = leading(pipe, b"answer")
    pipe.write(b"other")
    assert pipe.read() == b"other"
    pipe.standby.release()
    lead.thread.join(10)
    pipe.stand()
    pipe.write(b"answer")
    assert (pipe.read(), lead.taken) == (b"answer", [])


def test_end_of_output_is_left_to_the_reader(no_leaks: None) -> None:
    """The end of the output is no answer: the reader finds it."""
    pipe = Pipe()
    pipe.stand()
    lead = leading(pipe, b"answer")
    os.close(pipe.writing)
    assert pipe.read() == b""
    pipe.standby.close()
    lead.thread.join(10)
    assert (lead.thread.is_alive(), lead.taken) == (False, [])
    os.close(pipe.reading)


def test_nobody_leads_while_the_reader_reads(pipe: Pipe) -> None:
    """While the reader does not stand by, nobody waits here, and nobody reads."""
    pipe.write(b"answer")
    lead = Lead(pipe, b"answer")
    lead.thread.join(10)
    assert lead.taken == []
    assert os.read(pipe.reading, 100) == b"answer"


def test_release_wakes_who_leads(pipe: Pipe) -> None:
    """Who leads is woken when the answer has come by another way, and the reader goes on to stand by."""
    pipe.stand()
    lead = leading(pipe, b"answer")
    pipe.standby.release()
    lead.thread.join(10)
    assert not lead.thread.is_alive()
    assert pipe.standby._standing
    pipe.write(b"end")
    assert pipe.read() == b"end"


def test_release_before_the_wait_ends_it(pipe: Pipe) -> None:
    """Who is released before it waits is not left waiting."""
    pipe.stand()

    def release_early() -> bool:
        pipe.standby.release()  # this thread leads, and does not wait yet
        return True

    lead = threading.Thread(target=pipe.standby.lead, args=(release_early, lambda chunk: b"", 10), daemon=True)
    lead.start()
    lead.join(5)
    assert not lead.is_alive()
    pipe.write(b"end")
    assert pipe.read() == b"end"


def test_reader_does_not_stand_by_while_somebody_leads(pipe: Pipe) -> None:
    """A reader that had the output first reads the next one, too, while the other one has not yet left."""
    with pipe.standby._lead:
        assert pipe.standby.wait() == b""
    pipe.stand()
    pipe.write(b"end")
    assert pipe.read() == b"end"


def test_who_no_longer_waits_does_not_lead(pipe: Pipe) -> None:
    """An answer that came before the wait began is seen before it."""
    pipe.stand()
    pipe.standby.lead(lambda: False, lambda chunk: b"", 10)
    pipe.write(b"end")
    assert pipe.read() == b"end"


def test_time_limit_ends_the_wait(pipe: Pipe, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who leads leaves when its time is up, and the reader is told of what comes; it does not have to look."""
    monkeypatch.setattr(standby, "_LOOK", 60)
    pipe.stand()
    pipe.standby.lead(lambda: True, lambda chunk: b"", 0.01)
    pipe.write(b"late")
    assert pipe.read() == b"late"


def test_reader_stands_by_no_longer_than_it_is_used(pipe: Pipe) -> None:
    """Where nobody leads for a second the reader just reads again, and an idle session wakes nothing."""
    pipe.stand()
    wait_until(lambda: not pipe.standby._standing)
    pipe.write(b"end")
    assert pipe.read() == b"end"


def test_thread_that_leaves_inside_of_its_wait_reads_nothing(pipe: Pipe) -> None:
    """What comes after a signal handler has left all to the reader is the reader's, though its thread waits on."""
    pipe.stand()
    before = signal.signal(signal.SIGUSR1, lambda *_: pipe.standby.leave())
    main = threading.get_ident()

    def press() -> None:
        wait_until(pipe.standby._lead.locked)
        signal.pthread_kill(main, signal.SIGUSR1)
        wait_until(lambda: not pipe.standby._standing)
        pipe.write(b"answer")

    presser = threading.Thread(target=press)
    try:
        presser.start()
        pipe.standby.lead(lambda: True, lambda chunk: pytest.fail("it was read"), 10)
        presser.join()
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert pipe.read() == b"answer"


@pytest.mark.parametrize("spin", [0, 0.01])
def test_reader_reads_what_a_held_up_thread_does_not(pipe: Pipe, monkeypatch: pytest.MonkeyPatch, spin: float) -> None:
    """While a signal handler that asks nothing waits in the thread that leads, the reader reads the output, alone."""
    monkeypatch.setattr(standby, "SPIN", spin)
    pipe.stand()
    pipe.standby._quick = 1
    read: list[bytes] = []
    before = signal.signal(signal.SIGUSR1, lambda *_: read.append(pipe.read()))
    main = threading.get_ident()

    def press() -> None:
        wait_until(pipe.standby._lead.locked)
        signal.pthread_kill(main, signal.SIGUSR1)
        pipe.write(b"output")

    presser = threading.Thread(target=press)
    try:
        presser.start()
        pipe.standby.lead(lambda: not read, lambda chunk: pytest.fail("it was read"), 10)
        presser.join()
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert read == [b"output"]
    pipe.stand()
    pipe.write(b"end")
    assert pipe.read() == b"end"


def test_who_leads_leaves_when_the_reader_takes_back_the_pipe(pipe: Pipe, monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread that was only about to come for the output does not sleep on, for its whole time."""

    class FirstComeFirstServed:
        """Gives the event of the output to the reader, as if that had been faster."""

        def __init__(self, epoll: Any) -> None:
            self._epoll = epoll

        def poll(self, seconds: float, most: int) -> list[tuple[int, int]]:
            by_reader = most > 1
            return [(pipe.reading, select.EPOLLIN)] if by_reader else self._epoll.poll(seconds, most)

        def __getattr__(self, name: str) -> Any:
            return getattr(self._epoll, name)

    monkeypatch.setattr(standby, "_LOOK", 0.05)
    pipe.standby._leaders = FirstComeFirstServed(pipe.standby._leaders)  # type: ignore[assignment]
    pipe.stand()
    lead = leading(pipe, b"answer")
    lead.thread.join(5)
    assert not lead.thread.is_alive()
    pipe.write(b"output")
    assert (pipe.read(), lead.taken) == (b"output", [])


@pytest.mark.parametrize("error", [TimeoutError("the time is up"), BlockingIOError(11, "the time is up")])
def test_exception_of_a_signal_handler_goes_on(pipe: Pipe, error: OSError) -> None:
    """A TimeoutError, which many handlers raise, is no failure of the pipe, though it is an OSError."""
    pipe.stand()
    main = threading.get_ident()

    def handle(*_: object) -> None:
        raise error

    def press() -> None:
        wait_until(pipe.standby._lead.locked)
        signal.pthread_kill(main, signal.SIGUSR1)

    before = signal.signal(signal.SIGUSR1, handle)
    try:
        presser = threading.Thread(target=press)
        presser.start()
        with pytest.raises(type(error), match="the time is up"):
            pipe.standby.lead(lambda: True, bytes, 10)
        presser.join()
    finally:
        signal.signal(signal.SIGUSR1, before)
    pipe.write(b"end")
    assert pipe.read() == b"end"


@LIVELOCKS_WHEN_TRACED
def test_thread_struck_while_it_leaves_does_not_keep_the_reader_from_standing_by(no_leaks: None) -> None:
    """Wherever a signal handler is struck that leaves all to the reader: that one reads, and can stand by again."""
    number, was_struck = 0, True
    while was_struck:
        number += 1
        pipe = Pipe()
        pipe.standby._stand()

        def take(chunk: bytes, of: Standby = pipe.standby) -> bytes:
            of.leave()
            return chunk

        pipe.write(b"output")
        was_struck = struck(partial(pipe.standby.lead, lambda: True, take, 10), number)
        pipe.stand(pipe.standby._watch)
        assert pipe.read() == b"output", number
        for again in (b"again", b"end"):
            pipe.stand()
            pipe.write(again)
            assert pipe.read() == again, number
        pipe.close()
    assert number > 20


def test_who_finds_another_one_leading_does_not_wake_the_reader(pipe: Pipe, monkeypatch: pytest.MonkeyPatch) -> None:
    """While one thread leads another one returns at once, and the reader is not told of what the first one reads."""
    monkeypatch.setattr(standby, "_LOOK", 60)
    pipe.stand()
    lead = leading(pipe, b"answer")
    pipe.standby.lead(lambda: True, bytes, 10)
    pipe.write(b"answer")
    lead.thread.join(10)
    assert lead.taken == [b"answer"]
    assert pipe.standby._standing
    pipe.write(b"end")
    assert pipe.read() == b"end"


@pytest.mark.parametrize("someone_leads", [False, True])
def test_recalled_reader_reads_by_itself(pipe: Pipe, someone_leads: bool) -> None:
    """A reader that is recalled comes back at once, whoever leads, and never stands by again."""
    pipe.stand()
    lead = leading(pipe, b"answer") if someone_leads else None
    pipe.standby.recall()
    pipe.write(b"rest")
    assert pipe.read() == b"rest"
    if lead is not None:
        lead.thread.join(10)
        assert lead.taken == []
    assert pipe.standby.wait() == b""


def test_close_wakes_who_leads(no_leaks: None) -> None:
    """Who leads when all is over leaves at once, and nothing stays open."""
    pipe = Pipe()
    pipe.stand()
    lead = leading(pipe, b"answer")
    pipe.write(b"rest")
    assert pipe.read() == b"rest"
    pipe.standby.close()
    lead.thread.join(10)
    assert not lead.thread.is_alive()
    pipe.standby.close()
    os.close(pipe.writing)
    os.close(pipe.reading)


def test_no_descriptors_are_no_failure(pipe: Pipe, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the system has no more descriptors there is no standby, and nothing is left open of the attempt."""

    def refuse(*_: object) -> int:
        raise OSError(24, "Too many open files")

    with monkeypatch.context() as patch, open(__file__) as file:
        assert open_standby(file.fileno(), pipe._look) is None  # no pipe
        patch.setattr(os, "eventfd", refuse)
        assert open_standby(pipe.reading, pipe._look) is None


@LIVELOCKS_WHEN_TRACED
@pytest.mark.parametrize("output", [b"answer", b"other"])
def test_struck_thread_loses_nothing(no_leaks: None, output: bytes) -> None:
    """Wherever who leads is struck from outside: the reader has the output, or it was taken and the reader reads on."""
    number = places = 0
    while True:
        number += 1
        pipe = Pipe()
        taken: list[bytes] = []

        def take(chunk: bytes, taken: list[bytes] = taken) -> bytes:
            if chunk != b"answer":
                return chunk
            taken.append(chunk)
            return b""

        # The reader has come so far that it waits for output, and gets to run after all the rest.
        pipe.standby._stand()
        pipe.write(output)
        was_struck = struck(partial(pipe.standby.lead, partial(operator.not_, taken), take, 10), number)
        places += was_struck
        pipe.stand(pipe.standby._watch)
        if not taken:
            assert pipe.read() == output, number
            pipe.stand()
        pipe.write(b"next")
        next_read = pipe.read()
        if taken and next_read == output:  # struck after it was taken: it comes again, as an answer nobody waits for
            next_read = os.read(pipe.reading, 100)
        assert next_read == b"next", number
        again = []
        pipe.stand()
        pipe.write(b"again")
        again.append(pipe.read())
        assert again == [b"again"]
        pipe.close()
        if not was_struck:
            break
    assert places > 10
    assert taken == ([b"answer"] if output == b"answer" else [])
