"""Requests against what the real programs were asked and what they answered."""

import itertools
from typing import Any

import pytest

from claude_control.errors import ProtocolError
from claude_control.wire import requests
from claude_control.wire.requests import RECORDS, RawRequest
from tests.wire.requests.replies import Exchange, exchanges, unread

ANSWERED = [one for one in exchanges() if one.reply.error is None]
VERSIONS = ("2.0.75", "2.1.7", "2.1.332")
OLD = (
    *("interrupt", "set_permission_mode", "set_model", "set_max_thinking_tokens"),
    *("mcp_status", "mcp_set_servers", "rewind_files"),
)


def record_of(one: Exchange) -> requests.Request[Any]:
    """Return the record that asks what was asked."""
    fields = {name: value for name, value in one.request.items() if name != "subtype"}
    if one.request["subtype"] == "initialize":
        return requests.Initialize(fields)
    made = RawRequest(one.request["subtype"], fields).typed()
    assert made is not None
    return made


def test_all_requests_are_sampled() -> None:
    """Every request record has an answer of 2.1.332, and those that older programs know one of each."""
    found = {(one.version, one.request["subtype"]) for one in ANSWERED}
    assert found >= {("2.1.332", subtype) for subtype in RECORDS}
    assert found >= {(version, subtype) for version in VERSIONS for subtype in (*OLD, "initialize")}


@pytest.mark.parametrize("one", ANSWERED, ids=str)
def test_body_is_what_was_sent(one: Exchange) -> None:
    """The record's wire form is what the real program was sent, and answered."""
    body = record_of(one).body()
    if one.request["subtype"] == "set_model":
        one.request.setdefault("model", None)  # absent and null are one
    assert body == one.request


@pytest.mark.parametrize("one", ANSWERED, ids=str)
def test_reply_is_read(one: Exchange) -> None:
    """The real answer is read by its record and kept whole, and no part of it is left unread without saying so."""
    reply = record_of(one).reply(one.reply.response)
    assert reply.raw == one.reply.response
    assert list(unread(reply)) == []


def test_unread_parts_are_found() -> None:
    """The check for what is left unread sees missing fields and wrong annotations, in parts of parts too."""
    reply = requests.GetWorkspaceDiff().reply({"diff": {"stats": {"filesCount": "x", "novel": 1}}, "rootId": "r"})
    assert list(unread(reply)) == [
        "DiffStats.files_count did not take 'x'",
        "DiffStats has no field for novel",
        "GetWorkspaceDiffReply has no field for rootId",
    ]


@pytest.mark.parametrize("one", [one for one in exchanges() if one.reply.error is not None], ids=str)
def test_error_answers_are_told(one: Exchange) -> None:
    """A real error answer has its text, and on 2.1.332 mostly a code."""
    assert one.reply.error
    assert one.reply.code is None or one.version == "2.1.332"


def test_old_programs_answer_some_requests_twice() -> None:
    """The second answer of 2.0.75 and 2.1.7 has no payload, so the first is the one that counts (measured)."""
    twice = {one.request["subtype"] for one in exchanges() if len(one.answers) > 1}
    assert twice == {"set_permission_mode"}
    assert {one.version for one in exchanges() if len(one.answers) > 1} == {"2.0.75", "2.1.7"}


WRONG: list[Any] = [{}, {"a": 1}, "text", 5, True, 0.5]
LISTS = sorted(
    {
        (one.request["subtype"], name)
        for one in ANSWERED
        for name, value in one.reply.response.items()
        if isinstance(value, list) and one.request["subtype"] != "mcp_call"  # its content may be a text
    }
)


@pytest.mark.parametrize(("subtype", "name"), LISTS)
def test_wrong_container_is_a_protocol_error(subtype: str, name: str) -> None:
    """A payload whose list is something else is refused with the whole payload, and never half read."""
    one = next(one for one in ANSWERED if one.request["subtype"] == subtype)
    for wrong in WRONG:
        payload = {**one.reply.response, name: wrong}
        with pytest.raises(ProtocolError, match=f"{name} in the answer to {subtype} is not a list") as caught:
            record_of(one).reply(payload)
        assert caught.value.raw is payload


@pytest.mark.parametrize("one", ANSWERED, ids=str)
def test_odd_fields_are_defaults_or_errors(one: Exchange) -> None:
    """Any field of an answer may be missing or of another type: a default, or a protocol error."""
    for name, odd in itertools.product(one.reply.response, [None, [], *WRONG]):
        try:
            reply = record_of(one).reply({**one.reply.response, name: odd})
        except ProtocolError as error:
            assert error.raw is not None
        else:
            assert isinstance(reply.raw, dict)
    record_of(one).reply({})


@pytest.mark.parametrize("one", ANSWERED, ids=str)
def test_raw_request_is_the_same_on_the_wire(one: Exchange) -> None:
    """A request made by hand has the same wire form as its record, gives the payload, and needs the same program."""
    if one.request["subtype"] == "initialize":
        return
    fields = {name: value for name, value in one.request.items() if name != "subtype"}
    raw = RawRequest(one.request["subtype"], fields)
    assert raw.body() == one.request
    assert raw.reply(one.reply.response) == one.reply.response
    assert raw.needs() == record_of(one).needs()
