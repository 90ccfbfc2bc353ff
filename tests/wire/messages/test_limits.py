"""Messages about limits and troubles at the API; what 2.1.332 wrote of them is among the golden samples."""

from typing import Any

import pytest

from claude_control.wire.messages import APIRetryMessage, ModelRefusalMessage, RateLimitEvent, RateLimitInfo, decode

INFO = {
    "status": "allowed_warning",
    "resetsAt": 1700000000,
    "rateLimitType": "five_hour",
    "utilization": 0.9,
    "overageStatus": "rejected",
    "overageResetsAt": 1700000001,
    "overageDisabledReason": "out_of_credits",
    "isUsingOverage": False,
    "limitScope": "group_pool",
}


def test_rate_limit_has_our_names() -> None:
    """A rate limit event carries a record with the official SDK's names, and the object it came as."""
    message = decode({"type": "rate_limit_event", "rate_limit_info": INFO, "uuid": "u", "session_id": "s"})
    assert isinstance(message, RateLimitEvent)
    assert message.rate_limit_info == RateLimitInfo(
        "allowed_warning",
        1700000000,
        "five_hour",
        0.9,
        "rejected",
        1700000001,
        "out_of_credits",
        INFO,
        is_using_overage=False,
        limit_scope="group_pool",
    )


@pytest.mark.parametrize("info", [None, "rejected", []])
def test_rate_limit_without_its_info_is_empty(info: Any) -> None:
    """An event without its info has an empty one, never None."""
    message = decode({"type": "rate_limit_event", "rate_limit_info": info})
    assert isinstance(message, RateLimitEvent)
    assert message.rate_limit_info == RateLimitInfo()


def test_retry_without_an_answer_has_no_status() -> None:
    """A retry after a lost connection has no HTTP status, and its delay may have a fraction."""
    raw = {"type": "system", "subtype": "api_retry", "attempt": 1, "retry_delay_ms": 512.5, "error_status": None}
    message = decode(raw)
    assert isinstance(message, APIRetryMessage)
    assert (message.attempt, message.retry_delay_ms, message.error_status) == (1, 512.5, None)


@pytest.mark.parametrize("model", ["claude-b", None])
def test_refusal_names_the_model_that_took_over(model: str | None) -> None:
    """A refusal says which model tried again, if one did."""
    subtype = "model_refusal_fallback" if model else "model_refusal_no_fallback"
    message = decode({"type": "system", "subtype": subtype, "original_model": "claude-a", "fallback_model": model})
    assert isinstance(message, ModelRefusalMessage)
    assert (message.original_model, message.fallback_model) == ("claude-a", model)
