"""What a hook answers, checked for its event before it is sent.

The programs read answers leniently: what they do not understand they drop, a denial with it, and a `hookEventName` that
is not the event's own ends some sessions. So whatever an event cannot say is an error here, and nothing is a silence.
"""

from collections.abc import Mapping
from typing import Any

from claude_control.errors import OptionsError
from claude_control.likeness import closest
from claude_control.wire.hooks import GUARDS
from claude_control.wire.permissions import DEFAULT_DENIAL, write_updates
from claude_control.wire.support import CURRENT, OLDEST

__all__ = ["BLOCKED", "FIELDS", "STOPPED", "answer_hook", "needed_program"]

_DECIDED = {"permissionDecision": str, "permissionDecisionReason": str}
_CONTEXT = {"additionalContext": str}
_PROMPT = {**_CONTEXT, "suppressOriginalPrompt": bool}

FIELDS: Mapping[str, Mapping[str, type]] = {
    "PreToolUse": {**_DECIDED, **_CONTEXT, "updatedInput": Mapping},
    "PreSkillShellCommand": _DECIDED,
    "PreModelSwitch": _DECIDED,
    "PermissionRequest": {"decision": Mapping},
    "PermissionDenied": {"retry": bool},
    "PostToolUse": {**_CONTEXT, "classifierContext": str, "updatedToolOutput": object, "updatedMCPToolOutput": object},
    "PostToolUseFailure": _CONTEXT,
    "PostToolBatch": _CONTEXT,
    "UserPromptSubmit": {**_PROMPT, "sessionTitle": str},
    "UserPromptExpansion": _PROMPT,
    "SessionStart": {
        **_CONTEXT,
        "initialUserMessage": str,
        "sessionTitle": str,
        "watchPaths": list,
        "reloadSkills": bool,
    },
    "Setup": _CONTEXT,
    "SubagentStart": _CONTEXT,
    "SubagentStop": _CONTEXT,
    "Stop": _CONTEXT,
    "PostModelSwitch": _CONTEXT,
    "MessageDisplay": {"displayContent": str},
    "WorktreeCreate": {"worktreePath": str},
    "ConfigChange": {},
    "CwdChanged": {},
    "DirectoryAdded": {},
    "Elicitation": {},
    "ElicitationResult": {},
    "FileChanged": {},
    "InstructionsLoaded": {},
    "Notification": {},
    "PostCompact": {},
    "PreCompact": {},
    "SessionEnd": {},
    "StopFailure": {},
    "TaskCompleted": {},
    "TaskCreated": {},
    "TeammateIdle": {},
    "WorktreeRemove": {},
}
"""What each event of 2.1.332 obeys in `hookSpecificOutput`, and of which type.

A value of another type makes every program drop the whole answer. The schema of 2.1.332 has some more: `updatedInput`
of PreSkillShellCommand is one more way to deny; `action` and `content` of elicitations, the context of Notification and
`watchPaths` of FileChanged and CwdChanged are read from commands in settings files only.
"""

_OWN = frozenset(name for fields in FIELDS.values() for name in fields) - {"decision"} | {"action", "content"}

BLOCKED = frozenset(
    """
    PreToolUse PermissionRequest PreSkillShellCommand PreModelSwitch PostToolUse PostToolUseFailure PostToolBatch
    UserPromptSubmit UserPromptExpansion Stop SubagentStop PreCompact
    ConfigChange TaskCreated TaskCompleted TeammateIdle Elicitation ElicitationResult
    """.split()
)
"""The events that `decision: "block"` does something to; of ConfigChange and TeammateIdle it is only declared."""

STOPPED = frozenset(
    """
    PreToolUse PostToolUse PostToolBatch UserPromptSubmit UserPromptExpansion PreSkillShellCommand Stop SubagentStop
    TeammateIdle
    """.split()
)
"""The events that `continue: false` does something to; of TeammateIdle it is only declared."""

_PERMISSIONS: Mapping[str, tuple[str, ...]] = {
    "PreToolUse": ("allow", "deny", "ask", "defer"),
    "PreSkillShellCommand": ("allow", "deny", "ask", "defer"),
    "PreModelSwitch": ("allow", "deny", "ask"),
    "PermissionRequest": ("allow", "deny"),
}

_TOP: Mapping[str, type | tuple[type, ...]] = {
    "continue": bool,
    "async": bool,
    "suppressOutput": bool,
    "stopReason": str,
    "systemMessage": str,
    "terminalSequence": str,
    "reason": str,
    "decision": str,
    "asyncTimeout": (int, float),
    "hookSpecificOutput": Mapping,
}
_LEGACY = {"block": "deny", "approve": "allow"}
_DECISION: Mapping[str, type] = {"interrupt": bool, "message": str, "updatedInput": Mapping}
_PYTHON_NAMES = {"continue_": "continue", "async_": "async"}
_WITH_ASYNC = {"async", "asyncTimeout"}
_LIKENESS = 0.8  # "permisionDecision" is a slip, "novel" may be of a newer program


