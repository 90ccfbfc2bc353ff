"""The session itself: how it is set up, what it does, when its conversation is replaced."""

from typing import Any

import attrs

from claude_control.records import frozen
from claude_control.wire.messages.message import Message
from claude_control.wire.messages.system import SystemMessage

__all__ = [
    "CommandsChangedMessage",
    "CompactBoundaryMessage",
    "ConversationResetMessage",
    "InitMessage",
    "SessionStateMessage",
    "SessionTitleMessage",
    "StatusMessage",
]


@frozen(repr=False)
class InitMessage(SystemMessage):
    """The set-up of the session, sent at the start of every turn.

    From `capabilities` on the fields are 2.1.332's. `mcp_servers` and `plugins` are dicts with a `name`; servers
    have a `status` too.
    """

    model: str = ""
    cwd: str = ""
    permission_mode: str = ""
    tools: list[str] = attrs.field(factory=list)
    mcp_servers: list[dict[str, Any]] = attrs.field(factory=list)
    slash_commands: list[str] = attrs.field(factory=list)
    agents: list[str] = attrs.field(factory=list)
    skills: list[str] = attrs.field(factory=list)
    plugins: list[dict[str, Any]] = attrs.field(factory=list)
    output_style: str = ""
    api_key_source: str = ""
    claude_code_version: str = ""
    betas: list[str] = attrs.field(factory=list)
    capabilities: list[str] = attrs.field(factory=list)
    user_message_uuids: list[str] | None = None
    """The prompts that the turn begins with."""
    terminal_slash_commands: list[str] = attrs.field(factory=list)
    plugin_errors: list[dict[str, Any]] = attrs.field(factory=list)
    original_cwd: str | None = None
    additional_directories: list[str] = attrs.field(factory=list)
    memory_paths: dict[str, Any] = attrs.field(factory=dict)
    messaging_socket_path: str | None = None
    sandbox_enabled: bool | None = None
    effort: str | None = None
    per_turn_effort_active: bool | None = None
    fast_mode_state: str | None = None
    fast_mode_disabled_reason: str | None = None
    view_mode: str | None = None
    analytics_disabled: bool | None = None
    product_feedback_disabled: bool | None = None
    served_by_anthropic: bool | None = None
    ultrathink_available: bool | None = None
    ultrathink_typed_raises: bool | None = None


@frozen(repr=False)
class StatusMessage(SystemMessage):
    """What the program is about: `status` is "requesting", "compacting" or None.

    A change of the permission mode comes as one with `permission_mode`, the end of a compaction as one with
    `compact_result`.
    """

    status: str | None = None
    permission_mode: str | None = None
    compact_result: str | None = None
    compact_error: str | None = None
    compact_output_chars: int | None = None
    user_message_uuids: list[str] | None = None


@frozen(repr=False)
class SessionStateMessage(SystemMessage):
    """The session is "running", "idle", or "requires_action": it waits for an answer of ours (2.1.332, on request)."""

    state: str = ""
    sdk_host_only: bool = False


@frozen(repr=False)
class SessionTitleMessage(SystemMessage):
    """The session was given a title."""

    title: str = ""


@frozen(repr=False)
class CompactBoundaryMessage(SystemMessage):
    """The conversation up to here was replaced by a summary.

    `compact_metadata` has the trigger ("manual" or "auto") and counts of tokens.
    """

    compact_metadata: dict[str, Any] = attrs.field(factory=dict)
    logical_parent_uuid: str | None = None


@frozen(repr=False)
class CommandsChangedMessage(SystemMessage):
    """The slash commands that there are now; it replaces the list of before."""

    commands: list[dict[str, Any]] = attrs.field(factory=list)


@frozen(repr=False)
class ConversationResetMessage(Message):
    """The conversation was discarded, as `/clear` does; running totals start from zero.

    `session_id` is the session that was left; later messages carry a new one, which is not `new_conversation_id`.
    """

    new_conversation_id: str = ""
    uuid: str = ""
    session_id: str = ""
    trigger: str | None = None
    user_message_uuid: str | None = None
    timestamp: str | None = None
