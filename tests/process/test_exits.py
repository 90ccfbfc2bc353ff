"""How a process ended is said in full."""

import signal

import pytest

from claude_control.process.exits import Exit


@pytest.mark.parametrize(
    ("code", "number", "text"),
    [
        (0, None, "exited with code 0"),
        (1, None, "exited with code 1"),
        (-9, signal.SIGKILL, "was killed by SIGKILL"),
        (-40, 40, "was killed by signal 40"),
        (None, None, "ended, exit status unknown"),
    ],
)
def test_exit_says_how(code: int | None, number: int | None, text: str) -> None:
    """An exit names its code or signal, and says so when neither is known."""
    assert Exit(code).signal == number
    assert str(Exit(code)) == text
