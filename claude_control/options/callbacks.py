"""Functions that the session calls from its threads: plain functions only, for nothing here runs an event loop."""

import difflib
import functools
import inspect
import math
from collections.abc import Mapping
from typing import Any

import attrs

from claude_control.errors import OptionsError
from claude_control.options.checks import reject
from claude_control.wire.hooks import HookMatcher

__all__ = ["HOOK_EVENTS", "check_callback", "check_hooks"]

HOOK_EVENTS = frozenset(
    """
    PreToolUse PostToolUse PostToolUseFailure PostToolBatch Notification UserPromptSubmit UserPromptExpansion
    SessionStart SessionEnd Stop StopFailure SubagentStart SubagentStop PreCompact PostCompact PreModelSwitch
    PostModelSwitch PermissionRequest PermissionDenied Setup TeammateIdle TaskCreated TaskCompleted Elicitation
    ElicitationResult ConfigChange WorktreeCreate WorktreeRemove InstructionsLoaded CwdChanged FileChanged
    DirectoryAdded MessageDisplay PreSkillShellCommand
    """.split()
)
"""The events that 2.1.332 knows; older programs accept any name and never fire what they do not know."""

_LIKENESS = 0.9  # one letter in ten is a typing mistake; "PreToolBatch" and "PostToolBatch" (0.8) are two events


def check_callback(_instance: Any, attribute: "attrs.Attribute[Any]", value: Any) -> None:
    """Take a plain function or other callable."""
    _check_plain(attribute.name, attribute.name, value)


def check_hooks(_instance: Any, attribute: "attrs.Attribute[Any]", value: Any) -> None:
    """Take a mapping from event name to a list of `HookMatcher`."""
    if value is None:
        return
    if not isinstance(value, Mapping):
        reject(attribute.name, value, "a mapping such as {'PreToolUse': [HookMatcher(hooks=[guard])]}")
    for event, matchers in value.items():
        _check_event(event)
        if not isinstance(matchers, list | tuple):
            reject(f"hooks[{event!r}]", matchers, "a list of HookMatcher")
        for matcher in matchers:
            _check_matcher(f"hooks[{event!r}]", matcher)


def _check_event(event: object) -> None:
    if not isinstance(event, str) or not event.isidentifier():
        reject("hooks", event, "a mapping whose keys are event names, such as 'PreToolUse'")
    if event in HOOK_EVENTS:
        return
    folded = {known.lower(): known for known in HOOK_EVENTS}
    close = difflib.get_close_matches(event.replace("_", "").lower(), folded, n=1, cutoff=_LIKENESS)
    if close:  # any other unknown name may be an event of a newer program
        raise OptionsError(f"hooks has the unknown event {event!r}; did you mean {folded[close[0]]!r}?", field="hooks")


def _check_matcher(where: str, matcher: object) -> None:
    if not isinstance(matcher, HookMatcher):
        reject(where, matcher, "a list of HookMatcher, such as [HookMatcher(hooks=[guard])]")
    if matcher.matcher is not None and not isinstance(matcher.matcher, str):
        reject(f"{where}.matcher", matcher.matcher, "a tool name or pattern, or None for all")
    if matcher.on_failure not in ("block", "continue"):
        reject(f"{where}.on_failure", matcher.on_failure, "'block' or 'continue'")
    timeout = matcher.timeout
    if timeout is not None and not (isinstance(timeout, int | float) and math.isfinite(timeout) and timeout > 0):
        reject(f"{where}.timeout", timeout, "a positive number of seconds, or None for the session's hook_timeout")
    if not isinstance(matcher.hooks, list | tuple) or not matcher.hooks:
        reject(f"{where}.hooks", matcher.hooks, "a list of functions that is not empty")
    for function in matcher.hooks:
        _check_plain("hooks", f"{where}.hooks", function)


def _check_plain(field: str, where: str, function: Any) -> None:
    if not callable(function):
        reject(where, function, "a function")
    if _is_asynchronous(function):
        raise OptionsError(
            f"{where} must be a plain function, not a coroutine function: a worker thread calls it, and it may block",
            field=field,
        )


def _is_asynchronous(function: Any) -> bool:
    while isinstance(function, functools.partial):
        function = function.func
    called = (function, getattr(function, "__call__", None))  # noqa: B004 - the method itself is wanted, not whether there is one
    return any(inspect.iscoroutinefunction(item) or inspect.isasyncgenfunction(item) for item in called)
