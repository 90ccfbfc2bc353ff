"""Asking a person on the terminal whether a tool may run."""

import json
from typing import Any

from claude_control.cli.person import WITHDRAWN, Person, marked, name, whom
from claude_control.session.permissions import PermissionContext
from claude_control.wire.permissions import Allow, Deny, PermissionRuleValue, PermissionUpdate

__all__ = ["Approver", "describe"]

_ALWAYS = ("a", "always")


class Approver:
    """The permission callback of the command: it asks the person at the keyboard, or denies if there is none."""

    def __init__(self, person: Person) -> None:
        self._person = person

    def __call__(self, tool_name: str, tool_input: dict[str, Any], context: PermissionContext) -> Allow | Deny:
        """Decide about one use of a tool."""
        shown = name(tool_name)
        if not self._person.is_there:
            why = f"{tool_name} was not allowed beforehand."
            return self._person.deny_unasked(tool_name, why, f" (--allow {shown} lets it run)")
        headline = f"{whom(context)} asks to use {shown}"
        with self._person.asked(context, f"{headline}.") as has_keyboard:
            if not has_keyboard:
                return WITHDRAWN
            self._person.terminal.note(f"{headline}:", "bold")
            lines = describe(tool_input, context, self._person.terminal.columns)
            prompt = f"Allow? y yes, n no, a always {shown} (this session), or say why not: "
            return self._person.decide(lines, prompt, context, dict.fromkeys(_ALWAYS, _always(tool_name)))


def describe(tool_input: dict[str, Any], context: PermissionContext | None, columns: int) -> list[str]:
    """Return a tool's input as marked lines for a person who decides: complete, every character visible.

    What goes on behind a line's end stands further right, so that no value can pass for another one.
    """
    parts = [(key, value if isinstance(value, str) else _as_json(value)) for key, value in tool_input.items()]
    if context is not None:
        parts += [("(path)", context.blocked_path)] if context.blocked_path else []
        parts += [("(reason)", context.decision_reason)] if context.decision_reason else []
    return [line for key, value in parts for line in marked(f"{name(key)}: {value}", columns, indent="  ")]


def _always(tool_name: str) -> Allow:
    rule = PermissionUpdate("addRules", rules=[PermissionRuleValue(tool_name)], behavior="allow")
    return Allow(updated_permissions=[rule])


def _as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2 if isinstance(value, dict | list) and value else None)
