"""Options that keep a callback from ever being called: found before a session is started, not when nobody asks.

What the options do was measured on 2.0.75, 2.1.7 and 2.1.332 (tests/real/test_permissions.py). Settings files may do
the same unseen.
"""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from claude_control.records import frozen
from claude_control.wire.questions import PLAN_TOOL, QUESTION_TOOL

if TYPE_CHECKING:
    from claude_control.options.options import Options

__all__ = ["Obstacle", "can_ask_questions", "obstacles", "whole_tool"]

_WHOLE_TOOL = re.compile(r"([^()]+)(\(\*?\))?")

_MODES = {
    "bypassPermissions": "lets every tool run unasked",
    "dontAsk": "denies unasked what it does not allow",
    "auto": "lets the program itself judge most calls",
}
_ASKED_IN_SPITE_OF = (QUESTION_TOOL, PLAN_TOOL)  # their answer is more than yes or no


@frozen
class Obstacle:
    """What is in the way of which callback (or tool), as an option's name and what to say of it."""

    field: str
    text: str


def obstacles(options: "Options") -> list[Obstacle]:
    """Return everything in the options that keeps a callback from being asked, or a question from an answer."""
    found = list(_of_can_use_tool(options)) if options.can_use_tool is not None else []
    if options.on_question is not None:
        found += _of_one_tool(options, "on_question", QUESTION_TOOL)
    if options.on_plan is not None:
        found += _of_one_tool(options, "on_plan", PLAN_TOOL)
    if options.on_user_dialog is not None and not options.supported_dialog_kinds:
        found.append(Obstacle("on_user_dialog", "is never called without supported_dialog_kinds, the kinds to show"))
    return found + list(_of_questions(options))


def can_ask_questions(options: "Options") -> bool:
    """Tell whether somebody answers what the model asks with `AskUserQuestion`."""
    asked = (options.on_question, options.can_use_tool, options.permission_prompt_tool_name)
    return any(one is not None for one in asked)


def whole_tool(rule: str) -> str | None:
    """Return the tool that a rule is about altogether, None for a rule about some of its uses."""
    found = _WHOLE_TOOL.fullmatch(rule)
    return found[1] if found else None


def _of_can_use_tool(options: "Options") -> Iterator[Obstacle]:
    whole = [rule for rule in options.allowed_tools if whole_tool(rule) not in (None, *_ASKED_IN_SPITE_OF)]
    if whole:
        yield Obstacle(
            "can_use_tool",
            f"is never asked about {', '.join(whole)}, which allowed_tools lets run unasked; use a PreToolUse hook as "
            "a guard",
        )
    if options.permission_mode in _MODES:
        yield Obstacle("can_use_tool", _mode(options))
    if options.tools == () and not options.mcp_servers:
        yield Obstacle("can_use_tool", "has nothing to be asked about: tools=[] leaves no tool")


def _of_one_tool(options: "Options", callback: str, tool: str) -> Iterator[Obstacle]:
    if isinstance(options.tools, tuple) and tool not in options.tools:
        yield Obstacle(callback, f"is never asked, because tools does not name {tool}")
    if tool in map(whole_tool, options.disallowed_tools):
        yield Obstacle(callback, f"is never asked, because disallowed_tools names {tool}")
    if options.permission_mode == "dontAsk":
        yield Obstacle(callback, _mode(options))


def _of_questions(options: "Options") -> Iterator[Obstacle]:
    if can_ask_questions(options):
        return
    for field, rules in (("tools", options.tools), ("allowed_tools", options.allowed_tools)):
        if isinstance(rules, tuple) and QUESTION_TOOL in map(whole_tool, rules):
            yield Obstacle(
                field, f"names {QUESTION_TOOL}, which is taken out because nobody could answer; set on_question"
            )


def _mode(options: "Options") -> str:
    return f"is not asked: permission_mode={options.permission_mode!r} {_MODES[str(options.permission_mode)]}"
