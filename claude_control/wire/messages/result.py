"""How a turn ended."""

from typing import Any

import attrs

from claude_control.records import frozen
from claude_control.wire.messages.message import Message, read_origin
from claude_control.wire.reading import using
from claude_control.wire.record import WireRecord

__all__ = ["DeferredToolUse", "ResultMessage"]


@frozen(repr=False)
class DeferredToolUse(WireRecord):
    """A tool call that a PreToolUse hook put off by the decision "defer"; the turn ends with it."""

    id: str = ""
    name: str = ""
    input: dict[str, Any] = attrs.field(factory=dict)


@frozen(repr=False)
class ResultMessage(Message):
    """The end of a turn.

    `subtype` is "success" or begins with "error_"; `is_error` can be true with either. `result` is there on success
    only, `errors` otherwise. `total_cost_usd` (dollars) and `model_usage` count from the start of the session,
    `usage` is the turn's. Durations are in milliseconds. The fields from `terminal_reason` on are 2.1.332's; 2.0.75
    and 2.1.7 do not send them.
    """

    subtype: str = ""
    duration_ms: int = 0
    duration_api_ms: int = 0
    is_error: bool = False
    num_turns: int = 0
    session_id: str = ""
    stop_reason: str | None = None
    total_cost_usd: float | None = None
    usage: dict[str, Any] | None = None
    result: str | None = None
    structured_output: Any = None
    model_usage: dict[str, dict[str, Any]] | None = None
    permission_denials: list[Any] | None = None
    deferred_tool_use: DeferredToolUse | None = None
    errors: list[str] | None = None
    api_error_status: int | None = None
    uuid: str | None = None
    terminal_reason: str | None = None
    """Why the turn ended: completed, aborted_streaming, aborted_tools, api_error, hook_stopped, max_turns, …"""
    origin: dict[str, Any] | None = attrs.field(default=None, metadata=using(read_origin))
    """What started the turn, if no prompt did: `{"kind": "task-notification", …}`."""
    user_message_uuid: str | None = None
    user_message_uuids: list[str] | None = None
    """The prompts that the turn took in; at most 64 are listed."""
    api_error_type: str | None = None
    api_error: str | None = None
    queued_turn_count: int | None = None
    result_index: int | None = None
    """How many results the program wrote before this one."""
    local_command: str | None = None
    """The slash command that the turn ran."""
    begun_message_ids: list[str] | None = None
    model_usage_since_last_result: dict[str, dict[str, Any]] | None = None
    subagent_stats: dict[str, Any] | None = None
    safety_stops: int | None = None
    fast_mode_state: str | None = None
    fast_mode_disabled_reason: str | None = None
    ttft_ms: float | None = None
    ttft_stream_ms: float | None = None
    time_to_request_ms: float | None = None
    first_content_frame_ms: float | None = None
    request_sent_wall_ms: float | None = None
    first_request_input_tokens: int | None = None
    first_request_cache_read_input_tokens: int | None = None
    resume_reason: str | None = None
    startup_failure_reason: str | None = None
    invalid_config_file: dict[str, Any] | None = None
    credential_expires_at: str | None = None
