"""Messages about the session itself."""

from claude_control.wire.messages import ConversationResetMessage, InitMessage, StatusMessage, decode


def test_init_has_our_names() -> None:
    """The set-up of a session is spelled as the rest here."""
    message = decode({"type": "system", "subtype": "init", "apiKeySource": "none", "permissionMode": "plan"})
    assert isinstance(message, InitMessage)
    assert (message.api_key_source, message.permission_mode) == ("none", "plan")


def test_init_of_an_old_program_has_no_capabilities() -> None:
    """What an old program does not send is empty, not missing."""
    message = InitMessage("init", {}, claude_code_version="2.0.75")
    assert (message.capabilities, message.user_message_uuids) == ([], None)


def test_status_may_be_none() -> None:
    """A status that only tells a change of the permission mode has no status of its own."""
    message = decode({"type": "system", "subtype": "status", "status": None, "permissionMode": "acceptEdits"})
    assert isinstance(message, StatusMessage)
    assert (message.status, message.permission_mode) == (None, "acceptEdits")


def test_reset_keeps_the_official_positions() -> None:
    """A reset is constructed by position as the official SDK's is."""
    assert ConversationResetMessage("n", "u", "s") == ConversationResetMessage(
        new_conversation_id="n", uuid="u", session_id="s"
    )
