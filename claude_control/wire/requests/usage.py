"""Requests about what a conversation costs and holds: the context window, tokens, money (2.1.332)."""

from typing import Any, ClassVar

import attrs

from claude_control.records import frozen
from claude_control.wire.requests.base import Request
from claude_control.wire.requests.checks import check_flag, one_of, optional
from claude_control.wire.requests.replying import ReplyRecord

__all__ = [
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
]


@frozen(repr=False)
class ContextCategory(ReplyRecord):
    """What one sort of content takes of the context window, in tokens.

    `kind` is "used", "free", "buffer" or "deferred" (not loaded). Tell categories apart by `id`, not by the shown
    `name`.
    """

    name: str = ""
    tokens: int = 0
    kind: str = ""
    id: str | None = None
    color: str | None = None
    is_deferred: bool = False


@frozen(repr=False)
class ContextGridSquare(ReplyRecord):
    """One square of the picture that the terminal draws of the context window."""

    color: str = ""
    is_filled: bool = False
    category_name: str = ""
    tokens: int = 0
    percentage: float = 0
    square_fullness: float = 0


@frozen(repr=False)
class ContextMessages(ReplyRecord):
    """What the messages take, in tokens; the last two are dicts with a `name` each, by tool and by attachment."""

    tool_call_tokens: int = 0
    tool_result_tokens: int = 0
    attachment_tokens: int = 0
    assistant_message_tokens: int = 0
    user_message_tokens: int = 0
    redirected_context_tokens: int = 0
    unattributed_tokens: int = 0
    tool_calls_by_type: tuple[dict[str, Any], ...] = ()
    attachments_by_type: tuple[dict[str, Any], ...] = ()


@frozen(repr=False)
class GetContextUsageReply(ReplyRecord):
    """How full the context window is, in tokens; `percentage` is 0 to 100.

    `max_tokens` is the window as it is used, `raw_max_tokens` that of the model. The lists of dicts name single files,
    tools, agents and skills with their `tokens`. `api_usage` is that of the last answer, None before the first.
    """

    categories: tuple[ContextCategory, ...] = ()
    total_tokens: int | None = None
    max_tokens: int | None = None
    raw_max_tokens: int | None = None
    percentage: float | None = None
    model: str | None = None
    is_auto_compact_enabled: bool | None = None
    auto_compact_threshold: int | None = None
    autocompact_source: str | None = None
    memory_files: tuple[dict[str, Any], ...] = ()
    mcp_tools: tuple[dict[str, Any], ...] = ()
    mcp_instructions: tuple[dict[str, Any], ...] = ()
    deferred_builtin_tools: tuple[dict[str, Any], ...] = ()
    system_tools: tuple[dict[str, Any], ...] = ()
    system_prompt_sections: tuple[dict[str, Any], ...] = ()
    agents: tuple[dict[str, Any], ...] = ()
    slash_commands: dict[str, Any] | None = None
    skills: dict[str, Any] | None = None
    message_breakdown: ContextMessages | None = None
    api_usage: dict[str, Any] | None = None
    grid_rows: tuple[tuple[ContextGridSquare, ...], ...] = attrs.field(default=(), repr=False)


@frozen
class GetContextUsage(Request[GetContextUsageReply]):
    """Asks how full the context window is.

    `detail` "full", the program's default, counts with the API (about 1 s); "summary" estimates (10 ms).
    """

    subtype: ClassVar[str] = "get_context_usage"

    detail: str | None = attrs.field(default=None, validator=optional(one_of("summary", "full")))


@frozen(repr=False)
class GetSessionCostReply(ReplyRecord):
    """The cost so far, as text for people."""

    text: str = ""


@frozen
class GetSessionCost(Request[GetSessionCostReply]):
    """Asks for the cost of the session as text."""

    subtype: ClassVar[str] = "get_session_cost"


@frozen(repr=False)
class SessionUsage(ReplyRecord):
    """What the session used so far, since its program started; `model_usage` by model, as in a `ResultMessage`."""

    total_cost_usd: float | None = None
    total_api_duration_ms: float | None = None
    total_duration_ms: float | None = None
    total_lines_added: int | None = None
    total_lines_removed: int | None = None
    model_usage: dict[str, dict[str, Any]] = attrs.field(factory=dict)


@frozen(repr=False)
class GetUsageReply(ReplyRecord):
    """Cost and usage of the session, and of the plan where there is one.

    `rate_limits` has a window such as "five_hour" each with `utilization` (0 to 100) and `resets_at` (ISO 8601), where
    `rate_limits_available`. `subscription_type` is None with an API key.
    """

    session: SessionUsage | None = None
    subscription_type: str | None = None
    rate_limits_available: bool | None = None
    rate_limits: dict[str, Any] | None = None
    behaviors: dict[str, Any] | None = None


@frozen
class GetUsage(Request[GetUsageReply]):
    """Asks what the session used. `skip_behaviors` spares a reading of the transcripts of the last seven days."""

    subtype: ClassVar[str] = "get_usage"

    skip_behaviors: bool = attrs.field(default=False, validator=check_flag)
