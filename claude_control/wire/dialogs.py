"""A dialog that the program wants shown (`request_user_dialog`), and the forms of its answer.

2.1.332 sends the kinds that the session declared; what is said here of its frames is from its own declarations and the
official SDK's source. 2.0.75 and 2.1.7 know nothing of it.
"""

from typing import Any

import attrs

from claude_control.records import frozen
from claude_control.wire.record import WireRecord

__all__ = ["DISMISSED", "DialogRequest", "answer_dialog"]

DISMISSED = {"behavior": "cancelled"}
"""The answer for a person who closed the dialog: the program then does what it does without one."""


@frozen(repr=False, kw_only=True)
class DialogRequest(WireRecord):
    """A dialog to show to a person; what its payload holds, and what its result is, hangs on the kind."""

    kind: str = ""
    """Which dialog it is, such as refusal_fallback_prompt; one of `supported_dialog_kinds`."""

    payload: dict[str, Any] = attrs.field(factory=dict)
    """What it shows."""

    tool_use_id: str | None = None
    """The use of a tool that it belongs to, if it belongs to one."""


def answer_dialog(result: object) -> dict[str, Any]:
    """Return the wire form of what a callback returned: a JSON value that its kind asks for, or None to dismiss it."""
    if result is None:
        return dict(DISMISSED)
    return {"behavior": "completed", "result": result}
