"""What a session has spent, told from frames like those of the real programs."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claude_control.session.ledger import COUNTED, Ledger, Usage
from tests.wire.messages.samples import json_values, samples

OPUS, HAIKU = "claude-opus-5-5", "claude-haiku-4-5"


def assistant(name: str, taken: int, output: int = 1, *, model: str = OPUS, **more: Any) -> dict[str, Any]:
    """A message's frame, as it comes for each of its blocks."""
    usage = {"input_tokens": taken, "output_tokens": output}
    return {"type": "assistant", "message": {"id": name, "model": model, "usage": usage}, **more}


def models(**counts: tuple[int, int, float]) -> dict[str, Any]:
    """A `modelUsage`: input tokens, output tokens and dollars of each model, by its short name."""
    full = {"opus": OPUS, "haiku": HAIKU}
    return {
        full[name]: {"inputTokens": taken, "outputTokens": output, "costUSD": dollars}
        for name, (taken, output, dollars) in counts.items()
    }


def result(total: float, told: dict[str, Any], *, own: tuple[int, int] = (0, 0), **more: Any) -> dict[str, Any]:
    """A result; `own` are the tokens of the main conversation."""
    usage = {"input_tokens": own[0], "output_tokens": own[1]}
    return {"type": "result", "total_cost_usd": total, "modelUsage": told, "usage": usage, **more}


def spent(ledger: Ledger, *frames: dict[str, Any]) -> Usage:
    """Note frames, the last of which is a result; returns what it closes."""
    for frame in frames[:-1]:
        assert ledger.note(frame) is None
    usage = ledger.note(frames[-1])
    assert usage is not None
    return usage


def test_nothing_is_known_at_first() -> None:
    """A ledger without frames knows nothing, which is None and not 0."""
    assert Ledger().since_result() is None
    assert Ledger().total() is None


def test_result_without_numbers_is_not_zero() -> None:
    """A result that says nothing of tokens and dollars leaves both unknown."""
    ledger = Ledger()
    assert ledger.note({"type": "result"}) is None
    assert ledger.total() is None


def test_message_in_several_frames_counts_once() -> None:
    """Each frame of a message repeats its usage, and the message counts once."""
    ledger = Ledger()
    for _ in range(3):
        ledger.note(assistant("m1", 100, 20))
    ledger.note(assistant("m2", 5, 2))
    usage = ledger.since_result()
    assert usage is not None
    assert (usage.input_tokens, usage.output_tokens, usage.cost_usd) == (105, 22, None)
    assert usage.cache_read_input_tokens is None


def test_subagent_counts_beside_its_parent() -> None:
    """A subagent's messages count, by their own model."""
    ledger = Ledger()
    ledger.note(assistant("m1", 3, 4))
    ledger.note(assistant("m2", 1000, 100, model=HAIKU, parent_tool_use_id="toolu_1"))
    usage = ledger.since_result()
    assert usage is not None
    assert usage.input_tokens == 1003
    assert {model: part.output_tokens for model, part in usage.by_model.items()} == {OPUS: 4, HAIKU: 100}


def test_end_of_a_streamed_message_tells_its_output() -> None:
    """With stream events the output tokens of a message that has ended are known before the result."""
    ledger = Ledger()
    start = {"type": "message_start", "message": assistant("m1", 70)["message"]}
    for event in (start, {"type": "message_delta", "usage": {"output_tokens": 80}}):
        ledger.note({"type": "stream_event", "event": event, "parent_tool_use_id": None})
    ledger.note(assistant("m1", 70))
    usage = ledger.since_result()
    assert usage is not None
    assert (usage.input_tokens, usage.output_tokens) == (70, 80)


def test_error_messages_of_the_program_do_not_count() -> None:
    """What the program says in the model's place has an id, and costs nothing."""
    ledger = Ledger()
    ledger.note(assistant("made-up", 0, 0, model="<synthetic>"))
    assert ledger.since_result() is None


def test_older_total_is_split_into_turns() -> None:
    """2.0.75, 2.1.7: a turn's part is what the cumulative numbers have grown by, the calls for itself included."""
    ledger = Ledger()
    one = spent(ledger, assistant("m1", 100, 20), result(0.6, models(opus=(100, 20, 0.5), haiku=(10, 5, 0.1))))
    two = spent(ledger, assistant("m2", 50, 10), result(0.8, models(opus=(150, 30, 0.7), haiku=(10, 5, 0.1))))
    assert (one.input_tokens, one.output_tokens, one.cost_usd) == (110, 25, 0.6)
    assert (two.input_tokens, two.output_tokens) == (50, 10)
    assert two.cost_usd == pytest.approx(0.2)
    assert two.by_model[HAIKU].input_tokens == 0
    total = ledger.total()
    assert total is not None
    assert (total.input_tokens, total.output_tokens) == (160, 35)
    assert total.cost_usd == pytest.approx(0.8)
    assert total.by_model[OPUS].cost_usd == pytest.approx(0.7)


