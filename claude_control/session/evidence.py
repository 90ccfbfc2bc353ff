"""What is seen of a turn before its result, as far as it tells how the turn ends. Pure."""

from collections.abc import Sequence
from itertools import repeat
from operator import itemgetter
from typing import Any

import attrs

from claude_control.wire.reset_time import is_time, read_reset_time

__all__ = ["NOTED", "NO_EVIDENCE", "Evidence", "is_command"]

_MESSAGE, _REASON = itemgetter("message"), itemgetter("stop_reason")
_ERRORS = frozenset(("error", "api_error_params"))

NOTED = ("assistant", "user", "system", "rate_limit_event")
"""The types of frames to note."""


@attrs.define
class Evidence:
    """The signals of one turn: those of our side, and those that its frames give.

    The frames of subagents are left out: how they end is the turn's own business.
    """

    stopped: bool = False
    """Somebody on our side asked for the end: an interrupt, or a denial that interrupts."""
    is_command: bool = False
    """The prompt is a slash command."""
    hooks: set[str] = attrs.field(factory=set)
    """The events at which a hook of ours wanted the end: "UserPromptSubmit", "Stop"."""
    spoken: bool = False
    """A message has come, of the model's or the user's side."""
    ends_with_tool: bool = False
    """The newest message is the result of a tool."""
    refused: bool = False
    error: str | None = None
    """The `error` of the newest message that has one: "rate_limit", "authentication_failed", "unknown", …"""
    refusal_category: str | None = None
    refusal_explanation: str | None = None
    limit: str | None = None
    """Which limit was hit, such as "five_hour" (2.1.332)."""
    resets_at: float | None = None
    """When it is lifted, in Unix seconds, as 2.1.332 says it to the second."""

    def note(self, frame: dict[str, Any]) -> None:
        """Take over what a frame of one of the `NOTED` types says."""
        kind = frame.get("type")
        if kind == "assistant":
            self.note_messages([frame])
        elif frame.get("parent_tool_use_id") is not None:
            return
        elif kind == "user":
            self.spoken, self.ends_with_tool = True, self.ends_with_tool or _is_tool_result(frame)
        elif kind == "rate_limit_event":
            self._note_limit(frame.get("rate_limit_info"))
        elif str(frame.get("subtype")).startswith("model_refusal"):
            self._note_refusal(frame.get("api_refusal_category"), frame.get("api_refusal_explanation"))

    def note_messages(self, frames: Sequence[dict[str, Any]]) -> None:
        """Take over what frames of the type "assistant" say; hardly any says more than that the model has spoken."""
        for frame in frames:
            if frame.get("parent_tool_use_id") is None:
                self.spoken, self.ends_with_tool = True, False
                break
        if not _says_more(frames):
            return
        for frame in frames:
            if "error" in frame or "api_error_params" in frame:
                self._note_error(frame)
            message: Any = frame.get("message")
            if message.__class__ is dict and (message.get("stop_details") or message.get("stop_reason") == "refusal"):
                self._note_end(frame, message)

    def _note_error(self, frame: dict[str, Any]) -> None:
        if frame.get("parent_tool_use_id") is not None:
            return
        error, params = frame.get("error"), frame.get("api_error_params")
        self.error = error if isinstance(error, str) else self.error
        if isinstance(params, dict):
            self._note_limit(params.get("rate_limit_info"))

    def _note_end(self, frame: dict[str, Any], message: dict[str, Any]) -> None:
        if frame.get("parent_tool_use_id") is not None:
            return
        self.refused = self.refused or message.get("stop_reason") == "refusal"
        details = message.get("stop_details")
        if isinstance(details, dict) and details.get("type") == "refusal":
            self._note_refusal(details.get("category"), details.get("explanation"))

    def _note_limit(self, info: object) -> None:
        if not isinstance(info, dict) or info.get("status") != "rejected":
            return
        limit, resets_at = info.get("rateLimitType"), info.get("resetsAt")
        self.limit = limit if isinstance(limit, str) else self.limit
        if is_time(resets_at):  # milliseconds by mistake are none
            self.resets_at = resets_at

    def _note_refusal(self, category: object, explanation: object) -> None:
        self.refusal_category = category if isinstance(category, str) else self.refusal_category
        self.refusal_explanation = explanation if isinstance(explanation, str) else self.refusal_explanation

    def reset_time(self, result: dict[str, Any], now: float) -> float | None:
        """Return when the limit that ended the turn is lifted, in Unix seconds, or None if that is not known.

        `now` is the time at which the result came: older programs only write a time of day.
        """
        if self.resets_at is not None:
            return self.resets_at
        text = result.get("result")
        return read_reset_time(text, now) if isinstance(text, str) else None


NO_EVIDENCE = Evidence(spoken=True)
"""For a result that is read by itself: nothing is noted in it, and nothing follows from what it lacks."""


def is_command(content: str | list[dict[str, Any]]) -> bool:
    """Tell whether a prompt is a slash command, which the program may run without the model."""
    text = content if isinstance(content, str) else content[-1].get("text")
    return isinstance(text, str) and text.lstrip().startswith("/")


def _says_more(frames: Sequence[dict[str, Any]]) -> bool:
    """Tell whether any of the frames may say more than that the model has spoken; with nothing in Python for each."""
    try:
        messages = list(map(_MESSAGE, frames))
        if not _ERRORS.isdisjoint(set().union(*frames)):
            return True
        return any(map(dict.get, messages, repeat("stop_details"))) or "refusal" in map(_REASON, messages)
    except (KeyError, TypeError):  # no message, or an odd one
        return True


def _is_tool_result(frame: dict[str, Any]) -> bool:
    message = frame.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    return isinstance(content, list) and any(
        isinstance(block, dict) and block.get("type") == "tool_result" for block in content
    )
