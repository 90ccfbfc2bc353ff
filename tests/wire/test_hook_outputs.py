"""The helpers for common answers: put together they stay whole, and each event takes them or says that it cannot."""

from typing import Any

import pytest

from claude_control import (
    OptionsError,
    add_context,
    allow_tool,
    ask_user,
    block,
    defer_tool,
    deny_tool,
    rewrite_input,
    rewrite_output,
    stop,
)
from claude_control.options.callbacks import HOOK_EVENTS
from claude_control.wire.hook_answers import answer_hook


def specific(event: str, **fields: Any) -> dict[str, Any]:
    """Return an output with fields of the event's own."""
    return {"hookSpecificOutput": {"hookEventName": event, **fields}}


SAID: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "allow": ("PreToolUse", allow_tool(), specific("PreToolUse", permissionDecision="allow")),
    "deny": (
        "PreToolUse",
        deny_tool("no"),
        specific("PreToolUse", permissionDecision="deny", permissionDecisionReason="no"),
    ),
    "ask": (
        "PreToolUse",
        ask_user("why"),
        specific("PreToolUse", permissionDecision="ask", permissionDecisionReason="why"),
    ),
    "defer": ("PreToolUse", defer_tool(), specific("PreToolUse", permissionDecision="defer")),
    "input": ("PreToolUse", rewrite_input({"a": 1}), specific("PreToolUse", updatedInput={"a": 1})),
    "output": (
        "PostToolUse",
        rewrite_output("o"),
        specific("PostToolUse", updatedToolOutput="o", updatedMCPToolOutput="o"),
    ),
    "context": ("UserPromptSubmit", add_context("c"), specific("UserPromptSubmit", additionalContext="c")),
    "block": ("Stop", block("go on"), {"decision": "block", "reason": "go on"}),
    "stop": ("PostToolUse", stop("halt"), {"continue": False, "stopReason": "halt"}),
    "stop without a word": ("PostToolUse", stop(), {"continue": False}),
    "permission": (
        "PermissionRequest",
        deny_tool("no"),
        specific("PermissionRequest", decision={"behavior": "deny", "message": "no"}),
    ),
    "changed permission": (
        "PermissionRequest",
        allow_tool() | rewrite_input({"a": 1}),
        specific("PermissionRequest", decision={"behavior": "allow", "updatedInput": {"a": 1}}),
    ),
    "all of it": (
        "PreToolUse",
        deny_tool("no") | add_context("c") | stop("halt"),
        {
            "continue": False,
            "stopReason": "halt",
            **specific("PreToolUse", permissionDecision="deny", permissionDecisionReason="no", additionalContext="c"),
        },
    ),
    "unpacked": (
        "PreToolUse",
        {**allow_tool(), **rewrite_input({"a": 1})},
        specific("PreToolUse", permissionDecision="allow", updatedInput={"a": 1}),
    ),
}


@pytest.mark.parametrize(("event", "output", "wire"), SAID.values(), ids=SAID)
def test_helper_says_it_in_the_programs_words(event: str, output: dict[str, Any], wire: dict[str, Any]) -> None:
    """Each helper, and what several of them say together, is sent as the program wants it for the event."""
    assert answer_hook(event, output) == wire


HELPERS: dict[str, tuple[dict[str, Any], str]] = {
    "allow_tool": (allow_tool(), "PreToolUse PermissionRequest PreSkillShellCommand PreModelSwitch"),
    "deny_tool": (deny_tool("no"), "PreToolUse PermissionRequest PreSkillShellCommand PreModelSwitch"),
    "ask_user": (ask_user(), "PreToolUse PreSkillShellCommand PreModelSwitch"),
    "defer_tool": (defer_tool(), "PreToolUse PreSkillShellCommand"),
    "rewrite_input": (rewrite_input({}), "PreToolUse"),
    "rewrite_output": (rewrite_output(""), "PostToolUse"),
    "add_context": (
        add_context("c"),
        "PreToolUse PostToolUse PostToolUseFailure PostToolBatch UserPromptSubmit UserPromptExpansion SessionStart "
        "Setup SubagentStart SubagentStop Stop PostModelSwitch",
    ),
    "block": (
        block("no"),
        "PreToolUse PermissionRequest PreSkillShellCommand PreModelSwitch PostToolUse PostToolUseFailure PostToolBatch "
        "UserPromptSubmit UserPromptExpansion Stop SubagentStop PreCompact ConfigChange TaskCreated TaskCompleted "
        "TeammateIdle Elicitation ElicitationResult",
    ),
    "stop": (
        stop(),
        "PreToolUse PostToolUse PostToolBatch UserPromptSubmit UserPromptExpansion PreSkillShellCommand Stop "
        "SubagentStop TeammateIdle",
    ),
}


@pytest.mark.parametrize("event", sorted(HOOK_EVENTS))
@pytest.mark.parametrize(("output", "events"), HELPERS.values(), ids=HELPERS)
def test_wrong_use_is_an_error(event: str, output: dict[str, Any], events: str) -> None:
    """A helper does what it says, or the event cannot do that and an error says so: never a silence."""
    if event in events.split():
        assert answer_hook(event, output)
    else:
        with pytest.raises(OptionsError) as caught:
            answer_hook(event, output)
        assert event in str(caught.value)


def test_reasons_are_asked_for() -> None:
    """What the model or a person is to read is not empty, and an input is a dict."""
    for helper in (deny_tool, block, add_context):
        for nothing in ("", "  ", None, 5):
            with pytest.raises(OptionsError, match=f"{helper.__name__}\\(\\) needs"):
                helper(nothing)  # type: ignore[arg-type]
    with pytest.raises(OptionsError, match="takes a dict"):
        rewrite_input("x")  # type: ignore[arg-type]


def test_inputs_are_copied() -> None:
    """A change to the dict that was given does not change the answer."""
    given = {"a": 1}
    answer = rewrite_input(given)
    given["a"] = 2
    assert answer == {"updatedInput": {"a": 1}}
