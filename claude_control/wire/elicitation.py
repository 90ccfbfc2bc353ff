"""What an MCP server asks a person (`elicitation`), and the forms of an answer.

Only 2.1.332 passes it on: 2.0.75 and 2.1.7 do not offer it to their servers.
"""

from collections.abc import Mapping
from typing import Any

import attrs

from claude_control import log
from claude_control.errors import OptionsError
from claude_control.records import frozen
from claude_control.wire.forms import check_content
from claude_control.wire.record import WireRecord

__all__ = ["CANCELLED", "Accept", "Decline", "ElicitationRequest", "answer_elicitation"]

CANCELLED = {"action": "cancel"}
"""The answer of nobody: the server hears that the question was dismissed, not that a person said no."""


@frozen(repr=False, kw_only=True)
class ElicitationRequest(WireRecord):
    """What an MCP server wants to know of a person, or wants a person to do.

    The texts are the server's: show them as what a stranger wrote.
    """

    server_name: str = ""
    """The MCP server that asks, by its name in the session."""

    message: str = ""
    """What it says to the person."""

    mode: str = "form"
    """"form": fields to fill in; "url": a page to open, where the answer is given out of the model's sight."""

    requested_schema: dict[str, Any] = attrs.field(factory=dict)
    """The form: a JSON schema of an object whose properties are texts, numbers, booleans and choices."""

    property_order: list[str] = attrs.field(factory=list)
    """The names of the form's fields in the server's order; those that look like numbers come first."""

    url: str | None = None
    """With the mode url: the page."""

    elicitation_id: str | None = None
    """With the mode url: what an `ElicitationCompleteMessage` names it by once the server is done with it."""

    title: str | None = None
    """A heading, if the server gave one."""

    display_name: str | None = None
    """What the server calls itself for people, if it says so."""

    description: str | None = None
    """A line below the heading, if the server gave one."""


@frozen
class Accept:
    """Answer with what was filled in, or consent to open the page; `content` is the fields' values by their names.

    It must fit the form: every required field, and each value of the type, and of the choices, that are asked for.
    """

    content: Mapping[str, Any] | None = attrs.field(default=None, repr=log.redact)


@frozen
class Decline:
    """Say no in a person's name. For a question that nobody saw, return None: it is cancelled."""


def answer_elicitation(answer: object, request: ElicitationRequest) -> dict[str, Any]:
    """Return the wire form of what a callback returned: `Accept`, `Decline`, or None to cancel.

    Raises `OptionsError` for anything else, and for content that does not fit the form; its `field` is the form's.
    """
    if answer is None:
        return dict(CANCELLED)
    if isinstance(answer, Decline):
        return {"action": "decline"}
    if not isinstance(answer, Accept):
        text = f"an elicitation is answered with Accept(content), Decline() or None, not {type(answer).__name__}"
        raise OptionsError(text)
    if request.mode == "url":
        if answer.content:
            text = "content must be left out: a page that is to be opened gets its answer there"
            raise OptionsError(text, field="content")
        return {"action": "accept"}
    content = {} if answer.content is None else answer.content
    return {"action": "accept", "content": check_content(content, request.requested_schema)}
