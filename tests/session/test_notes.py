"""What is noted late is what would have been noted at once."""

import copy
import json
import math
from functools import partial
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from claude_control.deadline import Deadline
from claude_control.process.spill import overflow_file
from claude_control.session.conversation import Conversation
from claude_control.session.inbox import Inbox, MessageRun
from claude_control.session.ledger import Ledger
from claude_control.session.notes import Notes
from claude_control.session.routing import Router
from claude_control.session.turn import TurnRecord
from claude_control.wire.framing import Decoder
from tests.threads import struck


def message(number: int, text: str = "", tokens: Any = 1, **fields: Any) -> dict[str, Any]:
    """Return a frame of a message of the model's."""
    content = [{"type": "text", "text": text}] if text else []
    usage = {
        "input_tokens": tokens,
        "output_tokens": tokens,
        "cache_read_input_tokens": 0,
        "cache_creation_input_tokens": 2,
    }
    inner = {"id": f"m{number}", "model": "a-model", "content": content, "usage": usage}
    return {"type": "assistant", "message": inner, "parent_tool_use_id": None, **fields}


def result(cost: float) -> dict[str, Any]:
    """Return the frame of a result."""
    return {"type": "result", "subtype": "success", "total_cost_usd": cost, "usage": {"input_tokens": 3}}


def run(*frames: dict[str, Any]) -> MessageRun:
    """Return the frames as a run of lines."""
    lines = [json.dumps(frame).encode() for frame in frames]
    return MessageRun([b"\n".join(lines)], len(lines))


def record(name: str = "a") -> TurnRecord:
    """Return a turn."""
    return TurnRecord(name, None, Inbox(1 << 20, overflow_file))


def fresh() -> Notes:
    """Return notes that decode by themselves what nobody has decoded."""
    return Notes(Decoder().decode)


def decoded(lines: MessageRun) -> list[dict[str, Any] | None]:
    """Return the frames of a run, as its reader decodes them."""
    return [Decoder().decode(line) for line in lines.lines()]


def test_a_run_is_noted_when_it_is_settled_and_only_once() -> None:
    """Nothing is noted of a run before somebody has decoded it, and nothing twice, however often it is settled."""
    notes, turn, lines = fresh(), record(), run(message(1, "one"), message(1, " and two"))
    notes.owe(turn, lines)
    assert (turn.text, notes.ledger.since_result(), notes.owed) == ("", None, 1)
    for _ in range(2):
        notes.settle_run(lines, decoded(lines))
        notes.settle(math.inf)
    usage = notes.ledger.since_result()
    assert usage is not None
    assert (turn.text, usage.input_tokens, notes.owed) == ("one and two", 1, 0)


def test_frames_wait_for_the_runs_before_them() -> None:
    """A frame that comes after a run is noted after it: the last word of the turn is the one that came last."""
    notes, turn = fresh(), record()
    tool = {"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": "t"}]}}
    first, second = run(message(1, "one")), run(message(2, "two"))
    notes.owe(turn, first)
    notes.add(turn, tool)
    assert not turn.evidence.ends_with_tool
    notes.settle_run(first, decoded(first))
    assert turn.evidence.ends_with_tool
    notes.owe(turn, second)
    notes.settle(1)
    assert not turn.evidence.ends_with_tool
    assert turn.text == "two"


def test_a_run_that_is_read_first_takes_all_before_it_along() -> None:
    """Who reads a later turn first has the earlier one noted too, in order: its result counts what belongs to it."""
    notes, one, two = fresh(), record("one"), record("two")
    first, second = run(message(1, "one", 10)), run(message(2, "two", 100))
    notes.owe(one, first)
    notes.add(one, result(0.5))
    notes.owe(two, second)
    notes.settle_run(second, decoded(second))
    assert one.usage is not None
    assert (one.usage.output_tokens, one.usage.cost_usd, one.text) == (10, 0.5, "one")
    assert (two.text, first.noted, notes.owed, notes.oldest) == ("two", True, 0, None)


@pytest.mark.parametrize(
    "odd", [b"no JSON", b'{"type":"assistant","message":null}', b'{"type":"assistant","message":[]}']
)
def test_an_odd_line_of_a_run_is_passed_over(odd: bytes) -> None:
    """A line that is no message leaves the others of its run as they are."""
    notes, turn = fresh(), record()
    lines = MessageRun([b"\n".join([run(message(1, "one")).block, odd, run(message(2, "two", 5)).block])], 3)
    notes.owe(turn, lines)
    notes.settle(1)
    usage = notes.ledger.since_result()
    assert usage is not None
    assert (turn.text, usage.input_tokens) == ("two", 6)


MESSAGES = st.one_of(
    st.builds(
        message,
        st.integers(0, 5),
        st.sampled_from(["", "a", "b"]),
        st.sampled_from([0, 1, 7, None, "7", -1, True]),
        parent_tool_use_id=st.sampled_from([None, None, "sub"]),
        error=st.sampled_from([None, "rate_limit"]),
    ),
    st.just({"type": "assistant", "message": {"id": ["no", "id"], "model": 3, "usage": []}}),
)
FRAMES = st.one_of(
    MESSAGES,
    st.builds(result, st.floats(0, 10)),
    st.just({"type": "user", "message": {"content": [{"type": "tool_result"}]}}),
)


