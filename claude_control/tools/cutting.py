"""Cuts a result that is larger than a tool may return: a huge one would fill the model's context, or the pipe."""

import json
from typing import Any

from claude_control.tools.contents import text_block

__all__ = ["cut"]


def cut(result: dict[str, Any], max_bytes: int | None) -> dict[str, Any]:
    """Return the result with at most about `max_bytes` bytes of content; what is left out is named in its place.

    A text is cut at its end, anything else is there whole or not at all. Structured content has the same limit of its
    own: cut it would no longer be what it says it is.
    """
    if max_bytes is None:
        return result
    result = dict(result)
    if "structuredContent" in result and len(_json(result["structuredContent"])) > max_bytes:
        del result["structuredContent"]
    left, kept = max_bytes, []
    for block in result["content"]:
        size = _size(block)
        kept.append(block if size <= left else _stump(block, size, left, max_bytes))
        left = max(0, left - size)
    return {**result, "content": kept}


def _stump(block: dict[str, Any], size: int, left: int, max_bytes: int) -> dict[str, Any]:
    """Return what stands for a block that does not fit into what is left."""
    if block["type"] != "text":
        return text_block(f"[{block['type']} of {size} bytes left out: a result of this tool has {max_bytes} at most]")
    start = block["text"].encode("utf-8", "replace")[:left].decode("utf-8", "ignore")
    return text_block(f"{start}\n[cut: {size} bytes of text, a result of this tool has {max_bytes} at most]")


def _size(block: dict[str, Any]) -> int:
    if block["type"] == "text":
        return len(block["text"].encode("utf-8", "replace"))
    if block["type"] in ("image", "audio"):
        return len(block["data"])
    return len(_json(block))


def _json(data: Any) -> bytes:
    return json.dumps(data, ensure_ascii=False).encode("utf-8", "replace")
