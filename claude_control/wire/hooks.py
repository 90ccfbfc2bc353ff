"""Hooks: how they are registered, and what is said for one that failed.

A control error as a hook's answer lets the tool run on every measured program (2.0.75, 2.1.7, 2.1.332), so it is never
sent: a guard that fails denies.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import attrs

from claude_control.records import frozen

__all__ = ["GUARDS", "LONGEST", "PATIENT", "Hook", "HookMatcher", "failed_hook", "register_hooks"]

GUARDS = frozenset(
    "PreToolUse PermissionRequest UserPromptSubmit UserPromptExpansion PreSkillShellCommand PreModelSwitch".split()
)
"""Events whose callbacks can stop something before it happens; their failure stops it, unless `on_failure="continue"`.

Of PreCompact a failure stops nothing: a conversation that can never be compacted ends in an error.
"""

PATIENT = GUARDS | {"PostToolBatch", "SubagentStart"}
"""Events at which the program's own limit does harm, so that it is told none: ours is the only one.

At PostToolBatch it ends the session, at SubagentStart the subagent; at a guard it lets the tool run (2.0.75, 2.1.7) or
denies without our reason (2.1.332). Our limit holds whatever the callbacks do; but a host that is itself stopped for
longer than the margin, in a debugger or by Ctrl-Z, would lose the race.
"""

PROGRAM_MARGIN = 15.0
"""Seconds that the program is told beyond our own limit at the other events, so that our answer is there first."""

UNLIMITED = 86_400.0
"""Seconds that the program is told where there is to be no limit: a day.

Told nothing it stops waiting after ten minutes (2.1.332).
"""

LONGEST = UNLIMITED - PROGRAM_MARGIN
"""Seconds that a hook's own limit may be at most, so that the program's is never the shorter one."""


@frozen
class HookMatcher:
    """Callbacks for one event, and for which tools.

    `matcher` is a tool name or a pattern of names ("Write|Edit"); None means all. `timeout` is in seconds, less than a
    day (None: the session's `hook_timeout`), and counts from when the program asks. `on_failure` says what happens when
    a callback raises, times out or answers rubbish: "block" stops what the event guards (see `GUARDS`; other events
    guard nothing), "continue" lets it go on.

    The program asks all callbacks of an event at once. With `ordered` those of this matcher run one after the other, as
    they are listed, on the same thread; each runs whatever the ones before it did, and the time for all of them counts
    from when the program asks.
    """

    matcher: str | None = None
    hooks: Sequence[Callable[..., Any]] = attrs.field(factory=list)
    timeout: float | None = None
    on_failure: Literal["block", "continue"] = "block"
    ordered: bool = attrs.field(default=False, kw_only=True)


@frozen
class Hook:
    """One registered callback: the event it was registered for and how it may fail.

    `timeout` is in seconds, None for no limit. `row` is the number of an ordered matcher, whose callbacks do not run at
    the same time.
    """

    event: str
    function: Callable[..., Any]
    timeout: float | None
    blocks: bool
    row: int | None = None


def register_hooks(
    hooks: Mapping[str, Sequence[HookMatcher]] | None, default_timeout: float | None
) -> tuple[dict[str, Any], dict[str, Hook]]:
    """Return the `hooks` field of initialize, and every callback by the id that it is registered under."""
    longest = None if default_timeout is None else min(default_timeout, LONGEST)
    config: dict[str, list[dict[str, Any]]] = {}
    registered: dict[str, Hook] = {}
    for event, matchers in (hooks or {}).items():
        for matcher in matchers:
            timeout = longest if matcher.timeout is None else matcher.timeout
            blocks = event in GUARDS and matcher.on_failure == "block"
            row = len(registered) if matcher.ordered else None
            ids = [f"hook_{len(registered) + index}" for index in range(len(matcher.hooks))]
            registered |= {
                name: Hook(event, function, timeout, blocks, row)
                for name, function in zip(ids, matcher.hooks, strict=True)
            }
            config.setdefault(event, []).append(_matcher_to_wire(event, matcher, ids, timeout, blocks))
    return config, registered


def _matcher_to_wire(
    event: str, matcher: HookMatcher, ids: list[str], timeout: float | None, blocks: bool
) -> dict[str, Any]:
    told = UNLIMITED if timeout is None or event in PATIENT else timeout + PROGRAM_MARGIN
    wire: dict[str, Any] = {"hookCallbackIds": ids, "timeout": math.ceil(told)}
    if matcher.matcher is not None:  # absent, not null: null is taken too, but only absence is the documented "all"
        wire["matcher"] = matcher.matcher
    if (
        blocks
    ):  # only for answers that never come so: no answer of ours is an error or invalid. Older programs ignore it
        wire["onFailure"] = "block"
    return wire


def failed_hook(hook: Hook, reason: str) -> dict[str, Any]:
    """Return the answer for a callback that failed: a guard stops what it guards, others have no opinion."""
    if not hook.blocks:
        return {}
    if hook.event == "PermissionRequest":
        return {
            "hookSpecificOutput": {"hookEventName": hook.event, "decision": {"behavior": "deny", "message": reason}}
        }
    if hook.event in ("UserPromptSubmit", "UserPromptExpansion"):
        return {"decision": "block", "reason": reason}
    decision = {"permissionDecision": "deny", "permissionDecisionReason": reason}
    return {"hookSpecificOutput": {"hookEventName": hook.event, **decision}}
