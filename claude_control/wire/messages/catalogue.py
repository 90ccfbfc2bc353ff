"""Which message is which: wire types and subtypes, their classes, and the modules where these live."""

from collections.abc import Mapping
from typing import Any, Final

__all__ = ["COMMON", "MODULES", "SUBTYPES", "TYPES"]

MODULES: Final[Mapping[str, tuple[str, ...]]] = {
    "message": ("Message", "UnknownMessage"),
    "conversation": ("AssistantMessage", "UserMessage"),
    "stream": ("StreamEvent",),
    "result": ("DeferredToolUse", "ResultMessage"),
    "system": ("SystemMessage",),
    "session": (
        "CommandsChangedMessage",
        "CompactBoundaryMessage",
        "ConversationResetMessage",
        "InitMessage",
        "SessionStateMessage",
        "SessionTitleMessage",
        "StatusMessage",
    ),
    "tasks": (
        "TERMINAL_TASK_STATUSES",
        "BackgroundTasksMessage",
        "TaskNotificationMessage",
        "TaskProgressMessage",
        "TaskStartedMessage",
        "TaskUpdatedMessage",
    ),
    "limits": ("APIRetryMessage", "ModelRefusalMessage", "RateLimitEvent", "RateLimitInfo"),
    "tools": (
        "ElicitationCompleteMessage",
        "HookEventMessage",
        "PermissionDeniedMessage",
        "ToolProgressMessage",
        "ToolUseSummaryMessage",
    ),
    "control": (
        "AuthStatusMessage",
        "CommandLifecycleMessage",
        "ControlRequestProgressMessage",
        "KeepAliveMessage",
        "WorkerShuttingDownMessage",
    ),
    "notices": (
        "ActiveGoalMessage",
        "InformationalMessage",
        "LocalCommandOutputMessage",
        "MemoryRecallMessage",
        "NotificationMessage",
        "PluginInstallMessage",
        "PromptSuggestionMessage",
        "ThinkingTokensMessage",
    ),
    "transcript": (
        "FilesPersistedMessage",
        "MirrorErrorMessage",
        "SessionWritesLostMessage",
        "TranscriptMirrorMessage",
    ),
    "gaps": ("BadLine", "MessagesDropped", "OversizedLine"),
}
"""The names that each module of this package gives, for the package to give them on."""

TYPES: Final[Mapping[str, str]] = {
    "active_goal": "ActiveGoalMessage",
    "assistant": "AssistantMessage",
    "auth_status": "AuthStatusMessage",
    "command_lifecycle": "CommandLifecycleMessage",
    "conversation_reset": "ConversationResetMessage",
    "keep_alive": "KeepAliveMessage",
    "prompt_suggestion": "PromptSuggestionMessage",
    "rate_limit_event": "RateLimitEvent",
    "result": "ResultMessage",
    "stream_event": "StreamEvent",
    "tool_progress": "ToolProgressMessage",
    "tool_use_summary": "ToolUseSummaryMessage",
    "transcript_mirror": "TranscriptMirrorMessage",
    "user": "UserMessage",
}
"""The class of each `type`, but for "system"."""

SUBTYPES: Final[Mapping[str, str]] = {
    "api_retry": "APIRetryMessage",
    "background_tasks_changed": "BackgroundTasksMessage",
    "commands_changed": "CommandsChangedMessage",
    "compact_boundary": "CompactBoundaryMessage",
    "control_request_progress": "ControlRequestProgressMessage",
    "elicitation_complete": "ElicitationCompleteMessage",
    "files_persisted": "FilesPersistedMessage",
    "hook_progress": "HookEventMessage",
    "hook_response": "HookEventMessage",
    "hook_started": "HookEventMessage",
    "informational": "InformationalMessage",
    "init": "InitMessage",
    "local_command_output": "LocalCommandOutputMessage",
    "memory_recall": "MemoryRecallMessage",
    "mirror_error": "MirrorErrorMessage",
    "model_refusal_fallback": "ModelRefusalMessage",
    "model_refusal_no_fallback": "ModelRefusalMessage",
    "notification": "NotificationMessage",
    "permission_denied": "PermissionDeniedMessage",
    "plugin_install": "PluginInstallMessage",
    "session_state_changed": "SessionStateMessage",
    "session_title_changed": "SessionTitleMessage",
    "session_writes_lost": "SessionWritesLostMessage",
    "status": "StatusMessage",
    "task_notification": "TaskNotificationMessage",
    "task_progress": "TaskProgressMessage",
    "task_started": "TaskStartedMessage",
    "task_updated": "TaskUpdatedMessage",
    "thinking_tokens": "ThinkingTokensMessage",
    "worker_shutting_down": "WorkerShuttingDownMessage",
}
"""The class of each `subtype` of the type "system"."""

COMMON: Final[tuple[Mapping[str, Any], ...]] = (
    {"type": "assistant", "message": {"content": [{"type": "text"}, {"type": "tool_use"}, {"type": "thinking"}]}},
    {"type": "user", "message": {"content": [{"type": "tool_result"}]}},
    {"type": "stream_event"},
    {"type": "result"},
    {"type": "system", "subtype": "init"},
    {"type": "system", "subtype": "session_state_changed"},
    {"type": "system", "subtype": "status"},
    {"type": "command_lifecycle"},
)
"""The messages that nearly every conversation has."""
