"""What hooks answer: outputs that every program takes pass, and what an event cannot say is refused."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claude_control.errors import OptionsError
from claude_control.wire.hook_answers import BLOCKED, FIELDS, STOPPED, answer_hook, needed_program
from claude_control.wire.hook_inputs import HOOK_INPUTS
from claude_control.wire.hooks import GUARDS
from tests.wire.messages.samples import json_values


def specific(event: str, **fields: Any) -> dict[str, Any]:
    """Return an output with fields of the event's own."""
    return {"hookSpecificOutput": {"hookEventName": event, **fields}}


GOOD: dict[str, tuple[str, dict[str, Any]]] = {
    "nothing": ("Stop", {}),
    "allow": ("PreToolUse", specific("PreToolUse", permissionDecision="allow")),
    "deny": ("PreToolUse", specific("PreToolUse", permissionDecision="deny", permissionDecisionReason="no")),
    "ask": ("PreToolUse", specific("PreToolUse", permissionDecision="ask")),
    "defer": ("PreToolUse", specific("PreToolUse", permissionDecision="defer")),
    "changed input": ("PreToolUse", specific("PreToolUse", permissionDecision="allow", updatedInput={"a": 1})),
    "context": ("UserPromptSubmit", specific("UserPromptSubmit", additionalContext="c")),
    "legacy block": ("PreToolUse", {"decision": "block", "reason": "no"}),
    "block and deny": ("PreToolUse", {"decision": "block", **specific("PreToolUse", permissionDecision="deny")}),
    "legacy approve": ("PreToolUse", {"decision": "approve"}),
    "stop": ("PostToolUse", {"continue": False, "stopReason": "halt"}),
    "message": ("PreToolUse", {"systemMessage": "hello", "suppressOutput": True}),
    "later": ("PreToolUse", {"async": True, "asyncTimeout": 5}),
    "output": ("PostToolUse", specific("PostToolUse", updatedToolOutput=["any", 1])),
    "model switch": ("PreModelSwitch", specific("PreModelSwitch", permissionDecision="deny")),
    "skill command": ("PreSkillShellCommand", specific("PreSkillShellCommand", permissionDecision="deny")),
    "granted": ("PermissionRequest", specific("PermissionRequest", decision={"behavior": "allow", "updatedInput": {}})),
    "refused": (
        "PermissionRequest",
        specific("PermissionRequest", decision={"behavior": "deny", "message": "no", "interrupt": True}),
    ),
    "shown": ("MessageDisplay", specific("MessageDisplay", displayContent="x")),
    "worktree": ("WorktreeCreate", specific("WorktreeCreate", worktreePath="/made")),
    "again": ("PermissionDenied", specific("PermissionDenied", retry=True)),
    "title": ("UserPromptSubmit", specific("UserPromptSubmit", sessionTitle="t", suppressOriginalPrompt=True)),
    "begun": ("SessionStart", specific("SessionStart", watchPaths=["/a"], reloadSkills=True, initialUserMessage="i")),
    "terminal": ("Notification", {"terminalSequence": "\a"}),
    "not later": ("PreToolUse", {"async": False, "decision": "block", "reason": "r"}),
    "unknown field of a known event": ("PreToolUse", specific("PreToolUse", novel=1)),
    "unknown fields": ("OfTomorrow", {"novel": 1, **specific("OfTomorrow", novel={"a": None})}),
}


@pytest.mark.parametrize(("event", "output"), GOOD.values(), ids=GOOD)
def test_good_output_passes_unchanged(event: str, output: dict[str, Any]) -> None:
    """An output that the programs take is sent as it is."""
    assert answer_hook(event, output) == output


def test_none_is_no_opinion() -> None:
    """A hook that returns nothing has no opinion."""
    assert answer_hook("PreToolUse", None) == {}


