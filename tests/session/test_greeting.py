"""The answer to the handshake is kept small and exactly."""

from claude_control.session.greeting import Greeting
from claude_control.wire.requests import Initialize

ANSWER = {
    "commands": [{"name": "compact", "description": "a cut emoji: \ud83d", "argumentHint": ""}],
    "capabilities": ["one", "two"],
    "account": {"tokenSource": "none"},
    "unknown": [1 << 70, 1.5, True, None, {"deep": [{}]}],
}


def test_greeting_is_what_the_program_said() -> None:
    """What is read of it later is the whole answer, odd texts and numbers too, and the same object each time."""
    reply = Initialize().reply(ANSWER)
    greeting = Greeting(reply)
    assert greeting.capabilities == ("one", "two")
    assert greeting.read() == reply
    assert greeting.read().raw == ANSWER
    assert greeting.read() is greeting.read()
