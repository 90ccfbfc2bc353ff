"""Hooks: registration, and failures that stop what they guard."""

import json
from typing import Any

import pytest

from claude_control.wire.framing import encode
from claude_control.wire.hook_answers import answer_hook
from claude_control.wire.hook_inputs import HOOK_INPUTS
from claude_control.wire.hooks import GUARDS, LONGEST, PATIENT, Hook, HookMatcher, failed_hook, register_hooks


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
            {"matcher": "Bash|Write", "hookCallbackIds": ["hook_0", "hook_1"], "timeout": 86_400, "onFailure": "block"},
            {"hookCallbackIds": ["hook_2"], "timeout": 86_400, "onFailure": "block"},
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
    for own, told in ((0.1, 16), (5, 20), (60.5, 76), (LONGEST, 86_400), (None, 86_400)):
        config, registered = register_hooks({"PostToolUse": [HookMatcher(hooks=[one])]}, own)
        assert config["PostToolUse"][0]["timeout"] == told
        assert registered["hook_0"].timeout == own
    _, registered = register_hooks({"PostToolUse": [HookMatcher(hooks=[one])]}, 1e9)
    assert registered["hook_0"].timeout == LONGEST


def test_program_has_no_limit_where_it_would_do_harm() -> None:
    """Where the program's own limit crashes, aborts or lets a tool run, it is told a day, whatever ours is."""
    assert GUARDS | {"PostToolBatch", "SubagentStart"} == PATIENT
    for event in sorted(PATIENT):
        config, registered = register_hooks({event: [HookMatcher(hooks=[one], timeout=0.5)]}, 60.0)
        assert config[event][0]["timeout"] == 86_400
        assert registered["hook_0"].timeout == 0.5


def test_ordered_matchers_are_rows() -> None:
    """Callbacks of an ordered matcher share a row, no two matchers share one, and other callbacks are in none."""
    _, registered = register_hooks(
        {
            "PreToolUse": [HookMatcher(hooks=[one, two], ordered=True), HookMatcher(hooks=[one])],
            "Stop": [HookMatcher(hooks=[two, one], ordered=True)],
        },
        None,
    )
    first, second, alone, third, fourth = (hook.row for hook in registered.values())
    assert first == second is not None
    assert third == fourth is not None
    assert alone is None
    assert first != third


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


# -- failures ----------------------------------------------------------------------------------------------------------


def specific(event: str, **fields: Any) -> dict[str, Any]:
    """Return an output with fields of the event's own."""
    return {"hookSpecificOutput": {"hookEventName": event, **fields}}


def test_failed_guards_stop_what_they_guard() -> None:
    """A guard that failed denies with the reason, in the words of its event."""
    assert failed_hook(Hook("PreToolUse", one, None, True), "why") == specific(
        "PreToolUse", permissionDecision="deny", permissionDecisionReason="why"
    )
    assert failed_hook(Hook("PermissionRequest", one, None, True), "why") == specific(
        "PermissionRequest", decision={"behavior": "deny", "message": "why"}
    )
    for event in ("UserPromptSubmit", "UserPromptExpansion"):
        assert failed_hook(Hook(event, one, None, True), "why") == {"decision": "block", "reason": "why"}
    for event in ("PreModelSwitch", "PreSkillShellCommand"):
        assert failed_hook(Hook(event, one, None, True), "why") == specific(
            event, permissionDecision="deny", permissionDecisionReason="why"
        )


@pytest.mark.parametrize("event", [*sorted(HOOK_INPUTS), "OfTomorrow"])
def test_failed_hook_that_may_not_block_has_no_opinion(event: str) -> None:
    """A hook that is told to let go, or that guards nothing, answers nothing; never a control error."""
    assert failed_hook(Hook(event, one, None, False), "why") == {}


@pytest.mark.parametrize("event", sorted(GUARDS))
def test_answer_of_a_failed_guard_is_a_good_output(event: str) -> None:
    """What is sent for a failed guard passes the checks that outputs pass."""
    answer = failed_hook(Hook(event, one, None, True), "why")
    assert answer_hook(event, answer) == answer
