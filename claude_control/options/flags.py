"""`extra_args`: flags of the program that no option stands for, and those that must not come in this way."""

import re
from collections.abc import Mapping
from typing import Any

import attrs

from claude_control.errors import OptionsError
from claude_control.options.checks import is_passable, reject

__all__ = ["OWNED_FLAGS", "check_extra_args"]

_FLAG = re.compile(r"[a-z][a-z0-9-]*")

OWNED_FLAGS: Mapping[str, str | None] = {
    "input-format": None,
    "output-format": None,
    "verbose": None,
    "print": None,
    "version": None,
    "help": None,
    "add-dir": "add_dirs",
    "agents": "agents",
    "allow-dangerously-skip-permissions": "allow_bypass",
    "allowed-tools": "allowed_tools",
    "append-system-prompt": "system_prompt",
    "append-system-prompt-file": "system_prompt",
    "betas": "betas",
    "continue": "continue_conversation",
    "dangerously-skip-permissions": "permission_mode and allow_bypass",
    "disallowed-tools": "disallowed_tools",
    "effort": "effort",
    "exclude-dynamic-system-prompt-sections": "system_prompt",
    "fallback-model": "fallback_model",
    "fork-session": "fork_session",
    "include-hook-events": "include_hook_events",
    "include-partial-messages": "include_partial_messages",
    "json-schema": "output_format",
    "max-budget-usd": "max_budget_usd",
    "max-thinking-tokens": "max_thinking_tokens",
    "max-turns": "max_turns",
    "mcp-config": "mcp_servers",
    "model": "model",
    "permission-mode": "permission_mode",
    "permission-prompt-tool": "permission_prompt_tool_name or can_use_tool",
    "plugin-dir": "plugins",
    "resume": "resume",
    "resume-drops-turn": "resume_drops_turn",
    "resume-session-at": "resume_session_at",
    "session-id": "session_id",
    "session-mirror": "session_store",
    "setting-sources": "setting_sources",
    "settings": "settings",
    "strict-mcp-config": "strict_mcp_config",
    "system-prompt": "system_prompt",
    "system-prompt-file": "system_prompt",
    "system-prompt-snapshot": "system_prompt",
    "task-budget": "task_budget",
    "thinking": "thinking",
    "thinking-display": "thinking",
    "tools": "tools",
}
"""The flags that `extra_args` may not set, and the option that does; None for those that the protocol itself needs."""


def check_extra_args(_instance: Any, attribute: "attrs.Attribute[Any]", value: Any) -> None:
    """Take flags that no option stands for, without dashes: {"debug-file": "log.txt", "bare": None}."""
    if not isinstance(value, Mapping):
        reject(attribute.name, type(value).__name__, "a mapping from flag name to value, None for a bare flag")
    for name, item in value.items():
        _check_flag(name)
        if item is not None and (not isinstance(item, str) or not is_passable(item)):
            reject(f"extra_args[{name!r}]", type(item).__name__, "a text, or None for a bare flag")


def _check_flag(name: object) -> None:
    if not isinstance(name, str) or not _FLAG.fullmatch(name):
        reject("extra_args", name, "a mapping whose keys are flags without dashes in front, such as 'debug-file'")
    if name in OWNED_FLAGS:
        remedy = OWNED_FLAGS[name]
        text = f"use the option {remedy} instead" if remedy else "the protocol needs it as it is"
        raise OptionsError(f"extra_args cannot set --{name}: {text}", field="extra_args")
