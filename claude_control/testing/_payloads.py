"""What the stand-in of 2.1.332 answers to control requests that change nothing in it; measured, lists cut."""

from collections.abc import Mapping
from typing import Any

__all__ = ["PAYLOADS"]

_COMMANDS = [{"name": "compact", "description": "Summarise", "argumentHint": "", "builtin": True}]
_AGENTS = [{"name": "claude", "description": "General"}, {"name": "Explore", "model": "inherit"}]
_CATEGORIES = [
    {"id": "system_prompt", "name": "System prompt", "tokens": 2000, "color": "promptBorder", "kind": "used"},
    {"id": "messages", "name": "Messages", "tokens": 500, "color": "purple_FOR_SUBAGENTS_ONLY", "kind": "used"},
    {"id": "free_space", "name": "Free space", "tokens": 997500, "color": "promptBorder", "kind": "free"},
]

PAYLOADS: Mapping[str, Any] = {
    "apply_flag_settings": None,
    "background_tasks": {},
    "export_conversation": {"text": "", "default_filename": "conversation.txt"},
    "fork_conversation": {"forked": False, "error": "unsupported", "reason": "unsupported"},
    "generate_session_title": {"title": None},
    "get_binary_version": {"version": "2.1.332", "buildTime": "2026-11-24T19:09:44Z", "oldestDesktopSdk": "0.3.280"},
    "get_context_usage": {
        "categories": _CATEGORIES,
        "totalTokens": 2500,
        "maxTokens": 1000000,
        "rawMaxTokens": 1000000,
        "autocompactSource": "model-default",
        "percentage": 0,
        "gridRows": [],
        "model": "claude-opus-5-5",
        "memoryFiles": [],
        "mcpTools": [],
        "mcpInstructions": [],
        "agents": [],
        "slashCommands": {"totalCommands": 1, "includedCommands": 1, "tokens": 100},
        "skills": {"totalSkills": 0, "includedSkills": 0, "tokens": 0, "skillFrontmatter": []},
        "autoCompactThreshold": 967000,
        "isAutoCompactEnabled": True,
        "apiUsage": None,
    },
    "get_hooks_listing": {
        "events": [],
        "hooks": [],
        "eventCatalog": [{"name": "PreToolUse", "summary": "Before tool execution", "supportsMatcher": True}],
        "policy": {"disabledByPolicy": False, "managedOnly": False, "pluginOnly": False, "allDisabled": False},
    },
    "get_plan": {"exists": False},
    "get_session_cost": {"text": "Estimated cost:        $0.00"},
    "get_status": {"sections": [{"title": "Session", "rows": [{"label": "Version", "value": "2.1.332"}]}]},
    "get_usage": {
        "session": {
            "total_cost_usd": 0,
            "total_api_duration_ms": 0,
            "total_duration_ms": 0,
            "total_lines_added": 0,
            "total_lines_removed": 0,
            "model_usage": {},
        },
        "subscription_type": None,
        "rate_limits_available": False,
        "rate_limits": None,
        "behaviors": None,
    },
    "get_workspace_diff": {
        "diff": {
            "stats": {"filesCount": 0, "linesAdded": 0, "linesRemoved": 0},
            "perFileStats": [],
            "omitted": {"files": 0, "exact": True},
            "hunks": [],
            "lineCapped": [],
            "skippedLarge": [],
            "restricted": [],
            "source": {"kind": "working-tree"},
        }
    },
    "list_permission_rules": {"state": {"rules": [], "workspaceDirectories": [], "managedOnly": False}},
    "reload_output_styles": {"available_output_styles": ["default", "Proactive", "Concise", "Explanatory", "Learning"]},
    "reload_plugins": {
        "commands": _COMMANDS,
        "agents": _AGENTS,
        "plugins": [],
        "mcpServers": [],
        "error_count": 0,
    },
    "reload_skills": {"skills": []},
    "seed_read_state": None,
    "set_has_subscribers": None,
    "side_question": {"response": "An answer on the side.", "synthetic": False},
    "stop_task": {},
    "update_settings": {},
}
"""By subtype: the payload of the answer; None where the answer has none."""
