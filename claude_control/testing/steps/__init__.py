"""The steps of a script for `ScriptedCLI`: what the stand-in says, expects, asks for and suffers.

Frames may hold names of what only the run knows: `"$session_id"`, `"$prompt_uuid"` and `"$prompt_text"` (of the turn
that runs), `"$request_id"` (of the frame expected last), `"$uuid"` (a new one each time) and `"$pid"`. In a pattern
`"$any"` fits everything that is there.
"""

from claude_control.testing.steps.asking import ask, ask_permission, call_hook, cancel, wait_answers
from claude_control.testing.steps.reading import (
    answer,
    answer_error,
    close_stdin,
    default,
    expect,
    expect_prompt,
    expect_request,
    resume_reading,
    stop_reading,
    wait_eof,
)
from claude_control.testing.steps.records import Reaction, Step, TurnScript, on, on_request, turn, unanswered
from claude_control.testing.steps.trouble import (
    crash,
    delay,
    die,
    hang,
    ignore_signals,
    leave_child,
    note,
    wait_gate,
)
from claude_control.testing.steps.turns import background_turn, reply, result, use_tool, wait_idle
from claude_control.testing.steps.writing import burst, close_stdout, flood_stderr, raw, say, split, stderr

__all__ = [
    "Reaction",
    "Step",
    "TurnScript",
    "answer",
    "answer_error",
    "ask",
    "ask_permission",
    "background_turn",
    "burst",
    "call_hook",
    "cancel",
    "close_stdin",
    "close_stdout",
    "crash",
    "default",
    "delay",
    "die",
    "expect",
    "expect_prompt",
    "expect_request",
    "flood_stderr",
    "hang",
    "ignore_signals",
    "leave_child",
    "note",
    "on",
    "on_request",
    "raw",
    "reply",
    "result",
    "resume_reading",
    "say",
    "split",
    "stderr",
    "stop_reading",
    "turn",
    "unanswered",
    "use_tool",
    "wait_answers",
    "wait_eof",
    "wait_gate",
    "wait_idle",
]
