"""What the stand-in says of itself as each of the three programs; measured on 2.0.75, 2.1.7 and 2.1.332, lists cut."""

from collections.abc import Mapping
from typing import Any

from claude_control.testing._payloads import PAYLOADS

__all__ = ["PROFILES"]

_OLD_ALIASES = {
    "sonnet": "claude-sonnet-4-5-20250929",
    "opus": "claude-opus-4-5-20251101",
    "haiku": "claude-haiku-4-5-20251001",
}
_OLD_TOOLS = ["Task", "TaskOutput", "Bash", "Glob", "Grep", "ExitPlanMode", "Read", "Edit", "Write", "AskUserQuestion"]
_OLD_REJECTED = (
    "--await-initialize --include-hook-events --session-mirror --thinking --thinking-display --effort"
    " --permission-prompts --task-budget --debug-file --name --resume-drops-turn"
    " --exclude-dynamic-system-prompt-sections --bare"
).split()
_DIFF = {"canRewind": True, "filesChanged": [], "insertions": 0, "deletions": 0}

_OLD: dict[str, Any] = {
    "modern": False,
    "model": _OLD_ALIASES["sonnet"],
    "aliases": _OLD_ALIASES,
    "initialize": {
        "commands": [{"name": "compact", "description": "Summarise the conversation", "argumentHint": ""}],
        "output_style": "default",
        "available_output_styles": ["default", "Explanatory", "Learning"],
        "models": [
            {"value": "default", "displayName": "Default (recommended)", "description": "Sonnet 4.5"},
            {"value": "opus", "displayName": "Opus", "description": "Opus 4.5"},
            {"value": "haiku", "displayName": "Haiku", "description": "Haiku 4.5"},
        ],
        "account": {"tokenSource": "none", "apiKeySource": "ANTHROPIC_API_KEY"},
    },
    "init": {
        "tools": _OLD_TOOLS,
        "mcp_servers": [],
        "slash_commands": ["compact", "context", "cost", "init"],
        "apiKeySource": "ANTHROPIC_API_KEY",
        "output_style": "default",
        "agents": ["general-purpose", "Explore", "Plan"],
        "skills": [],
        "plugins": [],
    },
    "rejected_flags": _OLD_REJECTED,
}

_CAPABILITIES = ["ui_surface_v1", "reload_plugins_refuse_if_busy_v1", "get_usage_detached_v1"]
_EFFORTS = ["low", "medium", "high", "xhigh", "max"]

PROFILES: Mapping[str, Mapping[str, Any]] = {
    "2.0.75": {
        **_OLD,
        # The exit code, and the seconds until it, on parameters that it cannot read.
        "unreadable": [1, 0.0],
        # What it dies of at the next turn once a background task has ended.
        "background_error": "only prompt commands are supported in streaming mode",
        "rewind": {
            "dry_run": False,  # it really rewinds
            "disabled": "File rewinding is not enabled for the SDK.",
            "unknown": "No file checkpoint found for message <id>",
            "diff": None,
            "done": None,
        },
    },
    "2.1.7": {
        **_OLD,
        "unreadable": [0, 3.0],
        "rewind": {
            "dry_run": True,
            "disabled": "File rewinding is not enabled.",
            "unknown": "No file checkpoint found for this message.",
            "diff": _DIFF,
            "done": {"canRewind": True},
        },
    },
    "2.1.332": {
        "modern": True,
        "model": "claude-opus-5-5",
        "aliases": {"opus": "claude-opus-5-5", "sonnet": "claude-sonnet-5-5", "haiku": "claude-haiku-5"},
        "initialize": {
            "commands": [{"name": "compact", "description": "Summarise", "argumentHint": "", "builtin": True}],
            "agents": [{"name": "claude", "description": "General"}, {"name": "Explore", "model": "inherit"}],
            "output_style": "default",
            "available_output_styles": ["default", "Proactive", "Concise", "Explanatory", "Learning"],
            "models": [
                {
                    "value": "default",
                    "resolvedModel": "claude-opus-5-5",
                    "displayName": "Default (recommended)",
                    "description": "Opus 5.5",
                    "supportsEffort": True,
                    "supportedEffortLevels": _EFFORTS,
                    "supportsAdaptiveThinking": True,
                    "supportsFastMode": True,
                    "supportsAutoMode": True,
                    "supportsThinkingOff": False,
                },
            ],
            "account": {"tokenSource": "none", "apiKeySource": "ANTHROPIC_API_KEY", "apiProvider": "firstParty"},
            "hook_on_failure_supported": True,
            "hooks_when_unanswered_kept": 0,
            "other_hook_ask_outranks_host": True,
            "feedback_mode": {"kind": "disabled"},
            "analytics_disabled": True,
            "sandbox_enabled": False,
            "remote_control_available": False,
            "fast_mode_state": "off",
            "fast_mode_disabled_reason": "sdk_opt_in_required",
            "capabilities": _CAPABILITIES,
        },
        "init": {
            "tools": ["Task", "AskUserQuestion", "Bash", "Edit", "ExitPlanMode", "Read", "WebFetch", "Write"],
            "mcp_servers": [],
            "slash_commands": ["compact", "context", "clear"],
            "terminal_slash_commands": ["doctor", "color"],
            "apiKeySource": "ANTHROPIC_API_KEY",
            "output_style": "default",
            "agents": ["claude", "Explore"],
            "skills": [],
            "plugins": [],
            "capabilities": ["interrupt_receipt_v1", "interrupt_cancel_queued_v1", "msg_lifecycle_v1", *_CAPABILITIES],
            "analytics_disabled": True,
            "additional_directories": [],
            "fast_mode_state": "off",
            "view_mode": "default",
        },
        "rejected_flags": [],
        "payloads": PAYLOADS,
        "unreadable": [1, 0.0],
        "rewind": {
            "dry_run": True,
            "disabled": "File rewinding is not enabled.",
            "unknown": "No file checkpoint found for this message.",
            "diff": _DIFF,
            "done": {"canRewind": True, "skippedLinks": 0},
        },
    },
}
"""By version: the initialize answer, the `system/init` fields, and what else differs."""
