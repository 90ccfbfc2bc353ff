"""What the model and the user's side say."""

from typing import Any

import attrs

from claude_control.records import frozen
from claude_control.wire.content import ContentBlock, join_texts, read_blocks, read_content, wire_texts
from claude_control.wire.messages.message import Message, read_origin
from claude_control.wire.reading import using

__all__ = ["AssistantMessage", "UserMessage"]


@frozen(repr=False)
class AssistantMessage(Message):
    """What the model says.

    The program sends one for each block of an answer, all with the same `message_id` and without a stop reason
    (2.1.332). `parent_tool_use_id` is set on what a subagent says. `error` names what went wrong at the API
    ("rate_limit", "authentication_failed", …); the text then tells it.
    """

    content: list[ContentBlock] = attrs.field(factory=list, metadata=using(read_blocks))
    model: str = ""
    parent_tool_use_id: str | None = None
    error: str | None = None
    usage: dict[str, Any] | None = None
    message_id: str | None = None
    stop_reason: str | None = None
    session_id: str | None = None
    uuid: str | None = None
    user_message_uuid: str | None = None
    user_message_uuids: list[str] | None = None
    """The prompts that the turn has taken in so far; on the first message of a turn only (2.1.332)."""
    timestamp: str | None = None
    request_id: str | None = None
    aborted: bool = False
    """Whether an interrupt cut it off."""
    supersedes: list[str] | None = None
    """The uuids of earlier messages that this one replaces."""
    agent_id: str | None = None
    subagent_type: str | None = None
    task_description: str | None = None
    is_api_error_message: bool = False
    api_error_status: int | None = None
    api_error_type: str | None = None
    api_error: str | None = None
    api_error_params: dict[str, Any] | None = None
    refused_message_id: str | None = None
    thinking_duration_ms: float | None = None
    resume_reason: str | None = None
    resumed_from_incomplete_thinking: bool = False
    stop_sequence: str | None = None
    stop_details: dict[str, Any] | None = None
    context_management: dict[str, Any] | None = None
    tool_use_meta: list[dict[str, Any]] | None = None
    local_command_source: str | None = None
    local_command_run: dict[str, Any] | None = None
    local_command_outcome: Any = None
    context_usage: dict[str, Any] | None = None
    usage_report: dict[str, Any] | None = None

    @property
    def text(self) -> str:
        """The text of its text blocks, joined; "" if there is none."""
        raw = self.raw
        try:
            (block,) = raw["message"]["content"]  # nearly always: see above
            if block["type"] == "text":
                text = block["text"]
                if text.__class__ is str:
                    return text
        except (KeyError, TypeError, ValueError):  # several, or odd, or made by hand
            pass
        return "".join(wire_texts(raw)) if raw else join_texts(self.content, "")


@frozen(repr=False)
class UserMessage(Message):
    """What reaches the model from the user's side.

    That is results of tools, echoes of prompts (`is_replay`), and what the program adds itself (`is_synthetic`).
    `tool_use_result` is the tool's own result, of any JSON type; `origin` says where an injected message comes from.
    """

    content: str | list[ContentBlock] = attrs.field(default="", metadata=using(read_content))
    uuid: str | None = None
    parent_tool_use_id: str | None = None
    tool_use_result: Any = None
    origin: dict[str, Any] | None = attrs.field(default=None, metadata=using(read_origin))
    session_id: str | None = None
    timestamp: str | None = None
    is_replay: bool = False
    is_synthetic: bool = False
    tool_result_meta: list[dict[str, Any]] | None = None
    agent_id: str | None = None
    subagent_type: str | None = None
    task_description: str | None = None
    refused_message_id: str | None = None
    refusal_retry: bool = False
    priority: str | None = None
    should_query: bool | None = None
    client_composed: bool = False
    pasted_content: list[Any] | None = None
    inline_pastes: list[str] | None = None
    file_attachments: list[Any] | None = None

    @property
    def text(self) -> str:
        """The content if it is a text, else the texts of its text blocks, one under the other."""
        return self.content if isinstance(self.content, str) else join_texts(self.content, "\n")
