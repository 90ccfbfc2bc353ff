"""The inputs of hooks: a `TypedDict` for each event, as the program sends it.

The fields are those that 2.0.75, 2.1.7 and 2.1.332 sent, and those that 2.1.332 declares. What only some of them
send, or only sometimes, is `NotRequired`. At run time an input is a plain dict, and has whatever else was sent.
"""

from claude_control.wire.hook_inputs.base import (
    BackgroundTask,
    BaseHookInput,
    Effort,
    MCPServerSource,
    SessionCron,
    SessionHookInput,
    UnknownHookInput,
)
from claude_control.wire.hook_inputs.conversation import (
    MessageDisplayHookInput,
    NotificationHookInput,
    PostCompactHookInput,
    PreCompactHookInput,
    StopFailureHookInput,
    StopHookInput,
    SubagentStartHookInput,
    SubagentStopHookInput,
    TaskCompletedHookInput,
    TaskCreatedHookInput,
    TeammateIdleHookInput,
    UserPromptExpansionHookInput,
    UserPromptSubmitHookInput,
)
from claude_control.wire.hook_inputs.session import (
    ConfigChangeHookInput,
    CwdChangedHookInput,
    DirectoryAddedHookInput,
    ElicitationHookInput,
    ElicitationResultHookInput,
    FileChangedHookInput,
    InstructionsLoadedHookInput,
    PostModelSwitchHookInput,
    PreModelSwitchHookInput,
    SessionEndHookInput,
    SessionStartHookInput,
    SetupHookInput,
    WorktreeCreateHookInput,
    WorktreeRemoveHookInput,
)
from claude_control.wire.hook_inputs.tools import (
    PermissionDeniedHookInput,
    PermissionRequestHookInput,
    PostToolBatchHookInput,
    PostToolUseFailureHookInput,
    PostToolUseHookInput,
    PreSkillShellCommandHookInput,
    PreToolUseHookInput,
    ToolBatchCall,
)

__all__ = [
    "HOOK_INPUTS",
    "BackgroundTask",
    "BaseHookInput",
    "ConfigChangeHookInput",
    "CwdChangedHookInput",
    "DirectoryAddedHookInput",
    "Effort",
    "ElicitationHookInput",
    "ElicitationResultHookInput",
    "FileChangedHookInput",
    "HookInput",
    "InstructionsLoadedHookInput",
    "MCPServerSource",
    "MessageDisplayHookInput",
    "NotificationHookInput",
    "PermissionDeniedHookInput",
    "PermissionRequestHookInput",
    "PostCompactHookInput",
    "PostModelSwitchHookInput",
    "PostToolBatchHookInput",
    "PostToolUseFailureHookInput",
    "PostToolUseHookInput",
    "PreCompactHookInput",
    "PreModelSwitchHookInput",
    "PreSkillShellCommandHookInput",
    "PreToolUseHookInput",
    "SessionCron",
    "SessionEndHookInput",
    "SessionHookInput",
    "SessionStartHookInput",
    "SetupHookInput",
    "StopFailureHookInput",
    "StopHookInput",
    "SubagentStartHookInput",
    "SubagentStopHookInput",
    "TaskCompletedHookInput",
    "TaskCreatedHookInput",
    "TeammateIdleHookInput",
    "ToolBatchCall",
    "UnknownHookInput",
    "UserPromptExpansionHookInput",
    "UserPromptSubmitHookInput",
    "WorktreeCreateHookInput",
    "WorktreeRemoveHookInput",
]

HookInput = (
    PreToolUseHookInput
    | PermissionRequestHookInput
    | PostToolUseHookInput
    | PostToolUseFailureHookInput
    | PostToolBatchHookInput
    | PermissionDeniedHookInput
    | PreSkillShellCommandHookInput
    | UserPromptSubmitHookInput
    | UserPromptExpansionHookInput
    | MessageDisplayHookInput
    | NotificationHookInput
    | StopHookInput
    | StopFailureHookInput
    | SubagentStartHookInput
    | SubagentStopHookInput
    | PreCompactHookInput
    | PostCompactHookInput
    | TeammateIdleHookInput
    | TaskCreatedHookInput
    | TaskCompletedHookInput
    | SessionStartHookInput
    | SessionEndHookInput
    | SetupHookInput
    | PreModelSwitchHookInput
    | PostModelSwitchHookInput
    | InstructionsLoadedHookInput
    | ConfigChangeHookInput
    | CwdChangedHookInput
    | FileChangedHookInput
    | DirectoryAddedHookInput
    | WorktreeCreateHookInput
    | WorktreeRemoveHookInput
    | ElicitationHookInput
    | ElicitationResultHookInput
)
"""The input of any known event, told apart by `hook_event_name`."""

HOOK_INPUTS: dict[str, type] = {
    "PreToolUse": PreToolUseHookInput,
    "PermissionRequest": PermissionRequestHookInput,
    "PostToolUse": PostToolUseHookInput,
    "PostToolUseFailure": PostToolUseFailureHookInput,
    "PostToolBatch": PostToolBatchHookInput,
    "PermissionDenied": PermissionDeniedHookInput,
    "PreSkillShellCommand": PreSkillShellCommandHookInput,
    "UserPromptSubmit": UserPromptSubmitHookInput,
    "UserPromptExpansion": UserPromptExpansionHookInput,
    "MessageDisplay": MessageDisplayHookInput,
    "Notification": NotificationHookInput,
    "Stop": StopHookInput,
    "StopFailure": StopFailureHookInput,
    "SubagentStart": SubagentStartHookInput,
    "SubagentStop": SubagentStopHookInput,
    "PreCompact": PreCompactHookInput,
    "PostCompact": PostCompactHookInput,
    "TeammateIdle": TeammateIdleHookInput,
    "TaskCreated": TaskCreatedHookInput,
    "TaskCompleted": TaskCompletedHookInput,
    "SessionStart": SessionStartHookInput,
    "SessionEnd": SessionEndHookInput,
    "Setup": SetupHookInput,
    "PreModelSwitch": PreModelSwitchHookInput,
    "PostModelSwitch": PostModelSwitchHookInput,
    "InstructionsLoaded": InstructionsLoadedHookInput,
    "ConfigChange": ConfigChangeHookInput,
    "CwdChanged": CwdChangedHookInput,
    "FileChanged": FileChangedHookInput,
    "DirectoryAdded": DirectoryAddedHookInput,
    "WorktreeCreate": WorktreeCreateHookInput,
    "WorktreeRemove": WorktreeRemoveHookInput,
    "Elicitation": ElicitationHookInput,
    "ElicitationResult": ElicitationResultHookInput,
}
"""The type of each event's input, by the name of the event: the events that 2.1.332 knows."""
