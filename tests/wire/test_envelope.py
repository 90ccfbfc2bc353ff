"""The envelopes of the control protocol."""

from typing import Any

import pytest
from hypothesis import given

from claude_control.wire import envelope
from claude_control.wire.framing import encode
from tests.wire.messages.samples import json_values


def test_frames_have_the_wire_form() -> None:
    """Requests, answers, failures and withdrawals are built exactly as the programs take them."""
    assert envelope.request("r1", envelope.rest_of_request(encode({"subtype": "interrupt"}))) == encode(
        {"type": "control_request", "request_id": "r1", "request": {"subtype": "interrupt"}}
    )
    assert envelope.success("r1", {"a": 1}) == {
        "type": "control_response",
        "response": {"subtype": "success", "request_id": "r1", "response": {"a": 1}},
    }
    assert envelope.failure("r1", "no") == {
        "type": "control_response",
        "response": {"subtype": "error", "request_id": "r1", "error": "no"},
    }
    assert envelope.cancel("r1") == {"type": "control_cancel_request", "request_id": "r1"}


def test_user_message_has_the_wire_form() -> None:
    """A prompt carries its uuid, and further fields beside it."""
    assert envelope.user_message("hi", "u1", priority="later") == {
        "type": "user",
        "message": {"role": "user", "content": "hi"},
        "parent_tool_use_id": None,
        "session_id": "",
        "uuid": "u1",
        "priority": "later",
    }
    blocks = [{"type": "text", "text": "hi"}]
    assert envelope.user_message(blocks, "u2")["message"]["content"] == blocks


def answer(**body: Any) -> dict[str, Any]:
    """Return an answer of the program."""
    return {"type": "control_response", "response": body}


def test_success_is_read() -> None:
    """A success has its payload and no error."""
    frame = answer(subtype="success", request_id="r1", response={"mode": "plan"})
    assert envelope.answered(frame) == "r1"
    assert envelope.read_reply(frame) == ({"mode": "plan"}, None, None)


@pytest.mark.parametrize("body", [{}, {"response": None}], ids=["absent", "null"])
def test_success_without_payload_is_empty(body: dict[str, Any]) -> None:
    """Where the program leaves the payload out, it is an empty object."""
    assert envelope.read_reply(answer(subtype="success", request_id="r1", **body)) == ({}, None, None)


@pytest.mark.parametrize("payload", [[], 0, False, "", "text", [1]], ids=repr)
def test_payload_of_another_kind_is_kept(payload: Any) -> None:
    """A payload that is no object is not taken for an empty one."""
    frame = answer(subtype="success", request_id="r1", response=payload)
    assert envelope.read_reply(frame) == (payload, None, None)
    error = envelope.odd_payload(payload, "set_model")
    assert error.raw == payload
    assert str(error).startswith(f"the answer to set_model is not a JSON object but {type(payload).__name__}")


@pytest.mark.parametrize(
    ("body", "text", "code"),
    [
        ({"subtype": "error", "error": "no such mode", "error_code": "invalid_mode"}, "no such mode", "invalid_mode"),
        ({"subtype": "error", "error": "Already initialized"}, "Already initialized", None),
        ({"subtype": "error"}, "the program gave no reason", None),
        ({"subtype": "error", "error": "", "error_code": 5}, "the program gave no reason", None),
        ({"subtype": "error", "error": {"message": "deep"}}, "{'message': 'deep'}", None),
        ({"subtype": "novel", "response": {}}, "the program gave no reason", None),
        ({}, "the program gave no reason", None),
    ],
)
def test_error_is_read(body: dict[str, Any], text: str, code: str | None) -> None:
    """Everything but a success is an error, with a text in any case and a code where it is one."""
    assert envelope.read_reply(answer(request_id="r1", **body))[1:] == (text, code)


@pytest.mark.parametrize(
    "frame",
    [
        {"type": "control_response"},
        {"type": "control_response", "response": None},
        {"type": "control_response", "response": []},
        {"type": "control_response", "response": "text"},
        answer(subtype="success"),
        answer(subtype="success", request_id=None),
        answer(subtype="success", request_id=7),
        answer(subtype="success", request_id={}),
    ],
    ids=repr,
)
def test_answer_without_an_id_is_nobodys(frame: dict[str, Any]) -> None:
    """An answer that cannot be matched is None, and no error."""
    assert envelope.answered(frame) is None


@given(body=json_values)
def test_no_answer_raises(body: Any) -> None:
    """Whatever an answer holds, reading it raises nothing."""
    envelope.answered({"type": "control_response", "response": body})
    if isinstance(body, dict):
        envelope.read_reply(answer(**{**body, "request_id": "r1"}))


def test_pending_requests_are_found() -> None:
    """An answer to initialize lists requests that wait; anything else lists none, whatever it holds instead."""
    asked = {"type": "control_request", "request_id": "r", "request": {"subtype": "can_use_tool"}}
    answer = {"subtype": "success", "request_id": "q", "pending_permission_requests": [asked, 5, None]}
    assert envelope.pending_requests({"type": "control_response", "response": answer}) == [asked]
    more = {"pending_elicitation_requests": [asked], "pending_user_dialog_requests": [asked]}
    assert envelope.pending_requests({"type": "control_response", "response": {**answer, **more}}) == [asked] * 3
    odds: list[dict[str, Any]] = [{}, {"response": []}, {"response": {"pending_permission_requests": "x"}}]
    for odd in odds:
        assert envelope.pending_requests(odd) == []
