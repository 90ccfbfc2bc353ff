"""Events of the session and of what lies around it: models, settings, folders, worktrees, MCP servers that ask."""

from typing import Any, Literal, NotRequired

from claude_control.wire.hook_inputs.base import BaseHookInput

__all__ = [
    "ConfigChangeHookInput",
    "CwdChangedHookInput",
    "DirectoryAddedHookInput",
    "ElicitationHookInput",
    "ElicitationResultHookInput",
    "FileChangedHookInput",
    "InstructionsLoadedHookInput",
    "PostModelSwitchHookInput",
    "PreModelSwitchHookInput",
    "SessionEndHookInput",
    "SessionStartHookInput",
    "SetupHookInput",
    "WorktreeCreateHookInput",
    "WorktreeRemoveHookInput",
]


class SessionStartHookInput(BaseHookInput):
    """The session begins anew, after `/compact` or `/clear`; the beginning itself reaches no callback.

    The four last fields are declared for a session that is resumed, and were never seen.
    """

    hook_event_name: Literal["SessionStart"]
    source: str
    model: NotRequired[str]
    session_title: NotRequired[str]
    seconds_since_last_response: NotRequired[float]
    context_tokens: NotRequired[float]
    prompt_cache_likely_expired: NotRequired[bool]
    estimated_cache_write_usd: NotRequired[float]


class SessionEndHookInput(BaseHookInput):
    """The session ends: by `/clear` (2.1.332), or by SIGTERM. The end of the input reaches no callback."""

    hook_event_name: Literal["SessionEnd"]
    reason: str


class SetupHookInput(BaseHookInput):
    """The program was started to set up, which is not how this library starts it. Never seen."""

    hook_event_name: Literal["Setup"]
    trigger: Literal["init", "maintenance"]


class _ModelSwitch(BaseHookInput):
    from_model: str
    to_model: str
    requested_model: str | None
    source: str
    context_tokens: float
    prompt_cache_warm: bool
    cache_ttl: str
    estimated_cache_write_usd: float
    pricing: str


class PreModelSwitchHookInput(_ModelSwitch):
    """The model is about to change, and what the change costs (2.1.332); `requested_model` is None for the default."""

    hook_event_name: Literal["PreModelSwitch"]


class PostModelSwitchHookInput(_ModelSwitch):
    """The model has changed (2.1.332)."""

    hook_event_name: Literal["PostModelSwitch"]


class InstructionsLoadedHookInput(BaseHookInput):
    """A file of instructions was read (2.1.332); the three last fields say for the sake of what."""

    hook_event_name: Literal["InstructionsLoaded"]
    file_path: str
    memory_type: str
    load_reason: str
    globs: NotRequired[list[str]]
    trigger_file_path: NotRequired[str]
    parent_file_path: NotRequired[str]


class ConfigChangeHookInput(BaseHookInput):
    """A settings file has changed (2.1.332)."""

    hook_event_name: Literal["ConfigChange"]
    source: str
    file_path: NotRequired[str]


class CwdChangedHookInput(BaseHookInput):
    """The working directory has changed. Never seen, not even with `set_cwd`."""

    hook_event_name: Literal["CwdChanged"]
    old_cwd: str
    new_cwd: str


class FileChangedHookInput(BaseHookInput):
    """A file has changed that a SessionStart hook wanted to be watched, by `watchPaths` (2.1.332)."""

    hook_event_name: Literal["FileChanged"]
    file_path: str
    event: Literal["change", "add", "unlink"]


class DirectoryAddedHookInput(BaseHookInput):
    """A directory was added to those that the session may use (2.1.332)."""

    hook_event_name: Literal["DirectoryAdded"]
    directory: str
    source: str


class WorktreeCreateHookInput(BaseHookInput):
    """A worktree is wanted, and this hook makes it and returns `worktreePath` (2.1.332)."""

    hook_event_name: Literal["WorktreeCreate"]
    name: str


class WorktreeRemoveHookInput(BaseHookInput):
    """A worktree that a hook has made is no longer wanted, and this hook removes it (2.1.332)."""

    hook_event_name: Literal["WorktreeRemove"]
    worktree_path: str


class ElicitationHookInput(BaseHookInput):
    """An MCP server asks a person something (2.1.332)."""

    hook_event_name: Literal["Elicitation"]
    mcp_server_name: str
    message: str
    mode: NotRequired[str]
    url: NotRequired[str]
    elicitation_id: NotRequired[str]
    requested_schema: NotRequired[dict[str, Any]]


class ElicitationResultHookInput(BaseHookInput):
    """What an MCP server is about to be answered (2.1.332)."""

    hook_event_name: Literal["ElicitationResult"]
    mcp_server_name: str
    elicitation_id: NotRequired[str]
    mode: NotRequired[str]
    action: Literal["accept", "decline", "cancel"]
    content: NotRequired[dict[str, Any]]
