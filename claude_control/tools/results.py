"""From whatever a tool returned to the result of `tools/call`; it never raises, so that no call is left hanging."""

import json
import pathlib
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from claude_control import log
from claude_control.log import error_text
from claude_control.records import frozen
from claude_control.tools.contents import Content, EmbeddedResource, Media, ResourceLink, sniffed, text_block

__all__ = ["ToolResult", "failure", "to_result"]

_log = log.get(__name__)


@frozen
class ToolResult:
    """A result in full, for a tool that returns more than one value can say.

    `content` is what the model reads: a piece, or a list of pieces. `structured` is the same as data, an object; a
    program that takes it may show the model nothing else. `is_error` says that the tool failed in a way that the model
    can do something about. `meta` is for programs.
    """

    content: Content | bytes | Sequence[Any] = ()
    structured: Any = None
    is_error: bool = False
    meta: Mapping[str, Any] | None = None


def failure(text: str) -> dict[str, Any]:
    """Return the result that tells the model what went wrong."""
    return {"content": [text_block(text)], "isError": True}


def to_result(tool_name: str, value: Any) -> dict[str, Any]:
    """Return the result for what a tool returned; a value that has no form on the wire becomes a failure that says so.

    Texts, bytes and the records of `contents` are themselves, None is no content, data becomes JSON text and, if it is
    an object, structured content too. A dict with a list of MCP's own blocks as "content" is taken for a whole result.
    """
    try:
        result = _whole(value)
        # 2.0.75 and 2.1.7 hand a text without characters on to the API as an empty block.
        return {**result, "content": [block for block in result["content"] if block.get("text") != ""]}
    except Exception as error:  # Exception: a value's own methods may raise anything
        said = error_text(error)
        _log.warning("tool.unusable_result", tool=tool_name, returned=type(value).__name__, error=said)
        return failure(f"{tool_name} ran, but what it returned cannot be sent: {said}")


def _whole(value: Any) -> dict[str, Any]:
    if isinstance(value, ToolResult):
        return _spelled_out(value)
    if is_ready_made(value):
        return _ready_made(value)
    if value is None:
        return {"content": []}
    if isinstance(value, list | tuple) and any(_is_piece(item) for item in value):
        return {"content": [_block(item) for item in value]}
    if isinstance(value, _PIECES):
        return {"content": [_block(value)]}
    data = _plain(value)
    result: dict[str, Any] = {"content": [text_block(_json(data))]}
    if isinstance(data, dict):
        result["structuredContent"] = data
    return result


def _spelled_out(value: ToolResult) -> dict[str, Any]:
    content = value.content
    pieces = content if isinstance(content, list | tuple) else [content]
    result: dict[str, Any] = {"content": [_block(piece) for piece in pieces]}
    if value.structured is not None:
        structured = _plain(value.structured)
        if not isinstance(structured, dict):
            raise TypeError(f"structured content must be an object, not {type(value.structured).__name__}")
        result["structuredContent"] = structured
        if not pieces:
            result["content"] = [text_block(_json(structured))]  # for programs that know content only
    if value.is_error:
        result["isError"] = True
    if value.meta is not None:
        result["_meta"] = _plain(dict(value.meta))
    return result


# -- results in MCP's own words ----------------------------------------------------------------------------------------

_RESULT_KEYS = {"content", "isError", "is_error", "structuredContent", "_meta"}
# What each kind of block must have: a program that checks would fail the whole call for one that has not.
_BLOCK_KEYS: dict[str, dict[str, type]] = {
    "text": {"text": str},
    "image": {"data": str, "mimeType": str},
    "audio": {"data": str, "mimeType": str},
    "resource": {"resource": dict},
    "resource_link": {"uri": str, "name": str},
}


def is_ready_made(value: Any) -> bool:
    """Tell whether a dict is a result in MCP's own words, as tools of the official SDK return it."""
    return (
        isinstance(value, Mapping)
        and isinstance(value.get("content"), list | tuple)
        and set(value) <= _RESULT_KEYS
        and all(isinstance(block, Mapping) and "type" in block for block in value["content"])
    )


def _ready_made(value: Mapping[str, Any]) -> dict[str, Any]:
    result: dict[str, Any] = {"content": [_block(block) for block in value["content"]]}
    if value.get("isError") or value.get("is_error"):
        result["isError"] = True
    for key in ("structuredContent", "_meta"):
        if value.get(key) is not None:
            result[key] = _plain(value[key])
            if not isinstance(result[key], dict):
                raise TypeError(f"{key} must be an object, not {type(value[key]).__name__}")
    return result


def _block(piece: Any) -> dict[str, Any]:
    if isinstance(piece, str):
        return text_block(piece)
    if isinstance(piece, bytes | bytearray | memoryview):
        data = bytes(piece)
        return Media(data, sniffed(data)).block()
    if isinstance(piece, _RECORDS):
        return piece.block()
    if isinstance(piece, Mapping):
        return _checked(_plain(piece))
    return text_block(_json(_plain(piece)))


def _checked(block: dict[str, Any]) -> dict[str, Any]:
    if not isinstance(block.get("type"), str):
        return text_block(_json(block))
    wrong = [key for key, kind in _BLOCK_KEYS.get(block["type"], {}).items() if not isinstance(block.get(key), kind)]
    if wrong:
        raise TypeError(f"a block of type {block['type']!r} has no {' and no '.join(wrong)} that can be sent")
    return block


_RECORDS = (Media, ResourceLink, EmbeddedResource)
_PIECES = (str, bytes, bytearray, memoryview, *_RECORDS)


def _is_piece(item: Any) -> bool:
    """Whether a list that holds this is a list of pieces; one of texts and numbers is data."""
    return isinstance(item, _RECORDS) or (isinstance(item, Mapping) and item.get("type") in _BLOCK_KEYS)


# -- data --------------------------------------------------------------------------------------------------------------


def _plain(value: Any) -> Any:
    """Return dataclasses, attrs and pydantic records, dates and the like as what JSON has; raises TypeError."""
    return msgspec.to_builtins(value, str_keys=True, enc_hook=_stand_in)


def _stand_in(value: Any) -> Any:
    if isinstance(value, pathlib.PurePath):
        return str(value)
    if isinstance(value, Mapping):
        return dict(value)
    dump = getattr(value, "model_dump", None)  # pydantic
    if callable(dump):
        return dump(mode="json")
    raise TypeError(f"{type(value).__name__} has no form in JSON; return a text, data or a ToolResult")


def _json(data: Any) -> str:
    return data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