@given(st.lists(st.tuples(FRAMES, st.booleans(), st.integers(0, 2)), max_size=30))
def test_late_notes_are_the_same_as_early_ones(steps: list[tuple[dict[str, Any], bool, int]]) -> None:
    """Whatever comes, in runs or alone, and whenever it is noted: usage, text and evidence are as if noted at once."""
    early, late, ledger, notes = record(), record(), Ledger(), fresh()
    for frame, as_run, settled in steps:
        if frame["type"] in ("assistant", "result"):
            ledger.note(frame)
        if frame["type"] != "result":
            early.note(frame)
        if as_run and frame["type"] == "assistant":
            notes.owe(late, run(frame))
        else:
            if frame["type"] in ("assistant", "result"):
                notes.add(None, frame)
            if frame["type"] != "result":
                notes.add(late, frame)
        notes.settle(settled)
    notes.settle(math.inf)
    assert (late.text, late.evidence, notes.owed) == (early.text, early.evidence, 0)
    assert (notes.ledger.total(), notes.ledger.since_result()) == (ledger.total(), ledger.since_result())


@given(st.lists(MESSAGES, min_size=1, max_size=60))
def test_many_messages_at_once_count_as_one_by_one(frames: list[dict[str, Any]]) -> None:
    """A run counts as its messages count one by one, however many of them there are and whatever is wrong with them."""
    at_once, one_by_one, together, apart = Ledger(), Ledger(), record(), record()
    at_once.note_messages(frames)
    together.note_messages(frames)
    for frame in frames:
        one_by_one.note(frame)
        apart.note(frame)
    assert at_once.total() == one_by_one.total()
    assert (together.text, together.evidence) == (apart.text, apart.evidence)


RUNS = st.tuples(
    st.sampled_from([0, 1, 16, 17, 20, 45]),  # how many new messages
    st.lists(st.integers(-2, 10), max_size=2),  # how far before the first of these those are that come once more
    st.sampled_from(["a-model", "a-model", "another", "<synthetic>", None]),
    st.sampled_from([{}, {}, {"input_tokens": -1}, {"output_tokens": True}, {"input_tokens": 1.5}]),  # of the first
    st.sampled_from(["", "", "asked", "result"]),  # what comes behind them
)


@example([(20, [], "a-model", {}, ""), (20, [], "another", {}, "")])
@example([(20, [], "a-model", {}, ""), (20, [3], "a-model", {}, "")])
@given(st.lists(RUNS, max_size=12))
def test_runs_count_as_their_messages_do_one_by_one(runs: list[tuple[int, list[int], Any, Any, Any]]) -> None:
    """Runs of any length, with messages that come again, of other models or odd, count as if noted one by one."""
    together, apart, newest = Ledger(), Ledger(), 0
    for new, again, model, odd, then in runs:
        frames = [message(number, "x", number % 7) for number in range(newest, newest + new)]
        frames += [message(max(newest - back, 0), "more", 5) for back in again]
        newest += new
        for frame in frames:
            frame["message"]["model"] = model
        for frame in frames[:1]:
            frame["message"]["usage"] |= odd
        together.note_messages(frames)
        for frame in frames:
            apart.note(frame)
        if then == "asked":
            assert together.since_result() == apart.since_result()
        elif then == "result":
            assert together.note(result(0.5)) == apart.note(result(0.5))
    assert together.total() == apart.total()


def test_generations_of_messages_add_up() -> None:
    """However many messages a turn has, all of them count, in the bounded memory of the newest ones."""
    ledger = Ledger()
    for start in range(0, 5000, 50):
        ledger.note_messages([message(number) for number in range(start, start + 50)])
    ledger.note_messages([message(4999, tokens=3), message(4900, tokens=50)])  # a late one, and one too late
    usage = ledger.since_result()
    assert usage is not None
    assert usage.input_tokens == 5002
    assert len(ledger._newest) + len(ledger._older) + len(ledger._settled) + len(ledger._settled_before) < 1300


def test_a_strike_in_the_middle_loses_nothing_and_counts_nothing_twice() -> None:
    """Noting that was struck anywhere and is done again leaves the usage, the text and the result as they would be."""
    many = [run(*(message(number, "x", number) for number in range(start, start + 20))) for start in (10, 30)]
    lines = [run(message(1, "one", 5), message(1, " more", 5)), *many, run(message(2, "two", 7))]
    expected, turn = fresh(), record()

    def fill(notes: Notes, turn: TurnRecord) -> None:
        for each in lines:
            notes.owe(turn, copy.copy(each))
        notes.add(None, message(2, " as well"))
        notes.add(turn, message(2, " as well"))
        notes.add(turn, result(0.25))

    fill(expected, turn)
    expected.settle(math.inf)
    number = 0
    going = True
    while going:
        number += 1
        notes, its_turn = fresh(), record()
        fill(notes, its_turn)
        going = struck(partial(notes.settle, math.inf), number)
        notes.settle(math.inf)
        assert notes.ledger.total() == expected.ledger.total(), number
        assert (its_turn.usage, its_turn.text) == (turn.usage, turn.text), number
    assert number > 100


def test_what_nobody_reads_is_noted_within_the_budget() -> None:
    """However large the messages and however fast they are read, no more bytes than the budget wait to be noted."""
    decoder, budget = Decoder(), 64 * 1024
    conversation = Conversation(
        Router(),
        inbox_bytes=budget,
        open_file=overflow_file,
        decoded=lambda line: [(len(line), decoder.decode(line), line)],
        decode_message=decoder.decode,
        tap=lambda items: None,
    )
    turn, _ = conversation.ask("hello", "u1", {})
    conversation.deliver([(1, {"type": "command_lifecycle", "command_uuid": "u1", "state": "started"}, b"")])
    for number in range(100):
        conversation.deliver([run(message(number, "x" * 100_000))])
        assert turn.inbox.take(Deadline(0))
        turn.inbox.handed = []
        assert conversation._notes.bytes <= budget
    usage = conversation.usage_of(turn)
    assert usage is not None
    assert usage.input_tokens == 100
