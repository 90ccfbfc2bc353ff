"""The base of all messages."""

from typing import Any

import pytest

from claude_control.wire.messages import Message, UnknownMessage, decode
from claude_control.wire.messages.message import read_origin


def test_every_message_has_the_common_fields() -> None:
    """A message of an unknown type still has its uuid and session."""
    message = decode({"type": "novel", "uuid": "u", "session_id": "s"})
    assert isinstance(message, Message)
    assert (message.uuid, message.session_id) == ("u", "s")


def test_unknown_message_shows_its_object() -> None:
    """The `repr` of a message that is not known here shows all of it."""
    assert repr(UnknownMessage("x", {"type": "x"})) == "UnknownMessage(type='x', raw={'type': 'x'})"


@pytest.mark.parametrize("value", [None, "human", [], {}, {"kind": 5}, {"kind": None}])
def test_origin_without_a_kind_is_none(value: Any) -> None:
    """What does not say of which kind it is counts as no origin."""
    assert read_origin(value) is None


def test_origin_is_passed_through() -> None:
    """An origin keeps the keys that are not known here."""
    origin = {"kind": "task-notification", "runId": "r"}
    assert read_origin(origin) is origin
