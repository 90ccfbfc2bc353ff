"""The scripted model counts faults for each prompt by itself, over all retries of it."""

from typing import Any

import pytest

from claude_control.testing.model_backend import MESSAGES_PATH, DroppedError, Exchange, Model
from claude_control.testing.model_prompt import script
from claude_control.testing.model_script import Answer, Drop, HttpError, StreamError, Text
from tests.testing.api import assistant, request

FAULTY = script(HttpError(529, times=2), Answer(Text("a"), StreamError(), Drop()))


@pytest.fixture
def model() -> Model:
    """A model."""
    return Model(Answer(Text("default")), 1.0)


def asked(model: Model, *messages: Any, **more: Any) -> Exchange:
    """Send a request to the model."""
    return model.receive("POST", MESSAGES_PATH, {}, request(*messages, **more))


def met(exchange: Exchange) -> list[bool]:
    """Go through an exchange and return which of its faults were due, up to the first one."""
    faults = [*exchange.before, *(part for part in exchange.answer.parts if isinstance(part, StreamError | Drop))]
    due: list[bool] = []
    for fault in faults:
        assert isinstance(fault, HttpError | StreamError | Drop)
        due.append(exchange.fault_due(fault))
        if due[-1]:
            break
    return due


def test_each_retry_meets_the_next_fault(model: Model) -> None:
    """Faults happen as often as they say, one after the other, and then the answer comes."""
    expected = [[True], [True], [False, True], [False, False, True], [False, False, False], [False, False, False]]
    assert [met(asked(model, FAULTY)) for _ in expected] == expected


def test_asking_again_is_not_a_retry(model: Model) -> None:
    """The same prompt later in the conversation, or in another session, has its faults again."""
    for _ in range(5):
        met(asked(model, FAULTY))
    assert met(asked(model, FAULTY)) == [False, False, False]
    assert met(asked(model, FAULTY, assistant(), FAULTY)) == [True]
    assert met(asked(model, FAULTY, metadata={"user_id": "another session"})) == [True]


def test_drop_breaks_the_connection_once(model: Model) -> None:
    """A drop is an exception for whoever serves the connection."""
    with pytest.raises(DroppedError):
        asked(model, "hello").perform(Drop())
    asked(model, "hello").perform(Drop())


def test_fault_without_a_number_always_happens(model: Model) -> None:
    """A fault with `times=None` never gives way."""
    prompt = script(HttpError(500, times=None))
    assert all(met(asked(model, prompt)) == [True] for _ in range(20))


def test_broken_script_is_recorded_too(model: Model) -> None:
    """A request whose script cannot be read is in the log all the same."""
    with pytest.raises(ValueError, match="Expecting value"):
        asked(model, "model-script: ?")
    assert len(model.log.all()) == 1


def test_other_paths_are_no_conversations(model: Model) -> None:
    """What is asked elsewhere is recorded, and takes no answer from a script."""
    model.receive("POST", "/v1/messages/count_tokens", {}, request(FAULTY))
    assert [(found.path, found.script_id) for found in model.log.all()] == [("/v1/messages/count_tokens", None)]


def test_message_ids_are_unique(model: Model) -> None:
    """No two answers have one id, those of another server included."""
    other = Model(Answer(Text("default")), 1.0)
    names = [asked(each, "hello").message_id for each in (model, model, other, other)]
    assert len(set(names)) == 4
