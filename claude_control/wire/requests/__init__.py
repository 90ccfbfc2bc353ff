"""The requests that we send.

A frozen record each, with its wire form, its reply and the oldest program that knows it. A record is built when its
name is asked for: building all of them costs some 60 ms, and most programs send a handful. `catalogue` has them all.
"""

import importlib
from typing import TYPE_CHECKING, Any, Final

from claude_control.wire.requests.base import EmptyReply, Request

if TYPE_CHECKING:
    from claude_control.wire.requests.catalogue import (
        RECORDS,
    )
    from claude_control.wire.requests.conversation import (
        EndSession,
        ExportConversation,
        ExportConversationReply,
        ForkConversation,
        ForkConversationReply,
        GenerateSessionTitle,
        GenerateSessionTitleReply,
        GetPlan,
        GetPlanReply,
        RenameSession,
        SideQuestion,
        SideQuestionReply,
    )
    from claude_control.wire.requests.files import (
        DiffStats,
        FileDiffStats,
        FileHunks,
        FileSuggestions,
        FileSuggestionsReply,
        GetWorkspaceDiff,
        GetWorkspaceDiffReply,
        ReadFile,
        ReadFileReply,
        RegisterRepoRoot,
        RegisterRepoRootReply,
        RewindFiles,
        RewindFilesReply,
        SeedReadState,
        SetCwd,
        SetCwdReply,
        WorkspaceDiff,
    )
    from claude_control.wire.requests.initialize import (
        Initialize,
        InitializeReply,
    )
    from claude_control.wire.requests.mcp import (
        MCPCall,
        MCPCallReply,
        MCPReadResource,
        MCPReadResourceReply,
        MCPReconnect,
        MCPResource,
        MCPServerStatus,
        MCPSetServers,
        MCPSetServersReply,
        MCPStatus,
        MCPStatusReply,
        MCPToggle,
    )
    from claude_control.wire.requests.plugins import (
        PluginInfo,
        ReloadOutputStyles,
        ReloadOutputStylesReply,
        ReloadPlugins,
        ReloadPluginsReply,
        ReloadSkills,
        ReloadSkillsReply,
    )
    from claude_control.wire.requests.program import (
        GetBinaryVersion,
        GetBinaryVersionReply,
        GetStatus,
        GetStatusReply,
        ListModels,
        ListModelsReply,
        ModelInfo,
        SetHasSubscribers,
        StatusSection,
    )
    from claude_control.wire.requests.raw import (
        RawRequest,
    )
    from claude_control.wire.requests.settings import (
        ApplyFlagSettings,
        GetHooksListing,
        GetHooksListingReply,
        GetSettings,
        GetSettingsReply,
        HookRow,
        ListPermissionRules,
        ListPermissionRulesReply,
        PermissionRule,
        PermissionRulesState,
        SettingsSource,
        UpdateSettings,
    )
    from claude_control.wire.requests.steering import (
        PERMISSION_MODES,
        CancelAsyncMessage,
        CancelAsyncMessageReply,
        Interrupt,
        InterruptReply,
        SetMaxThinkingTokens,
        SetModel,
        SetModelReply,
        SetPermissionMode,
        SetPermissionModeReply,
    )
    from claude_control.wire.requests.tasks import (
        BackgroundTasks,
        BackgroundTasksReply,
        GetTaskOutput,
        GetTaskOutputReply,
        StopTask,
    )
    from claude_control.wire.requests.usage import (
        ContextCategory,
        ContextGridSquare,
        ContextMessages,
        GetContextUsage,
        GetContextUsageReply,
        GetSessionCost,
        GetSessionCostReply,
        GetUsage,
        GetUsageReply,
        SessionUsage,
    )

