"""The one table that maps our names to wire names.

A field is called on the wire as it is here, unless a row says otherwise. A row is keyed by the field's name, or by
`Record.field` where it holds for one record and its subclasses only. A dot in the wire name leads into a nested
object; `WHOLE` stands for the object itself.
"""

from collections.abc import Mapping
from typing import Final

__all__ = ["WHOLE", "WIRE_NAMES", "wire_name"]

WHOLE: Final = "."
"""The wire name of a field that holds the whole decoded object."""

WIRE_NAMES: Final[Mapping[str, str]] = {
    # every record
    "raw": WHOLE,
    # messages: the program spells these in camel case (2.1.332)
    "api_key_source": "apiKeySource",
    "is_authenticating": "isAuthenticating",
    "is_meta": "isMeta",
    "is_replay": "isReplay",
    "is_synthetic": "isSynthetic",
    "model_usage": "modelUsage",
    "permission_mode": "permissionMode",
    "should_query": "shouldQuery",
    "TranscriptMirrorMessage.file_path": "filePath",
    # rate limits
    "can_user_purchase_credits": "canUserPurchaseCredits",
    "error_code": "errorCode",
    "SessionWritesLostMessage.error_code": "error_code",
    "has_chargeable_saved_payment_method": "hasChargeableSavedPaymentMethod",
    "is_using_overage": "isUsingOverage",
    "limit_scope": "limitScope",
    "overage_disabled_reason": "overageDisabledReason",
    "overage_enabled": "overageEnabled",
    "overage_in_use": "overageInUse",
    "overage_resets_at": "overageResetsAt",
    "overage_status": "overageStatus",
    "rate_limit_type": "rateLimitType",
    "resets_at": "resetsAt",
    "surpassed_threshold": "surpassedThreshold",
    "unified_windows": "unifiedWindows",
    # fields that lie deeper on the wire, or that are called something else there
    "AssistantMessage.content": "message.content",
    "AssistantMessage.context_management": "message.context_management",
    "AssistantMessage.message_id": "message.id",
    "AssistantMessage.model": "message.model",
    "AssistantMessage.stop_details": "message.stop_details",
    "AssistantMessage.stop_reason": "message.stop_reason",
    "AssistantMessage.stop_sequence": "message.stop_sequence",
    "AssistantMessage.usage": "message.usage",
    "DialogRequest.kind": "dialog_kind",
    "ElicitationRequest.server_name": "mcp_server_name",
    "HookEventMessage.hook_event_name": "hook_event",
    "InitializeReply.permission_mode": "current_permission_mode",
    "InitializeReply.version": "claude_code_version",
    "MCPCallReply.meta": "_meta",
    "MCPReadResource.server_name": "serverName",
    "MCPReconnect.server_name": "serverName",
    "MCPResource.meta": "_meta",
    "MCPStatusReply.servers": "mcpServers",
    "MCPToggle.server_name": "serverName",
    "PermissionDetails.suggestions": "permission_suggestions",
    "Question.multi_select": "multiSelect",
    "SessionUsage.model_usage": "model_usage",
    "SystemMessage.data": WHOLE,
    "TaskUpdatedMessage.status": "patch.status",
    "UserMessage.content": "message.content",
}
"""Wire names by field, or by `Record.field`, for those that are not called the same."""


def wire_name(record: type, field: str) -> str:
    """Return what a field of a record is called on the wire."""
    qualified = (f"{base.__name__}.{field}" for base in record.__mro__)
    return next((WIRE_NAMES[name] for name in qualified if name in WIRE_NAMES), WIRE_NAMES.get(field, field))
