"""News about what we sent: prompts, control requests, signs of life."""

import attrs

from claude_control.records import frozen
from claude_control.wire.messages.message import Message
from claude_control.wire.messages.system import SystemMessage

__all__ = [
    "AuthStatusMessage",
    "CommandLifecycleMessage",
    "ControlRequestProgressMessage",
    "KeepAliveMessage",
    "WorkerShuttingDownMessage",
]


@frozen(repr=False)
class CommandLifecycleMessage(Message):
    """A prompt of ours, named by `command_uuid`, is "queued", "started", "completed" or "cancelled" (2.1.332)."""

    command_uuid: str = ""
    state: str = ""


@frozen(repr=False)
class ControlRequestProgressMessage(SystemMessage):
    """A control request of ours takes long (2.1.332).

    `status` is "started", or "api_retry" with the counters of `APIRetryMessage`.
    """

    request_id: str = ""
    status: str = ""
    attempt: int | None = None
    max_retries: int | None = None
    retry_delay_ms: float | None = None
    error_status: int | None = None


@frozen(repr=False)
class KeepAliveMessage(Message):
    """A sign of life; `startup_mark` names a step of the start-up (2.1.332, on request)."""

    startup_mark: str | None = None


@frozen(repr=False)
class AuthStatusMessage(Message):
    """How signing in goes on."""

    is_authenticating: bool = False
    output: list[str] = attrs.field(factory=list)
    error: str | None = None


@frozen(repr=False)
class WorkerShuttingDownMessage(SystemMessage):
    """The program is being shut down on purpose, for a `reason`; it may be resumed later."""

    reason: str = ""
