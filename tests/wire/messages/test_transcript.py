"""Messages about what is written down."""

from claude_control.wire.messages import (
    FilesPersistedMessage,
    MirrorErrorMessage,
    SessionWritesLostMessage,
    TranscriptMirrorMessage,
    decode,
)


def test_mirrored_lines_name_their_file() -> None:
    """Transcript lines come with the path of the transcript, in our spelling."""
    message = decode({"type": "transcript_mirror", "filePath": "/t.jsonl", "entries": [{"type": "user"}]})
    assert isinstance(message, TranscriptMirrorMessage)
    assert (message.file_path, message.entries) == ("/t.jsonl", [{"type": "user"}])


def test_mirror_error_keeps_the_official_positions() -> None:
    """A mirror error is constructed by position as the official SDK's is."""
    message = MirrorErrorMessage("mirror_error", {}, {"session_id": "s"}, "disk full")
    assert (message.key, message.error) == ({"session_id": "s"}, "disk full")


def test_stored_files_are_listed() -> None:
    """Stored files, and those that could not be, arrive in two lists."""
    raw = {"type": "system", "subtype": "files_persisted", "files": [{"file_id": "f"}], "failed": []}
    message = decode(raw)
    assert isinstance(message, FilesPersistedMessage)
    assert (message.files, message.failed) == ([{"file_id": "f"}], [])


def test_lost_writes_say_what_was_lost() -> None:
    """A full disk is told with its code and what it cost."""
    raw = {"type": "system", "subtype": "session_writes_lost", "error_code": "ENOSPC", "lost": ["transcript"]}
    message = decode(raw)
    assert isinstance(message, SessionWritesLostMessage)
    assert (message.error_code, message.lost) == ("ENOSPC", ["transcript"])
