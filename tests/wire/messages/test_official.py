"""Names and positions are those of the official Python SDK (0.2.189), so that code written for it goes on working."""

import attrs
import pytest

from claude_control.wire import content, messages

# The fields of each class in the order of its constructor.
FIELDS = {
    "UserMessage": "content uuid parent_tool_use_id tool_use_result origin",
    "AssistantMessage": (
        "content model parent_tool_use_id error usage message_id stop_reason session_id uuid "
        "user_message_uuid user_message_uuids"
    ),
    "SystemMessage": "subtype data",
    "ResultMessage": (
        "subtype duration_ms duration_api_ms is_error num_turns session_id stop_reason total_cost_usd usage "
        "result structured_output model_usage permission_denials deferred_tool_use errors api_error_status "
        "uuid terminal_reason origin user_message_uuid user_message_uuids"
    ),
    "StreamEvent": "uuid session_id event parent_tool_use_id user_message_uuid user_message_uuids",
    "RateLimitEvent": "rate_limit_info uuid session_id",
    "RateLimitInfo": (
        "status resets_at rate_limit_type utilization overage_status overage_resets_at overage_disabled_reason raw"
    ),
    "TaskStartedMessage": "subtype data task_id description uuid session_id tool_use_id task_type",
    "TaskProgressMessage": "subtype data task_id description usage uuid session_id tool_use_id last_tool_name",
    "TaskNotificationMessage": "subtype data task_id status output_file summary uuid session_id tool_use_id usage",
    "TaskUpdatedMessage": "subtype data task_id patch status session_id uuid",
    "MirrorErrorMessage": "subtype data key error",
    "HookEventMessage": "subtype data hook_event_name session_id uuid",
    "ConversationResetMessage": "new_conversation_id uuid session_id",
    "DeferredToolUse": "id name input",
    "TextBlock": "text",
    "ThinkingBlock": "thinking signature",
    "ToolUseBlock": "id name input",
    "ToolResultBlock": "tool_use_id content is_error",
    "ServerToolUseBlock": "id name input",
    "ServerToolResultBlock": "tool_use_id content",
}


@pytest.mark.parametrize("name", FIELDS)
def test_fields_come_in_the_official_order(name: str) -> None:
    """Each class takes the official fields first, by the same names and positions; ours follow."""
    record = getattr(content if name.endswith("Block") else messages, name)
    official = FIELDS[name].split()
    assert [field.name for field in attrs.fields(record) if not field.kw_only][: len(official)] == official
