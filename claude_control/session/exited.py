"""What is said of a program that is gone: how, when, its last words, and what to do now."""

import copy
from collections.abc import Callable
from typing import Any

from claude_control.errors import ProcessExitedError
from claude_control.process.transport import Exit

__all__ = ["SHOWN_WORDS", "again", "exited_error"]

SHOWN_WORDS = 1000
"""Characters of what a program said last that a message shows; `stderr_tail` has more of it."""

_WHEN = {
    "initialize": "during the handshake",
    "idle": "between two turns",
    "turn": "in the middle of a turn",
    "closing": "while it was being closed",
}
_KILL = 9  # of a signal's number: what the kernel sends when memory runs out


def exited_error(
    status: Exit | None, known: dict[str, Any], *, said: str, session_id: str | None, outlived: str | None = None
) -> ProcessExitedError:
    """Return the error for a program that is gone.

    `known` has the fields that every error about a program carries, `said` its last words. `outlived` says what it
    ended without exiting ("output"), so that we had to end it; the exit status is then of our making.
    """
    phase = known["phase"]
    how = "ended, exit status unknown" if status is None else str(status)
    if outlived is not None:
        how = f"closed its {outlived} and did not exit, so it was ended"
    text = f"{_program_name(known['program_version'])} {how} {_WHEN.get(phase, phase)}"
    text += f"; it said: {said.strip()[-SHOWN_WORDS:]}" if said.strip() else "; it said nothing on stderr"
    if status is not None and status.signal == _KILL and outlived is None:
        text += ". If nobody killed it, the system may have run out of memory"
    if phase in ("idle", "turn"):
        text += ". Open a new session to go on"
        text += f"; resume={session_id!r} keeps what was saved of the conversation" if session_id else ""
    return ProcessExitedError(
        text,
        exit_code=status.code if status is not None and status.signal is None else None,
        signal=status.signal if status is not None else None,
        **known,
    )


def again(error: Exception) -> Callable[[], Exception]:
    """Return what makes the error anew: whoever raises one gets a traceback of his own."""

    def make() -> Exception:
        made = copy.copy(error)
        made.__cause__ = error.__cause__
        return made

    return make


def _program_name(version: str | None) -> str:
    """Return the program's name for a message, with its version where that is known."""
    return f"Claude Code {version}" if version else "Claude Code"
