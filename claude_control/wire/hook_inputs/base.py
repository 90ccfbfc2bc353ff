"""What the program sends with every event, and the parts that several events share."""

from typing import Any, NotRequired, TypedDict

__all__ = [
    "BackgroundTask",
    "BaseHookInput",
    "Effort",
    "MCPServerSource",
    "SessionCron",
    "SessionHookInput",
    "UnknownHookInput",
]


class Effort(TypedDict):
    """How hard the model is to think in the turn that runs: `low`, `medium`, `high` and more."""

    level: str


class SessionHookInput(TypedDict):
    """What every event brings.

    `prompt_id` names the prompt that led to it, from the first prompt on, and `effort` is that of the running turn
    (both 2.1.332). `permission_mode` comes with what happens in a turn.
    """

    session_id: str
    transcript_path: str
    cwd: str
    prompt_id: NotRequired[str]
    permission_mode: NotRequired[str]
    effort: NotRequired[Effort]


class BaseHookInput(SessionHookInput):
    """What every event brings that may happen in a subagent: its id and kind, if it happened in one.

    In a session that runs as an agent there is an `agent_type` without an `agent_id`.
    """

    agent_id: NotRequired[str]
    agent_type: NotRequired[str]


class UnknownHookInput(BaseHookInput):
    """An event that is not known here: `hook_event_name` is its name, and its own fields lie beside it."""

    hook_event_name: str


class MCPServerSource(TypedDict, total=False):
    """The MCP server whose tool it is, and where its configuration comes from (2.1.332)."""

    name: str
    source: str


class BackgroundTask(TypedDict):
    """Work that goes on in the background; the fields that may be missing depend on its type (2.1.332)."""

    id: str
    type: str
    status: str
    description: str
    command: NotRequired[str]
    agent_type: NotRequired[str]
    server: NotRequired[str]
    tool: NotRequired[str]
    name: NotRequired[str]


class SessionCron(TypedDict):
    """A prompt that the session will give itself at a time; `schedule` is a cron expression (2.1.332)."""

    id: str
    schedule: str
    recurring: bool
    prompt: str


Arguments = dict[str, Any]
"""A tool's arguments, by their names."""