def test_older_program_forgets_an_interrupted_message() -> None:
    """2.0.75, 2.1.7: a message that the program's own count leaves out counts as its frame says."""
    ledger = Ledger()
    usage = spent(ledger, assistant("m1", 70), result(0.1, models(haiku=(10, 5, 0.1))))
    assert (usage.input_tokens, usage.output_tokens) == (80, 6)
    later = spent(ledger, assistant("m2", 7, 8), result(0.2, models(haiku=(10, 5, 0.1), opus=(7, 8, 0.1))))
    assert (later.input_tokens, later.output_tokens) == (7, 8)


def test_result_without_models_is_no_reset() -> None:
    """2.0.75: a result that no model took part in lists none, and the next one goes on from the one before."""
    ledger = Ledger()
    spent(ledger, result(0.5, models(opus=(100, 20, 0.5))))
    nothing = spent(ledger, result(0.5, {}))
    assert (nothing.input_tokens, nothing.cost_usd) == (0, 0)
    assert spent(ledger, result(0.7, models(opus=(150, 30, 0.7)))).input_tokens == 50


def test_total_that_shrinks_is_unknown() -> None:
    """2.0.75: the result with which it fails for good has a total of 0; what that turn cost is not known."""
    ledger = Ledger()
    spent(ledger, result(0.5, models(opus=(100, 20, 0.5))))
    assert spent(ledger, result(0, {})).cost_usd is None
    total = ledger.total()
    assert total is not None
    assert total.cost_usd == 0.5


def test_newer_difference_counts_as_it_is() -> None:
    """2.1.332: a resumed session begins with the old total, and `/clear` with 0; the difference is told apart."""
    ledger = Ledger()
    since = models(opus=(7, 5, 0.2))
    resumed = result(4.3, models(opus=(1007, 10, 4.3)), own=(7, 5), model_usage_since_last_result=since)
    one = spent(ledger, assistant("m1", 7), resumed)
    assert (one.input_tokens, one.output_tokens, one.cost_usd) == (7, 5, 0.2)
    cleared = spent(ledger, result(0, {}, model_usage_since_last_result={}))
    assert (cleared.input_tokens, cleared.cost_usd) == (0, 0)
    total = ledger.total()
    assert total is not None
    assert (total.input_tokens, total.cost_usd) == (7, 0.2)


def test_newer_result_knows_of_broken_attempts() -> None:
    """2.1.332: attempts whose stream broke are in the result's own usage, of no model; the larger number counts."""
    usage = spent(Ledger(), result(0, {}, own=(20, 2), model_usage_since_last_result={}))
    assert (usage.input_tokens, usage.output_tokens, usage.by_model) == (20, 2, {})


def test_late_frame_of_a_counted_message_is_not_counted_again() -> None:
    """A background agent's message may have blocks before and after a result."""
    ledger = Ledger()
    spent(ledger, assistant("m1", 1000), result(0.1, models(opus=(1000, 100, 0.1))))
    ledger.note(assistant("m1", 1000))
    assert ledger.since_result() is None


def test_ids_are_not_kept_for_ever() -> None:
    """However many messages a session has, the ledger remembers a bounded number of their ids."""
    ledger = Ledger()
    for number in range(5000):
        ledger.note(assistant(f"m{number}", 1))
        if number % 10 == 9:
            ledger.note(result(0, {}))
    assert len(ledger._settled) + len(ledger._settled_before) < 1200
    total = ledger.total()
    assert total is not None
    assert total.input_tokens == 5000


@pytest.mark.parametrize("kind", COUNTED)
@given(data=st.data())
def test_any_frame_can_be_counted(kind: str, data: st.DataObject) -> None:
    """Whatever a frame holds, counting it fails never."""
    keys = ("message", "event", "usage", "modelUsage", "model_usage_since_last_result", "total_cost_usd", "id", "model")
    odd = st.dictionaries(st.sampled_from(keys), json_values, max_size=8)
    ledger = Ledger()
    nested = st.builds(lambda inner: {"message": inner, "event": inner}, odd)
    for frame in data.draw(st.lists(odd | nested, max_size=4)):
        ledger.note({**frame, "type": kind})
    ledger.total()


def test_samples_of_real_programs_can_be_counted() -> None:
    """Every counted frame that a real program wrote is understood: a result always tells what was spent."""
    for sample in samples():
        if sample.raw["type"] in COUNTED:
            usage = Ledger().note(sample.raw)
            assert (usage is not None) == (sample.raw["type"] == "result"), str(sample)


@pytest.mark.parametrize("model", [3, {"a": 1}, None, ["b"]])
def test_a_model_that_is_no_text_has_no_part(model: object) -> None:
    """Tokens of a message whose model is no text count, but for no model."""
    ledger = Ledger()
    ledger.note({"type": "assistant", "message": {"id": "m1", "model": model, "usage": {"input_tokens": 4}}})
    usage = ledger.since_result()
    assert usage is not None
    assert (usage.input_tokens, usage.by_model) == (4, {})
