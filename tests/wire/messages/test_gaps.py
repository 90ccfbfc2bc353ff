"""What the SDK itself says in a stream."""

import pickle

import pytest

from claude_control.wire.messages import BadLine, Message, MessagesDropped, OversizedLine


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        (MessagesDropped(3), "MessagesDropped(count=3)"),
        (OversizedLine(70, '{"type"'), "OversizedLine(size=70, head='{\"type\"')"),
        (BadLine("oops", "not a JSON object"), "BadLine(line='oops', reason='not a JSON object')"),
    ],
)
def test_gap_is_a_message(message: Message, shown: str) -> None:
    """A gap in a stream is a message like any other, and says what is missing."""
    assert isinstance(message, Message)
    assert repr(message) == shown
    assert pickle.loads(pickle.dumps(message)) == message
