"""A synchronous, threaded SDK for Claude Code, with a blocking API.

    with Session(model="sonnet", cwd=".") as session:
        print(session.ask("Fix the failing test").result().result)

Names are imported when they are first used, so that `import claude_control` stays light.
"""

import importlib
from typing import TYPE_CHECKING, Any

from claude_control._version import __version__
from claude_control.errors import (
    AbortedError,
    APIError,
    AuthenticationError,
    BudgetExceededError,
    ClaudeControlError,
    CLINotFoundError,
    CLIVersionError,
    ConcurrencyError,
    ControlRequestError,
    ControlTimeoutError,
    ExecutionError,
    ForkedError,
    InitializeError,
    MaxTurnsError,
    NotSupportedError,
    OptionsError,
    ProcessExitedError,
    ProtocolError,
    RateLimitedError,
    RefusedError,
    ResultError,
    SessionClosedError,
    SpawnError,
    StartError,
    StructuredOutputError,
    WaitTimeoutError,
)
from claude_control.unset import UNSET

if TYPE_CHECKING:
    from claude_control.abort import AbortSignal
    from claude_control.options import Options
    from claude_control.process.transport import Exit, Transport
    from claude_control.session.hooks import HookContext
    from claude_control.session.ledger import Usage
    from claude_control.session.oneshot import query, run
    from claude_control.session.outcome import Outcome
    from claude_control.session.permissions import PermissionContext
    from claude_control.session.session import Session, close_all
    from claude_control.session.tasks import Task
    from claude_control.session.turn import Turn
    from claude_control.tools import ToolContext, ToolResult, ToolServer, tool
    from claude_control.wire import requests
    from claude_control.wire.content import (
        ContentBlock,
        TextBlock,
        ThinkingBlock,
        ToolResultBlock,
        ToolUseBlock,
        UnknownBlock,
    )
    from claude_control.wire.hooks import HookMatcher
    from claude_control.wire.messages import (
        APIRetryMessage,
        AssistantMessage,
        Message,
        MessagesDropped,
        RateLimitEvent,
        RateLimitInfo,
        ResultMessage,
        StreamEvent,
        SystemMessage,
        UnknownMessage,
        UserMessage,
    )
    from claude_control.wire.permissions import Allow, Deny, PermissionRuleValue, PermissionUpdate

_HOMES = {
    "abort": ("AbortSignal",),
    "options": ("Options",),
    "process.transport": ("Exit", "Transport"),
    "session.hooks": ("HookContext",),
    "session.permissions": ("PermissionContext",),
    "session.ledger": ("Usage",),
    "session.oneshot": ("query", "run"),
    "session.outcome": ("Outcome",),
    "session.session": ("Session", "close_all"),
    "session.tasks": ("Task",),
    "session.turn": ("Turn",),
    "tools": ("ToolContext", "ToolResult", "ToolServer", "tool"),
    "wire.content": (
        "ContentBlock",
        "TextBlock",
        "ThinkingBlock",
        "ToolResultBlock",
        "ToolUseBlock",
        "UnknownBlock",
    ),
    "wire.hooks": ("HookMatcher",),
    "wire.messages": (
        "APIRetryMessage",
        "AssistantMessage",
        "Message",
        "MessagesDropped",
        "RateLimitEvent",
        "RateLimitInfo",
        "ResultMessage",
        "StreamEvent",
        "SystemMessage",
        "UnknownMessage",
        "UserMessage",
    ),
    "wire.permissions": ("Allow", "Deny", "PermissionRuleValue", "PermissionUpdate"),
}
_HOME_OF = {name: f"claude_control.{module}" for module, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name == "requests":
        return importlib.import_module("claude_control.wire.requests")
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(home), name)
    globals()[name] = value  # the next access finds it at once
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


__all__ = [
    "UNSET",
    "APIError",
    "APIRetryMessage",
    "AbortSignal",
    "AbortedError",
    "Allow",
    "AssistantMessage",
    "AuthenticationError",
    "BudgetExceededError",
    "CLINotFoundError",
    "CLIVersionError",
    "ClaudeControlError",
    "ConcurrencyError",
    "ContentBlock",
    "ControlRequestError",
    "ControlTimeoutError",
    "Deny",
    "ExecutionError",
    "Exit",
    "ForkedError",
    "HookContext",
    "HookMatcher",
    "InitializeError",
    "MaxTurnsError",
    "Message",
    "MessagesDropped",
    "NotSupportedError",
    "Options",
    "OptionsError",
    "Outcome",
    "PermissionContext",
    "PermissionRuleValue",
    "PermissionUpdate",
    "ProcessExitedError",
    "ProtocolError",
    "RateLimitEvent",
    "RateLimitInfo",
    "RateLimitedError",
    "RefusedError",
    "ResultError",
    "ResultMessage",
    "Session",
    "SessionClosedError",
    "SpawnError",
    "StartError",
    "StreamEvent",
    "StructuredOutputError",
    "SystemMessage",
    "Task",
    "TextBlock",
    "ThinkingBlock",
    "ToolContext",
    "ToolResult",
    "ToolResultBlock",
    "ToolServer",
    "ToolUseBlock",
    "Transport",
    "Turn",
    "UnknownBlock",
    "UnknownMessage",
    "Usage",
    "UserMessage",
    "WaitTimeoutError",
    "__version__",
    "close_all",
    "query",
    "requests",
    "run",
    "tool",
]
