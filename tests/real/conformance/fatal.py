"""What must not be written to an old program: each in a session of its own, and whether the program lives on."""

import json
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from claude_control import Session
from claude_control.errors import ProcessExitedError
from claude_control.wire.requests import MCPStatus
from tests.real.conformance.lab import PATIENCE, past_the_gate

LIVES = "lives"
ENDS = "ends"

NO_ID = "00000000"
FRAMES: Mapping[str, Mapping[str, Any] | str] = {
    "a blank line": "",
    "a byte-order mark": "\ufeff" + json.dumps({"type": "keep_alive"}),
    "control_cancel_request": {"type": "control_cancel_request", "request_id": NO_ID},
    "update_environment_variables": {"type": "update_environment_variables", "variables": {}},
    "mcp_set_servers without servers": {
        "type": "control_request",
        "request_id": NO_ID,
        "request": {"subtype": "mcp_set_servers"},
    },
    "set_model with a number": {
        "type": "control_request",
        "request_id": NO_ID,
        "request": {"subtype": "set_model", "model": 5},
    },
}
"""What is written, by what the table calls it."""


def verdicts(open_session: Callable[..., Session]) -> dict[str, str]:
    """Return what becomes of the program after each, all at the same time."""
    with ThreadPoolExecutor(len(FRAMES)) as executor:
        done = {label: executor.submit(_survives, open_session, label) for label in FRAMES}
    return {label: future.result() for label, future in done.items()}


def _survives(open_session: Callable[..., Session], label: str) -> str:
    """Write a frame past all checks; return what becomes of the program, also at the next prompt."""
    session = past_the_gate(open_session(control_timeout=PATIENCE))
    frame = FRAMES[label]
    text = frame if isinstance(frame, str) else json.dumps(frame)
    session._live().writer.put(text.encode() + b"\n")
    try:
        session.ask("hello").result(PATIENCE * 2, check=False)
        session.request(MCPStatus())
    except ProcessExitedError:
        return ENDS
    return LIVES