def test_event_name_is_filled_in() -> None:
    """The event's name, without which the programs refuse the output, need not be written."""
    output: dict[str, Any] = {"hookSpecificOutput": {"permissionDecision": "deny"}}
    assert answer_hook("PreToolUse", output) == specific("PreToolUse", permissionDecision="deny")
    assert output == {"hookSpecificOutput": {"permissionDecision": "deny"}}


@pytest.mark.parametrize(("python", "wire"), [("continue_", "continue"), ("async_", "async")])
def test_python_names_are_translated(python: str, wire: str) -> None:
    """The names that Python does not allow as identifiers are taken with an underscore, and checked like the others."""
    assert answer_hook("Stop", {python: True}) == {wire: True}
    with pytest.raises(OptionsError) as caught:
        answer_hook("Stop", {python: "no"})
    assert caught.value.field == wire


@pytest.mark.parametrize(
    "output",
    ["deny", True, False, 0, [], ["deny"], (), {"a"}, object(), lambda: None],
    ids=lambda value: type(value).__name__,
)
def test_output_that_is_no_dict_is_refused(output: object) -> None:
    """What is no dict would be dropped by the program, and the tool would run."""
    with pytest.raises(OptionsError, match="must return a dict or None"):
        answer_hook("PreToolUse", output)


@pytest.mark.parametrize("event", ["PreToolUse", "UserPromptSubmit", "PostToolBatch", "PermissionRequest", "Stop"])
@pytest.mark.parametrize("name", ["PostToolUse", "pretooluse", "", None, 5, {}])
def test_wrong_event_name_is_refused(event: str, name: Any) -> None:
    """The name of another event ends some sessions, and is never sent."""
    with pytest.raises(OptionsError) as caught:
        answer_hook(event, {"hookSpecificOutput": {"hookEventName": name}})
    assert caught.value.field == "hookEventName"


