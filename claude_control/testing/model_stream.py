"""Answers in the form of the Messages API: a stream of events, or one JSON message. Pure: it waits for nothing."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from claude_control.testing.model_script import (
    Answer,
    Block,
    Delay,
    Drop,
    Gate,
    LongText,
    StreamError,
    Text,
    Thinking,
    ToolCall,
    Words,
)

__all__ = ["Item", "error", "message", "play", "usage"]

Item: TypeAlias = dict[str, Any] | Delay | Gate | Drop | StreamError
"""What `play` yields: an event to send, or what the sender has to do before it goes on."""

_USAGE = {
    "input_tokens": 10,
    "output_tokens": 5,
    "cache_creation_input_tokens": 0,
    "cache_read_input_tokens": 0,
}
_ERROR_KINDS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}
# Long enough that a text of some MiB is a few hundred events, short enough that an event is no burden.
_PIECE = 16 * 1024
# Tool inputs are cut in pieces of this many characters, so that a reader has to join them, as with the real API.
_INPUT_PIECE = 40
# The server never checks it, and the program only hands it back.
_SIGNATURE = "c2lnbmF0dXJl"


def play(answer: Answer, *, message_id: str, model: str) -> Iterator[Item]:
    """Yield the events of a streamed answer, and between them the waits and faults of its parts."""
    counts = usage(answer)
    head = _head(message_id, model, {**counts, "output_tokens": 1})
    yield {"type": "message_start", "message": {**head, "content": [], "stop_reason": None}}
    index = -1
    for part in answer.parts:
        if not isinstance(part, Block):
            yield part
            continue
        if index >= 0:
            yield {"type": "content_block_stop", "index": index}
        index += 1
        yield from _block_events(part, index, message_id)
    yield {"type": "content_block_stop", "index": index}
    delta = {"stop_reason": _stop_reason(answer), "stop_sequence": None, **_stop_details(answer)}
    yield {"type": "message_delta", "delta": delta, "usage": {"output_tokens": counts["output_tokens"]}}
    yield {"type": "message_stop"}


def message(answer: Answer, *, message_id: str, model: str) -> dict[str, Any]:
    """Return the answer to a request that does not want a stream; waits and faults are the sender's business."""
    blocks = [part for part in answer.parts if isinstance(part, Block)]
    content = [_block(block, index, message_id) for index, block in enumerate(blocks)]
    head = _head(message_id, model, usage(answer))
    return {**head, "content": content, "stop_reason": _stop_reason(answer), **_stop_details(answer)}


def error(status: int, text: str, *, kind: str | None = None) -> dict[str, Any]:
    """Return the body of an error with this HTTP status; `kind` replaces the API's name for the status."""
    name = kind or _ERROR_KINDS.get(status, "api_error")
    return {"type": "error", "error": {"type": name, "message": text}}


def usage(answer: Answer) -> dict[str, int]:
    """Return the token counts of a whole answer."""
    return {**_USAGE, **answer.usage}


def _head(message_id: str, model: str, counts: Mapping[str, int]) -> dict[str, Any]:
    """Return the fields of a message that do not depend on its content."""
    return {
        "id": message_id,
        "type": "message",
        "role": "assistant",
        "model": model,
        "stop_sequence": None,
        "usage": counts,
    }


def _stop_reason(answer: Answer) -> str:
    """Return why the model stopped: as the script says, else because it called a tool or was done."""
    calls = any(isinstance(part, ToolCall) for part in answer.parts)
    return answer.stop_reason or ("tool_use" if calls else "end_turn")


def _stop_details(answer: Answer) -> dict[str, Any]:
    """Return the field that tells more of the stop, if the script has it."""
    return {} if answer.stop_details is None else {"stop_details": dict(answer.stop_details)}


def _block_events(block: Block, index: int, message_id: str) -> Iterator[Item]:
    """Yield the start of a block and its pieces; whoever plays the answer ends it."""
    yield {"type": "content_block_start", "index": index, "content_block": _empty(_block(block, index, message_id))}
    pause = block.pause if isinstance(block, Text | Words) else 0
    for number, delta in enumerate(_deltas(block)):
        if number and pause:
            yield Delay(pause)
        yield {"type": "content_block_delta", "index": index, "delta": delta}


def _block(block: Block, index: int, message_id: str) -> dict[str, Any]:
    """Return a whole block of content."""
    if isinstance(block, Thinking):
        return {"type": "thinking", "thinking": block.text, "signature": _SIGNATURE}
    if isinstance(block, ToolCall):
        name = f"toolu_{message_id.removeprefix('msg_')}_{index}"
        return {"type": "tool_use", "id": name, "name": block.name, "input": dict(block.input)}
    return {"type": "text", "text": "".join(_pieces(block))}


def _empty(block: dict[str, Any]) -> dict[str, Any]:
    """Return a block as a stream begins it: without what its pieces will bring."""
    fills: dict[str, Any] = {"text": "", "thinking": "", "signature": "", "input": {}}
    return {key: fills.get(key, value) for key, value in block.items()}


def _deltas(block: Block) -> Iterator[dict[str, Any]]:
    """Yield the pieces of a block."""
    if isinstance(block, Thinking):
        yield from ({"type": "thinking_delta", "thinking": piece} for piece in _split_words(block.text))
        yield {"type": "signature_delta", "signature": _SIGNATURE}
    elif isinstance(block, ToolCall):
        text = json.dumps(dict(block.input))
        yield from ({"type": "input_json_delta", "partial_json": piece} for piece in _cut(text, _INPUT_PIECE))
    else:
        yield from ({"type": "text_delta", "text": piece} for piece in _pieces(block))


def _pieces(block: Text | Words | LongText) -> Sequence[str]:
    """Return the text of a block in the pieces that it is streamed in."""
    if isinstance(block, Words):
        return [f"w{number}{' ' if number < block.count - 1 else ''}" for number in range(block.count)]
    if isinstance(block, LongText):
        return _cut("x" * block.characters, _PIECE)
    return _split_words(block.text)


def _split_words(text: str) -> list[str]:
    """Return the words of a text, each with the blanks that follow it; joined they are the text."""
    return re.findall(r"\s*\S+\s*|\s+", text)


def _cut(text: str, size: int) -> list[str]:
    """Return the text in pieces of one size."""
    return [text[start : start + size] for start in range(0, len(text), size)]
