"""Our requests and their answers: one Future each, resolved once."""

import re
import threading
from concurrent.futures import Future
from typing import Any

import pytest

from claude_control.errors import ProcessExitedError, SessionClosedError
from claude_control.session.pending import PendingReplies
from claude_control.wire.envelope import Reply
from tests.threads import together


def reply(request_id: str, response: Any = None) -> Reply:
    """Return an answer to a request."""
    return Reply(request_id, response or {}, None, None, {})


def test_ids_are_numbered() -> None:
    """A request id has the request's number and a tail that the caller makes random."""
    pending = PendingReplies()
    ids = [pending.register("0a1b2c3d")[0] for _ in range(3)]
    assert ids == ["req_0_0a1b2c3d", "req_1_0a1b2c3d", "req_2_0a1b2c3d"]
    assert all(re.fullmatch(r"req_\d+_[0-9a-f]{8}", request_id) for request_id in ids)
    assert (len(pending), pending.sent) == (3, 3)
    assert repr(pending) == "<PendingReplies 3 waiting, 3 made>"


def test_answer_reaches_its_request() -> None:
    """Answers may come in any order, and each resolves the Future of its own request."""
    pending = PendingReplies()
    made = [pending.register("x") for _ in range(3)]
    for number in (2, 0, 1):
        assert pending.resolve(reply(made[number][0], {"n": number})) is True
    assert [future.result(0).response for _, future in made] == [{"n": 0}, {"n": 1}, {"n": 2}]
    assert (len(pending), pending.late) == (0, 0)


def test_answer_that_nobody_waits_for_is_counted() -> None:
    """A second answer, one to a request that was given up, and one to none are counted and harm nobody."""
    pending = PendingReplies()
    first, future = pending.register("x")
    second, given_up = pending.register("x")
    pending.resolve(reply(first, {"n": 1}))
    assert pending.pop(second) is given_up
    assert pending.pop(second) is None
    assert [pending.resolve(reply(request_id)) for request_id in (first, second, "echo-of-ours")] == [False] * 3
    assert pending.late == 3
    assert future.result(0).response == {"n": 1}
    assert not given_up.done()


def test_end_fails_what_waits_and_what_comes() -> None:
    """At the end every request that waits fails with its cause, and a new one is refused with the same."""
    pending = PendingReplies()
    futures = [pending.register("x")[1] for _ in range(3)]
    cause = ProcessExitedError("gone", exit_code=1)
    pending.fail_all(cause)
    pending.fail_all(SessionClosedError("later"))
    assert [future.exception(0) for future in futures] == [cause] * 3
    with pytest.raises(ProcessExitedError, match="gone") as caught:
        pending.register("x")
    assert caught.value.exit_code == 1
    assert len(pending) == 0


def test_every_caller_gets_a_traceback_of_its_own() -> None:
    """The error that refuses requests does not grow with each of them."""
    pending = PendingReplies()
    cause = ProcessExitedError("gone")
    pending.fail_all(cause)
    for _ in range(3):
        with pytest.raises(ProcessExitedError) as caught:
            pending.register("x")
        assert caught.value is not cause
    assert cause.__traceback__ is None


def test_done_callbacks_may_make_requests() -> None:
    """A Future is resolved under no lock: whoever is told may use the map, at an answer and at the end."""
    pending = PendingReplies()
    seen: list[int] = []

    def look(_future: "Future[Reply]") -> None:
        seen.append(len(pending))
        pending.pop("none")

    for _ in range(2):
        pending.register("x")[1].add_done_callback(look)
    pending.resolve(reply("req_0_x"))
    pending.fail_all(SessionClosedError("over"))
    assert seen == [1, 0]


def test_every_request_ends_once_whatever_races() -> None:
    """Under requests, answers, giving up and the end at once, each Future ends or is handed back, exactly once."""
    for _ in range(20):
        pending = PendingReplies()
        made: list[tuple[str, Future[Reply]]] = []
        lock = threading.Lock()
        given_up: list[Future[Reply]] = []

        def ask(pending: PendingReplies = pending, made: Any = made, lock: Any = lock) -> int:
            count = 0
            for _ in range(40):
                try:
                    entry = pending.register("x")
                except SessionClosedError:
                    break
                with lock:
                    made.append(entry)
                count += 1
            return count

        def answer(pending: PendingReplies = pending) -> int:
            return sum(pending.resolve(reply(f"req_{number}_x")) for number in range(80))

        def give_up(pending: PendingReplies = pending, given_up: Any = given_up) -> int:
            popped = [pending.pop(f"req_{number}_x") for number in range(0, 80, 3)]
            given_up += [future for future in popped if future is not None]
            return 0

        def end(pending: PendingReplies = pending) -> int:
            pending.fail_all(SessionClosedError("over"))
            return 0

        asked_first, asked_second, answered, *_ = together([ask, ask, answer, give_up, end])
        ended = [future for _, future in made if future.done()]
        assert len({request_id for request_id, _ in made}) == len(made) == asked_first + asked_second == pending.sent
        assert len(ended) + len(given_up) == len(made)
        assert sum(future.exception() is None for future in ended) == answered
        assert len(pending) == 0
