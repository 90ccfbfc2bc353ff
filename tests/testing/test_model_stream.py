"""Answers have the form of the Messages API, streamed and whole."""

import json
from typing import Any

import pytest

from claude_control.testing import model_stream
from claude_control.testing.model_script import (
    Answer,
    Block,
    Delay,
    Drop,
    Gate,
    LongText,
    Part,
    StreamError,
    Text,
    Thinking,
    ToolCall,
    Words,
)


def played(answer: Answer) -> list[Any]:
    """Return all that a streamed answer consists of."""
    return list(model_stream.play(answer, message_id="msg_1", model="m"))


def whole(answer: Answer) -> dict[str, Any]:
    """Return an answer that is not streamed."""
    return model_stream.message(answer, message_id="msg_1", model="m")


def deltas(answer: Answer, kind: str) -> list[str]:
    """Return the pieces of one kind."""
    found = [item["delta"] for item in played(answer) if isinstance(item, dict) and "index" in item and "delta" in item]
    return [delta[kind] for delta in found if kind in delta]


def assembled(answer: Answer) -> list[dict[str, Any]]:
    """Put the blocks of a stream together, as a reader does, and check the order of its events."""
    blocks: list[dict[str, Any]] = []
    inputs: dict[int, str] = {}
    opened = -1  # no block
    for event in (item for item in played(answer) if isinstance(item, dict)):
        if event["type"] == "content_block_start":
            assert opened == -1
            opened = event["index"]
            assert opened == len(blocks)
            blocks.append(event["content_block"])
        elif event["type"] == "content_block_delta":
            assert event["index"] == opened
            for key, value in event["delta"].items():
                if key == "partial_json":
                    inputs[opened] = inputs.get(opened, "") + value
                elif key != "type":
                    blocks[opened][key] += value
        elif event["type"] == "content_block_stop":
            assert event["index"] == opened
            opened = -1
    return [{**b, "input": json.loads(inputs[i])} if i in inputs else b for i, b in enumerate(blocks)]


@pytest.mark.parametrize(
    "blocks",
    [
        [Text("  two words\nand more  ")],
        [Text("")],
        [Words(12)],
        [LongText(100_000)],
        [Thinking("let me see"), Text("so")],
        [ToolCall("Bash", command="echo " + "long " * 30)],
        [ToolCall("Empty")],
        [Text("a"), ToolCall("Bash", command="ls"), ToolCall("Read", file_path="/é")],
    ],
)
def test_stream_and_whole_answer_say_the_same(blocks: list[Block]) -> None:
    """The pieces of a stream put together are the blocks of the same answer in one message."""
    assert assembled(Answer(*blocks)) == whole(Answer(*blocks))["content"]


def test_stream_begins_and_ends_as_the_api_does() -> None:
    """A stream is a message start, its blocks, the stop reason with the usage, and the end."""
    events = played(Answer(Text("a")))
    assert [event["type"] for event in events] == [
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
    ]
    assert (events[0]["message"]["id"], events[0]["message"]["model"]) == ("msg_1", "m")
    assert events[-2]["delta"]["stop_reason"] == "end_turn"
    assert events[-2]["usage"]["output_tokens"] > 0


def test_stop_reason_and_usage_follow_the_script() -> None:
    """Tool calls stop for `tool_use`; the script's own stop reason and token counts win."""
    assert whole(Answer(ToolCall("Bash")))["stop_reason"] == "tool_use"
    answer = Answer(ToolCall("Bash"), stop_reason="max_tokens", usage={"input_tokens": 1234, "output_tokens": 99})
    assert (whole(answer)["stop_reason"], whole(answer)["usage"]["input_tokens"]) == ("max_tokens", 1234)
    events = played(answer)
    assert events[0]["message"]["usage"]["input_tokens"] == 1234
    assert events[-2]["delta"]["stop_reason"] == "max_tokens"
    assert events[-2]["usage"] == {"output_tokens": 99}


def test_words_come_one_by_one_with_pauses_between() -> None:
    """Each word is a piece of its own, and the pauses lie between the pieces, not around them."""
    assert deltas(Answer(Words(3)), "text") == ["w0 ", "w1 ", "w2"]
    items = played(Answer(Text("a b", pause=0.5)))
    kinds = [item if isinstance(item, Delay) else item["type"] for item in items[1:-2]]
    delta = "content_block_delta"
    assert kinds == ["content_block_start", delta, Delay(0.5), delta, "content_block_stop"]


def test_long_text_comes_in_large_pieces() -> None:
    """A text of many characters is not a flood of events."""
    assert len(deltas(Answer(LongText(1_000_000)), "text")) < 100


def test_block_stays_open_while_the_script_waits() -> None:
    """Waits and faults after a block happen before its end; those at the front come after the start of the message."""
    parts: list[Part] = [Gate("front"), Text("a"), Gate("g"), Drop(), StreamError(), Text("b")]
    items = [item if not isinstance(item, dict) else item["type"] for item in played(Answer(*parts))]
    assert items[:2] == ["message_start", Gate("front")]
    assert items[4:9] == [Gate("g"), Drop(), StreamError(), "content_block_stop", "content_block_start"]


def test_tool_calls_of_one_answer_have_ids_of_their_own() -> None:
    """The ids of two calls differ, and so do those of two answers."""
    answer = Answer(ToolCall("Bash"), ToolCall("Bash"))
    ids = [block["id"] for block in whole(answer)["content"]]
    others = [block["id"] for block in model_stream.message(answer, message_id="msg_2", model="m")["content"]]
    assert len({*ids, *others}) == 4
    assert all(name.startswith("toolu_") for name in ids)


@pytest.mark.parametrize(
    ("status", "kind"),
    [(401, "authentication_error"), (429, "rate_limit_error"), (500, "api_error"), (503, "api_error")],
)
def test_errors_are_named_as_the_api_names_them(status: int, kind: str) -> None:
    """The body of an error carries the API's name for its status, or the name that the script chose."""
    assert model_stream.error(status, "why") == {"type": "error", "error": {"type": kind, "message": "why"}}
    assert model_stream.error(status, "why", kind="mine")["error"]["type"] == "mine"
