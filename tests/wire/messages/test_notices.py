"""Texts for people. Those that no program wrote while it was measured follow its type declarations."""

from typing import Any

import pytest

from claude_control.wire.messages import InformationalMessage, decode


def test_notice_says_whether_the_turn_stops() -> None:
    """A line that a hook caused says that the turn does not go on."""
    raw = {"type": "system", "subtype": "informational", "content": "no", "level": "warning"}
    message = decode({**raw, "prevent_continuation": True})
    assert isinstance(message, InformationalMessage)
    assert (message.content, message.level, message.prevent_continuation) == ("no", "warning", True)


@pytest.mark.parametrize(
    "fields",
    [
        {"type": "system", "subtype": "notification", "key": "k", "text": "t", "priority": "low", "timeout_ms": 5},
        {"type": "system", "subtype": "local_command_output", "content": "c"},
        {"type": "system", "subtype": "thinking_tokens", "estimated_tokens": 9, "estimated_tokens_delta": 2},
        {"type": "system", "subtype": "memory_recall", "mode": "select", "memories": [{"path": "/m"}]},
        {"type": "system", "subtype": "plugin_install", "status": "failed", "name": "p", "error": "e"},
        {"type": "system", "subtype": "commands_changed", "commands": [{"name": "x"}]},
        {"type": "system", "subtype": "worker_shutting_down", "reason": "host_exit"},
        {"type": "prompt_suggestion", "suggestion": "s"},
        {"type": "active_goal", "value": {"condition": "c", "iterations": 1}},
    ],
)
def test_declared_fields_arrive(fields: dict[str, Any]) -> None:
    """Every field that the program declares for these messages is a field here, under the same name."""
    message = decode({**fields, "uuid": "u", "session_id": "s"})
    assert {name: getattr(message, name) for name in fields if name != "type"} == {
        name: value for name, value in fields.items() if name != "type"
    }
    assert (message.uuid, message.session_id) == ("u", "s")