def answer_hook(event: str, output: object, *, allow_bypass: bool = False) -> dict[str, Any]:
    """Return a callback's output in its wire form; None is "no opinion".

    `continue_` and `async_` are sent as `continue` and `async`; fields of the event's own may stand at the top, and go
    into `hookSpecificOutput` with the event's name. An output for PermissionRequest may say `permissionDecision` or
    `decision: "block"`, as one for PreToolUse. Raises `OptionsError` for an output that a program would misread or
    crash on, for what the event cannot say, and for a switch to bypassPermissions in a session not launched for it.
    """
    if output is None or (output.__class__ is dict and not output):
        return {}
    if not isinstance(output, Mapping):
        raise OptionsError(f"a hook must return a dict or None, not {type(output).__name__}")
    wire: dict[str, Any] = {_PYTHON_NAMES.get(str(key), str(key)): value for key, value in output.items()}
    _check_types(wire, _TOP)
    specific = _specific(event, wire)
    _check_async(wire, specific)
    _check_top(event, wire, specific)
    if event == "PermissionRequest":
        _translate(wire, specific)
    if event == "PreCompact" and wire.get("decision") == "block" and "reason" in wire:
        wire.setdefault("systemMessage", wire["reason"])  # the reason itself is shown nowhere (2.1.332)
    if specific:
        _check_specific(event, specific, allow_bypass)
        wire["hookSpecificOutput"] = specific
    if event == "WorktreeCreate" and wire and not specific.get("worktreePath"):  # 2.1.332 takes a message for the path
        raise OptionsError("a WorktreeCreate hook returns the worktreePath of what it made", field="worktreePath")
    return wire


def _check_types(output: Mapping[str, Any], types: Mapping[str, type | tuple[type, ...]]) -> None:
    for key, expected in types.items():
        if key in output and not isinstance(output[key], expected):
            # A tool's input or output may be there, which belongs into no log.
            given = output[key]
            said = repr(given) if isinstance(given, bool | int | float | None) else f"a {type(given).__name__}"
            raise OptionsError(f"{key} in a hook's output cannot be {said}", field=key)


def _specific(event: str, wire: dict[str, Any]) -> dict[str, Any]:
    """Take what is the event's own out of an output, wherever it stands; {} if there is nothing of that kind."""
    nested = wire.pop("hookSpecificOutput", None)
    flat = {name: wire.pop(name) for name in _OWN & wire.keys()}
    if nested is None and not flat:
        return {}
    specific = dict(nested or {})
    for name, value in flat.items():
        if specific.setdefault(name, value) != value:
            raise OptionsError(f"{name} is in a hook's output twice, and not the same", field=name)
    name = specific.setdefault("hookEventName", event)
    if name != event:  # a session of 2.1.332 crashes on this
        raise OptionsError(f"hookEventName is {name!r}, but the hook runs for {event}", field="hookEventName")
    return specific


def _check_async(wire: Mapping[str, Any], specific: Mapping[str, Any]) -> None:
    """Refuse an answer that is put off and still says something: the programs would drop what it says."""
    if wire.get("async") is not True:
        return
    said = sorted((wire.keys() | specific.keys()) - _WITH_ASYNC)
    if said:
        raise OptionsError(f"an output with async has no opinion, but this one says {', '.join(said)}", field=said[0])


def _translate(wire: dict[str, Any], specific: dict[str, Any]) -> None:
    """Put what was said in PreToolUse's words into those of PermissionRequest."""
    said, reason = wire.pop("decision", None), wire.pop("reason", None)
    chosen = specific.pop("permissionDecision", _LEGACY.get(said))
    reason = specific.pop("permissionDecisionReason", None) or reason
    if chosen is None and "updatedInput" not in specific:
        return
    if chosen not in _PERMISSIONS["PermissionRequest"]:
        raise OptionsError(
            f"a PermissionRequest hook decides 'allow' or 'deny', not {chosen!r}: to leave it to others, return None",
            field="permissionDecision",
        )
    if "decision" in specific:
        raise OptionsError("a PermissionRequest hook decides once, not twice", field="decision")
    decision: dict[str, Any] = {"behavior": chosen}
    if chosen == "deny":
        decision["message"] = reason or DEFAULT_DENIAL
    if "updatedInput" in specific:
        decision["updatedInput"] = specific.pop("updatedInput")
    specific.setdefault("hookEventName", "PermissionRequest")
    specific["decision"] = decision


