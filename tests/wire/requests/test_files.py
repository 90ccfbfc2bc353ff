"""Requests about the files that the program changed."""

from typing import Any

import pytest

from claude_control.errors import OptionsError
from claude_control.wire.requests import RewindFiles, RewindFilesReply
from tests.wire.requests.replies import exchange


def test_dry_run_is_read() -> None:
    """A dry run says what would change."""
    for version in ("2.1.7", "2.1.332"):
        payload = exchange(f"{version}/rewind_files").reply.response
        reply = RewindFiles("u", dry_run=True).reply(payload)
        assert reply == RewindFilesReply(True, ("/repo/b.txt",), 1, 1)


def test_rewind_is_read() -> None:
    """A rewind says that it was done, which 2.0.75 does not even say."""
    assert RewindFiles("u").reply(exchange("2.1.332/rewind_files-2").reply.response).skipped_links == 0
    assert RewindFiles("u").reply(exchange("2.1.7/rewind_files-2").reply.response).can_rewind is True
    assert RewindFiles("u").reply(exchange("2.0.75/rewind_files").reply.response).can_rewind is None


def test_refusal_is_read() -> None:
    """A success that says no says why (2.1.7 where checkpoints are off)."""
    reply = RewindFiles("u", dry_run=True).reply({"canRewind": False, "error": "File rewinding is not enabled."})
    assert (reply.can_rewind, reply.error) == (False, "File rewinding is not enabled.")


def test_dry_run_is_kept_from_the_oldest_program() -> None:
    """2.0.75 ignores `dry_run` and rewinds, so a dry run needs a newer one; a rewind does not."""
    assert RewindFiles("u", dry_run=True).needs() == ("rewind_files(dry_run=True)", "2.1.7")
    assert RewindFiles("u").needs() == ("rewind_files", "2.0.75")
    assert RewindFiles("u").body() == {"subtype": "rewind_files", "user_message_id": "u"}


@pytest.mark.parametrize("uuid", ["", None, 5, [], {}], ids=repr)
def test_prompt_must_be_named(uuid: Any) -> None:
    """Without the uuid of a prompt nothing is sent."""
    with pytest.raises(OptionsError, match=r"turn\.uuid") as caught:
        RewindFiles(uuid)
    assert caught.value.field == "user_message_id"
