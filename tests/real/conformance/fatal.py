"""What must not be written to an old program, and whether the program lives on."""

import json
from collections.abc import Callable, Mapping
from typing import Any

from claude_control import Session
from claude_control.errors import ProcessExitedError
from claude_control.wire.requests import MCPStatus
from tests.real.conformance.lab import PATIENCE, past_the_gate
from tests.waiting import wait_until

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
    """Return what becomes of the program after each; one that lives on is given the next, too."""
    found: dict[str, str] = {}
    session: Session | None = None
    for label, frame in FRAMES.items():
        session = session or past_the_gate(open_session(control_timeout=PATIENCE))
        found[label] = LIVES if _survives(session, frame) else ENDS
        session = session if found[label] == LIVES else None
    return found


def _survives(session: Session, frame: Mapping[str, Any] | str) -> bool:
    """Write a frame past all checks; tell whether the program lives on, also after the next prompt."""
    text = frame if isinstance(frame, str) else json.dumps(frame)
    session._live().writer.put(text.encode() + b"\n")
    try:
        failed = session.ask("hello").result(PATIENCE * 2, check=False).is_error
        session.request(MCPStatus())
        if failed:
            # A turn that fails is no proof, nor is an answer after it: 2.0.75 and 2.1.7 begin to shut down when a
            # prompt fails, for up to 2 s, and answer what they read meanwhile.
            wait_until(lambda: session.state == "failed", PATIENCE)
    except ProcessExitedError:
        return False
    return not failed