MODULES: Final[dict[str, tuple[str, ...]]] = {
    "catalogue": ("RECORDS",),
    "conversation": (
        "EndSession",
        "ExportConversation",
        "ExportConversationReply",
        "ForkConversation",
        "ForkConversationReply",
        "GenerateSessionTitle",
        "GenerateSessionTitleReply",
        "GetPlan",
        "GetPlanReply",
        "RenameSession",
        "SideQuestion",
        "SideQuestionReply",
    ),
    "files": (
        "DiffStats",
        "FileDiffStats",
        "FileHunks",
        "FileSuggestions",
        "FileSuggestionsReply",
        "GetWorkspaceDiff",
        "GetWorkspaceDiffReply",
        "ReadFile",
        "ReadFileReply",
        "RegisterRepoRoot",
        "RegisterRepoRootReply",
        "RewindFiles",
        "RewindFilesReply",
        "SeedReadState",
        "SetCwd",
        "SetCwdReply",
        "WorkspaceDiff",
    ),
    "initialize": (
        "Initialize",
        "InitializeReply",
    ),
    "mcp": (
        "MCPCall",
        "MCPCallReply",
        "MCPReadResource",
        "MCPReadResourceReply",
        "MCPReconnect",
        "MCPResource",
        "MCPServerStatus",
        "MCPSetServers",
        "MCPSetServersReply",
        "MCPStatus",
        "MCPStatusReply",
        "MCPToggle",
    ),
    "plugins": (
        "PluginInfo",
        "ReloadOutputStyles",
        "ReloadOutputStylesReply",
        "ReloadPlugins",
        "ReloadPluginsReply",
        "ReloadSkills",
        "ReloadSkillsReply",
    ),
    "program": (
        "GetBinaryVersion",
        "GetBinaryVersionReply",
        "GetStatus",
        "GetStatusReply",
        "ListModels",
        "ListModelsReply",
        "ModelInfo",
        "SetHasSubscribers",
        "StatusSection",
    ),
    "raw": ("RawRequest",),
    "settings": (
        "ApplyFlagSettings",
        "GetHooksListing",
        "GetHooksListingReply",
        "GetSettings",
        "GetSettingsReply",
        "HookRow",
        "ListPermissionRules",
        "ListPermissionRulesReply",
        "PermissionRule",
        "PermissionRulesState",
        "SettingsSource",
        "UpdateSettings",
    ),
    "steering": (
        "PERMISSION_MODES",
        "CancelAsyncMessage",
        "CancelAsyncMessageReply",
        "Interrupt",
        "InterruptReply",
        "SetMaxThinkingTokens",
        "SetModel",
        "SetModelReply",
        "SetPermissionMode",
        "SetPermissionModeReply",
    ),
    "tasks": (
        "BackgroundTasks",
        "BackgroundTasksReply",
        "GetTaskOutput",
        "GetTaskOutputReply",
        "StopTask",
    ),
    "usage": (
        "ContextCategory",
        "ContextGridSquare",
        "ContextMessages",
        "GetContextUsage",
        "GetContextUsageReply",
        "GetSessionCost",
        "GetSessionCostReply",
        "GetUsage",
        "GetUsageReply",
        "SessionUsage",
    ),
}
"""What each module of this package offers here."""

_PLACES = {name: module for module, names in MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_PLACES[name]}"), name)
    globals()[name] = value  # the next one who asks finds it here
    return value


def preload() -> None:
    """Load every module of this package, for a moment that is spent waiting anyway (some 50 ms, once).

    An exception that strikes a thread in the middle of an import (Ctrl-C, a task runner's time limit) may leave the
    import's lock taken for ever, as CPython 3.13 and those before it do: so nothing should be left to import later on.
    """
    for names in MODULES.values():
        __getattr__(names[0])


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


__all__ = [
    "PERMISSION_MODES",
    "RECORDS",
    "ApplyFlagSettings",
    "BackgroundTasks",
    "BackgroundTasksReply",
    "CancelAsyncMessage",
    "CancelAsyncMessageReply",
    "ContextCategory",
    "ContextGridSquare",
    "ContextMessages",
    "DiffStats",
    "EmptyReply",
    "EndSession",
    "ExportConversation",
    "ExportConversationReply",
    "FileDiffStats",
    "FileHunks",
    "FileSuggestions",
    "FileSuggestionsReply",
    "ForkConversation",
    "ForkConversationReply",
    "GenerateSessionTitle",
    "GenerateSessionTitleReply",
    "GetBinaryVersion",
    "GetBinaryVersionReply",
    "GetContextUsage",
    "GetContextUsageReply",
    "GetHooksListing",
    "GetHooksListingReply",
    "GetPlan",
    "GetPlanReply",
    "GetSessionCost",
    "GetSessionCostReply",
    "GetSettings",
    "GetSettingsReply",
    "GetStatus",
    "GetStatusReply",
    "GetTaskOutput",
    "GetTaskOutputReply",
    "GetUsage",
    "GetUsageReply",
    "GetWorkspaceDiff",
    "GetWorkspaceDiffReply",
    "HookRow",
    "Initialize",
    "InitializeReply",
    "Interrupt",
    "InterruptReply",
    "ListModels",
    "ListModelsReply",
    "ListPermissionRules",
    "ListPermissionRulesReply",
    "MCPCall",
    "MCPCallReply",
    "MCPReadResource",
    "MCPReadResourceReply",
    "MCPReconnect",
    "MCPResource",
    "MCPServerStatus",
    "MCPSetServers",
    "MCPSetServersReply",
    "MCPStatus",
    "MCPStatusReply",
    "MCPToggle",
    "ModelInfo",
    "PermissionRule",
    "PermissionRulesState",
    "PluginInfo",
    "RawRequest",
    "ReadFile",
    "ReadFileReply",
    "RegisterRepoRoot",
    "RegisterRepoRootReply",
    "ReloadOutputStyles",
    "ReloadOutputStylesReply",
    "ReloadPlugins",
    "ReloadPluginsReply",
    "ReloadSkills",
    "ReloadSkillsReply",
    "RenameSession",
    "Request",
    "RewindFiles",
    "RewindFilesReply",
    "SeedReadState",
    "SessionUsage",
    "SetCwd",
    "SetCwdReply",
    "SetHasSubscribers",
    "SetMaxThinkingTokens",
    "SetModel",
    "SetModelReply",
    "SetPermissionMode",
    "SetPermissionModeReply",
    "SettingsSource",
    "SideQuestion",
    "SideQuestionReply",
    "StatusSection",
    "StopTask",
    "UpdateSettings",
    "WorkspaceDiff",
]
