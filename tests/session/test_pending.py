"""Our requests and their answers: each is settled once, and whoever waits for it is told."""

import re
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from claude_control.deadline import Deadline
from claude_control.errors import ProcessExitedError, SessionClosedError
from claude_control.session.exited import again
from claude_control.session.pending import Awaited, PendingReplies
from tests.threads import LIVELOCKS_WHEN_TRACED, struck, together
from tests.waiting import wait_until


def made(pending: PendingReplies) -> Awaited:
    """Register a request."""
    entry = Awaited()
    pending.register(entry)
    return entry


def test_ids_are_numbered() -> None:
    """A request id has the request's number, and a random tail that all of a session have and no other."""
    pending = PendingReplies()
    ids = [made(pending).request_id for _ in range(3)]
    assert [request_id.rsplit("_", 1)[0] for request_id in ids] == ["req_0", "req_1", "req_2"]
    assert all(re.fullmatch(r"req_\d+_[0-9a-f]{8}", request_id) for request_id in ids)
    assert made(PendingReplies()).request_id not in ids
    assert (len(pending), pending.sent) == (3, 3)
    assert repr(pending) == "<PendingReplies 3 waiting, 3 made>"


def test_entry_keeps_the_id_that_it_has() -> None:
    """A request whose line was written before keeps the id that was taken for it, which is nobody else's."""
    pending, entry = PendingReplies(), Awaited()
    entry.request_id = taken = pending.new_id()
    pending.register(entry)
    assert entry.request_id == taken != made(pending).request_id
    assert pending.pop(taken) is entry


def test_answer_reaches_its_request() -> None:
    """Answers may come in any order, and each settles its own request."""
    pending = PendingReplies()
    entries = [made(pending) for _ in range(3)]
    for number in (2, 0, 1):
        assert pending.resolve(entries[number].request_id, {"n": number}) is True
    assert [entry._outcome for entry in entries] == [{"n": 0}, {"n": 1}, {"n": 2}]
    assert all(entry._wait(Deadline(0)) for entry in entries)
    assert (len(pending), pending.late) == (0, 0)


def test_answer_that_nobody_waits_for_is_counted() -> None:
    """A second answer, one to a request that was given up, and one to none are counted and harm nobody."""
    pending = PendingReplies()
    first, given_up = made(pending), made(pending)
    pending.resolve(first.request_id, {"n": 1})
    assert pending.pop(given_up.request_id) is given_up
    assert pending.pop(given_up.request_id) is None
    ids = (first.request_id, given_up.request_id, "echo-of-ours")
    assert [pending.resolve(request_id, {}) for request_id in ids] == [False] * 3
    assert pending.late == 3
    assert first._outcome == {"n": 1}
    assert given_up._outcome is None


def answer(request_id: object, **more: object) -> dict[str, object]:
    """The frame of a plain answer."""
    body = {"subtype": "success", "request_id": request_id, "response": {}, **more}
    return {"type": "control_response", "response": body}


def test_plain_answers_are_settled_up_to_the_first_other() -> None:
    """Answers that come together settle their requests in order, up to one that is more, unknown, or no answer."""
    odd: list[dict[str, object]] = [
        answer("req_99_ffffffff"),
        answer(["a list"]),
        answer(None),
        {"type": "control_response", "response": None},
        {"type": "control_response"},
    ]
    for stop in odd:
        pending = PendingReplies()
        entries = [made(pending) for _ in range(3)]
        frames = [answer(entry.request_id) for entry in entries]
        assert pending.settle([*frames[:2], stop, frames[2]]) == 2
        assert [entry._outcome for entry in entries] == [*frames[:2], None]
        assert (len(pending), pending.late) == (1, 0)
        assert pending.settle(frames[2:]) == 1 and pending.settle(frames[2:]) == 0, "an answer settles once"


def test_answer_that_tells_more_is_not_settled_at_once() -> None:
    """An answer with more than a payload is left to who looks into it, and its request waits on."""
    pending = PendingReplies()
    entry = made(pending)
    assert pending.settle([answer(entry.request_id, pending_permission_requests=[])]) == 0
    assert entry._outcome is None and len(pending) == 1


def test_answers_are_settled_all_or_none() -> None:
    """Who reads for the reader settles a chunk's answers if all of them are plain and waited for, once each."""
    pending = PendingReplies()
    entries = [made(pending) for _ in range(3)]
    frames = [answer(entry.request_id) for entry in entries]
    more = answer(entries[2].request_id, pending_permission_requests=[])
    for odd in (answer("req_99_ffffffff"), answer(["a list"]), {"type": "control_response"}, more, frames[0]):
        assert not pending.settle_all([*frames[:2], odd])
        assert [entry._outcome for entry in entries] == [None] * 3
    assert pending.settle_all(frames)
    assert [entry._outcome for entry in entries] == frames
    assert not pending.settle_all(frames)
    assert (len(pending), pending.late) == (0, 0)


