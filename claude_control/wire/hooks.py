"""Hooks: how they are registered, what a callback may answer, and what is said for one that failed.

A control error as a hook's answer lets the tool run on every measured program (2.0.75, 2.1.7, 2.1.332), and a
`hookEventName` that is not the event's own ends some sessions; so every answer is checked here before it is sent, and a
guard that fails denies.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import attrs

from claude_control.errors import OptionsError
from claude_control.wire.permissions import write_updates

__all__ = ["GUARDS", "Hook", "HookMatcher", "answer_hook", "failed_hook", "register_hooks"]

GUARDS = frozenset({"PreToolUse", "PermissionRequest", "UserPromptSubmit"})
"""Events whose callbacks can stop something; their failure stops it, unless `on_failure="continue"`."""

PROGRAM_MARGIN = 15.0
"""Seconds that the program is told beyond our own limit, so that our answer is there first."""

UNLIMITED = 86_400.0
"""Seconds that the program is told where we set no limit: a day.

Told nothing it stops waiting after ten minutes (2.1.332).
"""

_DECISIONS = {
    "PreToolUse": ("allow", "deny", "ask", "defer"),
    "PreSkillShellCommand": ("allow", "deny", "ask", "defer"),
    "PreModelSwitch": ("allow", "deny", "ask"),
}
_TYPES: dict[str, type | tuple[type, ...]] = {
    "continue": bool,
    "async": bool,
    "suppressOutput": bool,
    "stopReason": str,
    "systemMessage": str,
    "reason": str,
    "decision": str,
    "asyncTimeout": (int, float),
    "hookSpecificOutput": Mapping,
}
# A value of another type makes the program drop the whole output, a denial with it (2.0.75, 2.1.7, 2.1.332).
_SPECIFIC_TYPES: dict[str, type] = {
    "additionalContext": str,
    "permissionDecisionReason": str,
    "sessionTitle": str,
    "suppressOriginalPrompt": bool,
    "updatedInput": Mapping,
}
_DECIDED_TYPES: dict[str, type] = {"interrupt": bool, "message": str, "updatedInput": Mapping}
_PYTHON_NAMES = {"continue_": "continue", "async_": "async"}


@attrs.frozen
class HookMatcher:
    """Callbacks for one event, and for which tools.

    `matcher` is a tool name or a pattern of names ("Write|Edit"); None means all. `timeout` is in seconds (None: the
    session's `hook_timeout`). `on_failure` says what happens when a callback raises, times out or answers rubbish:
    "block" stops what the event guards (only PreToolUse, PermissionRequest and UserPromptSubmit guard anything),
    "continue" lets it go on.
    """

    matcher: str | None = None
    hooks: Sequence[Callable[..., Any]] = attrs.field(factory=list)
    timeout: float | None = None
    on_failure: Literal["block", "continue"] = "block"


@attrs.frozen
class Hook:
    """One registered callback: the event it was registered for and how it may fail.

    `timeout` is in seconds, None for no limit.
    """

    event: str
    function: Callable[..., Any]
    timeout: float | None
    blocks: bool


def register_hooks(
    hooks: Mapping[str, Sequence[HookMatcher]] | None, default_timeout: float | None
) -> tuple[dict[str, Any], dict[str, Hook]]:
    """Return the `hooks` field of initialize, and every callback by the id that it is registered under."""
    config: dict[str, list[dict[str, Any]]] = {}
    registered: dict[str, Hook] = {}
    for event, matchers in (hooks or {}).items():
        for matcher in matchers:
            timeout = default_timeout if matcher.timeout is None else matcher.timeout
            blocks = event in GUARDS and matcher.on_failure == "block"
            ids = [f"hook_{len(registered) + index}" for index in range(len(matcher.hooks))]
            registered |= {
                name: Hook(event, function, timeout, blocks) for name, function in zip(ids, matcher.hooks, strict=True)
            }
            config.setdefault(event, []).append(_matcher_to_wire(matcher, ids, timeout, blocks))
    return config, registered


def _matcher_to_wire(matcher: HookMatcher, ids: list[str], timeout: float | None, blocks: bool) -> dict[str, Any]:
    told = UNLIMITED if timeout is None else timeout + PROGRAM_MARGIN
    wire: dict[str, Any] = {"hookCallbackIds": ids, "timeout": math.ceil(told)}
    if matcher.matcher is not None:  # absent, not null: null is taken too, but only absence is the documented "all"
        wire["matcher"] = matcher.matcher
    if blocks:
        wire["onFailure"] = "block"
    return wire


def answer_hook(event: str, output: object, *, allow_bypass: bool = False) -> dict[str, Any]:
    """Return a callback's output in its wire form; None is "no opinion".

    `continue_` and `async_` are sent as `continue` and `async`. Raises `OptionsError` for an output that a program
    would misread or crash on, and for a switch to bypassPermissions in a session that was not launched for it.
    """
    if output is None:
        return {}
    if not isinstance(output, Mapping):
        raise OptionsError(f"a hook must return a dict or None, not {type(output).__name__}")
    wire: dict[str, Any] = {_PYTHON_NAMES.get(str(key), str(key)): value for key, value in output.items()}
    _check_types(wire, _TYPES)
    if wire.get("decision") not in (None, "block", "approve"):
        raise OptionsError(f"a hook's decision is 'block' or 'approve', not {wire['decision']!r}", field="decision")
    if "hookSpecificOutput" in wire:
        wire["hookSpecificOutput"] = _check_specific(event, dict(wire["hookSpecificOutput"]), allow_bypass)
    return wire


def _check_types(output: Mapping[str, Any], types: Mapping[str, type | tuple[type, ...]]) -> None:
    for key, expected in types.items():
        if key in output and not isinstance(output[key], expected):
            raise OptionsError(f"{key} in a hook's output cannot be {output[key]!r}", field=key)


def _check_specific(event: str, specific: dict[str, Any], allow_bypass: bool) -> dict[str, Any]:
    name = specific.setdefault("hookEventName", event)
    if name != event:  # a session of 2.1.332 crashes on this
        raise OptionsError(f"hookEventName is {name!r}, but the hook runs for {event}", field="hookEventName")
    decision = specific.get("permissionDecision")
    if "permissionDecision" in specific and decision not in _DECISIONS.get(event, ()):
        known = ", ".join(_DECISIONS.get(event, ())) or "nothing of that kind"
        raise OptionsError(
            f"permissionDecision {decision!r} is unknown to {event}: it takes {known}", field="permissionDecision"
        )
    _check_types(specific, _SPECIFIC_TYPES)
    if event == "PermissionRequest":
        specific["decision"] = _check_decision(specific.get("decision"), allow_bypass)
    return specific


def _check_decision(decision: object, allow_bypass: bool) -> dict[str, Any]:
    if not isinstance(decision, Mapping) or decision.get("behavior") not in ("allow", "deny"):
        raise OptionsError(
            f"a PermissionRequest hook decides {{'behavior': 'allow' or 'deny'}}, not {decision!r}", field="decision"
        )
    _check_types(decision, _DECIDED_TYPES)
    if "updatedPermissions" not in decision:
        return dict(decision)
    return {**decision, "updatedPermissions": write_updates(decision["updatedPermissions"], allow_bypass)}


def failed_hook(hook: Hook, reason: str) -> dict[str, Any]:
    """Return the answer for a callback that failed: a guard stops what it guards, others have no opinion."""
    if not hook.blocks:
        return {}
    if hook.event == "PreToolUse":
        decision = {"permissionDecision": "deny", "permissionDecisionReason": reason}
        return {"hookSpecificOutput": {"hookEventName": "PreToolUse", **decision}}
    if hook.event == "PermissionRequest":
        decision = {"behavior": "deny", "message": reason}
        return {"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": decision}}
    return {"decision": "block", "reason": reason}
