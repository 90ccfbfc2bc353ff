"""The requests that we send.

A frozen record each, with its wire form, its reply and the oldest program that knows it.
"""

from claude_control.wire.requests.base import EmptyReply, Request
from claude_control.wire.requests.files import RewindFiles, RewindFilesReply
from claude_control.wire.requests.initialize import Initialize, InitializeReply
from claude_control.wire.requests.mcp import MCPServerStatus, MCPStatus, MCPStatusReply
from claude_control.wire.requests.raw import RawRequest
from claude_control.wire.requests.steering import (
    PERMISSION_MODES,
    Interrupt,
    InterruptReply,
    SetMaxThinkingTokens,
    SetModel,
    SetModelReply,
    SetPermissionMode,
    SetPermissionModeReply,
)

__all__ = [
    "PERMISSION_MODES",
    "EmptyReply",
    "Initialize",
    "InitializeReply",
    "Interrupt",
    "InterruptReply",
    "MCPServerStatus",
    "MCPStatus",
    "MCPStatusReply",
    "RawRequest",
    "Request",
    "RewindFiles",
    "RewindFilesReply",
    "SetMaxThinkingTokens",
    "SetModel",
    "SetModelReply",
    "SetPermissionMode",
    "SetPermissionModeReply",
]
