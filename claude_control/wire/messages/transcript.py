"""What is written down: transcripts and files."""

from typing import Any

import attrs

from claude_control.records import frozen
from claude_control.wire.messages.message import Message
from claude_control.wire.messages.system import SystemMessage

__all__ = ["FilesPersistedMessage", "MirrorErrorMessage", "SessionWritesLostMessage", "TranscriptMirrorMessage"]


@frozen(repr=False)
class TranscriptMirrorMessage(Message):
    """Lines that the program wrote to the transcript `file_path`; sent with `session_mirror` only (2.1.332)."""

    file_path: str = ""
    entries: list[dict[str, Any]] = attrs.field(factory=list)


@frozen(repr=False)
class MirrorErrorMessage(SystemMessage):
    """A batch of transcript lines could not be mirrored and was dropped; `key` says which transcript."""

    key: dict[str, Any] | None = None
    error: str = ""


@frozen(repr=False)
class FilesPersistedMessage(SystemMessage):
    """Files that were stored (each with filename and file_id), and those that could not be (filename and error)."""

    files: list[dict[str, Any]] = attrs.field(factory=list)
    failed: list[dict[str, Any]] = attrs.field(factory=list)
    processed_at: str = ""


@frozen(repr=False)
class SessionWritesLostMessage(SystemMessage):
    """The disk was full, and what `lost` names ("transcript", "global_config") was not saved.

    Comes last, as the program ends; `transcript_session_ids` says whose transcripts lost lines.
    """

    error_code: str = ""
    lost: list[str] = attrs.field(factory=list)
    transcript_session_ids: list[str] | None = None
