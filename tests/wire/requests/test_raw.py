"""Requests of a kind that has no record."""

from typing import Any

import pytest

from claude_control.errors import OptionsError
from claude_control.wire.conformance import SUBTYPES
from claude_control.wire.requests import RawRequest, RewindFiles, SetModel
from claude_control.wire.support import CURRENT, OLDEST

OLD = {subtype for subtype, needs in SUBTYPES.items() if needs == OLDEST}


def test_fields_are_sent_as_they_are() -> None:
    """The body is the fields and the subtype, which the fields cannot replace; the reply is the payload."""
    request = RawRequest("get_memory_dialog", {"question": "what?", "subtype": "interrupt"})
    assert request.body() == {"subtype": "get_memory_dialog", "question": "what?"}
    assert request.reply({"response": "that"}) == {"response": "that"}
    assert request.typed() is None


@pytest.mark.parametrize("subtype", ["get_context_usage", "end_session", "of_tomorrow", "elicitation"])
def test_unknown_subtype_needs_the_current_program(subtype: str) -> None:
    """A subtype that the old programs would meet with silence is kept from them."""
    assert RawRequest(subtype).needs() == (subtype, CURRENT)


def test_known_subtype_needs_what_its_record_says() -> None:
    """By hand nothing passes that would not pass as a record."""
    assert RawRequest("rewind_files", {"user_message_id": "u", "dry_run": True}).needs()[1] == "2.1.7"
    assert RawRequest("set_permission_mode", {"mode": "auto"}).needs()[1] == CURRENT
    assert RawRequest("interrupt", {"cancel_queued": True}).needs()[1] == CURRENT
    assert RawRequest("mcp_set_servers", {"servers": {}}).needs() == ("mcp_set_servers", OLDEST)


def test_typed_is_the_record() -> None:
    """A subtype that has a record gives it."""
    assert RawRequest("set_model", {"model": "x"}).typed() == SetModel("x")
    assert RawRequest("rewind_files", {"user_message_id": "u"}).typed() == RewindFiles("u")


@pytest.mark.parametrize(
    ("subtype", "fields"),
    [
        ("set_model", {"model": 5}),
        ("set_model", {"model": ""}),
        ("set_permission_mode", {"mode": "bogus"}),
        ("set_permission_mode", {}),
        ("rewind_files", {}),
        ("rewind_files", {"user_message_id": "u", "dryRun": True}),
        ("interrupt", {"novel": 1}),
        ("mcp_toggle", {"server_name": "lab", "enabled": True}),
    ],
    ids=repr,
)
def test_wrong_fields_are_refused(subtype: str, fields: dict[str, Any]) -> None:
    """Wrong, missing and unknown fields of a subtype that has a record are refused before anything is sent."""
    with pytest.raises(OptionsError):
        RawRequest(subtype, fields).needs()


@pytest.mark.parametrize("subtype", ["", "initialize", "mcp_message", None, 5, []], ids=repr)
def test_subtype_that_cannot_be_sent_is_refused(subtype: Any) -> None:
    """The handshake and messages of tool servers are sent by the session alone; a subtype is a text."""
    with pytest.raises(OptionsError) as caught:
        RawRequest(subtype)
    assert caught.value.field == "subtype"


@pytest.mark.parametrize("fields", [None, [], "text", 5, {1: 2}, {None: 1}], ids=repr)
def test_fields_that_are_no_object_are_refused(fields: Any) -> None:
    """Fields are a dict with texts as keys."""
    with pytest.raises(OptionsError) as caught:
        RawRequest("get_status", fields)
    assert caught.value.field == "fields"


@pytest.mark.parametrize(
    "fields", [{}, {"servers": None}, {"servers": []}, {"servers": {"a": None}}, {"servers": "x"}], ids=repr
)
def test_malformed_servers_are_refused(fields: dict[str, Any]) -> None:
    """Servers that are no objects end 2.0.75 and 2.1.7, and are never sent."""
    with pytest.raises(OptionsError) as caught:
        RawRequest("mcp_set_servers", fields).needs()
    assert caught.value.field in ("servers", "fields")


def test_every_old_subtype_can_be_gated() -> None:
    """Each subtype of the old programs is either reserved or says what it needs."""
    needs: dict[str, dict[str, Any]] = {
        "set_permission_mode": {"mode": "plan"},
        "rewind_files": {"user_message_id": "u"},
        "mcp_set_servers": {"servers": {}},
        "set_max_thinking_tokens": {"max_thinking_tokens": None},
    }
    for subtype in sorted(OLD - {"initialize", "mcp_message"}):
        assert RawRequest(subtype, needs.get(subtype, {})).needs() == (subtype, OLDEST)