BAD: dict[str, tuple[str, Any, str]] = {
    "continue": ("Stop", {"continue": "false"}, "continue"),
    "continue null": ("Stop", {"continue": None}, "continue"),
    "continue number": ("Stop", {"continue": 0}, "continue"),
    "stopReason": ("Stop", {"stopReason": 5}, "stopReason"),
    "systemMessage": ("Stop", {"systemMessage": ["x"]}, "systemMessage"),
    "suppressOutput": ("Stop", {"suppressOutput": 1}, "suppressOutput"),
    "reason": ("Stop", {"decision": "block", "reason": None}, "reason"),
    "decision": ("Stop", {"decision": "deny"}, "decision"),
    "decision null": ("Stop", {"decision": None}, "decision"),
    "async": ("Stop", {"async": "yes"}, "async"),
    "asyncTimeout": ("Stop", {"async": True, "asyncTimeout": "5"}, "asyncTimeout"),
    "specific list": ("Stop", {"hookSpecificOutput": []}, "hookSpecificOutput"),
    "specific null": ("Stop", {"hookSpecificOutput": None}, "hookSpecificOutput"),
    "permissionDecision": ("PreToolUse", specific("PreToolUse", permissionDecision="block"), "permissionDecision"),
    "permissionDecision case": ("PreToolUse", specific("PreToolUse", permissionDecision="Deny"), "permissionDecision"),
    "permissionDecision null": ("PreToolUse", specific("PreToolUse", permissionDecision=None), "permissionDecision"),
    "permissionDecision list": (
        "PreToolUse",
        specific("PreToolUse", permissionDecision=["deny"]),
        "permissionDecision",
    ),
    "decision where nothing can be blocked": ("SessionEnd", {"decision": "block", "reason": "r"}, "decision"),
    "stop where nothing can be stopped": ("PreModelSwitch", {"continue": False}, "continue"),
    "later and now": ("PreToolUse", {"async": True, "decision": "block"}, "decision"),
    "later and specific": ("PreToolUse", {"async": True, **specific("PreToolUse")}, "hookEventName"),
    "context elsewhere": ("PreCompact", specific("PreCompact", additionalContext="x"), "hookSpecificOutput"),
    "context at another": (
        "PermissionRequest",
        {"additionalContext": "x", "permissionDecision": "allow"},
        "additionalContext",
    ),
    "output elsewhere": ("PreToolUse", specific("PreToolUse", updatedToolOutput="x"), "updatedToolOutput"),
    "input elsewhere": ("PostToolUse", {"updatedInput": {}}, "updatedInput"),
    "input of a skill": ("PreSkillShellCommand", {"updatedInput": {}}, "updatedInput"),
    "title": ("UserPromptSubmit", specific("UserPromptSubmit", sessionTitle=5), "sessionTitle"),
    "retry": ("PermissionDenied", specific("PermissionDenied", retry="yes"), "retry"),
    "elicitation": ("Elicitation", specific("Elicitation", action="decline"), "hookSpecificOutput"),
    "flat elicitation": ("ElicitationResult", {"action": "accept", "content": {}}, "hookSpecificOutput"),
    "watched by another": ("FileChanged", {"watchPaths": ["/a"]}, "hookSpecificOutput"),
    "context of a notification": ("Notification", {"additionalContext": "x"}, "hookSpecificOutput"),
    "paths": ("SessionStart", specific("SessionStart", watchPaths="/a"), "watchPaths"),
    "a path": ("SessionStart", specific("SessionStart", watchPaths=[1]), "watchPaths"),
    "shown": ("MessageDisplay", specific("MessageDisplay", displayContent=None), "displayContent"),
    "no worktree": ("WorktreeCreate", specific("WorktreeCreate"), "worktreePath"),
    "empty worktree": ("WorktreeCreate", specific("WorktreeCreate", worktreePath=""), "worktreePath"),
    "message for a worktree": ("WorktreeCreate", {"systemMessage": "made"}, "worktreePath"),
    "said twice": (
        "PreToolUse",
        {"permissionDecision": "allow", **specific("PreToolUse", permissionDecision="deny")},
        "permissionDecision",
    ),
    "permission's words": ("PreToolUse", {"behavior": "deny", "message": "no"}, "behavior"),
    "words of nobody": ("UserPromptSubmit", {"blocked": True}, "blocked"),
    "slip": ("PreToolUse", {"permisionDecision": "deny"}, "permisionDecision"),
    "slip inside": ("PreToolUse", specific("PreToolUse", permissionDecison="deny"), "permissionDecison"),
    "unknown word for a permission": ("PermissionRequest", {"decision": "deny"}, "decision"),
    "block and allow": ("PreToolUse", {"decision": "block", "permissionDecision": "allow"}, "decision"),
    "allow and block": ("PermissionRequest", {"decision": "block", "permissionDecision": "allow"}, "decision"),
    "ask for permission": ("PermissionRequest", {"permissionDecision": "ask"}, "permissionDecision"),
    "input alone": ("PermissionRequest", {"updatedInput": {}}, "permissionDecision"),
    "decided twice": (
        "PermissionRequest",
        {"permissionDecision": "deny", **specific("PermissionRequest", decision={"behavior": "allow"})},
        "decision",
    ),
    "permissionDecision elsewhere": ("Stop", specific("Stop", permissionDecision="deny"), "permissionDecision"),
    "defer elsewhere": ("PreModelSwitch", specific("PreModelSwitch", permissionDecision="defer"), "permissionDecision"),
    "permissionDecisionReason": (
        "PreToolUse",
        specific("PreToolUse", permissionDecision="deny", permissionDecisionReason=5),
        "permissionDecisionReason",
    ),
    "additionalContext": (
        "UserPromptSubmit",
        specific("UserPromptSubmit", additionalContext=None),
        "additionalContext",
    ),
    "updatedInput": ("PreToolUse", specific("PreToolUse", updatedInput=[1]), "updatedInput"),
    "updatedInput null": ("PreToolUse", specific("PreToolUse", updatedInput=None), "updatedInput"),
    "no decision": ("PermissionRequest", specific("PermissionRequest"), "decision"),
    "decision text": ("PermissionRequest", specific("PermissionRequest", decision="deny"), "decision"),
    "behaviour": ("PermissionRequest", specific("PermissionRequest", decision={"behavior": "ask"}), "decision"),
    "deny message": (
        "PermissionRequest",
        specific("PermissionRequest", decision={"behavior": "deny", "message": 5}),
        "message",
    ),
    "interrupt": (
        "PermissionRequest",
        specific("PermissionRequest", decision={"behavior": "deny", "interrupt": "yes"}),
        "interrupt",
    ),
    "granted input": (
        "PermissionRequest",
        specific("PermissionRequest", decision={"behavior": "allow", "updatedInput": "x"}),
        "updatedInput",
    ),
    "granted updates": (
        "PermissionRequest",
        specific("PermissionRequest", decision={"behavior": "allow", "updatedPermissions": {"type": "setMode"}}),
        "updated_permissions",
    ),
}


