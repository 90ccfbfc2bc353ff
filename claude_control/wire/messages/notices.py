"""Texts for people: banners, notifications, suggestions."""

from typing import Any

import attrs

from claude_control.records import frozen
from claude_control.wire.messages.message import Message
from claude_control.wire.messages.system import SystemMessage

__all__ = [
    "ActiveGoalMessage",
    "InformationalMessage",
    "LocalCommandOutputMessage",
    "MemoryRecallMessage",
    "NotificationMessage",
    "PluginInstallMessage",
    "PromptSuggestionMessage",
    "ThinkingTokensMessage",
]


@frozen(repr=False)
class InformationalMessage(SystemMessage):
    """A line to show (2.1.332).

    `level` is "info", "notice", "suggestion" or "warning"; `tag` names what it is about.
    """

    content: str = ""
    level: str = ""
    tag: str | None = None
    tool_use_id: str | None = None
    prevent_continuation: bool = False
    """Whether the turn stops here."""
    prompt_submit_outcome: dict[str, Any] | None = None
    is_meta: bool | None = None
    timestamp: str | None = None


@frozen(repr=False)
class NotificationMessage(SystemMessage):
    """A notification to show for `timeout_ms`; a later one with the same `key` replaces it (2.1.332)."""

    key: str = ""
    text: str = ""
    priority: str = ""
    color: str | None = None
    timeout_ms: float | None = None


@frozen(repr=False)
class LocalCommandOutputMessage(SystemMessage):
    """What a slash command of the program printed."""

    content: str = ""


@frozen(repr=False)
class PromptSuggestionMessage(Message):
    """A prompt that the user may want to send next."""

    suggestion: str = ""


@frozen(repr=False)
class ThinkingTokensMessage(SystemMessage):
    """An estimate of how many tokens the model has thought so far, and since the estimate before."""

    estimated_tokens: int = 0
    estimated_tokens_delta: int = 0
    user_message_uuid: str | None = None


@frozen(repr=False)
class MemoryRecallMessage(SystemMessage):
    """Memories, each with a path and a scope, that were given to the model; `mode` is "select" or "synthesize"."""

    mode: str = ""
    memories: list[dict[str, Any]] = attrs.field(factory=list)


@frozen(repr=False)
class PluginInstallMessage(SystemMessage):
    """Plugins are being installed; `status` is "started", "installed", "failed" or "completed"."""

    status: str = ""
    name: str | None = None
    error: str | None = None


@frozen(repr=False)
class ActiveGoalMessage(Message):
    """The goal that the session works at, with its condition and iterations; None when it is cleared."""

    value: dict[str, Any] | None = None
