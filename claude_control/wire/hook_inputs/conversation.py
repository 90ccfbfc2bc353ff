"""Events of the conversation: prompts, answers, subagents, and the ends of turns."""

from typing import Literal, NotRequired

from claude_control.wire.hook_inputs.base import BackgroundTask, BaseHookInput, SessionCron, SessionHookInput

__all__ = [
    "MessageDisplayHookInput",
    "NotificationHookInput",
    "PostCompactHookInput",
    "PreCompactHookInput",
    "StopFailureHookInput",
    "StopHookInput",
    "SubagentStartHookInput",
    "SubagentStopHookInput",
    "TaskCompletedHookInput",
    "TaskCreatedHookInput",
    "TeammateIdleHookInput",
    "UserPromptExpansionHookInput",
    "UserPromptSubmitHookInput",
]


class UserPromptSubmitHookInput(BaseHookInput):
    """A prompt is about to begin a turn. The title is there once there is one (2.1.332); `source` was never seen."""

    hook_event_name: Literal["UserPromptSubmit"]
    prompt: str
    source: NotRequired[str]
    session_title: NotRequired[str]


class UserPromptExpansionHookInput(BaseHookInput):
    """A slash command is about to become the prompt that it stands for (2.1.332)."""

    hook_event_name: Literal["UserPromptExpansion"]
    expansion_type: Literal["slash_command", "mcp_prompt"]
    command_name: str
    command_args: str
    command_source: NotRequired[str]
    prompt: str


class MessageDisplayHookInput(BaseHookInput):
    """Lines of an answer are complete (2.1.332).

    `index` counts the pieces of a message from 0, and `final` marks its last one, which may be empty.
    """

    hook_event_name: Literal["MessageDisplay"]
    turn_id: str
    message_id: str
    index: int
    final: bool
    delta: str


class NotificationHookInput(BaseHookInput):
    """The program would notify a person; seen with elicitations (2.1.332)."""

    hook_event_name: Literal["Notification"]
    message: str
    title: NotRequired[str]
    notification_type: NotRequired[str]


class StopHookInput(BaseHookInput):
    """A turn is about to end. `stop_hook_active`: it already went on once because a hook wanted it to."""

    hook_event_name: Literal["Stop"]
    stop_hook_active: bool
    last_assistant_message: NotRequired[str]
    background_tasks: NotRequired[list[BackgroundTask]]
    session_crons: NotRequired[list[SessionCron]]


class StopFailureHookInput(BaseHookInput):
    """A turn has ended with an error of the API (2.1.332)."""

    hook_event_name: Literal["StopFailure"]
    error: str
    error_details: NotRequired[str]
    last_assistant_message: NotRequired[str]


class SubagentStartHookInput(SessionHookInput):
    """A subagent begins: `agent_id` and `agent_type` are its own."""

    hook_event_name: Literal["SubagentStart"]
    agent_id: str
    agent_type: str


class SubagentStopHookInput(SessionHookInput):
    """A subagent is about to end: `agent_id` and `agent_type` are its own.

    2.0.75 and 2.1.7 send no type; on 2.1.332 it is empty for an agent of the program's own, such as one that compacts.
    """

    hook_event_name: Literal["SubagentStop"]
    agent_id: str
    agent_type: NotRequired[str]
    stop_hook_active: bool
    agent_transcript_path: str
    last_assistant_message: NotRequired[str]
    background_tasks: NotRequired[list[BackgroundTask]]
    session_crons: NotRequired[list[SessionCron]]


class PreCompactHookInput(BaseHookInput):
    """The conversation is about to be compacted; the instructions are what stood behind `/compact`."""

    hook_event_name: Literal["PreCompact"]
    trigger: Literal["manual", "auto"]
    custom_instructions: str | None


class PostCompactHookInput(BaseHookInput):
    """The conversation was compacted (2.1.332)."""

    hook_event_name: Literal["PostCompact"]
    trigger: Literal["manual", "auto"]
    compact_summary: str


class TeammateIdleHookInput(BaseHookInput):
    """A teammate has nothing to do. Never seen."""

    hook_event_name: Literal["TeammateIdle"]
    teammate_name: str
    team_name: NotRequired[str]


class TaskCreatedHookInput(BaseHookInput):
    """The model puts a task on its list, for which it needs the tool TaskCreate (2.1.332)."""

    hook_event_name: Literal["TaskCreated"]
    task_id: str
    task_subject: str
    task_description: NotRequired[str]
    teammate_name: NotRequired[str]
    team_name: NotRequired[str]


class TaskCompletedHookInput(BaseHookInput):
    """The model marks a task of its list as done, for which it needs the tool TaskUpdate (2.1.332)."""

    hook_event_name: Literal["TaskCompleted"]
    task_id: str
    task_subject: str
    task_description: NotRequired[str]
    teammate_name: NotRequired[str]
    team_name: NotRequired[str]
