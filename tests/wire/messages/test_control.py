"""News about what we sent."""

from claude_control.wire.messages import (
    AuthStatusMessage,
    CommandLifecycleMessage,
    ControlRequestProgressMessage,
    KeepAliveMessage,
    decode,
)


def test_lifecycle_names_the_prompt() -> None:
    """The life of a prompt is told by its own uuid, beside that of the message."""
    message = decode({"type": "command_lifecycle", "command_uuid": "p", "state": "queued", "uuid": "u"})
    assert isinstance(message, CommandLifecycleMessage)
    assert (message.command_uuid, message.state, message.uuid) == ("p", "queued", "u")


def test_progress_names_the_request() -> None:
    """The progress of a control request is told by the request's id."""
    raw = {"type": "system", "subtype": "control_request_progress", "request_id": "r", "status": "started"}
    message = decode(raw)
    assert isinstance(message, ControlRequestProgressMessage)
    assert (message.request_id, message.status, message.attempt) == ("r", "started", None)


def test_keep_alive_needs_nothing() -> None:
    """A sign of life may have no content at all."""
    message = decode({"type": "keep_alive"})
    assert isinstance(message, KeepAliveMessage)
    assert (message.startup_mark, message.uuid) == (None, None)


def test_auth_status_has_our_names() -> None:
    """Signing in is told in our spelling."""
    message = decode({"type": "auth_status", "isAuthenticating": True, "output": ["go"]})
    assert isinstance(message, AuthStatusMessage)
    assert (message.is_authenticating, message.output, message.error) == (True, ["go"], None)
