"""What every request record has in common."""

import types
from typing import ClassVar

import attrs
import pytest

from claude_control.wire import requests
from claude_control.wire.requests.base import SHORT, EmptyReply, Request, newest
from claude_control.wire.support import CURRENT, OLDEST


def test_unmeasured_request_needs_the_current_program() -> None:
    """A request of a subtype that was never measured is kept from the programs that would not answer it."""

    @attrs.frozen
    class Plain(Request[EmptyReply]):
        subtype: ClassVar[str] = "plain"

    assert Plain().needs() == ("plain", CURRENT)
    assert Plain().reply({"a": 1}).raw == {"a": 1}


def test_newest_part_is_named() -> None:
    """What a request needs is that of its newest part; what is None or False is no part of it."""
    assert newest({"subtype": "rewind_files", "user_message_id": "u"}) == ("rewind_files", "2.0.75")
    assert newest({"subtype": "rewind_files", "dry_run": True}) == ("rewind_files(dry_run=True)", "2.1.7")
    assert newest({"subtype": "rewind_files", "dry_run": False}) == ("rewind_files", "2.0.75")
    assert newest({"subtype": "interrupt", "cancel_queued": [1]}) == ("interrupt(cancel_queued=…)", CURRENT)
    assert newest({"subtype": "set_max_thinking_tokens", "thinking_display": None})[1] == OLDEST
    long = {"subtype": "set_max_thinking_tokens", "thinking_display": "x" * (SHORT + 1)}
    assert newest(long)[0] == "set_max_thinking_tokens(thinking_display=…)"
    assert newest({"subtype": "get_status"}) == ("get_status", CURRENT)


def test_records_are_frozen_values() -> None:
    """Requests are equal by their fields, hashable and unchangeable."""
    assert requests.SetModel("a") == requests.SetModel("a") != requests.SetModel("b")
    assert len({requests.Interrupt(), requests.Interrupt()}) == 1
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        requests.SetModel("a").model = "b"  # type: ignore[misc]


def test_defaults_are_not_sent() -> None:
    """A field is sent under its wire name unless it has its default; mappings are sent as dicts."""
    assert requests.MCPToggle("lab", False).body() == {"subtype": "mcp_toggle", "serverName": "lab", "enabled": False}
    assert requests.ReadFile("a", encoding="base64").body() == {
        "subtype": "read_file",
        "path": "a",
        "encoding": "base64",
    }
    settings = types.MappingProxyType({"model": None})
    assert type(requests.ApplyFlagSettings(settings).body()["settings"]) is dict


def test_subclass_reads_the_same_reply() -> None:
    """A request derived from another is answered by the same record."""

    @attrs.frozen
    class Ask(requests.GetPlan):
        pass

    assert isinstance(Ask().reply({"exists": True}), requests.GetPlanReply)
