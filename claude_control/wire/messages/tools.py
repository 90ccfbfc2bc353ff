"""Tools and the hooks around them."""

from typing import Any

import attrs

from claude_control.records import frozen
from claude_control.wire.messages.message import Message
from claude_control.wire.messages.system import SystemMessage

__all__ = [
    "ElicitationCompleteMessage",
    "HookEventMessage",
    "PermissionDeniedMessage",
    "ToolProgressMessage",
    "ToolUseSummaryMessage",
]


@frozen(repr=False)
class ToolProgressMessage(Message):
    """A tool still runs; a heartbeat comes every 30 s (2.1.332)."""

    tool_use_id: str = ""
    tool_name: str = ""
    parent_tool_use_id: str | None = None
    elapsed_time_seconds: float = 0
    heartbeat: bool = False
    task_id: str | None = None
    subagent_type: str | None = None
    subagent_retry: dict[str, Any] | None = None


@frozen(repr=False)
class ToolUseSummaryMessage(Message):
    """What the tool calls before it did, in a sentence."""

    summary: str = ""
    preceding_tool_use_ids: list[str] = attrs.field(factory=list)


@frozen(repr=False)
class PermissionDeniedMessage(SystemMessage):
    """A tool call was denied without anyone being asked; `message` is what the model was told (2.1.332)."""

    tool_name: str = ""
    tool_use_id: str = ""
    message: str = ""
    agent_id: str | None = None
    decision_reason_type: str | None = None
    decision_reason: str | None = None
    decision_reason_code: str | None = None


@frozen(repr=False)
class HookEventMessage(SystemMessage):
    """A command hook of the settings ran; sent with `include_hook_events` only (2.1.332).

    `subtype` is "hook_started", "hook_progress" or "hook_response"; the output fields belong to the last two,
    `exit_code` and `outcome` to the last.
    """

    hook_event_name: str = ""
    session_id: str | None = None
    uuid: str | None = None
    hook_id: str | None = None
    hook_name: str | None = None
    output: str | None = None
    stdout: str | None = None
    stderr: str | None = None
    exit_code: int | None = None
    outcome: str | None = None


@frozen(repr=False)
class ElicitationCompleteMessage(SystemMessage):
    """An MCP server says that what it asked for at a URL is done."""

    mcp_server_name: str = ""
    elicitation_id: str = ""
