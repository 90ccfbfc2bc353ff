"""Events of the tools."""

from typing import Any, Literal, NotRequired, TypedDict

from claude_control.wire.hook_inputs.base import Arguments, BaseHookInput, MCPServerSource

__all__ = [
    "PermissionDeniedHookInput",
    "PermissionRequestHookInput",
    "PostToolBatchHookInput",
    "PostToolUseFailureHookInput",
    "PostToolUseHookInput",
    "PreSkillShellCommandHookInput",
    "PreToolUseHookInput",
    "ToolBatchCall",
]


class PreToolUseHookInput(BaseHookInput):
    """A tool is about to run. Nobody has decided yet whether it may."""

    hook_event_name: Literal["PreToolUse"]
    tool_name: str
    tool_input: Arguments
    tool_use_id: str
    mcp_server: NotRequired[MCPServerSource]


class PermissionRequestHookInput(BaseHookInput):
    """The program is about to ask for permission (2.1.332); the suggestions are those of `can_use_tool`."""

    hook_event_name: Literal["PermissionRequest"]
    tool_name: str
    tool_input: Arguments
    permission_suggestions: NotRequired[list[dict[str, Any]]]
    mcp_server: NotRequired[MCPServerSource]
    tool_kind: NotRequired[str]
    mcp_skill: NotRequired[dict[str, Any]]


class PostToolUseHookInput(BaseHookInput):
    """A tool has run. What `tool_response` holds depends on the tool; the duration leaves out asking (2.1.332)."""

    hook_event_name: Literal["PostToolUse"]
    tool_name: str
    tool_input: Arguments
    tool_response: Any
    tool_use_id: str
    duration_ms: NotRequired[float]
    mcp_server: NotRequired[MCPServerSource]


class PostToolUseFailureHookInput(BaseHookInput):
    """A tool has failed: `error` is what the model is told, and `is_interrupt` tells whether a stop was the cause."""

    hook_event_name: Literal["PostToolUseFailure"]
    tool_name: str
    tool_input: Arguments
    tool_use_id: str
    error: str
    is_interrupt: NotRequired[bool]
    duration_ms: NotRequired[float]
    mcp_server: NotRequired[MCPServerSource]


class ToolBatchCall(TypedDict):
    """One call of a batch; `tool_response` is what the model is told, as text or as blocks."""

    tool_name: str
    tool_input: Arguments
    tool_use_id: str
    tool_response: NotRequired[Any]


class PostToolBatchHookInput(BaseHookInput):
    """All calls of one answer of the model are done, and the model is about to be told (2.1.332)."""

    hook_event_name: Literal["PostToolBatch"]
    tool_calls: list[ToolBatchCall]


class PermissionDeniedHookInput(BaseHookInput):
    """The automatic mode has denied a tool, or could not judge it (2.1.332)."""

    hook_event_name: Literal["PermissionDenied"]
    tool_name: str
    tool_input: Arguments
    tool_use_id: str
    reason: str
    mcp_server: NotRequired[MCPServerSource]


class PreSkillShellCommandHookInput(BaseHookInput):
    """A shell command in the text of a skill or slash command is about to run (2.1.332); `tool_use_id` names it."""

    hook_event_name: Literal["PreSkillShellCommand"]
    tool_name: str
    tool_input: Arguments
    tool_use_id: str
    command_name: str
    command_source: NotRequired[str]
    invoked_by: Literal["user", "claude", "other"]