@pytest.mark.parametrize(("event", "output", "field"), BAD.values(), ids=BAD)
def test_bad_output_is_refused(event: str, output: Any, field: str) -> None:
    """An output that the programs would drop whole, a denial with it, is refused with the name of the field."""
    with pytest.raises(OptionsError) as caught:
        answer_hook(event, output)
    assert caught.value.field == field


def test_fields_may_stand_at_the_top() -> None:
    """What is the event's own is put where the programs look for it, under the event's name."""
    assert answer_hook("PreToolUse", {"permissionDecision": "ask", "continue_": False}) == {
        "continue": False,
        **specific("PreToolUse", permissionDecision="ask"),
    }
    assert answer_hook("OfTomorrow", {"additionalContext": "c"}) == specific("OfTomorrow", additionalContext="c")
    nested = specific("PreToolUse", permissionDecision="allow")
    assert answer_hook("PreToolUse", {**nested, "additionalContext": "c"}) == specific(
        "PreToolUse", permissionDecision="allow", additionalContext="c"
    )


PERMISSIONS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "deny": (
        {"permissionDecision": "deny", "permissionDecisionReason": "no"},
        {"behavior": "deny", "message": "no"},
    ),
    "block": ({"decision": "block", "reason": "no"}, {"behavior": "deny", "message": "no"}),
    "approve": ({"decision": "approve"}, {"behavior": "allow"}),
    "nested": (specific("PermissionRequest", permissionDecision="allow"), {"behavior": "allow"}),
    "changed": (
        {"permissionDecision": "allow", "updatedInput": {"a": 1}},
        {"behavior": "allow", "updatedInput": {"a": 1}},
    ),
}


@pytest.mark.parametrize(("output", "decision"), PERMISSIONS.values(), ids=PERMISSIONS)
def test_permission_requests_take_the_words_of_tools(output: dict[str, Any], decision: dict[str, Any]) -> None:
    """What decides about a tool before it is asked for decides too when it is; the program itself would ignore it."""
    assert answer_hook("PermissionRequest", output) == specific("PermissionRequest", decision=decision)


def test_denial_of_a_permission_request_has_a_message() -> None:
    """A denial without a reason says a standard one."""
    wire = answer_hook("PermissionRequest", {"permissionDecision": "deny"})
    assert wire["hookSpecificOutput"]["decision"]["message"].strip()


def test_blocked_compaction_says_why() -> None:
    """The reason goes where 2.1.332 shows it, unless something else is to be shown."""
    block = {"decision": "block", "reason": "why"}
    assert answer_hook("PreCompact", block) == {**block, "systemMessage": "why"}
    shown = {**block, "systemMessage": "m"}
    assert answer_hook("PreCompact", shown) == shown
    assert answer_hook("Stop", block) == block


