"""What framing and decoding cost over bare orjson.

The floor gets its lines ready cut; ours gets chunks as a pipe delivers them, cuts them into lines, decodes each and
looks for what orjson would get wrong. No pipe, thread or message class is involved on either side.
"""

import json
from collections.abc import Callable, Iterator
from typing import Any

import orjson

from benchmarks.sideways import compare
from claude_control.wire.framing import Decoder, LineSplitter

CHUNK_BYTES = 64 * 1024
"""What one read of a Linux pipe returns at most."""

BYTES = 4 * 1024 * 1024
"""How much each row decodes per run: long enough to time, short enough to repeat."""

LIMIT = 64 * 1024 * 1024


def delta() -> dict[str, Any]:
    """Return a streamed piece of text, about 300 bytes."""
    event = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "and then it "}}
    return {
        "type": "stream_event",
        "event": event,
        "session_id": "6a8e1f9c-3c0b-4a57-9d42-0f7b6f0f3a11",
        "parent_tool_use_id": None,
        "uuid": "0d6f6f7e-6f64-4f1c-8a6b-2d1f8b3f9c55",
    }


def assistant(size: int) -> dict[str, Any]:
    """Return an assistant message with one text of `size` characters."""
    text = ('The quick brown fox said "no".\n' * (size // 31 + 1))[:size]
    message = {"id": "msg_1", "role": "assistant", "model": "m", "content": [{"type": "text", "text": text}]}
    return {"type": "assistant", "message": message, "session_id": "6a8e1f9c", "parent_tool_use_id": None}


ROWS: dict[str, Callable[[], dict[str, Any]]] = {
    "text delta, 0.3 KiB": delta,
    "assistant, 1 KiB": lambda: assistant(1024),
    "assistant, 32 KiB": lambda: assistant(32 * 1024),
    "assistant, 900 KiB": lambda: assistant(900 * 1024),
}


def table(rounds: int) -> Iterator[str]:
    """Yield the rows of a Markdown table: per kind of line, our time over the floor's."""
    yield "| framing + decode over a bare orjson loop | lines | ratio (median) | quartiles |"
    yield "|---|---|---|---|"
    for title, record in ROWS.items():
        line = json.dumps(record(), separators=(",", ":")).encode()
        count = max(BYTES // len(line), 4)
        stream = (line + b"\n") * count
        # Each line is bytes of its own on both sides: one line over and over would sit in the processor's cache.
        measured = compare(_ours(stream, count), _floor(stream.split(b"\n")[:-1]), rounds)
        first, third = measured.spread
        yield f"| {title} | {count} | {measured.ratio:.2f} | {first:.2f} to {third:.2f} |"


def _ours(stream: bytes, lines: int) -> Callable[[], int]:
    """Return the work of cutting and decoding the chunks that a stream arrives in."""
    chunks = [stream[start : start + CHUNK_BYTES] for start in range(0, len(stream), CHUNK_BYTES)]

    def work() -> int:
        splitter, decoder, count = LineSplitter(LIMIT), Decoder(), 0
        for chunk in chunks:
            for line in splitter.feed(chunk):
                assert isinstance(line, bytes)
                decoder.decode(line)
                count += 1
        assert (count, decoder.bad) == (lines, 0)
        return count

    return work


def _floor(lines: list[bytes]) -> Callable[[], int]:
    """Return the work of decoding lines that are cut already."""

    def work() -> int:
        count = 0
        for line in lines:
            orjson.loads(line)
            count += 1
        return count

    return work
