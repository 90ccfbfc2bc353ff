"""Which measured program answers which control request, and obeys which of its fields.

Measured on 2.0.75, 2.1.7 and 2.1.332. The two older programs meet any other subtype with silence.

Written by the tests in `tests/real/conformance`, as `docs/reference/control-requests.md` is; not by hand.
"""

from typing import Final

__all__ = ["FIELDS", "SUBTYPES"]

SUBTYPES: Final[dict[str, str]] = {
    "apply_flag_settings": "2.1.332",
    "background_tasks": "2.1.332",
    "cancel_async_message": "2.1.332",
    "end_session": "2.1.332",
    "export_conversation": "2.1.332",
    "file_suggestions": "2.1.332",
    "fork_conversation": "2.1.332",
    "generate_session_title": "2.1.332",
    "get_binary_version": "2.1.332",
    "get_context_usage": "2.1.332",
    "get_hooks_listing": "2.1.332",
    "get_plan": "2.1.332",
    "get_session_cost": "2.1.332",
    "get_settings": "2.1.332",
    "get_status": "2.1.332",
    "get_task_output": "2.1.332",
    "get_usage": "2.1.332",
    "get_workspace_diff": "2.1.332",
    "initialize": "2.0.75",
    "interrupt": "2.0.75",
    "list_models": "2.1.332",
    "list_permission_rules": "2.1.332",
    "mcp_call": "2.1.332",
    "mcp_message": "2.0.75",
    "mcp_read_resource": "2.1.332",
    "mcp_reconnect": "2.1.332",
    "mcp_set_servers": "2.0.75",
    "mcp_status": "2.0.75",
    "mcp_toggle": "2.1.332",
    "read_file": "2.1.332",
    "register_repo_root": "2.1.332",
    "reload_output_styles": "2.1.332",
    "reload_plugins": "2.1.332",
    "reload_skills": "2.1.332",
    "rename_session": "2.1.332",
    "rewind_files": "2.0.75",
    "seed_read_state": "2.1.332",
    "set_cwd": "2.1.332",
    "set_has_subscribers": "2.1.332",
    "set_max_thinking_tokens": "2.0.75",
    "set_model": "2.0.75",
    "set_permission_mode": "2.0.75",
    "side_question": "2.1.332",
    "stop_task": "2.1.332",
    "update_settings": "2.1.332",
}
"""Each subtype, and the oldest measured program that answers it."""

FIELDS: Final[dict[tuple[str, str], str]] = {
    ("initialize", "sent again"): "2.1.332",
    ("interrupt", "cancel_queued"): "2.1.332",
    ("rewind_files", "dry_run"): "2.1.7",
    ("set_max_thinking_tokens", "thinking_display"): "2.1.332",
    ("set_permission_mode", "mode='auto'"): "2.1.332",
    ("set_permission_mode", "mode='manual'"): "2.1.332",
}
"""Each field (as on the wire, or with a value) that is newer than its subtype, and the oldest program that obeys it."""