def test_every_event_is_known() -> None:
    """The fields of every known event are listed, and guards are among what can be blocked."""
    assert FIELDS.keys() == HOOK_INPUTS.keys()
    assert GUARDS <= BLOCKED <= HOOK_INPUTS.keys()
    assert HOOK_INPUTS.keys() >= STOPPED


NEEDS: dict[str, tuple[str, dict[str, Any], str]] = {
    "nothing": ("Stop", {}, "2.0.75"),
    "block": ("Stop", {"decision": "block", "reason": "r"}, "2.0.75"),
    "block of a compaction": ("PreCompact", {"decision": "block", "reason": "r"}, "2.1.332"),
    "context of a stop": ("Stop", {"additionalContext": "c"}, "2.1.332"),
    "context of a prompt": ("UserPromptSubmit", {"additionalContext": "c"}, "2.0.75"),
    "deny": ("PreToolUse", {"permissionDecision": "deny"}, "2.0.75"),
    "defer": ("PreToolUse", {"permissionDecision": "defer"}, "2.1.332"),
    "changed input": ("PreToolUse", {"updatedInput": {}}, "2.1.7"),
    "allowed changed input": ("PreToolUse", {"updatedInput": {}, "permissionDecision": "allow"}, "2.0.75"),
    "changed output": ("PostToolUse", {"updatedToolOutput": 1}, "2.1.332"),
    "changed output of a server": ("PostToolUse", {"updatedToolOutput": 1, "updatedMCPToolOutput": 1}, "2.0.75"),
}


@pytest.mark.parametrize(("event", "output", "needs"), NEEDS.values(), ids=NEEDS)
def test_needed_program(event: str, output: dict[str, Any], needs: str) -> None:
    """An answer that an older program would drop, or obey by half, names the oldest program that obeys it."""
    assert needed_program(event, answer_hook(event, output))[1] == needs


def test_granted_updates_are_checked() -> None:
    """Updates granted by a PermissionRequest hook are checked like a callback's, and bypass only where allowed."""
    update = {"type": "setMode", "mode": "bypassPermissions", "destination": "session"}
    output = specific("PermissionRequest", decision={"behavior": "allow", "updatedPermissions": [update]})
    with pytest.raises(OptionsError, match="allow_bypass=True"):
        answer_hook("PermissionRequest", output)
    assert answer_hook("PermissionRequest", output, allow_bypass=True) == output


fields = st.sampled_from(["continue", "continue_", "decision", "reason", "stopReason", "async_", "hookSpecificOutput"])
inner = st.sampled_from(["hookEventName", "permissionDecision", "permissionDecisionReason", "updatedInput", "decision"])


@given(
    event=st.sampled_from([*sorted(GUARDS), "Stop", "PostToolBatch"]),
    output=st.dictionaries(fields, json_values | st.dictionaries(inner, json_values)) | json_values,
)
def test_any_output_is_safe_or_refused(event: str, output: Any) -> None:
    """Whatever a hook returns, it is refused or has nothing that ends a session or is taken for something else."""
    try:
        wire = answer_hook(event, output)
    except OptionsError:
        return
    assert wire.get("decision") in (None, "block", "approve")
    needed_program(event, wire)
    own = wire.get("hookSpecificOutput", {"hookEventName": event})
    assert own["hookEventName"] == event
    assert own.get("permissionDecision") in (None, "allow", "deny", "ask", "defer")
    assert isinstance(own.get("updatedInput", {}), dict)


@pytest.mark.parametrize(
    "output",
    [
        specific("PreToolUse", updatedInput="hunter2"),
        {"updatedInput": {"password": "hunter2"}, **specific("PreToolUse", updatedInput={})},
    ],
    ids=["wrong type", "twice"],
)
def test_refusal_shows_no_input(output: dict[str, Any]) -> None:
    """Why an output is refused goes to the log and to the model, and has nothing of what a tool was to get."""
    with pytest.raises(OptionsError, match="updatedInput") as caught:
        answer_hook("PreToolUse", output)
    assert "hunter2" not in str(caught.value)
