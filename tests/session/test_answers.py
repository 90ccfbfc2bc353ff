"""Exactly one answer to each of the program's requests, whoever is first."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from claude_control.abort import AbortSignal
from claude_control.errors import OptionsError
from claude_control.session.answers import REMEMBERED, Answers, Handler, OpenRequest
from tests.threads import LIVELOCKS_WHEN_TRACED, struck, together


class Wire:
    """Keeps what is written."""

    def __init__(self) -> None:
        self.lines: list[bytes] = []
        self.broken = False
        self.answers = Answers(self.write)

    def write(self, line: bytes) -> None:
        """Take a line, as the writer does."""
        if self.broken:
            raise BrokenPipeError("the program is gone")
        self.lines.append(line)

    def open(self, request_id: str = "r1", **fields: Any) -> OpenRequest:
        """Add a request."""
        handler = Handler(None, print, lambda _request, text: {"behavior": "deny", "message": text}, **fields)
        made = OpenRequest(request_id, AbortSignal(), handler)
        assert self.answers.add(made)
        return made

    @property
    def responses(self) -> list[dict[str, Any]]:
        """What was answered."""
        return [json.loads(line)["response"] for line in self.lines]


@pytest.fixture
def wire() -> Wire:
    """Answers that are written into a list."""
    return Wire()


def test_request_that_cannot_be_begun_is_answered_once(wire: Wire) -> None:
    """It gets its own denial if it was added, a control error if not, and nothing if it has its answer already."""
    wire.open("r1")
    answered = wire.open("r2")
    wire.answers.answer(answered, {})
    for request_id in ("r1", "r2", "r3"):
        wire.answers.fail(request_id, "no luck")
    assert wire.responses == [
        {"subtype": "success", "request_id": "r2", "response": {}},
        {"subtype": "success", "request_id": "r1", "response": {"behavior": "deny", "message": "no luck"}},
        {"subtype": "error", "request_id": "r3", "error": "no luck"},
    ]


def test_answer_is_written_once(wire: Wire) -> None:
    """An answer is one line with the request's id; a second one is dropped and counted. No signal fires."""
    request = wire.open()
    assert wire.answers.is_open(request)
    assert wire.answers.answer(request, {"behavior": "allow"}) is True
    assert wire.answers.answer(request, {"behavior": "deny"}) is False
    assert wire.responses == [{"subtype": "success", "request_id": "r1", "response": {"behavior": "allow"}}]
    assert wire.lines[0].endswith(b"\n")
    assert (request.signal.aborted, wire.answers.late) == (False, 1)
    assert not wire.answers.is_open(request)


def test_cancel_fires_and_writes_nothing(wire: Wire) -> None:
    """A request that the program withdrew is over: its signal fires, and nothing is written then or later."""
    request = wire.open()
    wire.answers.cancel("r1")
    wire.answers.cancel("r1")
    wire.answers.cancel("unknown")
    assert request.signal.reason == "cancelled"
    assert wire.answers.answer(request, {}) is False
    assert wire.answers.time_out(request, "too slow") is False
    assert (wire.lines, wire.answers.late) == ([], 1)


def test_time_out_denies_and_fires(wire: Wire) -> None:
    """A request whose time is up is denied with the reason, and its signal fires; a late answer is dropped."""
    request = wire.open()
    assert wire.answers.time_out(request, "too slow") is True
    assert wire.answers.time_out(request, "too slow") is False
    assert wire.answers.answer(request, {}) is False
    assert [one["response"] for one in wire.responses] == [{"behavior": "deny", "message": "too slow"}]
    assert (request.signal.reason, wire.answers.late) == ("timeout", 1)


def test_denial_is_written_before_the_signal_fires(wire: Wire) -> None:
    """Who is told that time is up can rely on the program being told already."""
    written: list[int] = []
    requests = [wire.open("r1"), wire.open("r2")]
    for request in requests:
        request.signal.on_abort(lambda: written.append(len(wire.lines)))
    wire.answers.time_out(requests[0], "slow")
    wire.answers.end("closed", deny=True)
    assert written == [1, 2]


@pytest.mark.parametrize("deny", [True, False])
def test_end_fires_every_signal(wire: Wire, deny: bool) -> None:
    """At the end every open request's signal fires with the reason, and only with `deny` are they denied."""
    requests = [wire.open(f"r{number}") for number in range(3)]
    wire.answers.answer(requests[0], {})
    wire.answers.end("closed", deny=deny)
    assert [request.signal.reason for request in requests] == [None, "closed", "closed"]
    denied = [one for one in wire.responses if one["response"]]
    assert [one["request_id"] for one in denied] == (["r1", "r2"] if deny else [])
    assert all(one["response"]["message"] == "The session was closed." for one in denied)


