"""The base of the program's messages about itself."""

from claude_control.wire.messages import SessionStateMessage, SystemMessage, decode


def test_known_subtype_is_still_a_system_message() -> None:
    """Code that looks for SystemMessage and its subtype and data finds every subtype."""
    raw = {"type": "system", "subtype": "session_state_changed", "state": "idle"}
    message = decode(raw)
    assert isinstance(message, SystemMessage)
    assert (message.subtype, message.data) == ("session_state_changed", raw)


def test_repr_shows_data_of_the_plain_class_only() -> None:
    """A typed message shows its fields, an untyped one its data."""
    raw = {"type": "system", "subtype": "novel", "x": 1}
    assert repr(decode(raw)) == f"SystemMessage(subtype='novel', data={raw!r})"
    typed = SessionStateMessage("session_state_changed", {"a": 1}, "idle")
    assert repr(typed) == "SessionStateMessage(subtype='session_state_changed', state='idle')"
