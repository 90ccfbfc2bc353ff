"""Asking a person on the terminal whether a tool may run."""

import json
import threading
from typing import Any

from claude_control.cli.keyboard import Keyboard
from claude_control.cli.plain import printable, width
from claude_control.cli.status import Status
from claude_control.cli.terminal import Terminal
from claude_control.session.permissions import PermissionContext
from claude_control.wire.permissions import Allow, Deny, PermissionRuleValue, PermissionUpdate

__all__ = ["Approver", "describe"]

SHOWN_LINES = 24
"""Lines of a tool's input that are shown unasked: with the question they fit on the smallest usual terminal."""

_GUTTER = "  | "
_LEAST_COLUMNS = 20  # a narrower terminal wraps by itself
_YES = ("y", "yes")
_NO = ("n", "no")
_ALWAYS = ("a", "always")
_VIEW = ("v", "view")


class Approver:
    """The permission callback of the command: it asks the person at the keyboard, or denies if there is none.

    `unasked` has the tools that were denied because there was nobody to ask.
    """

    def __init__(self, terminal: Terminal, keyboard: Keyboard | None, status: Status) -> None:
        self._terminal = terminal
        self._status = status
        self._keyboard = keyboard
        self._lock = threading.Lock()  # guards the list: callbacks run side by side
        self.unasked: list[str] = []

    def __call__(self, tool_name: str, tool_input: dict[str, Any], context: PermissionContext) -> Allow | Deny:
        """Decide about one use of a tool."""
        if self._keyboard is None:
            return self._deny_unasked(tool_name)
        shown = _name(tool_name)
        self._status.wait_for_use(context.tool_use_id)
        with self._keyboard.question(lambda: context.signal.aborted, f"Claude asks to use {shown}.") as has_keyboard:
            if not has_keyboard:
                return Deny("The question was withdrawn.")
            self._terminal.note(_headline(shown, context), "bold")
            self._show(tool_input, context, limit=SHOWN_LINES)
            return self._ask(shown, tool_name, tool_input, context)

    def _deny_unasked(self, tool_name: str) -> Deny:
        with self._lock:
            self.unasked.append(tool_name)
        shown = _name(tool_name)
        self._terminal.note(
            f"claude-control: denied {shown}: there is no terminal to ask on (--allow {shown} lets it run)"
        )
        return Deny(f"Nobody can be asked: this run has no terminal. {tool_name} was not allowed beforehand.")

    def _ask(self, shown: str, tool_name: str, tool_input: dict[str, Any], context: PermissionContext) -> Allow | Deny:
        assert self._keyboard is not None
        self._keyboard.forget()
        while True:
            self._terminal.note(f"Allow? y yes, n no, a always {shown} (this session), or say why not: ", end="")
            line = self._keyboard.answer(lambda: context.signal.aborted)
            if line is None:
                self._terminal.note("(no longer asked)", "dim")
                return Deny("The question was withdrawn.")
            self._terminal.typed(line)
            answer = line.strip()
            if answer.lower() in _VIEW:
                self._show(tool_input, context, limit=None)
            elif (decision := _decision(answer, line, tool_name)) is not None:
                return decision

    def _show(self, tool_input: dict[str, Any], context: PermissionContext, limit: int | None) -> None:
        lines = describe(tool_input, context, self._terminal.columns)
        for line in lines[:limit]:
            self._terminal.note(line)
        if limit is not None and len(lines) > limit:
            self._terminal.note(f"  ... {len(lines) - limit} more lines; v shows everything", "yellow")


def describe(tool_input: dict[str, Any], context: PermissionContext | None, columns: int) -> list[str]:
    """Return a tool's input as lines for a person who decides: complete, every character visible.

    A mark stands before each line, wrapped ones too, so that no input can pass for the question behind it.
    """
    parts = [(key, value if isinstance(value, str) else _as_json(value)) for key, value in tool_input.items()]
    if context is not None:
        parts += [("(path)", context.blocked_path)] if context.blocked_path else []
        parts += [("(reason)", context.decision_reason)] if context.decision_reason else []
    room = max(columns, _LEAST_COLUMNS) - len(_GUTTER) - 1
    lines: list[str] = []
    for key, value in parts:
        text = printable(value).expandtabs(4)
        first, *rest = text.split("\n")
        logical = [f"{_name(key)}: {first}", *(f"  {line}" for line in rest)]
        lines += [_GUTTER + piece for line in logical for piece in _wrapped(line, room)]
    return lines


def _name(text: str) -> str:
    return printable(text).replace("\n", "\\n").replace("\t", "\\t")


def _headline(shown: str, context: PermissionContext) -> str:
    whom = "A subagent" if context.agent_id else "Claude"
    return f"{whom} asks to use {shown}:"


def _decision(answer: str, line: str, tool_name: str) -> Allow | Deny | None:
    """Return what an answer means; None for one that means nothing."""
    if line == "":  # the end of input: nobody is there any more
        return Deny("The person at the terminal has left.")
    word = answer.lower()
    if word in _YES:
        return Allow()
    if word in _ALWAYS:
        rule = PermissionUpdate("addRules", rules=[PermissionRuleValue(tool_name)], behavior="allow")
        return Allow(updated_permissions=[rule])
    if word in _NO:
        return Deny("The person at the terminal said no.")
    return Deny(answer) if len(answer) > 1 else None  # a single letter is a slip of the finger


def _as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2 if isinstance(value, dict | list) and value else None)


def _wrapped(line: str, room: int) -> list[str]:
    pieces, piece, taken = [], "", 0
    for character in line:
        wide = width(character)
        if taken + wide > room:
            pieces.append(piece)
            piece, taken = "", 0
        piece += character
        taken += wide
    return [*pieces, piece]
