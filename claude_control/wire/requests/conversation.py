"""Requests about the conversation as a whole: its title, its plan, its text, its end (2.1.332)."""

from typing import Any, ClassVar

import attrs

from claude_control.errors import OptionsError
from claude_control.records import frozen
from claude_control.wire.requests.base import EmptyReply, Request
from claude_control.wire.requests.checks import check_flag, check_text, one_of, optional
from claude_control.wire.requests.replying import ReplyRecord

__all__ = [
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
]


@frozen
class RenameSession(Request[EmptyReply]):
    """Gives the session a title.

    `source` is "host" for a name that the user chose in your application, else "remote", the program's default. With
    `session_id` the request is refused once the conversation has another id.
    """

    subtype: ClassVar[str] = "rename_session"

    title: str = attrs.field(validator=check_text)
    source: str | None = attrs.field(default=None, validator=optional(one_of("host", "remote")))
    session_id: str | None = attrs.field(default=None, validator=optional(check_text))


@frozen(repr=False)
class GenerateSessionTitleReply(ReplyRecord):
    """The title; None when the small model that makes it failed, or nonessential traffic is off."""

    title: str | None = None


@frozen
class GenerateSessionTitle(Request[GenerateSessionTitleReply]):
    """Lets a small model make a title of a description, and with `persist` gives it to the session."""

    subtype: ClassVar[str] = "generate_session_title"

    description: str = attrs.field(validator=check_text)
    persist: bool = attrs.field(default=False, validator=check_flag)


@frozen(repr=False)
class SideQuestionReply(ReplyRecord):
    """The answer to a side question; `synthetic` says that the program wrote it itself, for want of the model's."""

    response: str | None = None
    synthetic: bool = False


@frozen
class SideQuestion(Request[SideQuestionReply]):
    """Asks the model something about the conversation, without becoming part of it, also while a turn runs.

    `history` are earlier ones, dicts with `question` and `response`. It takes as long as the model does: give the call
    a `timeout` that allows for it. Meanwhile `session.messages()` has a `ControlRequestProgressMessage` with its
    `request_id`.
    """

    subtype: ClassVar[str] = "side_question"

    question: str = attrs.field(validator=check_text)
    history: list[dict[str, Any]] | None = attrs.field(default=None)

    @history.validator
    def _exchanges(self, _attribute: object, value: object) -> None:
        if value is None:
            return
        items = value if isinstance(value, list) else [None]
        if not all(isinstance(item, dict) and {"question", "response"} <= item.keys() for item in items):
            raise OptionsError("history must be a list of dicts with question and response, or None", field="history")


@frozen(repr=False)
class GetPlanReply(ReplyRecord):
    """The plan of plan mode, in Markdown, and its file; both are None when there is none."""

    exists: bool = False
    content: str | None = None
    path: str | None = None


@frozen
class GetPlan(Request[GetPlanReply]):
    """Asks for the plan of the conversation."""

    subtype: ClassVar[str] = "get_plan"


@frozen(repr=False)
class ExportConversationReply(ReplyRecord):
    """The conversation as the terminal shows it, and the name that its file would get."""

    text: str = ""
    default_filename: str | None = None


@frozen
class ExportConversation(Request[ExportConversationReply]):
    """Asks for the conversation as plain text."""

    subtype: ClassVar[str] = "export_conversation"


@frozen(repr=False)
class ForkConversationReply(ReplyRecord):
    """The new session's id, or why there is none: `error` is a text, `reason` a code."""

    forked: bool = False
    session_id: str | None = None
    target_message_uuid: str | None = None
    prefill_text: str | None = None
    error: str | None = None
    reason: str | None = None


@frozen
class ForkConversation(Request[ForkConversationReply]):
    """Asks for a second conversation that goes on from here, or from a message.

    Over pipes 2.1.332 always answers "unsupported"; open a `Session` with `resume` and `fork_session` instead.
    """

    subtype: ClassVar[str] = "fork_conversation"

    target_message_uuid: str | None = attrs.field(default=None, validator=optional(check_text))
    title: str | None = attrs.field(default=None, validator=optional(check_text))


@frozen
class EndSession(Request[EmptyReply]):
    """Lets the program end itself after its answer; what runs is aborted. `close()` does without it."""

    subtype: ClassVar[str] = "end_session"

    reason: str | None = attrs.field(default=None, validator=optional(check_text))
