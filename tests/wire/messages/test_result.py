"""How a turn ended."""

from typing import Any

import pytest

from claude_control.wire.messages import DeferredToolUse, ResultMessage, decode


def result(**fields: Any) -> ResultMessage:
    """Return a decoded result."""
    message = decode({"type": "result", **fields})
    assert isinstance(message, ResultMessage)
    return message


def test_positions_are_the_official_ones() -> None:
    """A result can be constructed by position as the official SDK's can."""
    by_position = ResultMessage("success", 10, 5, False, 1, "s", "end_turn", 0.5)
    by_keyword = ResultMessage(
        subtype="success",
        duration_ms=10,
        duration_api_ms=5,
        is_error=False,
        num_turns=1,
        session_id="s",
        stop_reason="end_turn",
        total_cost_usd=0.5,
    )
    assert by_position == by_keyword


def test_error_result_says_why() -> None:
    """An error has its texts and its reason, and no result."""
    message = result(subtype="error_max_turns", is_error=True, errors=["too many"], terminal_reason="max_turns")
    assert (message.errors, message.result, message.terminal_reason) == (["too many"], None, "max_turns")


def test_whole_dollars_are_a_cost() -> None:
    """A cost without cents, such as 0, arrives as the number it is."""
    assert result(total_cost_usd=0).total_cost_usd == 0


def test_usage_by_model_has_our_name() -> None:
    """The usage by model arrives under the official SDK's name, its inner keys as they came."""
    usage = {"claude-x": {"inputTokens": 1}}
    assert result(modelUsage=usage).model_usage == usage
    assert result(modelUsage={"claude-x": 1}).model_usage is None


def test_deferred_tool_use_is_a_record() -> None:
    """A deferred call arrives as a record, and anything that is no object as none."""
    call: dict[str, Any] = {"id": "t", "name": "Bash", "input": {"command": "ls"}}
    assert result(deferred_tool_use=call).deferred_tool_use == DeferredToolUse("t", "Bash", call["input"], raw=call)
    assert result(deferred_tool_use="t").deferred_tool_use is None


@pytest.mark.parametrize("value", [{"a": 1}, [1], "text", 0, False, None])
def test_structured_output_is_any_value(value: Any) -> None:
    """Structured output is whatever the schema allows."""
    assert result(structured_output=value).structured_output == value


def test_prompts_that_are_no_texts_are_not_listed() -> None:
    """The uuids of prompts are texts or absent, so that they can be looked up."""
    assert result(user_message_uuids=["u"]).user_message_uuids == ["u"]
    assert result(user_message_uuids=["u", {}]).user_message_uuids is None
