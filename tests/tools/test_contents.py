"""Images, bytes, links and resources have MCP's own forms."""

import base64

import pytest

from claude_control.tools import EmbeddedResource, Media, ResourceLink
from claude_control.tools.contents import sniffed

PNG = b"\x89PNG\r\n\x1a\n\0\0"


@pytest.mark.parametrize("kind", ["image", "audio"])
def test_media_of_a_kind_is_that_block(kind: str) -> None:
    """Images and audio are blocks of their own, in base 64."""
    block = Media(PNG, f"{kind}/x").block()
    assert block == {"type": kind, "data": base64.b64encode(PNG).decode(), "mimeType": f"{kind}/x"}


def test_other_bytes_are_an_embedded_resource() -> None:
    """Bytes of another type travel as a resource, with their type and a URI."""
    block = Media(b"%PDF-1.7", "application/pdf").block()
    assert block["type"] == "resource"
    assert base64.b64decode(block["resource"]["blob"]) == b"%PDF-1.7"
    assert block["resource"]["mimeType"] == "application/pdf"
    assert block["resource"]["uri"]


def test_embedded_text_is_readable() -> None:
    """A text in a resource is a text, and an unknown type is left out."""
    assert EmbeddedResource("file:///a", "hello").block() == {
        "type": "resource",
        "resource": {"uri": "file:///a", "text": "hello"},
    }


def test_link_says_what_is_known() -> None:
    """A link has its name and address, and of the rest what was given."""
    assert ResourceLink("file:///a", "a").block() == {"type": "resource_link", "uri": "file:///a", "name": "a"}
    full = ResourceLink("file:///a", "a", title="A", description="d", mime_type="text/plain", size=0).block()
    assert full | {"title": "A", "description": "d", "mimeType": "text/plain", "size": 0} == full


@pytest.mark.parametrize(
    ("data", "mime_type"),
    [
        (PNG, "image/png"),
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"GIF89a", "image/gif"),
        (b"RIFF\0\0\0\0WEBPVP8 ", "image/webp"),
        (b"RIFF\0\0\0\0WAVEfmt ", "application/octet-stream"),
        (b"%PDF-1.4", "application/pdf"),
        (b"", "application/octet-stream"),
    ],
)
def test_bytes_tell_their_type(data: bytes, mime_type: str) -> None:
    """The first bytes of common images tell what they are; others are just bytes."""
    assert sniffed(data) == mime_type
