"""Functions that the session calls from its threads: plain functions only, for nothing here runs an event loop."""

import contextlib
import functools
import inspect
import math
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import attrs

from claude_control.errors import OptionsError
from claude_control.likeness import closest
from claude_control.options.checks import reject
from claude_control.wire.hook_answers import FIELDS
from claude_control.wire.hooks import LONGEST, HookMatcher

if TYPE_CHECKING:
    from claude_control.options.options import Options

__all__ = ["HOOK_EVENTS", "check_callback", "check_dialog_kinds", "check_hooks", "dialog_kinds"]

HOOK_EVENTS = frozenset(FIELDS)
"""The events that 2.1.332 knows; older programs accept any name and never fire what they do not know."""

_LIKENESS = 0.9  # one letter in ten is a typing mistake; "PreToolBatch" and "PostToolBatch" (0.8) are two events


def check_callback(_instance: Any, attribute: "attrs.Attribute[Any]", value: Any) -> None:
    """Take a plain function or other callable."""
    _check_plain(attribute.name, attribute.name, value)


def check_dialog_kinds(_instance: Any, attribute: "attrs.Attribute[Any]", value: Any) -> None:
    """Take a list of the names of dialogs."""
    if not isinstance(value, tuple) or not all(isinstance(kind, str) and kind for kind in value):
        reject(attribute.name, value, "a list of kinds such as ['refusal_fallback_prompt']")


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


def dialog_kinds(options: "Options") -> tuple[str, ...]:
    """Return the kinds of dialogs to declare: none without a callback, for a dialog that nobody shows hangs a turn."""
    return tuple(options.supported_dialog_kinds) if options.on_user_dialog is not None else ()


def _check_event(event: object) -> None:
    if not isinstance(event, str) or not event.isidentifier():
        reject("hooks", event, "a mapping whose keys are event names, such as 'PreToolUse'")
    if event in HOOK_EVENTS:
        return
    folded = {known.lower(): known for known in HOOK_EVENTS}
    close = closest(event.replace("_", "").lower(), folded, _LIKENESS)
    if close:  # any other unknown name may be an event of a newer program
        raise OptionsError(f"hooks has the unknown event {event!r}; did you mean {folded[close]!r}?", field="hooks")


def _check_matcher(where: str, matcher: object) -> None:
    if not isinstance(matcher, HookMatcher):
        reject(where, matcher, "a list of HookMatcher, such as [HookMatcher(hooks=[guard])]")
    if matcher.matcher is not None and not _is_pattern(matcher.matcher):
        reject(f"{where}.matcher", matcher.matcher, "a tool name or pattern, such as 'Bash' or 'Write|Edit', or None")
    if matcher.on_failure not in ("block", "continue"):
        reject(f"{where}.on_failure", matcher.on_failure, "'block' or 'continue'")
    if matcher.timeout is not None and not _is_limit(matcher.timeout):
        known = f"a positive number of seconds up to {LONGEST:g}, or None for the session's hook_timeout"
        reject(f"{where}.timeout", matcher.timeout, known)
    if not isinstance(matcher.ordered, bool):
        reject(f"{where}.ordered", matcher.ordered, "True or False")
    if not isinstance(matcher.hooks, list | tuple) or not matcher.hooks:
        reject(f"{where}.hooks", matcher.hooks, "a list of functions that is not empty")
    for function in matcher.hooks:
        _check_plain("hooks", f"{where}.hooks", function)


def _is_pattern(value: object) -> bool:
    """Tell whether the program can match with it: with one that is no pattern its callbacks never run (2.1.332)."""
    if not isinstance(value, str):
        return False
    with contextlib.suppress(re.error):
        re.compile(value.replace("(?<", "(?P<").replace("(?P<=", "(?<=").replace("(?P<!", "(?<!"))
        return True
    return value == "*"  # stands for all


def _is_limit(value: object) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and math.isfinite(value) and 0 < value <= LONGEST  # type: ignore[arg-type, operator]


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
