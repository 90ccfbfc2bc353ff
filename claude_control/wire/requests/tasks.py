"""Requests about background tasks: shells and subagents that run beside a turn (2.1.332)."""

from typing import ClassVar

import attrs

from claude_control.records import frozen
from claude_control.wire.requests.base import EmptyReply, Request
from claude_control.wire.requests.checks import check_text, optional
from claude_control.wire.requests.replying import ReplyRecord

__all__ = ["BackgroundTasks", "BackgroundTasksReply", "GetTaskOutput", "GetTaskOutputReply", "StopTask"]


@frozen
class StopTask(Request[EmptyReply]):
    """Ends a task. The answer is the same for a task that is unknown or over."""

    subtype: ClassVar[str] = "stop_task"

    task_id: str = attrs.field(validator=check_text)


@frozen(repr=False)
class BackgroundTasksReply(ReplyRecord):
    """Whether the named task was moved; None when none was named."""

    backgrounded: bool | None = None


@frozen
class BackgroundTasks(Request[BackgroundTasksReply]):
    """Moves what runs in the foreground, shell or subagent, to the background, so that the turn goes on.

    With `tool_use_id` only what that tool call started.
    """

    subtype: ClassVar[str] = "background_tasks"

    tool_use_id: str | None = attrs.field(default=None, validator=optional(check_text))


@frozen(repr=False)
class GetTaskOutputReply(ReplyRecord):
    """The last 8 KiB that a task wrote; `total_bytes` counts all, `truncated` says that there was more."""

    output: str = ""
    total_bytes: int | None = None
    truncated: bool = False


@frozen
class GetTaskOutput(Request[GetTaskOutputReply]):
    """Asks for the end of what a shell task wrote, while it runs or after it."""

    subtype: ClassVar[str] = "get_task_output"

    task_id: str = attrs.field(validator=check_text)