@LIVELOCKS_WHEN_TRACED
def test_end_that_was_struck_is_ended_by_the_next_one() -> None:
    """Wherever the end is struck, each open request is denied and told at the next one, though one more has come."""
    number, was_struck = 0, True
    while was_struck:
        number, wire = number + 1, Wire()
        requests = [wire.open(name) for name in ("r1", "r2")]
        was_struck = struck(lambda answers=wire.answers: answers.end("closed", deny=True), number)  # type: ignore[misc]
        wire.answers.add(OpenRequest("r9", AbortSignal(), Handler(None, print, lambda _request, text: {"text": text})))
        wire.answers.end("closed", deny=True)
        assert [request.signal.reason for request in requests] == ["closed", "closed"], number
        assert {"r1", "r2"} <= {one["request_id"] for one in wire.responses}, number
    assert number > 10


def test_denial_without_a_json_form_is_a_control_error(wire: Wire) -> None:
    """A request whose denial cannot be written is refused instead, and is over then."""
    made = OpenRequest("r1", AbortSignal(), Handler(None, print, lambda _request, text: {"id": object(), "text": text}))
    assert wire.answers.add(made)
    wire.answers.fail("r1", "no luck")
    assert [(one["request_id"], one["error"]) for one in wire.responses] == [("r1", "no luck")]
    assert wire.answers.answer(made, {}) is False


def test_nothing_is_taken_after_the_end(wire: Wire) -> None:
    """A request that comes after the end is not taken, not answered, and counted as received."""
    wire.answers.end("exited", deny=False)
    late = OpenRequest("r9", AbortSignal(), Handler(None, print, lambda _request, _text: {}))
    assert wire.answers.add(late) is False
    assert wire.answers.answer(late, {}) is False
    assert (wire.lines, len(wire.answers), wire.answers.received) == ([], 0, 1)


def test_answer_without_a_json_form_leaves_the_request_open(wire: Wire) -> None:
    """An answer that cannot be sent is the callback's mistake: the request can still be denied."""
    request = wire.open()
    with pytest.raises(OptionsError, match=r"updatedInput\.a is a set"):
        wire.answers.answer(request, {"behavior": "allow", "updatedInput": {"a": {1}}})
    assert wire.answers.is_open(request)
    assert wire.answers.answer(request, {"behavior": "deny", "message": "no"}) is True
    assert len(wire.lines) == 1


def test_refusal_is_a_control_error(wire: Wire) -> None:
    """A request of an unknown kind is answered with an error at once."""
    wire.answers.refuse("r5", "not known")
    assert wire.responses == [{"subtype": "error", "request_id": "r5", "error": "not known"}]


def test_program_that_is_gone_is_no_error(wire: Wire) -> None:
    """When nothing can be written any more, requests end all the same, and signals fire."""
    requests = [wire.open(f"r{number}") for number in range(4)]
    wire.broken = True
    assert wire.answers.answer(requests[0], {}) is True
    assert wire.answers.time_out(requests[1], "slow") is True
    wire.answers.refuse("r9", "no")
    wire.answers.cancel("r2")
    wire.answers.end("exited", deny=True)
    assert [request.signal.reason for request in requests] == [None, "timeout", "cancelled", "exited"]
    assert len(wire.answers) == 0


def test_id_that_is_used_twice_answers_the_newer(wire: Wire) -> None:
    """A program that uses an id again gets one answer, to the newer request; the older one is late."""
    older = wire.open()
    newer = wire.open()
    assert not wire.answers.is_open(older)
    assert wire.answers.answer(older, {"n": 1}) is False
    assert wire.answers.answer(newer, {"n": 2}) is True
    assert [one["response"] for one in wire.responses] == [{"n": 2}]


def test_open_permissions_are_seen(wire: Wire) -> None:
    """Whether a person may be waited for is told by the permission requests that are open."""
    assert not wire.answers.waiting_for_person
    hook, permission = wire.open("r1"), wire.open("r2", asks_person=True)
    assert wire.answers.waiting_for_person
    assert repr(wire.answers) == "<Answers 2 open of 2, 0 late>"
    wire.answers.answer(permission, {})
    assert not wire.answers.waiting_for_person
    wire.answers.answer(hook, {})
    assert (len(wire.answers), wire.answers.received) == (0, 2)


