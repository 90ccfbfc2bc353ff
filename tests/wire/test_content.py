"""The content blocks."""

import base64
import pickle
from typing import Any

import pytest

from claude_control.wire.content import (
    ContentBlock,
    DocumentBlock,
    ImageBlock,
    RedactedThinkingBlock,
    ServerToolResultBlock,
    ServerToolUseBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    UnknownBlock,
    join_texts,
    read_blocks,
    read_content,
)

SOURCE = {"type": "url", "url": "https://example.com/a.png"}
WIRE: list[tuple[dict[str, Any], ContentBlock]] = [
    ({"type": "text", "text": "hi"}, TextBlock("hi")),
    ({"type": "thinking", "thinking": "hm", "signature": "s"}, ThinkingBlock("hm", "s")),
    ({"type": "redacted_thinking", "data": "x"}, RedactedThinkingBlock("x")),
    ({"type": "tool_use", "id": "t", "name": "Bash", "input": {"a": 1}}, ToolUseBlock("t", "Bash", {"a": 1})),
    ({"type": "tool_result", "tool_use_id": "t", "content": "r"}, ToolResultBlock("t", "r")),
    ({"type": "tool_result", "tool_use_id": "t", "is_error": True}, ToolResultBlock("t", is_error=True)),
    ({"type": "server_tool_use", "id": "t", "name": "advisor", "input": {}}, ServerToolUseBlock("t", "advisor")),
    (
        {"type": "web_search_tool_result", "tool_use_id": "t", "content": [{}]},
        ServerToolResultBlock("t", [{}], "web_search_tool_result"),
    ),
    (
        {"type": "advisor_tool_result", "tool_use_id": "t", "content": {"type": "x"}},
        ServerToolResultBlock("t", {"type": "x"}, "advisor_tool_result"),
    ),
    ({"type": "image", "source": SOURCE}, ImageBlock(SOURCE)),
    ({"type": "document", "source": SOURCE, "title": "T"}, DocumentBlock(SOURCE, "T")),
]


def without_raw(block: ContentBlock) -> tuple[type, str]:
    """Return what a block is, but for the object it was read from."""
    return type(block), repr(block)


@pytest.mark.parametrize(("wire", "block"), WIRE)
def test_block_is_read(wire: dict[str, Any], block: ContentBlock) -> None:
    """Each type of block becomes its own record, with the object it came as."""
    [read] = read_blocks([wire])
    assert without_raw(read) == without_raw(block)
    assert read.raw is wire


@pytest.mark.parametrize(("wire", "block"), WIRE)
def test_block_goes_back_to_the_wire(wire: dict[str, Any], block: ContentBlock) -> None:
    """A constructed block has the wire form that the program would write."""
    assert block.to_wire() == wire
    assert isinstance(block, ContentBlock)
    assert pickle.loads(pickle.dumps(block)) == block


def test_wire_form_keeps_what_no_field_stands_for() -> None:
    """Keys that are not known here survive reading and sending."""
    wire = {"type": "text", "text": "hi", "cache_control": {"type": "ephemeral"}}
    assert read_blocks([wire])[0].to_wire() == wire


@pytest.mark.parametrize("item", [{"type": "hologram", "x": 1}, {"type": 5}, {"type": []}, {}, "text", None, [1]])
def test_unknown_block_is_kept(item: Any) -> None:
    """A block of an unknown type, or what is no block at all, arrives as it came."""
    [block] = read_blocks([item])
    assert isinstance(block, UnknownBlock)
    assert block.raw is item


def test_unknown_block_names_its_type() -> None:
    """An unknown block says what the program called it, and is sent back unchanged."""
    block = UnknownBlock("hologram", {"type": "hologram", "x": 1})
    assert read_blocks([{"type": "hologram", "x": 1}]) == [block]
    assert block.to_wire() == {"type": "hologram", "x": 1}


@pytest.mark.parametrize("value", [None, "text", 5, {"type": "text"}])
def test_content_that_is_no_list_has_no_blocks(value: Any) -> None:
    """Anything but a list is read as no blocks."""
    assert read_blocks(value) == []


@pytest.mark.parametrize(("value", "content"), [("hi", "hi"), ([], []), (None, ""), (5, ""), ({}, "")])
def test_user_content_is_a_text_or_blocks(value: Any, content: Any) -> None:
    """The content of a user message is a text or a list, whatever arrives."""
    assert read_content(value) == content


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("plain", "plain"),
        (None, ""),
        ([], ""),
        ([{"type": "text", "text": "a"}, {"type": "image"}, {"type": "text", "text": "b"}], "a\nb"),
        ([{"type": "text"}, {"type": "text", "text": 5}, {"text": "untyped"}], ""),
    ],
)
def test_tool_result_has_its_text(content: Any, text: str) -> None:
    """The text of a tool result is its texts, one under the other, whatever else it holds."""
    assert ToolResultBlock("t", content).text == text


def test_texts_are_joined() -> None:
    """Only text blocks have a part in the text of a message."""
    assert join_texts([TextBlock("a"), ToolUseBlock("t"), TextBlock("b")], "-") == "a-b"


@pytest.mark.parametrize("block_type", [ImageBlock, DocumentBlock])
def test_bytes_are_carried_inline(block_type: type[ImageBlock] | type[DocumentBlock]) -> None:
    """An image or document is made from bytes in one call."""
    source = block_type.from_bytes(b"\x00\x01", "image/png").to_wire()["source"]
    assert source["media_type"] == "image/png"
    assert base64.b64decode(source["data"]) == b"\x00\x01"


def test_positions_are_the_official_ones() -> None:
    """Blocks can be constructed by position as the official SDK's can."""
    assert ToolResultBlock("t", "c", True) == ToolResultBlock(tool_use_id="t", content="c", is_error=True)
    assert ServerToolResultBlock("t", {"a": 1}) == ServerToolResultBlock(tool_use_id="t", content={"a": 1})
