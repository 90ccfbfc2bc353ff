"""Hooks: registration, outputs that every program takes, and failures that stop what they guard."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claude_control.errors import OptionsError
from claude_control.wire.framing import encode
from claude_control.wire.hooks import GUARDS, Hook, HookMatcher, answer_hook, failed_hook, register_hooks
from tests.wire.messages.samples import json_values


def one(*_arguments: Any) -> None:
    """Stand for a hook."""


def two(*_arguments: Any) -> None:
    """Stand for another."""


# -- registration ------------------------------------------------------------------------------------------------------


def test_hooks_are_registered_by_id() -> None:
    """Each callback gets an id of its own, and is found by it with its event, limit and policy."""
    config, registered = register_hooks(
        {
            "PreToolUse": [HookMatcher("Bash|Write", [one, two], timeout=5), HookMatcher(hooks=[one])],
            "Stop": [HookMatcher(hooks=[two])],
        },
        60.0,
    )
    assert config == {
        "PreToolUse": [
            {"matcher": "Bash|Write", "hookCallbackIds": ["hook_0", "hook_1"], "timeout": 20, "onFailure": "block"},
            {"hookCallbackIds": ["hook_2"], "timeout": 75, "onFailure": "block"},
        ],
        "Stop": [{"hookCallbackIds": ["hook_3"], "timeout": 75}],
    }
    assert registered == {
        "hook_0": Hook("PreToolUse", one, 5, True),
        "hook_1": Hook("PreToolUse", two, 5, True),
        "hook_2": Hook("PreToolUse", one, 60.0, True),
        "hook_3": Hook("Stop", two, 60.0, False),
    }


def test_program_waits_longer_than_we_do() -> None:
    """The program is told more seconds than our own limit, rounded up, and a day where there is none."""
    for own, told in ((0.1, 16), (5, 20), (60.5, 76), (None, 86_400)):
        config, registered = register_hooks({"PreToolUse": [HookMatcher(hooks=[one])]}, own)
        assert config["PreToolUse"][0]["timeout"] == told
        assert registered["hook_0"].timeout == own


def test_policy_goes_with_the_event() -> None:
    """Only guards block, and only unless they are told to let go."""
    config, registered = register_hooks(
        {
            "PreToolUse": [HookMatcher(hooks=[one], on_failure="continue")],
            "UserPromptSubmit": [HookMatcher(hooks=[one])],
            "PostToolUse": [HookMatcher(hooks=[one], on_failure="block")],
        },
        None,
    )
    assert [hook.blocks for hook in registered.values()] == [False, True, False]
    assert ["onFailure" in matcher for (matcher,) in config.values()] == [False, True, False]


def test_no_hooks_are_no_config() -> None:
    """Nothing registered is nothing sent."""
    assert register_hooks(None, 60.0) == ({}, {})
    assert register_hooks({}, 60.0) == ({}, {})
    assert register_hooks({"Stop": []}, 60.0) == ({}, {})


def test_registration_is_json() -> None:
    """What initialize carries holds ids and no functions."""
    config, _ = register_hooks({event: [HookMatcher("X", [one])] for event in GUARDS}, 1.0)
    assert json.loads(encode(config)) == config


# -- outputs -----------------------------------------------------------------------------------------------------------


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
    own = wire.get("hookSpecificOutput", {"hookEventName": event})
    assert own["hookEventName"] == event
    assert own.get("permissionDecision") in (None, "allow", "deny", "ask", "defer")
    assert isinstance(own.get("updatedInput", {}), dict)


# -- failures ----------------------------------------------------------------------------------------------------------


def test_failed_guards_stop_what_they_guard() -> None:
    """A guard that failed denies with the reason, in the words of its event."""
    assert failed_hook(Hook("PreToolUse", one, None, True), "why") == specific(
        "PreToolUse", permissionDecision="deny", permissionDecisionReason="why"
    )
    assert failed_hook(Hook("PermissionRequest", one, None, True), "why") == specific(
        "PermissionRequest", decision={"behavior": "deny", "message": "why"}
    )
    assert failed_hook(Hook("UserPromptSubmit", one, None, True), "why") == {"decision": "block", "reason": "why"}


@pytest.mark.parametrize("event", [*sorted(GUARDS), "Stop", "PostToolBatch", "OfTomorrow"])
def test_failed_hook_that_may_not_block_has_no_opinion(event: str) -> None:
    """A hook that is told to let go, or that guards nothing, answers nothing; never a control error."""
    assert failed_hook(Hook(event, one, None, False), "why") == {}


@pytest.mark.parametrize("event", sorted(GUARDS))
def test_answer_of_a_failed_guard_is_a_good_output(event: str) -> None:
    """What is sent for a failed guard passes the checks that outputs pass."""
    answer = failed_hook(Hook(event, one, None, True), "why")
    assert answer_hook(event, answer) == answer
