"""What the program tells about a use of a tool that somebody has to decide about.

2.0.75 and 2.1.7 send `tool_use_id`, and sometimes `suggestions`, `blocked_path`, `decision_reason` and `agent_id`; the
rest is of 2.1.332. Texts of the program may hold characters that move a terminal's cursor.
"""

import attrs

from claude_control.records import frozen
from claude_control.wire.permissions import PermissionUpdate, read_suggestions
from claude_control.wire.reading import using
from claude_control.wire.record import WireRecord

__all__ = ["MatchedAskRule", "PermissionDetails", "ToolOrigin"]


@frozen(repr=False)
class ToolOrigin(WireRecord):
    """The MCP server that a tool belongs to: its name, and where it comes from ("sdk": this process)."""

    name: str | None = None
    source: str | None = None


@frozen(repr=False)
class MatchedAskRule(WireRecord):
    """The rule of the settings that made the program ask although another reason is told; its source and its parts."""

    source: str | None = None
    tool_name: str | None = None
    rule_content: str | None = None


@frozen(repr=False, kw_only=True)
class PermissionDetails(WireRecord):
    """Everything about a permission request beside the tool and its input; most of it is missing most of the time."""

    tool_use_id: str | None = None
    """Names the call; messages about it carry the same id."""

    agent_id: str | None = None
    """The subagent that makes the call."""

    suggestions: tuple[PermissionUpdate, ...] = attrs.field(default=(), metadata=using(read_suggestions))
    """The program's own proposals, which fit into `Allow(updated_permissions=…)`."""

    blocked_path: str | None = None
    """The file outside of the allowed directories, or otherwise guarded, that the call is about."""

    title: str | None = None
    """A sentence to show to a person."""

    display_name: str | None = None
    """What the tool is called for people."""

    description: str | None = None
    """What the model says that the call does."""

    decision_reason: str | None = None
    """Why the program asks, in words."""

    decision_reason_type: str | None = None
    """Why it asks, in one word: rule, hook, mode, workingDir, subcommandResults, safetyCheck, classifier, other, …"""

    decision_reason_rule_source: str | None = None
    """With the type rule: where the rule stands, such as flagSettings or mcpServerPolicy. For logs."""

    decision_reason_hook_event: str | None = None
    """With the type hook: the event of the hook that asks."""

    decision_reason_hook_source: str | None = None
    """With the type hook: where that hook comes from; "settings" also for a hook of this process."""

    requires_user_interaction: bool = False
    """The answer is more than yes or no: AskUserQuestion, ExitPlanMode."""

    mcp_server: ToolOrigin | None = None
    """The MCP server of the tool."""

    server_policy_ask_only: bool | None = None
    """Of a server's tool: whether nothing asks but the default, or the tool's own `permission_policy`."""

    classifier_approvable: bool | None = None
    """Whether every safety check that asks may be answered by a program; None if none asks."""

    suppress_always_allow_rule: bool = False
    """Do not offer to allow this for good: the rule would be broader than the call."""

    default_to_no: bool = False
    """Do not let one stray key allow this."""

    matched_ask_rule: MatchedAskRule | None = None
    """The rule of the settings that made it ask, where `decision_reason_type` is another one."""
