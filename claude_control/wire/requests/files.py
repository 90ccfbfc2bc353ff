"""Requests about the files that the program changed."""

from typing import Any, ClassVar

import attrs

from claude_control.errors import OptionsError
from claude_control.wire.requests.base import Request, read_count, read_text, read_texts


@attrs.frozen
class RewindFilesReply:
    """What a rewind did, or would do.

    `files_changed` (absolute paths), `insertions` and `deletions` come with a dry run only (2.1.7 and 2.1.332).
    `can_rewind` is None on 2.0.75, which says nothing; `error` is why it cannot.
    """

    can_rewind: bool | None = None
    files_changed: tuple[str, ...] = ()
    insertions: int | None = None
    deletions: int | None = None
    skipped_links: int | None = None
    error: str | None = None
    raw: dict[str, Any] = attrs.field(factory=dict, repr=False)


@attrs.frozen
class RewindFiles(Request[RewindFilesReply]):
    """Puts files that the program edited back to how they were before a prompt, and deletes those made since.

    `user_message_id` is a prompt's uuid (`turn.uuid`). It needs `enable_file_checkpointing`. A dry run is refused to
    2.0.75, which would rewind.
    """

    subtype: ClassVar[str] = "rewind_files"

    user_message_id: str = attrs.field()
    dry_run: bool = False

    @user_message_id.validator
    def _text(self, _attribute: object, value: object) -> None:
        if not isinstance(value, str) or not value:
            text = f"user_message_id must be the uuid of a prompt (turn.uuid), not {value!r}"
            raise OptionsError(text, field="user_message_id")

    def body(self) -> dict[str, Any]:
        """Return the wire form."""
        dry = {"dry_run": True} if self.dry_run else {}
        return {"subtype": self.subtype, "user_message_id": self.user_message_id, **dry}

    def reply(self, response: dict[str, Any]) -> RewindFilesReply:
        """Read what was or would be done."""
        can_rewind = response.get("canRewind")
        return RewindFilesReply(
            can_rewind=can_rewind if isinstance(can_rewind, bool) else None,
            files_changed=read_texts(response, "filesChanged", self.subtype),
            insertions=read_count(response, "insertions"),
            deletions=read_count(response, "deletions"),
            skipped_links=read_count(response, "skippedLinks"),
            error=read_text(response, "error"),
            raw=response,
        )

    def needs(self) -> tuple[str, str]:
        """Return 2.1.7 for a dry run."""
        return ("rewind_files(dry_run=True)", "2.1.7") if self.dry_run else super().needs()
