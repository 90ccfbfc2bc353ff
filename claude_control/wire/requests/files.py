"""Requests about files and directories, and about what the program changed in them."""

from typing import Any, ClassVar

import attrs

from claude_control.records import frozen
from claude_control.wire.requests.base import EmptyReply, Request
from claude_control.wire.requests.checks import check_flag, check_text, one_of, optional, reject, whole_number
from claude_control.wire.requests.replying import ReplyRecord

__all__ = [
    "DiffStats",
    "FileDiffStats",
    "FileHunks",
    "FileSuggestions",
    "FileSuggestionsReply",
    "GetWorkspaceDiff",
    "GetWorkspaceDiffReply",
    "ReadFile",
    "ReadFileReply",
    "RegisterRepoRoot",
    "RegisterRepoRootReply",
    "RewindFiles",
    "RewindFilesReply",
    "SeedReadState",
    "SetCwd",
    "SetCwdReply",
    "WorkspaceDiff",
]


@frozen(repr=False)
class RewindFilesReply(ReplyRecord):
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


@frozen
class RewindFiles(Request[RewindFilesReply]):
    """Puts files that the program edited back to how they were before a prompt, and deletes those made since.

    `user_message_id` is a prompt's uuid (`turn.uuid`). It needs `enable_file_checkpointing`. A dry run is refused to
    2.0.75, which would rewind.
    """

    subtype: ClassVar[str] = "rewind_files"

    user_message_id: str = attrs.field()
    dry_run: bool = attrs.field(default=False, validator=check_flag)

    @user_message_id.validator
    def _text(self, _attribute: object, value: object) -> None:
        if not isinstance(value, str) or not value:
            reject("user_message_id", value, "the uuid of a prompt (turn.uuid)")


@frozen(repr=False)
class FileSuggestionsReply(ReplyRecord):
    """Dicts with a `path`, relative to `cwd`. The index is built at the first question, which may find nothing."""

    suggestions: tuple[dict[str, Any], ...] = ()
    cwd: str | None = None


@frozen
class FileSuggestions(Request[FileSuggestionsReply]):
    """Asks for the files whose names are like a text, as for completing an @ mention; "" lists the top (2.1.332)."""

    subtype: ClassVar[str] = "file_suggestions"

    query: str = attrs.field()

    @query.validator
    def _text(self, _attribute: object, value: object) -> None:
        if not isinstance(value, str):
            reject("query", value, "a text")


@frozen(repr=False)
class ReadFileReply(ReplyRecord):
    """A file's contents, as text, or in base 64 if `encoding` says so.

    `lossy` says that the bytes are no UTF-8, `truncated` that there are more of them. `requested_path` is the path as
    it was asked for.
    """

    contents: str = ""
    abs_path: str | None = None
    requested_path: str | None = None
    truncated: bool = False
    lossy: bool | None = None
    encoding: str | None = None


@frozen
class ReadFile(Request[ReadFileReply]):
    """Reads a file as the program's Read tool may read it (2.1.332).

    What lies outside of the working directories, and what does not exist, is a `ControlRequestError`.
    """

    subtype: ClassVar[str] = "read_file"

    path: str = attrs.field(validator=check_text)
    max_bytes: int | None = attrs.field(default=None, validator=optional(whole_number(1)))
    encoding: str | None = attrs.field(default=None, validator=optional(one_of("utf-8", "base64")))


@frozen
class SeedReadState(Request[EmptyReply]):
    """Tells the program that a file was read before, so that it may be edited; `mtime` in milliseconds (2.1.332).

    A file that changed since then has to be read again all the same. The answer never says whether it was taken.
    """

    subtype: ClassVar[str] = "seed_read_state"

    path: str = attrs.field(validator=check_text)
    mtime: int = attrs.field(validator=whole_number(0))


@frozen(repr=False)
class RegisterRepoRootReply(ReplyRecord):
    """The directory that was added, resolved."""

    directory: str | None = None


@frozen
class RegisterRepoRoot(Request[RegisterRepoRootReply]):
    """Adds a directory inside of the working directory, or of an `add_dirs` one, to those that may be worked in.

    It can bring its CLAUDE.md, plugins and skills along (2.1.332). A directory that is one already is an error.
    """

    subtype: ClassVar[str] = "register_repo_root"

    directory: str = attrs.field(validator=check_text)
    reload_claude_md: bool = attrs.field(default=False, validator=check_flag)
    reload_plugins: bool = attrs.field(default=False, validator=check_flag)
    reload_skills: bool = attrs.field(default=False, validator=check_flag)


@frozen(repr=False)
class SetCwdReply(ReplyRecord):
    """What became of the change: `status` is "ok", "rejected" or "needs_trust".

    "ok" has `cwd` and whether it `changed`; "rejected" a `reason` and a `message`; "needs_trust" the `directory`, and
    the `trust_root` that trusting it would cover.
    """

    status: str = ""
    cwd: str | None = None
    changed: bool | None = None
    transcript_relocated: bool | None = None
    reason: str | None = None
    message: str | None = None
    directory: str | None = None
    trust_root: str | None = None


@frozen
class SetCwd(Request[SetCwdReply]):
    """Moves the session to another directory that the user has trusted (2.1.332)."""

    subtype: ClassVar[str] = "set_cwd"

    path: str = attrs.field(validator=check_text)
    trusted_directory: str | None = attrs.field(default=None, validator=optional(check_text))


@frozen(repr=False)
class DiffStats(ReplyRecord):
    """How many files and lines a diff has."""

    files_count: int = 0
    lines_added: int = 0
    lines_removed: int = 0


@frozen(repr=False)
class FileDiffStats(ReplyRecord):
    """One file of a diff; `status` is "added", "modified" and the like."""

    path: str = ""
    added: int = 0
    removed: int = 0
    is_binary: bool = False
    is_untracked: bool = False
    status: str | None = None
    uncommitted_status: str | None = None


@frozen(repr=False)
class FileHunks(ReplyRecord):
    """The hunks of one file: dicts with oldStart, oldLines, newStart, newLines and `lines`, as `diff -u` has them."""

    path: str = ""
    hunks: tuple[dict[str, Any], ...] = ()


@frozen(repr=False)
class WorkspaceDiff(ReplyRecord):
    """What differs from the last commit, or from where the branch left the main one; `source` says which.

    `omitted` counts files that were left out; `line_capped`, `skipped_large` and `restricted` name those whose hunks
    were cut or are not shown.
    """

    stats: DiffStats | None = None
    per_file_stats: tuple[FileDiffStats, ...] = ()
    hunks: tuple[FileHunks, ...] = ()
    omitted: dict[str, Any] = attrs.field(factory=dict)
    line_capped: tuple[Any, ...] = ()
    skipped_large: tuple[Any, ...] = ()
    restricted: tuple[Any, ...] = ()
    source: dict[str, Any] = attrs.field(factory=dict)
    root_id: str | None = None


@frozen(repr=False)
class GetWorkspaceDiffReply(ReplyRecord):
    """The diff; None where the program has none."""

    diff: WorkspaceDiff | None = None


@frozen
class GetWorkspaceDiff(Request[GetWorkspaceDiffReply]):
    """Asks how the working tree differs from what is committed (2.1.332)."""

    subtype: ClassVar[str] = "get_workspace_diff"
