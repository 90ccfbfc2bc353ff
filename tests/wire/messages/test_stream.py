"""Pieces of an answer."""

from typing import Any

import pytest

from claude_control.wire.messages import StreamEvent, decode


@pytest.mark.parametrize(
    ("event", "text"),
    [
        ({"type": "content_block_delta", "delta": {"type": "text_delta", "text": "hi"}}, "hi"),
        ({"type": "content_block_delta", "delta": {"type": "thinking_delta", "thinking": "hm"}}, ""),
        ({"type": "content_block_delta", "delta": {"type": "input_json_delta", "partial_json": "{"}}, ""),
        ({"type": "message_delta", "delta": {"stop_reason": "end_turn"}}, ""),
        ({"type": "message_stop"}, ""),
        ({"delta": {"type": "text_delta", "text": 5}}, ""),
        ({"delta": {"type": "text_delta"}}, ""),
        ({"delta": "text"}, ""),
        ({}, ""),
        (None, ""),
    ],
)
def test_text_is_that_of_a_text_delta(event: Any, text: str) -> None:
    """Only a text delta has a text; every other event has an empty one."""
    message = decode({"type": "stream_event", "event": event})
    assert isinstance(message, StreamEvent)
    assert message.text == text


def test_texts_of_a_stream_make_the_answer() -> None:
    """The texts of all events joined are the answer that was streamed."""
    deltas = [{"type": "text_delta", "text": text} for text in ("Hel", "lo")]
    events = [StreamEvent("u", "s", {"type": "content_block_delta", "delta": delta}) for delta in deltas]
    assert "".join(event.text for event in events) == "Hello"


def test_subagent_event_names_its_call() -> None:
    """An event of a subagent's answer carries the id of the tool call that started it."""
    message = decode({"type": "stream_event", "uuid": "u", "session_id": "s", "event": {}, "parent_tool_use_id": "t"})
    assert isinstance(message, StreamEvent)
    assert (message.uuid, message.session_id, message.parent_tool_use_id) == ("u", "s", "t")
