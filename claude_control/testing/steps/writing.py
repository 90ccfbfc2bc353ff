"""Steps that write to stdout and stderr."""

from claude_control.testing.steps.records import Frame, Step

_ASSISTANT: Frame = {
    "type": "assistant",
    "message": {"role": "assistant", "model": "scripted", "content": [{"type": "text", "text": "$n"}]},
    "parent_tool_use_id": None,
    "session_id": "$session_id",
    "uuid": "$uuid",
}
_STREAM_EVENT: Frame = {
    "type": "stream_event",
    "event": {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "x"}},
    "parent_tool_use_id": None,
    "session_id": "$session_id",
    "uuid": "$uuid",
}


def say(*frames: Frame) -> Step:
    """Write frames."""
    return Step("say", {"frames": list(frames)})


def raw(data: bytes) -> Step:
    """Write bytes as they are."""
    return Step("raw", {"data": data.decode("latin-1")})


def split(frame: Frame, size: int = 1, *, pause: float = 0.0) -> Step:
    """Write a frame in pieces of `size` bytes, each in its own write, `pause` seconds apart."""
    return Step("split", {"frame": frame, "size": size, "pause": pause})


def burst(count: int, kind: str = "stream_event", *, frame: Frame | None = None) -> Step:
    """Write `count` frames in one go: events, messages (`kind="assistant"`), or copies of a frame of your own.

    In them `"$n"` is the number of the copy, from 0, and `"$uuid"` differs in each.
    """
    kinds = {"assistant": _ASSISTANT, "stream_event": _STREAM_EVENT}
    return Step("burst", {"count": count, "frame": kinds[kind] if frame is None else frame})


def close_stdout() -> Step:
    """Close stdout and live on."""
    return Step("close_stdout")


def stderr(text: str) -> Step:
    """Write text to stderr."""
    return Step("stderr", {"text": text})


def flood_stderr(count: int) -> Step:
    """Write `count` bytes to stderr; while nobody reads them all else stands still."""
    return Step("flood_stderr", {"count": count})
