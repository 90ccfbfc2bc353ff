"""The blocks that the content of a message consists of.

The classes have the names, fields and positional order of the official Python SDK, whose blocks are the first six;
the others stand for what it drops.
"""

import base64
from collections.abc import Iterable
from typing import Any, ClassVar, Self

import attrs

from claude_control.records import frozen
from claude_control.wire.reading import Reader, reader
from claude_control.wire.record import WireRecord

__all__ = [
    "ContentBlock",
    "DocumentBlock",
    "ImageBlock",
    "RedactedThinkingBlock",
    "ServerToolResultBlock",
    "ServerToolUseBlock",
    "TextBlock",
    "ThinkingBlock",
    "ToolResultBlock",
    "ToolUseBlock",
    "UnknownBlock",
    "join_texts",
    "read_blocks",
    "read_content",
    "wire_texts",
]


@frozen(repr=False)
class ContentBlock(WireRecord):
    """The base of every block, so that `isinstance(block, ContentBlock)` holds for all."""

    wire_type: ClassVar[str] = ""
    """The block's `type` on the wire."""

    def to_wire(self) -> dict[str, Any]:
        """Return the wire form, for a prompt: `raw` under the fields, those that are None left out."""
        fields = (field.name for field in attrs.fields(type(self)) if field.name != "raw")
        given = {name: value for name in fields if (value := getattr(self, name)) is not None}
        return {"type": self.wire_type, **self.raw, **given}


@frozen(repr=False)
class TextBlock(ContentBlock):
    """A piece of text."""

    wire_type: ClassVar[str] = "text"
    text: str = ""


@frozen(repr=False)
class ThinkingBlock(ContentBlock):
    """The model's reasoning, with the signature that lets it be sent back."""

    wire_type: ClassVar[str] = "thinking"
    thinking: str = ""
    signature: str = ""


@frozen(repr=False)
class ToolUseBlock(ContentBlock):
    """A call of a tool; the result names it by `id`."""

    wire_type: ClassVar[str] = "tool_use"
    id: str = ""
    name: str = ""
    input: dict[str, Any] = attrs.field(factory=dict)


@frozen(repr=False)
class ToolResultBlock(ContentBlock):
    """What a tool gave back: a text, or blocks in their wire form."""

    wire_type: ClassVar[str] = "tool_result"
    tool_use_id: str = ""
    content: str | list[dict[str, Any]] | None = None
    is_error: bool | None = None

    @property
    def text(self) -> str:
        """The result's texts, one under the other; "" if there is none."""
        if not isinstance(self.content, list):
            return self.content or ""
        texts = (item.get("text") for item in self.content if item.get("type") == "text")
        return "\n".join(text for text in texts if isinstance(text, str))


@frozen(repr=False)
class ServerToolUseBlock(ContentBlock):
    """A call of a tool that runs at the API (web_search, advisor, …); nobody here has to answer it."""

    wire_type: ClassVar[str] = "server_tool_use"
    id: str = ""
    name: str = ""
    input: dict[str, Any] = attrs.field(factory=dict)


@frozen(repr=False)
class ServerToolResultBlock(ContentBlock):
    """What a tool at the API gave back; `type` says which one, such as "web_search_tool_result"."""

    tool_use_id: str = ""
    content: dict[str, Any] | list[Any] | str | None = None
    type: str = ""


@frozen(repr=False)
class RedactedThinkingBlock(ContentBlock):
    """Reasoning that the API encrypted."""

    wire_type: ClassVar[str] = "redacted_thinking"
    data: str = ""


@frozen(repr=False)
class _SourceBlock(ContentBlock):
    """A block whose bytes lie elsewhere: inline, at a URL, or in an uploaded file."""

    source: dict[str, Any] = attrs.field(factory=dict)
    """As the API wants it: `{"type": "base64", "media_type": …, "data": …}`, `{"type": "url", "url": …}`, …"""

    @classmethod
    def from_bytes(cls, data: bytes, media_type: str) -> Self:
        """Return a block that carries the bytes inline; `media_type` such as "image/png" or "application/pdf"."""
        return cls(source={"type": "base64", "media_type": media_type, "data": base64.b64encode(data).decode()})


@frozen(repr=False)
class ImageBlock(_SourceBlock):
    """An image."""

    wire_type: ClassVar[str] = "image"


@frozen(repr=False)
class DocumentBlock(_SourceBlock):
    """A document, such as a PDF."""

    wire_type: ClassVar[str] = "document"
    title: str | None = None
    context: str | None = None


@frozen(repr=False)
class UnknownBlock(ContentBlock):
    """A block of a type that is not known here, or what stood in place of a block; `raw` has it as it came."""

    type: str = ""
    raw: Any = attrs.field(factory=dict)

    def to_wire(self) -> dict[str, Any]:
        """Return the block as it came."""
        return dict(self.raw)


_SERVER_RESULTS = (
    "advisor_tool_result",
    "bash_code_execution_tool_result",
    "code_execution_tool_result",
    "text_editor_code_execution_tool_result",
    "tool_search_tool_result",
    "web_fetch_tool_result",
    "web_search_tool_result",
)
_OWN_TYPE: tuple[type[ContentBlock], ...] = (
    *(TextBlock, ThinkingBlock, RedactedThinkingBlock, ToolUseBlock, ToolResultBlock),
    *(ServerToolUseBlock, ImageBlock, DocumentBlock),
)
_BLOCKS: dict[str, type[ContentBlock]] = {
    **{block.wire_type: block for block in _OWN_TYPE},
    **dict.fromkeys(_SERVER_RESULTS, ServerToolResultBlock),
}
_readers: dict[str, Reader[ContentBlock]] = {}  # filled as types arrive


def read_blocks(value: Any) -> list[ContentBlock]:
    """Read a list of blocks; anything but a list has none."""
    return [_read_block(item) for item in value] if value.__class__ is list else []


def read_content(value: Any) -> str | list[ContentBlock]:
    """Read the content of a user message, a text or a list of blocks; anything else is an empty text."""
    if value.__class__ is list:
        return read_blocks(value)
    return value if isinstance(value, str) else ""


def join_texts(blocks: Iterable[ContentBlock], separator: str) -> str:
    """Return the text of the text blocks."""
    return separator.join([block.text for block in blocks if block.__class__ is TextBlock])


def wire_texts(raw: dict[str, Any]) -> list[str]:
    """Return the texts of the text blocks of a message that is decoded and no more; what is odd in it has none."""
    message = raw.get("message")
    content = message.get("content") if message.__class__ is dict else None
    texts: list[str] = []
    for item in content if content.__class__ is list else ():
        if item.__class__ is dict and item.get("type") == "text":
            text = item.get("text")
            if text.__class__ is str:
                texts.append(text)
    return texts


def _read_block(item: Any) -> ContentBlock:
    try:
        read = _readers[item["type"]]
    except (KeyError, TypeError):  # new, unknown or missing; a list or dict in its place is a TypeError
        return _first_of_type(item)
    return read(item)


def _first_of_type(item: Any) -> ContentBlock:
    kind = item.get("type") if item.__class__ is dict else None
    if kind.__class__ is not str or kind not in _BLOCKS:
        return UnknownBlock(kind if kind.__class__ is str else "", item)
    read = _readers[kind] = reader(_BLOCKS[kind])
    return read(item)