@LIVELOCKS_WHEN_TRACED
def test_strike_among_answers_leaves_them_to_the_reader() -> None:
    """Wherever who settles many is struck, the reader that has the same answers settles those that are left."""
    number, was_struck = 0, True
    while was_struck:
        number += 1
        pending = PendingReplies()
        entries = [made(pending) for _ in range(3)]
        waiters = [threading.Lock() for _ in entries]
        for entry, waiter in zip(entries, waiters, strict=True):
            waiter.acquire()
            entry.release_too(waiter)
        frames = [answer(entry.request_id) for entry in entries]
        was_struck = struck(partial(pending.settle_all, frames), number)
        for frame in frames:
            pending.settle([frame])
        assert [entry._outcome for entry in entries] == frames, number
        assert not any(waiter.locked() for waiter in waiters), number
    assert number > 10


@pytest.mark.parametrize("seconds", [None, 20.0])
def test_all_who_wait_are_told(seconds: float | None) -> None:
    """Several threads may wait for one answer, each with a time of its own; one that gives up takes none away."""
    entry = Awaited()

    def settle() -> bool:
        wait_until(lambda: len(entry._waiters) == 8)
        entry._settle({"n": 1})
        return True

    waits: list[Callable[[], bool]] = [lambda: entry._wait(Deadline(seconds))] * 8
    assert not entry._wait(Deadline(0.01))
    assert all(together([*waits, settle]))
    assert entry._wait(Deadline(0))


def test_no_wait_misses_its_answer() -> None:
    """However close an answer comes to the beginning of a wait, or to its end, the wait sees it."""
    for number in range(500):
        entry = Awaited()
        told = threading.Thread(target=entry._settle, args=({},))
        told.start()
        entry._wait(Deadline(number % 5 * 0.00002))
        assert entry._wait(Deadline(20))
        told.join()


def test_waiting_in_steps_keeps_nothing() -> None:
    """A wait whose time is up leaves nothing behind: some wait a thousand times for one answer."""
    entry = Awaited()
    assert not any(entry._wait(Deadline(0)) for _ in range(10))
    assert entry._waiters == []


def test_end_fails_what_waits_and_what_comes() -> None:
    """At the end every request that waits fails with its cause, and a new one is refused with the same."""
    pending = PendingReplies()
    entries = [made(pending) for _ in range(3)]
    cause = ProcessExitedError("gone", exit_code=1)
    pending.fail_all(lambda: cause)
    pending.fail_all(lambda: SessionClosedError("later"))
    assert [entry._outcome for entry in entries] == [cause] * 3
    with pytest.raises(ProcessExitedError, match="gone") as caught:
        made(pending)
    assert caught.value.exit_code == 1
    assert len(pending) == 0


def test_every_caller_gets_a_traceback_of_its_own() -> None:
    """The error that refuses requests does not grow with each of them."""
    pending = PendingReplies()
    cause = ProcessExitedError("gone")
    pending.fail_all(again(cause))
    for _ in range(3):
        with pytest.raises(ProcessExitedError) as caught:
            made(pending)
        assert caught.value is not cause
    assert cause.__traceback__ is None


def test_every_request_ends_once_whatever_races() -> None:
    """Under requests, answers, giving up and the end at once, each is settled or handed back, exactly once."""
    for _ in range(20):
        pending = PendingReplies()
        tail = made(pending).request_id.rsplit("_", 1)[1]
        asked: list[Awaited] = []
        given_up: list[Awaited] = []
        refused: list[int] = []

        def ask(pending: PendingReplies = pending, asked: Any = asked, refused: Any = refused) -> int:
            count = 0
            for number in range(40):
                try:
                    asked.append(made(pending))
                except SessionClosedError:
                    refused.append(number)
                    break
                count += 1
            return count

        def answer(pending: PendingReplies = pending, tail: str = tail) -> int:
            return sum(pending.resolve(f"req_{number}_{tail}", {}) for number in range(1, 81))

        def give_up(pending: PendingReplies = pending, given_up: Any = given_up, tail: str = tail) -> int:
            popped = [pending.pop(f"req_{number}_{tail}") for number in range(1, 81, 3)]
            given_up += [entry for entry in popped if entry is not None]
            return 0

        def end(pending: PendingReplies = pending) -> int:
            pending.fail_all(lambda: SessionClosedError("over"))
            return 0

        work: list[Callable[[], int]] = [ask, ask, answer, give_up, end]
        asked_first, asked_second, answered, *_ = together(work)
        ended = [entry for entry in asked if entry._outcome is not None]
        assert len({entry.request_id for entry in asked}) == len(asked) == asked_first + asked_second
        assert len(asked) + len(refused) + 1 == pending.sent
        assert len(ended) + len(given_up) == len(asked)
        assert sum(entry._outcome == {} for entry in ended) == answered
        assert len(pending) == 0
