"""What the program tells about a use of a tool beside its name and input."""

from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from claude_control.wire.permission_details import MatchedAskRule, PermissionDetails, ToolOrigin
from claude_control.wire.permissions import PermissionRuleValue, PermissionUpdate
from claude_control.wire.reading import reader
from tests.wire.messages.samples import json_values

# Each field as 2.1.332 wrote it, on different occasions; `title` and `default_to_no` are declared by it, and were not
# seen.
DETAILS: dict[str, Any] = {
    "tool_use_id": "toolu_1",
    "agent_id": "a1",
    "permission_suggestions": [
        {
            "type": "addRules",
            "rules": [{"toolName": "Bash", "ruleContent": "touch x *"}],
            "behavior": "allow",
            "destination": "localSettings",
        },
        {"type": "addDirectories", "directories": ["/repo"], "destination": "session"},
        {"type": "setMode", "mode": "acceptEdits", "destination": "session"},
    ],
    "blocked_path": "/repo/x",
    "title": "Claude wants to touch x",
    "display_name": "Bash",
    "description": "d",
    "decision_reason": "it writes",
    "decision_reason_type": "hook",
    "decision_reason_rule_source": "flagSettings",
    "decision_reason_hook_event": "PreToolUse",
    "decision_reason_hook_source": "settings",
    "requires_user_interaction": True,
    "mcp_server": {"name": "lab", "source": "sdk"},
    "server_policy_ask_only": False,
    "classifier_approvable": False,
    "suppress_always_allow_rule": True,
    "default_to_no": True,
    "matched_ask_rule": {"source": "userSettings", "tool_name": "Bash", "rule_content": "rm *"},
}
READ = {
    **DETAILS,
    "suggestions": (
        PermissionUpdate(
            "addRules", rules=(PermissionRuleValue("Bash", "touch x *"),), behavior="allow", destination="localSettings"
        ),
        PermissionUpdate("addDirectories", directories=("/repo",)),
        PermissionUpdate("setMode", mode="acceptEdits"),
    ),
    "mcp_server": ToolOrigin("lab", "sdk"),
    "matched_ask_rule": MatchedAskRule("userSettings", "Bash", "rm *"),
}
FIELDS = [field.name for field in attrs.fields(PermissionDetails) if field.name != "raw"]
read = reader(PermissionDetails)


@pytest.mark.parametrize("name", FIELDS)
def test_field_is_read(name: str) -> None:
    """Each field has the value that the program sent."""
    assert getattr(read(DETAILS), name) == READ[name]


def test_every_field_of_the_program_is_read() -> None:
    """No field that the program sends is left to `raw`, which has them all and those of tomorrow."""
    assert {"permission_suggestions" if name == "suggestions" else name for name in FIELDS} == set(DETAILS)
    assert read({**DETAILS, "novel": 1}).raw["novel"] == 1


@pytest.mark.parametrize("name", FIELDS)
def test_missing_field_is_its_default(name: str) -> None:
    """A field that is missing, as most of them are, says that nothing was told."""
    assert not getattr(read({}), name)


def test_untold_is_not_false() -> None:
    """What a program did not judge is None, and not the judgement that it is not so."""
    assert (read({}).server_policy_ask_only, read({}).classifier_approvable) == (None, None)
    assert (read(DETAILS).server_policy_ask_only, read(DETAILS).classifier_approvable) == (False, False)


@given(key=st.sampled_from(sorted(DETAILS)), value=json_values)
def test_no_value_raises(key: str, value: Any) -> None:
    """Any field may hold anything: one of another type counts as missing."""
    details = read({**DETAILS, key: value})
    assert isinstance(details.agent_id, str | None)
    assert isinstance(details.requires_user_interaction, bool)
    assert isinstance(details.mcp_server, ToolOrigin | None)
    assert all(isinstance(update, PermissionUpdate) for update in details.suggestions)
