"""The forms of what an MCP server asks, and of its answers."""

from typing import Any

import pytest

from claude_control import Accept, Decline, ElicitationRequest, OptionsError
from claude_control.wire.elicitation import answer_elicitation
from claude_control.wire.inbound import Elicitation, read_request
from claude_control.wire.reading import reader

FORM = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}


def asked(**body: Any) -> ElicitationRequest:
    """Return the request that a frame carries."""
    frame = {"type": "control_request", "request_id": "u1", "request": {"subtype": "elicitation", **body}}
    request = read_request(frame)
    assert isinstance(request, Elicitation)
    assert request.request_id == "u1"
    return request.request


def test_form_is_read() -> None:
    """A form's fields are read as 2.1.332 sends them, and what no field stands for stays in `raw`."""
    request = asked(
        mcp_server_name="st", message="Name?", mode="form", requested_schema=FORM, property_order=["name"], new=1
    )
    form: dict[str, Any] = {
        "server_name": "st",
        "message": "Name?",
        "requested_schema": FORM,
        "property_order": ["name"],
    }
    assert request == ElicitationRequest(**form)
    assert request.mode == "form"
    assert request.raw["new"] == 1


def test_url_is_read() -> None:
    """A page's fields are read, and it has no form."""
    request = asked(mcp_server_name="st", message="Log in", mode="url", url="http://x/", elicitation_id="e1")
    assert (request.mode, request.url, request.elicitation_id) == ("url", "http://x/", "e1")
    assert (request.requested_schema, request.property_order) == ({}, [])


@pytest.mark.parametrize("body", [{}, {"message": 5, "mode": None, "requested_schema": [], "property_order": "name"}])
def test_odd_request_is_read(body: dict[str, Any]) -> None:
    """Whatever is missing or of another kind is as if it was not said, so that the request still gets its answer."""
    assert asked(**body) == ElicitationRequest()


def test_answers() -> None:
    """Accept, Decline and None have the forms of accept, decline and cancel."""
    form = ElicitationRequest(requested_schema=FORM)
    assert answer_elicitation(Accept({"name": "A"}), form) == {"action": "accept", "content": {"name": "A"}}
    assert answer_elicitation(Decline(), form) == {"action": "decline"}
    assert answer_elicitation(None, form) == {"action": "cancel"}
    assert answer_elicitation(Accept(), ElicitationRequest()) == {"action": "accept", "content": {}}


def test_page_takes_no_content() -> None:
    """Accepting a page carries no content, and content is refused."""
    page = ElicitationRequest(mode="url", url="http://x/")
    assert answer_elicitation(Accept(), page) == {"action": "accept"}
    with pytest.raises(OptionsError) as caught:
        answer_elicitation(Accept({"name": "A"}), page)
    assert caught.value.field == "content"


@pytest.mark.parametrize("answer", [True, False, "accept", {"action": "accept"}, {"name": "A"}, Accept, Decline])
def test_other_answers_are_refused(answer: object) -> None:
    """Nothing else is taken for an answer, least of all the content alone."""
    with pytest.raises(OptionsError, match=r"Accept\(content\), Decline\(\) or None"):
        answer_elicitation(answer, ElicitationRequest(requested_schema=FORM))


def test_secrets_are_not_shown() -> None:
    """What was filled in under a telling name is kept out of an answer's repr."""
    assert "hunter2" not in repr(Accept({"password": "hunter2"}))


def test_reader_makes_the_record() -> None:
    """The record is read from the wire by the table of names."""
    assert reader(ElicitationRequest)({"mcp_server_name": "st"}).server_name == "st"
