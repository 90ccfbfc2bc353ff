"""What a session has spent is right whatever strikes in the middle of counting, and however late a frame comes."""

import itertools
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from claude_control.session import ledger as module
from claude_control.session.ledger import Ledger
from tests.threads import struck

KINDS = ["many", "many", "many", "mixed", "twice", "single", "late", "asked", "result"]

STEPS = st.tuples(
    st.sampled_from(KINDS),
    st.integers(1, 40),  # how many messages, or how far back the late one is
    st.sampled_from(["a", "a", "another"]),
    st.lists(st.integers(1, 40), max_size=2),  # the places at which it is struck, and done again
)


def message(number: int, model: str) -> dict[str, Any]:
    """Return the frame of a message that has taken one token."""
    usage = dict.fromkeys(module._TOKENS, 1)
    return {"type": "assistant", "message": {"id": f"m{number}", "model": model, "usage": usage}}


@pytest.fixture(autouse=True)
def small() -> Iterator[None]:
    """Have a ledger keep less, so that a short history goes through all that a long one does."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {"_IDS_KEPT": 25, "_GENERATION": 6, "_OPEN": 2, "_RUNS": 3}.items():
            patch.setattr(module, name, value)
        yield


@example([("many", 5, "a", [])] * 3 + [("mixed", 5, "a", [])] * 3)
@example([("many", 5, "a", []), ("mixed", 5, "another", []), ("many", 5, "a", [])])
@example([("twice", 30, "a", []), ("many", 3, "a", []), ("asked", 1, "a", []), ("many", 30, "a", [14])])
@example([("twice", 30, "a", []), ("many", 40, "a", []), ("result", 1, "a", []), ("late", 5, "a", [])])
@given(st.lists(STEPS, max_size=14))
def test_each_message_counts_once(steps: list[tuple[str, int, str, list[int]]]) -> None:
    """Many together, one by one, twice, late, about a result or struck and noted again: each message counts once."""
    ledger, new = Ledger(), 0
    for kind, number, model, strikes in steps:
        work: Callable[[], object]
        if kind == "asked":
            work = ledger.since_result
        elif kind == "result":
            work = partial(ledger.note, {"type": "result"})
        elif kind == "late":
            work = partial(ledger.note_messages, [message(max(new - 1 - number % 10, 0), model)])
            new = max(new, 1)
        else:
            count = 1 if kind == "single" else number % 15 + 1 if kind == "mixed" else number
            again = range(max(new - number % 10, 0), new) if kind == "mixed" else ()
            frames = [message(each, model) for each in (*again, *range(new, new + count))]
            new += count
            work = partial(ledger.note_messages, [*frames, *frames] if kind == "twice" else frames)
        for strike in strikes:
            struck(work, strike)
        work()
        usage = ledger.total()
        assert (usage.input_tokens if usage is not None else None) == (new or None)


@pytest.mark.parametrize("size", [5, 40])
def test_a_run_that_is_struck_while_many_are_added_up_counts_once(size: int) -> None:
    """Also one with more messages than ids are kept, wherever it is struck and noted again."""
    for place in itertools.count(1):
        ledger, frames = Ledger(), [message(number, "a") for number in range(10 + 2 * size)]
        for run in (frames[:5], frames[5:10]):
            ledger.note_messages(run)
        hit = struck(partial(ledger.note_messages, frames[10 : 10 + size]), place)
        for run in (frames[10 : 10 + size], frames[10 + size :]):
            ledger.note_messages(run)
        usage = ledger.total()
        assert usage is not None
        assert usage.input_tokens == len(frames), place
        if not hit:
            break
    assert place > 20


def test_what_is_kept_has_a_limit_however_often_is_asked() -> None:
    """The messages that further frames may be of are as few where the usage is asked for behind each run."""
    ledger, most = Ledger(), 0
    for start in range(0, 600, 6):
        ledger.note_messages([message(number, "a") for number in range(start, start + 6)])
        usage = ledger.since_result()
        assert usage is not None
        assert usage.input_tokens == start + 6
        most = max(most, len(ledger._newest) + len(ledger._older))
    assert most < 3 * module._GENERATION
