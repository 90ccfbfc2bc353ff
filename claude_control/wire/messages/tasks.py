"""Background work: shells and subagents that run beside a turn (2.1.332)."""

from typing import Any, Final

import attrs

from claude_control.records import frozen
from claude_control.wire.messages.system import SystemMessage

__all__ = [
    "TERMINAL_TASK_STATUSES",
    "BackgroundTasksMessage",
    "TaskNotificationMessage",
    "TaskProgressMessage",
    "TaskStartedMessage",
    "TaskUpdatedMessage",
]

TERMINAL_TASK_STATUSES: Final = frozenset({"completed", "failed", "stopped", "killed"})
"""The statuses of a task that is over: `task_notification` says "stopped" where `task_updated` says "killed"."""


@frozen(repr=False)
class TaskStartedMessage(SystemMessage):
    """A task, of a `task_type` such as "local_bash" or "local_agent", was started by the call `tool_use_id`."""

    task_id: str = ""
    description: str = ""
    uuid: str = ""
    session_id: str = ""
    tool_use_id: str | None = None
    task_type: str | None = None
    run_id: str | None = None
    is_backgrounded: bool | None = None
    subagent_type: str | None = None
    spawn_depth: int | None = None
    parent_task_id: str | None = None
    prompt: str | None = None
    workflow_name: str | None = None
    skip_transcript: bool = False
    ambient: bool = False


@frozen(repr=False)
class TaskProgressMessage(SystemMessage):
    """A subagent went on; `usage` has total_tokens, tool_uses and duration_ms."""

    task_id: str = ""
    description: str = ""
    usage: dict[str, Any] = attrs.field(factory=dict)
    uuid: str = ""
    session_id: str = ""
    tool_use_id: str | None = None
    last_tool_name: str | None = None
    run_id: str | None = None
    subagent_type: str | None = None
    summary: str | None = None


@frozen(repr=False)
class TaskNotificationMessage(SystemMessage):
    """A task ended; `status` is "completed", "failed" or "stopped". A turn of the program's own may follow."""

    task_id: str = ""
    status: str = ""
    output_file: str = ""
    summary: str = ""
    uuid: str = ""
    session_id: str = ""
    tool_use_id: str | None = None
    usage: dict[str, Any] | None = None
    run_id: str | None = None
    reason: str | None = None
    summary_is_report: bool = False
    resource_links: list[dict[str, Any]] | None = None
    skip_transcript: bool = False
    ambient: bool = False


@frozen(repr=False)
class TaskUpdatedMessage(SystemMessage):
    """A task changed: `patch` has what changed, `status` among it (see `TERMINAL_TASK_STATUSES`).

    The end of a task may come as this message alone, without a notification.
    """

    task_id: str = ""
    patch: dict[str, Any] = attrs.field(factory=dict)
    status: str | None = None
    session_id: str | None = None
    uuid: str | None = None
    run_id: str | None = None


@frozen(repr=False)
class BackgroundTasksMessage(SystemMessage):
    """All background tasks that run now, each with task_id, task_type and description; it replaces the one before."""

    tasks: list[dict[str, Any]] = attrs.field(factory=list)
