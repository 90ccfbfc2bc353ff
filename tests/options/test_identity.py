"""Options that go together, and those that do not."""

from typing import Any

import pytest

from claude_control import Allow, OptionsError
from claude_control.options import Options, merge_options

ID = "9b2b4a4e-6a53-4c1d-9a0b-5a0f4c1d2e3f"


def allow(*_arguments: Any) -> Allow:
    """Let everything run."""
    return Allow()


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"session_id": ID, "resume": "x"}, "fork_session=True"),
        ({"session_id": ID, "continue_conversation": True}, "fork_session=True"),
        ({"resume": "x", "continue_conversation": True}, "give one of the two"),
        ({"resume_session_at": ID}, "needs resume"),
        ({"resume_drops_turn": ID, "resume": "x"}, "needs resume_session_at"),
        ({"permission_mode": "bypassPermissions"}, "allow_bypass=True"),
        ({"can_use_tool": allow, "permission_prompt_tool_name": "mcp__a__b"}, "exclude each other"),
        ({"on_question": allow, "permission_prompt_tool_name": "mcp__a__b"}, "and on_question exclude each other"),
        ({"permission_prompt_tool_name": "stdio"}, "can_use_tool, which is not set"),
    ],
)
def test_contradiction_is_refused(fields: dict[str, Any], told: str) -> None:
    """Options that contradict each other are refused before anything is started, with the remedy."""
    with pytest.raises(OptionsError) as caught:
        merge_options(**fields)
    assert told in str(caught.value)
    assert caught.value.field in fields


@pytest.mark.parametrize(
    "fields",
    [
        {"session_id": ID},
        {"session_id": ID.upper()},
        {"session_id": ID, "resume": "x", "fork_session": True},
        {"session_id": ID, "continue_conversation": True, "fork_session": True},
        {"fork_session": True},
        {"resume": "a title", "resume_session_at": ID, "resume_drops_turn": ID},
        {"permission_mode": "bypassPermissions", "allow_bypass": True},
        {"can_use_tool": allow, "permission_prompt_tool_name": "stdio"},
        {"on_plan": allow, "permission_prompt_tool_name": "stdio"},
        {"permission_prompt_tool_name": "mcp__a__b"},
    ],
)
def test_agreement_is_taken(fields: dict[str, Any]) -> None:
    """Combinations that the program takes are taken."""
    assert merge_options(**fields) == Options(**fields)
