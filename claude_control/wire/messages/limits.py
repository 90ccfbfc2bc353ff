"""Limits and troubles at the API."""

from typing import Any

import attrs

from claude_control.records import frozen
from claude_control.wire.messages.message import Message
from claude_control.wire.messages.system import SystemMessage
from claude_control.wire.record import WireRecord

__all__ = ["APIRetryMessage", "ModelRefusalMessage", "RateLimitEvent", "RateLimitInfo"]


@frozen(repr=False)
class RateLimitInfo(WireRecord):
    """Where a claude.ai subscription stands: `status` is "allowed", "allowed_warning" or "rejected".

    Times are Unix timestamps in seconds, `utilization` is a fraction.
    """

    status: str = ""
    resets_at: int | None = None
    rate_limit_type: str | None = None
    utilization: float | None = None
    overage_status: str | None = None
    overage_resets_at: int | None = None
    overage_disabled_reason: str | None = None
    raw: dict[str, Any] = attrs.field(factory=dict, repr=False, eq=False)
    is_using_overage: bool | None = None
    overage_in_use: bool | None = None
    overage_enabled: bool | None = None
    surpassed_threshold: float | None = None
    limit_scope: str | None = None
    error_code: str | None = None
    can_user_purchase_credits: bool | None = None
    has_chargeable_saved_payment_method: bool | None = None
    unified_windows: dict[str, Any] | None = None
    """Each limit's own status, utilization and reset time, by its name (2.1.332)."""


@frozen(repr=False)
class RateLimitEvent(Message):
    """The rate limit's state changed."""

    rate_limit_info: RateLimitInfo = attrs.field(factory=RateLimitInfo)
    uuid: str = ""
    session_id: str = ""


@frozen(repr=False)
class APIRetryMessage(SystemMessage):
    """A request to the API failed and is tried again after `retry_delay_ms` (2.1.332).

    `error_status` is the HTTP status, None if no answer came.
    """

    attempt: int = 0
    max_retries: int = 0
    retry_delay_ms: float = 0
    error_status: int | None = None
    error: str = ""
    no_response: dict[str, Any] | None = None


@frozen(repr=False)
class ModelRefusalMessage(SystemMessage):
    """The model refused.

    With the subtype "model_refusal_fallback" another model, `fallback_model`, tried again, and the messages in
    `retracted_message_uuids` no longer count; with "model_refusal_no_fallback" nobody did.
    """

    original_model: str = ""
    content: str = ""
    fallback_model: str | None = None
    request_id: str | None = None
    api_refusal_category: str | None = None
    api_refusal_explanation: str | None = None
    refused_user_message_uuid: str | None = None
    retracted_message_uuids: list[str] | None = None
    trigger: str | None = None
    direction: str | None = None
    scope: str | None = None