def _check_top(event: str, wire: Mapping[str, Any], specific: Mapping[str, Any]) -> None:
    decision = wire.get("decision")
    if decision is not None and decision not in _LEGACY:
        raise OptionsError(f"a hook's decision is 'block' or 'approve', not {decision!r}", field="decision")
    if decision and specific.get("permissionDecision", _LEGACY[decision]) != _LEGACY[decision]:
        raise OptionsError(
            f"a hook says either decision {decision!r} or permissionDecision {specific['permissionDecision']!r}",
            field="decision",
        )
    if event not in FIELDS:
        return
    if event in GUARDS:
        _check_guard(event, wire, specific)
    if decision == "block" and event not in BLOCKED:
        raise OptionsError(f"a {event} hook cannot block anything", field="decision")
    if wire.get("continue") is False and event not in STOPPED:
        raise OptionsError(f"a {event} hook cannot stop the turn", field="continue")


def _check_guard(event: str, wire: Mapping[str, Any], specific: Mapping[str, Any]) -> None:
    """Refuse what was meant to say something: the programs would drop it without a word, a denial with it.

    A name at the top that no program reads, such as the `behavior` of permissions, and what looks like a slip.
    """
    known = [*_TOP, *_OWN, "hookEventName"]
    for name in [each for each in (*wire, *specific) if each not in known]:
        close = closest(name, known, _LIKENESS)
        if close:
            raise OptionsError(f"a {event} hook cannot return {name}; did you mean {close}?", field=name)
        if name in wire:
            raise OptionsError(f"a {event} hook cannot return {name}: no program reads it", field=name)


def _check_specific(event: str, specific: dict[str, Any], allow_bypass: bool) -> None:
    fields = FIELDS.get(event)
    if fields is not None:
        _check_names(event, specific, fields)
        _check_types(specific, fields)
    chosen = specific.get("permissionDecision")
    if "permissionDecision" in specific and chosen not in _PERMISSIONS.get(event, (chosen,)):
        known = ", ".join(_PERMISSIONS[event])
        raise OptionsError(
            f"permissionDecision {chosen!r} is unknown to {event}: it takes {known}", field="permissionDecision"
        )
    if "watchPaths" in specific and not all(isinstance(path, str) for path in specific["watchPaths"]):
        raise OptionsError("watchPaths is a list of absolute paths", field="watchPaths")
    if event == "PermissionRequest":
        specific["decision"] = _check_decision(specific.get("decision"), allow_bypass)


def _check_names(event: str, specific: Mapping[str, Any], fields: Mapping[str, type]) -> None:
    """Refuse the fields of other events; one that is known to none may be of a newer program."""
    if not fields:
        raise OptionsError(f"a {event} hook has no fields of its own that it can return", field="hookSpecificOutput")
    for name in specific.keys() & _OWN - fields.keys():
        takes = ", ".join(sorted(fields))
        raise OptionsError(f"a {event} hook cannot return {name}: it takes {takes}", field=name)


def _check_decision(decision: object, allow_bypass: bool) -> dict[str, Any]:
    if not isinstance(decision, Mapping) or decision.get("behavior") not in ("allow", "deny"):
        raise OptionsError(
            f"a PermissionRequest hook decides {{'behavior': 'allow' or 'deny'}}, not {decision!r}", field="decision"
        )
    _check_types(decision, _DECISION)
    if "updatedPermissions" not in decision:
        return dict(decision)
    return {**decision, "updatedPermissions": write_updates(decision["updatedPermissions"], allow_bypass)}


# On 2.0.75 and 2.1.7 the others take no `hookSpecificOutput`, and an answer that has one is dropped as a whole.
_OLD_SPECIFIC = frozenset(
    "PreToolUse PostToolUse PostToolUseFailure UserPromptSubmit SessionStart SubagentStart PermissionRequest".split()
)


def needed_program(event: str, wire: Mapping[str, Any]) -> tuple[str, str]:
    """Return what in an answer is the newest, and the oldest measured program that obeys it.

    Only what older programs would get wrong counts: they drop the whole answer, or let a tool run as it should not.
    What they merely leave out, such as `additionalContext` of PreToolUse, does not.
    """
    specific = wire.get("hookSpecificOutput", {})
    if event == "PreCompact" and wire.get("decision") == "block":
        return "block of PreCompact", CURRENT
    if specific and event not in _OLD_SPECIFIC:
        return f"hookSpecificOutput of {event}", CURRENT
    if specific.get("permissionDecision") == "defer":
        return "permissionDecision 'defer'", CURRENT
    if "updatedToolOutput" in specific and "updatedMCPToolOutput" not in specific:
        return "updatedToolOutput", CURRENT
    if event == "PreToolUse" and "updatedInput" in specific and "permissionDecision" not in specific:
        return "updatedInput without permissionDecision", "2.1.7"
    return event, OLDEST
