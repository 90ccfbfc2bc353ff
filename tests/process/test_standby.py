"""Whoever waits for an answer may read it while the reader stands by, and each byte is read once, by one of them."""

import os
import select
import threading
from collections.abc import Callable, Iterator
from functools import partial

import pytest

from claude_control.process.standby import Standby, open_standby
from tests.threads import LIVELOCKS_WHEN_TRACED, struck
from tests.waiting import wait_until

pytestmark = pytest.mark.skipif(not hasattr(select, "epoll"), reason="epoll is Linux")


class Pipe:
    """A pipe, and a reader that stands by in a thread of its own when it is told to."""

    def __init__(self) -> None:
        self.reading, self.writing = os.pipe()
        self.standby = Standby(self.reading)
        self.was_left: list[bytes] = []
        self._thread: threading.Thread | None = None

    def stand(self, how: Callable[[], bytes] | None = None) -> None:
        """Begin to stand by; what `wait` returns, or the next output, is in `was_left` then."""

        def run() -> None:
            self.was_left.append((how or self.standby.wait)() or os.read(self.reading, 100))

        self._thread = threading.Thread(target=run, daemon=True)
        self._thread.start()
        if how is None:
            wait_until(lambda: self.standby._standing)

    def read(self) -> bytes:
        """Wait for the reader to come back, and return what it has read."""
        assert self._thread is not None
        self._thread.join(10)
        assert not self._thread.is_alive(), "the reader stands by for ever"
        return self.was_left.pop()

    def write(self, data: bytes) -> None:
        """Write some output."""
        os.write(self.writing, data)

    def close(self) -> None:
        """Close all of it."""
        self.standby.close()
        os.close(self.reading)
        os.close(self.writing)


@pytest.fixture
def pipe(no_leaks: None) -> Iterator[Pipe]:
    """A pipe that is closed at the end."""
    made = Pipe()
    yield made
    made.close()


class Lead:
    """A thread that waits for an answer."""

    def __init__(self, pipe: Pipe, answer: bytes) -> None:
        self.taken: list[bytes] = []
        self.waits = True

        def take(chunk: bytes) -> bool:
            if chunk == answer:
                self.taken.append(chunk)
            return chunk == answer

        def run() -> None:
            pipe.standby.lead(lambda: self.waits, take, 10)

        self.thread = threading.Thread(target=run, daemon=True)
        self.thread.start()

    def is_polling(self, pipe: Pipe) -> bool:
        """Tell whether it waits for output, as far as can be seen: it then sleeps in the kernel."""
        if not pipe.standby._lead.locked():
            return False
        with open(f"/proc/self/task/{self.thread.native_id}/wchan") as file:
            where = file.read()
        return "poll" in where or where == "0"  # some systems do not tell


def leading(pipe: Pipe, answer: bytes) -> Lead:
    """Return a thread that waits for output, after the reader."""
    lead = Lead(pipe, answer)
    wait_until(lambda: lead.is_polling(pipe))
    return lead


def test_answer_is_read_by_who_waits_for_it(pipe: Pipe) -> None:
    """One answer after the other is read by a thread that waits for it; the reader is not woken for any."""
    pipe.stand()
    for number in range(20):
        answer = b"answer %d" % number
        lead = leading(pipe, answer)
        pipe.write(answer)
        lead.thread.join(10)
        assert lead.taken == [answer]
    pipe.write(b"other")
    assert pipe.read() == b"other"
    assert pipe.was_left == []


def test_other_output_is_left_to_the_reader(pipe: Pipe) -> None:
    """What is not the answer goes to the reader as it came; who waits for the answer leaves."""
    pipe.stand()
    lead = leading(pipe, b"answer")
    pipe.write(b"other")
    lead.thread.join(10)
    assert pipe.read() == b"other"
    pipe.stand()
    pipe.write(b"answer")
    assert (pipe.read(), lead.taken) == (b"answer", [])


def test_end_of_output_is_left_to_the_reader(no_leaks: None) -> None:
    """The end of the output is no answer: the reader finds it."""
    pipe = Pipe()
    pipe.stand()
    lead = leading(pipe, b"answer")
    os.close(pipe.writing)
    lead.thread.join(10)
    assert pipe.read() == b""
    pipe.standby.close()
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
    again = leading(pipe, b"answer")
    pipe.write(b"answer")
    again.thread.join(10)
    assert again.taken == [b"answer"]
    pipe.write(b"end")
    assert pipe.read() == b"end"


def test_reader_does_not_rob_who_is_woken(pipe: Pipe) -> None:
    """The reader does not stand by while somebody leads, for it would get the event that was to wake that one."""
    pipe.stand()
    lead = leading(pipe, b"answer")
    pipe.standby._standing = False  # as if the reader had had the output before who leads came
    assert pipe.standby.wait() == b""
    pipe.standby._standing = True
    pipe.standby.release()
    lead.thread.join(10)
    assert not lead.thread.is_alive()
    pipe.write(b"end")
    assert pipe.read() == b"end"


def test_who_no_longer_waits_does_not_lead(pipe: Pipe) -> None:
    """An answer that came before the wait began is seen before it."""
    pipe.stand()
    pipe.standby.lead(lambda: False, lambda chunk: True, 10)
    pipe.write(b"end")
    assert pipe.read() == b"end"


def test_time_limit_ends_the_wait(pipe: Pipe) -> None:
    """Who leads leaves when its time is up, and the reader reads what comes."""
    pipe.stand()
    pipe.standby.lead(lambda: True, lambda chunk: True, 0.01)
    pipe.write(b"late")
    assert pipe.read() == b"late"


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
    pipe.stand()
    lead = leading(pipe, b"answer")
    pipe.standby._standing = False
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
        assert open_standby(file.fileno()) is None  # no pipe
        patch.setattr(os, "eventfd", refuse)
        assert open_standby(pipe.reading) is None


@LIVELOCKS_WHEN_TRACED
@pytest.mark.parametrize("output", [b"answer", b"other"])
def test_struck_thread_loses_nothing(no_leaks: None, output: bytes) -> None:
    """Wherever who leads is struck from outside: the reader has the output, or it was taken and the reader reads on."""
    number = places = 0
    while True:
        number += 1
        pipe = Pipe()
        taken: list[bytes] = []

        def take(chunk: bytes, taken: list[bytes] = taken) -> bool:
            if chunk != b"answer":
                return False
            taken.append(chunk)
            return True

        # The reader has come so far that it waits for output, and gets to run after all the rest.
        pipe.standby._stand()
        pipe.write(output)
        was_struck = struck(partial(pipe.standby.lead, lambda: True, take, 10), number)
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
