"""What the code itself says of hooks, as Markdown: the tables of topics/hooks.md."""

import inspect
import typing
from collections.abc import Callable

from claude_control.wire import hook_outputs
from claude_control.wire.hook_answers import BLOCKED, FIELDS, STOPPED
from claude_control.wire.hook_inputs import HOOK_INPUTS, BaseHookInput
from claude_control.wire.hooks import GUARDS, PATIENT
from docs.tables import one_line, table

__all__ = ["NEVER", "OLDER", "TABLES"]

OLDER = frozenset(
    """
    PreToolUse PostToolUse PostToolUseFailure UserPromptSubmit Stop SubagentStart SubagentStop PreCompact SessionStart
    SessionEnd
    """.split()
)
"""The events that reached a hook on 2.0.75 and 2.1.7 too."""

NEVER = frozenset({"CwdChanged", "Setup", "TeammateIdle"})
"""The events that 2.1.332 declares, and that could not be made to reach a hook."""

_WITHOUT = typing.get_type_hints(BaseHookInput).keys() | {"hook_event_name"}


def hook_events() -> str:
    """Return a table with a line for each event that reaches hooks."""
    rows = [
        (f"`{event}`", _when(kind), _fields(kind), _can(event), "all" if event in OLDER else "2.1.332")
        for event, kind in HOOK_INPUTS.items()
        if event not in NEVER
    ]
    return table(("event", "what happens", "fields of its own", "a hook can", "programs"), rows)


def _when(kind: type) -> str:
    return one_line(inspect.getdoc(kind) or "").replace(" (2.1.332)", "")


def _fields(kind: type) -> str:
    own = typing.get_type_hints(kind).keys() - _WITHOUT
    missing: frozenset[str] = getattr(kind, "__optional_keys__", frozenset())
    names = [name for name in typing.get_type_hints(kind) if name in own]
    return ", ".join(f"`{name}`{'?' if name in missing else ''}" for name in names)


def _can(event: str) -> str:
    words = [f"`{name}`" for name in FIELDS[event] if name != "permissionDecisionReason"]
    words += ["block"] if event in BLOCKED else []
    words += ["stop"] if event in STOPPED else []
    return ", ".join(words) or "watch"


def hook_failures() -> str:
    """Return a table of what becomes of a hook that fails, by event."""
    rows = []
    for events, guarded, limit in (
        (sorted(GUARDS), "what the event announces does not happen, and the reason is told", "none"),
        (sorted(PATIENT - GUARDS), "no opinion; a warning in the log", "none"),
        (["any other"], "no opinion; a warning in the log", "15 seconds more than ours"),
    ):
        rows.append((", ".join(f"`{event}`" if event[0].isupper() else event for event in events), guarded, limit))
    return table(
        ("event", "a hook raises, is late, or answers what the event cannot say", "limit that the program is told"),
        rows,
    )


def hook_helpers() -> str:
    """Return a table of the functions that make answers."""
    rows = []
    for name in hook_outputs.__all__:
        function = getattr(hook_outputs, name)
        parameters = ", ".join(inspect.signature(function).parameters)
        rows.append((f"`{name}({parameters})`", one_line(inspect.getdoc(function) or "")))
    return table(("answer", "what it does"), rows)


TABLES: dict[str, Callable[[], str]] = {
    "hook-events": hook_events,
    "hook-failures": hook_failures,
    "hook-helpers": hook_helpers,
}
"""Every table by its name: it stands in a page between `<!-- begin: name -->` and `<!-- end: name -->`."""
