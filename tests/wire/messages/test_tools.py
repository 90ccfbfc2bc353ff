"""Messages about tools and hooks."""

import pytest

from claude_control.wire.messages import (
    ElicitationCompleteMessage,
    HookEventMessage,
    ToolProgressMessage,
    ToolUseSummaryMessage,
    decode,
)


@pytest.mark.parametrize("subtype", ["hook_started", "hook_progress", "hook_response"])
def test_hook_event_has_the_official_name(subtype: str) -> None:
    """Every step of a hook says which event it belongs to, under the official SDK's name."""
    message = decode({"type": "system", "subtype": subtype, "hook_event": "PreToolUse", "hook_id": "h"})
    assert isinstance(message, HookEventMessage)
    assert (message.subtype, message.hook_event_name, message.hook_id) == (subtype, "PreToolUse", "h")


def test_progress_counts_seconds_with_fractions() -> None:
    """The elapsed time of a tool is a number of seconds."""
    message = decode({"type": "tool_progress", "tool_name": "Bash", "elapsed_time_seconds": 2.5})
    assert isinstance(message, ToolProgressMessage)
    assert (message.elapsed_time_seconds, message.heartbeat) == (2.5, False)


def test_summary_names_its_calls() -> None:
    """A summary of tool calls says which ones it sums up."""
    message = decode({"type": "tool_use_summary", "summary": "Read it", "preceding_tool_use_ids": ["t"]})
    assert isinstance(message, ToolUseSummaryMessage)
    assert (message.summary, message.preceding_tool_use_ids) == ("Read it", ["t"])


def test_elicitation_is_complete() -> None:
    """The end of an elicitation names server and elicitation."""
    raw = {"type": "system", "subtype": "elicitation_complete", "mcp_server_name": "m", "elicitation_id": "e"}
    message = decode(raw)
    assert isinstance(message, ElicitationCompleteMessage)
    assert (message.mcp_server_name, message.elicitation_id) == ("m", "e")