def test_one_of_all_that_race_wins() -> None:
    """Of two answers, a cancel, a timeout and the end at once exactly one counts, and line and signal are its own."""
    winners: set[str] = set()
    for round_ in range(200):
        wire = Wire()
        request = wire.open()
        answers = wire.answers
        acts: list[Callable[[], object]] = [
            lambda: answers.answer(request, {"by": "first"}),  # noqa: B023
            lambda: answers.cancel("r1"),  # noqa: B023
            lambda: answers.answer(request, {"by": "second"}),  # noqa: B023
            lambda: answers.time_out(request, "slow"),  # noqa: B023
            lambda: answers.end("closed", deny=True),  # noqa: B023
        ]
        acts = acts[round_ % 5 :] + acts[: round_ % 5]
        said = together(acts)
        assert said.count(True) == (1 if request.signal.reason in (None, "timeout") else 0)
        written = [one["response"] for one in wire.responses]
        expected: dict[str | None, list[Any]] = {
            None: [[{"by": "first"}], [{"by": "second"}]],
            "cancelled": [[]],
            "timeout": [[{"behavior": "deny", "message": "slow"}]],
            "closed": [[{"behavior": "deny", "message": "The session was closed."}]],
        }
        assert written in expected[request.signal.reason]
        assert answers.late == (1 if request.signal.reason is None else 2)
        assert len(answers) == 0
        winners.add(str(request.signal.reason))
    assert len(winners) > 1, "it was no race"


def test_request_that_comes_at_the_end_is_over() -> None:
    """One that is added while the session ends is denied, once, and its signal fires, or it is not taken at all."""
    taken = 0
    for round_ in range(300):
        wire = Wire()
        request = OpenRequest("r1", AbortSignal(), Handler(None, print, lambda _request, text: {"denied": text}))
        acts: list[Callable[[], object]] = [
            lambda: wire.answers.add(request),  # noqa: B023
            lambda: wire.answers.end("closed", deny=True),  # noqa: B023
        ]
        was_taken = together(acts)[0] if round_ % 2 else together(acts[::-1])[1]
        taken += bool(was_taken)
        denied = len(wire.lines)
        assert request.signal.reason == ("closed" if denied else None)
        assert denied == 1 if was_taken else denied <= 1
        assert (len(wire.answers), wire.answers.answer(request, {})) == (0, False)
    assert taken > 0


def test_many_requests_from_many_threads(wire: Wire) -> None:
    """Hundreds of requests answered, withdrawn and timed out by many threads each get one line or none."""
    requests = [wire.open(f"r{number}") for number in range(400)]

    def each(act: Callable[[OpenRequest], object]) -> Callable[[], int]:
        return lambda: sum(act(request) is True for request in requests)

    answered, _, _, timed_out = together(
        [
            each(lambda request: wire.answers.answer(request, {"n": request.request_id})),
            each(lambda request: wire.answers.cancel(request.request_id) if request.request_id[-1] in "37" else None),
            each(lambda request: wire.answers.is_open(request) and None),
            each(lambda request: wire.answers.time_out(request, "slow") if request.request_id[-1] in "158" else None),
        ]
    )
    ids = [one["request_id"] for one in wire.responses]
    assert len(ids) == len(set(ids)) == answered + timed_out
    cancelled = sum(request.signal.reason == "cancelled" for request in requests)
    assert answered + timed_out + cancelled == 400
    assert wire.answers.late == 400 - answered


def test_late_answers_are_counted_exactly(wire: Wire) -> None:
    """The count of late answers is right though many threads come late at once."""
    request = wire.open()
    wire.answers.cancel("r1")

    def answer() -> None:
        for _ in range(200):
            wire.answers.answer(request, {})

    together([answer] * 8)
    assert wire.answers.late == 1600


def test_open_and_answered_requests_are_known(wire: Wire) -> None:
    """A request is known while it is open and when it was just answered; one that was withdrawn is not."""
    assert not wire.answers.knows("r1")
    request = wire.open()
    assert wire.answers.knows("r1")
    assert wire.answers.answer(request, {})
    assert wire.answers.knows("r1")
    wire.open("r2")
    wire.answers.cancel("r2")
    assert not wire.answers.knows("r2")
    for number in range(REMEMBERED):
        wire.answers.answer(wire.open(f"more-{number}"), {})
    assert not wire.answers.knows("r1")
