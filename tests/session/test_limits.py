"""One timer for many requests: each is told of at its own time, and only if it is still open then."""

import gc
import threading
import time
import weakref
from collections.abc import Iterator

import pytest

from claude_control.abort import AbortSignal
from claude_control.session.answers import Answers, Handler, OpenRequest
from claude_control.session.limits import TimeLimit
from tests.threads import LIVELOCKS_WHEN_TRACED, struck
from tests.waiting import wait_until

SECONDS = 0.05

HANDLER = Handler(None, print, lambda _request, text: {"denied": text})


def asked(request_id: str) -> OpenRequest:
    """Return a request that comes now."""
    return OpenRequest(request_id, AbortSignal(), HANDLER, since=time.monotonic())


class Book:
    """Open requests, and those whose time was up."""

    def __init__(self) -> None:
        self.answers = Answers(lambda _line: None)
        self.late: list[tuple[str, float]] = []
        self.limit = TimeLimit(SECONDS, self.answers.is_open, self.expire)

    def expire(self, request: OpenRequest) -> None:
        """Note a request whose time is up, and how long it took."""
        self.late.append((request.request_id, time.monotonic() - request.since))
        self.answers.time_out(request, "too late")

    def ask(self, request_id: str) -> OpenRequest:
        """Open a request that has the limit."""
        request = asked(request_id)
        assert self.answers.add(request)
        self.limit.start(request)
        return request


@pytest.fixture
def book() -> Iterator[Book]:
    """A book that is closed at the end."""
    made = Book()
    yield made
    made.limit.end()


def test_each_open_request_is_told_of_at_its_time(book: Book) -> None:
    """None is told of before its time, whenever it came, and none that was answered."""
    kept = [book.ask("a")]
    book.answers.answer(book.ask("answered"), {})
    kept.append(book.ask("b"))
    wait_until(lambda: len(book.late) == 2)
    kept.append(book.ask("c"))
    wait_until(lambda: len(book.late) == 3)
    assert [name for name, _ in book.late] == ["a", "b", "c"]
    assert min(seconds for _, seconds in book.late) >= SECONDS


def test_requests_that_are_over_are_not_kept(book: Book) -> None:
    """However many are answered, and however long the limit, nothing of them stays but a bounded number of entries."""
    limit = TimeLimit(3600, book.answers.is_open, book.expire)
    held = asked("held")
    assert book.answers.add(held)
    limit.start(held)  # the oldest one stays open all the time
    gone = []
    for number in range(1000):
        request = asked(str(number))
        assert book.answers.add(request)
        limit.start(request)
        book.answers.answer(request, {})
        gone.append(weakref.ref(request))
        del request
    gc.collect()
    assert not any(reference() for reference in gone)
    assert len(limit._asked) <= 257
    limit.end()


def test_many_open_requests_cost_a_look_each(book: Book) -> None:
    """Requests that stay open are not looked through again for each that comes: twice as many have to come."""
    looks = 0

    def is_open(_request: OpenRequest) -> bool:
        nonlocal looks
        looks += 1
        return True

    limit = TimeLimit(3600, is_open, book.expire)
    requests = [asked(str(number)) for number in range(5000)]
    for request in requests:
        limit.start(request)
    assert looks < 2 * len(requests)
    assert len(limit._asked) == 5000
    limit.end()


def test_request_that_comes_while_others_are_told_of_is_not_missed(book: Book) -> None:
    """However the coming of a request and the end of another one's time meet, each is told of."""
    limit = TimeLimit(0.0005, book.answers.is_open, book.expire)
    kept, pause = [], threading.Event()
    for number in range(1000):
        kept.append(asked(str(number)))
        assert book.answers.add(kept[-1])
        limit.start(kept[-1])
        pause.wait(number % 20 / 20_000)
    wait_until(lambda: len(book.late) == 1000)
    limit.end()


def test_ended_limit_tells_of_nothing_and_keeps_no_thread(book: Book) -> None:
    """After the end no request is counted for, one that comes later neither, and no timer holds the watch thread."""
    kept = [book.ask("a")]
    book.limit.end()
    kept.append(book.ask("b"))
    other = Book()
    kept.append(other.ask("c"))
    wait_until(lambda: other.late)
    assert book.late == []
    other.limit.end()
    wait_until(lambda: not any("watch" in thread.name for thread in threading.enumerate()))


def test_one_that_fails_keeps_no_other_from_being_told(book: Book) -> None:
    """What `expire` raises for one request is logged; those that are late with it are told of all the same."""
    told = []

    def expire(request: OpenRequest) -> None:
        told.append(request.request_id)
        raise ValueError("broken")

    limit = TimeLimit(SECONDS, book.answers.is_open, expire)
    requests = [asked(name) for name in "ab"]
    for request in requests:
        assert book.answers.add(request)
        limit.start(request)
    wait_until(lambda: told == ["a", "b"])
    limit.end()


@LIVELOCKS_WHEN_TRACED
def test_end_that_was_struck_is_completed_by_the_next(book: Book) -> None:
    """Wherever an exception from outside strikes the end, the next one leaves no timer, and so no watch thread."""
    number, strikes = 0, True
    while strikes:
        number += 1
        limit = TimeLimit(3600, book.answers.is_open, book.expire)
        limit.start(book.ask(str(number)))
        book.limit.end()
        book.limit = TimeLimit(SECONDS, book.answers.is_open, book.expire)
        strikes = struck(limit.end, number)
        limit.end()
        wait_until(lambda: not any("watch" in thread.name for thread in threading.enumerate()), timeout=5)
    assert number > 5
