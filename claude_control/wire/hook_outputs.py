"""The common answers of hooks, as functions: each returns a dict, and `|` puts two of them together.

    def guard(event, tool_use_id, context):
        if event["tool_name"] == "Bash":
            return ask_user("Commands are looked at.") | add_context("Keep them short.")

The fields are flat. Where they belong in the program's words, and under which event's name, is settled when the answer
is sent; an answer that the event cannot give is an error then, never a silence.
"""

from collections.abc import Mapping
from typing import Any

from claude_control.errors import OptionsError

__all__ = [
    "add_context",
    "allow_tool",
    "ask_user",
    "block",
    "defer_tool",
    "deny_tool",
    "rewrite_input",
    "rewrite_output",
    "stop",
]


def allow_tool(reason: str = "") -> dict[str, Any]:
    """Let the tool run without asking anybody; a rule that denies it still does (2.1.332, not on older programs).

    For PreToolUse, PermissionRequest, PreSkillShellCommand and PreModelSwitch; in the last two it is no opinion.
    """
    return _decide("allow", reason)


def deny_tool(reason: str) -> dict[str, Any]:
    """Keep the tool from running, and tell the model why.

    For PreToolUse, PermissionRequest, PreSkillShellCommand and PreModelSwitch. Raises `OptionsError` without a reason.
    """
    return _decide("deny", _text("deny_tool", "a reason", reason))


def ask_user(reason: str = "") -> dict[str, Any]:
    """Have the permission callback asked, whatever the rules say (2.1.332; older programs leave read-only ones alone).

    For PreToolUse. In PreSkillShellCommand and PreModelSwitch nobody can be asked, so it denies.
    """
    return _decide("ask", reason)


def defer_tool(reason: str = "") -> dict[str, Any]:
    """End the turn before the tool, whose call is then in the result as `deferred_tool_use` (2.1.332).

    For PreToolUse. Older programs do not know it: there the hook fails, and the tool is denied.
    """
    return _decide("defer", reason)


def rewrite_input(updated: Mapping[str, Any]) -> dict[str, Any]:
    """Have the tool run with another input, as a whole.

    For PreToolUse, and with `allow_tool()` for PermissionRequest; on 2.0.75 always with it, or it fails. So a hook
    answers a question of the model (2.1.332): `rewrite_input({**event["tool_input"], "answers": {question: label}})`.
    """
    if not isinstance(updated, Mapping):
        raise OptionsError(f"rewrite_input takes a dict, not {type(updated).__name__}", field="updatedInput")
    return {"updatedInput": dict(updated)}


def rewrite_output(output: object) -> dict[str, Any]:
    """Have the model told something else than what the tool returned (2.1.332; the form is the tool's own).

    For PostToolUse. Older programs take it for the tools of MCP servers only.
    """
    return {"updatedToolOutput": output, "updatedMCPToolOutput": output}


def add_context(text: str) -> dict[str, Any]:
    """Tell the model something beside what happens.

    For the events of prompts, tools, subagents and the session's start; Stop and SubagentStop go on with it.
    """
    return {"additionalContext": _text("add_context", "a text", text)}


def block(reason: str) -> dict[str, Any]:
    """Keep from happening what the event announces; after a tool, tell the model what was wrong with it.

    Stop and SubagentStop do not stop then, and the model reads the reason. Raises `OptionsError` without a reason.
    """
    return {"decision": "block", "reason": _text("block", "a reason", reason)}


def stop(reason: str = "") -> dict[str, Any]:
    """End the turn. A tool that this was said about before it ran still runs: add `deny_tool(reason)` to keep it."""
    return {"continue": False, **({"stopReason": reason} if reason else {})}


def _decide(decision: str, reason: str) -> dict[str, Any]:
    return {"permissionDecision": decision, **({"permissionDecisionReason": reason} if reason else {})}


def _text(function: str, what: str, value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise OptionsError(f"{function}() needs {what}, not {value!r}")
    return value
