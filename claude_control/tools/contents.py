"""What a tool can return beside texts and data: images and other bytes, links, embedded resources."""

import base64
from typing import Any

import attrs

from claude_control.records import frozen

__all__ = ["Content", "EmbeddedResource", "Media", "ResourceLink", "text_block"]

_NAMELESS = "attachment:result"  # an embedded resource must have a URI, and bytes that were just made have none


@frozen
class EmbeddedResource:
    """A resource with what is in it: a text, or bytes with their MIME type.

    The model sees a text. Of bytes, it sees what the program can show: an image, perhaps.
    """

    uri: str
    content: str | bytes = attrs.field(repr=False)
    mime_type: str | None = None

    def block(self) -> dict[str, Any]:
        """Return the wire form."""
        return {"type": "resource", "resource": self.contents()}

    def contents(self) -> dict[str, Any]:
        """Return the resource alone, as `resources/read` gives it."""
        if isinstance(self.content, str):
            return {"uri": self.uri, **_mime(self.mime_type), "text": self.content}
        return {"uri": self.uri, **_mime(self.mime_type), "blob": _base64(self.content)}


@frozen
class Media:
    """Bytes with a MIME type: the model sees "image/png", "image/jpeg", "image/gif" and "image/webp".

    "audio/…" is sent as audio, everything else as an embedded resource.
    """

    data: bytes = attrs.field(repr=False)
    mime_type: str

    def block(self) -> dict[str, Any]:
        """Return the wire form."""
        kind = self.mime_type.partition("/")[0]
        if kind in ("image", "audio"):
            return {"type": kind, "data": _base64(self.data), "mimeType": self.mime_type}
        return EmbeddedResource(_NAMELESS, self.data, self.mime_type).block()


@frozen
class ResourceLink:
    """A resource by its address only; `size` is in bytes."""

    uri: str
    name: str
    title: str | None = None
    description: str | None = None
    mime_type: str | None = None
    size: int | None = None

    def block(self) -> dict[str, Any]:
        """Return the wire form."""
        named = {"title": self.title, "description": self.description, "mimeType": self.mime_type, "size": self.size}
        given = {name: value for name, value in named.items() if value is not None}
        return {"type": "resource_link", "uri": self.uri, "name": self.name, **given}


Content = str | Media | ResourceLink | EmbeddedResource
"""One piece of a result."""


def text_block(text: str) -> dict[str, Any]:
    """Return the wire form of a text."""
    return {"type": "text", "text": text}


def sniffed(data: bytes) -> str:
    """Return the MIME type of bytes that came without one, as far as their first bytes tell."""
    for start, mime_type in _STARTS:
        if data.startswith(start) and (mime_type != "image/webp" or data[8:12] == b"WEBP"):
            return mime_type
    return "application/octet-stream"


_STARTS = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"RIFF", "image/webp"),
    (b"%PDF-", "application/pdf"),
)


def _mime(mime_type: str | None) -> dict[str, str]:
    return {} if mime_type is None else {"mimeType": mime_type}


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")
