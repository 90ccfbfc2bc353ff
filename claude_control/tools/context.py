"""ToolContext: what a tool may be told beside its arguments."""

from collections.abc import Callable
from typing import Any

import attrs

from claude_control.abort import AbortSignal
from claude_control.records import frozen

__all__ = ["ToolContext"]

Progress = Callable[[float, float | None, str | None], None]


def _nobody(_done: float, _total: float | None, _message: str | None) -> None:
    """Report to nobody."""


@frozen(eq=False)
class ToolContext:
    """What a tool gets for a parameter that is annotated with this class, whatever its name.

    `signal` fires when the answer is no longer wanted: "cancelled" (the program withdrew the call, which an interrupt
    makes it do), "timeout", "closed" or "exited". `tool_use_id` names the use in the conversation's messages, None
    where the caller is no Claude Code; `meta` has all that came along with the call; `session` is the Session, or None
    outside of one.
    """

    tool_name: str
    signal: AbortSignal = attrs.field(factory=AbortSignal)
    tool_use_id: str | None = None
    meta: dict[str, Any] = attrs.field(factory=dict, repr=False)
    session: Any = attrs.field(default=None, repr=False)
    _progress: Progress = attrs.field(default=_nobody, repr=False)

    def progress(self, done: float, total: float | None = None, message: str | None = None) -> None:
        """Say how far the call has come, in any unit; `done` must grow from one report to the next.

        Nothing is sent when the caller did not ask for it, or has its answer. 2.1.332 asks and shows nothing.
        """
        self._progress(done, total, message)
