"""Requests about settings, hooks and permission rules (2.1.332)."""

from collections.abc import Mapping
from typing import Any, ClassVar

import attrs

from claude_control.records import frozen
from claude_control.wire.requests.base import EmptyReply, Request
from claude_control.wire.requests.checks import check_object, one_of
from claude_control.wire.requests.replying import ReplyRecord

__all__ = [
    "ApplyFlagSettings",
    "GetHooksListing",
    "GetHooksListingReply",
    "GetSettings",
    "GetSettingsReply",
    "HookRow",
    "ListPermissionRules",
    "ListPermissionRulesReply",
    "PermissionRule",
    "PermissionRulesState",
    "SettingsSource",
    "UpdateSettings",
]


@frozen
class ApplyFlagSettings(Request[EmptyReply]):
    """Changes settings of this session alone, at once.

    They are those of `Options.settings`, above all files but managed ones. Each key at the top replaces what an earlier
    call gave it; None takes it away. Unknown keys are taken without a word.
    """

    subtype: ClassVar[str] = "apply_flag_settings"

    settings: Mapping[str, Any] = attrs.field(validator=check_object, repr=False)


@frozen(repr=False)
class SettingsSource(ReplyRecord):
    """The settings of one source, such as "projectSettings" or "flagSettings"."""

    source: str = ""
    settings: dict[str, Any] = attrs.field(factory=dict, repr=False)


@frozen(repr=False)
class GetSettingsReply(ReplyRecord):
    """The settings in force (`effective`), and those of each source, from weakest to strongest. They may hold secrets.

    `applied` is what the session runs with: its model, effort and the like.
    """

    effective: dict[str, Any] = attrs.field(factory=dict, repr=False)
    sources: tuple[SettingsSource, ...] = ()
    applied: dict[str, Any] = attrs.field(factory=dict)
    served_settings_state: str | None = None
    errors: tuple[dict[str, Any], ...] = ()


@frozen
class GetSettings(Request[GetSettingsReply]):
    """Asks for the settings in force and where they come from."""

    subtype: ClassVar[str] = "get_settings"


@frozen
class UpdateSettings(Request[EmptyReply]):
    """Writes settings into a file: `outputStyle` into "localSettings", `effortLevel` into "userSettings".

    The program takes no other keys, and texts only.
    """

    subtype: ClassVar[str] = "update_settings"

    source: str = attrs.field(validator=one_of("localSettings", "userSettings"))
    settings: Mapping[str, Any] = attrs.field(validator=check_object, repr=False)


@frozen(repr=False)
class HookRow(ReplyRecord):
    """A hook of a settings file or a plugin; `timeout` is in seconds.

    `source_label`, `display_text`, `command_text` and `content_label` are for people. `editable` is the entry as its
    file has it.
    """

    event: str = ""
    matcher: str = ""
    source: str = ""
    type: str = ""
    command_text: str = ""
    display_text: str = ""
    source_label: str | None = None
    content_label: str | None = None
    plugin_name: str | None = None
    condition: str | None = None
    timeout: float | None = None
    status_message: str | None = None
    runs_once: bool | None = None
    runs_in_background: bool | None = None
    disabled: bool = False
    editable: dict[str, Any] | None = None


@frozen(repr=False)
class GetHooksListingReply(ReplyRecord):
    """The hooks of settings files and plugins; callbacks of this SDK are not listed.

    `events` counts them by event, `event_catalog` has all events that there are, `policy` says what managed settings
    forbid.
    """

    hooks: tuple[HookRow, ...] = ()
    events: tuple[dict[str, Any], ...] = ()
    event_catalog: tuple[dict[str, Any], ...] = ()
    policy: dict[str, Any] = attrs.field(factory=dict)
    safe_mode: dict[str, Any] | None = None
    bare_mode: dict[str, Any] | None = None
    errors: tuple[dict[str, Any], ...] = ()


@frozen
class GetHooksListing(Request[GetHooksListingReply]):
    """Asks for the hooks of settings files and plugins."""

    subtype: ClassVar[str] = "get_hooks_listing"


@frozen(repr=False)
class PermissionRule(ReplyRecord):
    """One rule: `behavior` is "allow", "deny" or "ask".

    `source` says where it comes from, `editability` whether it is "persistent", "session" or "readonly". `description`
    is a dict of texts for people.
    """

    behavior: str = ""
    rule: str = ""
    source: str = ""
    editability: str | None = None
    description: dict[str, Any] | None = None
    not_in_effect: bool = False


@frozen(repr=False)
class PermissionRulesState(ReplyRecord):
    """The rules of the session, and the directories that it may work in, dicts with `path` and `source`."""

    rules: tuple[PermissionRule, ...] = ()
    workspace_directories: tuple[dict[str, Any], ...] = ()
    original_cwd: str | None = None
    managed_only: bool | None = None
    errors: tuple[dict[str, Any], ...] = ()
    withheld: bool = False


@frozen(repr=False)
class ListPermissionRulesReply(ReplyRecord):
    """The rules, in `state`; None if the program sent none."""

    state: PermissionRulesState | None = None

    @property
    def rules(self) -> tuple[PermissionRule, ...]:
        """Every rule."""
        return self.state.rules if self.state is not None else ()


@frozen
class ListPermissionRules(Request[ListPermissionRulesReply]):
    """Asks for the permission rules that are in force, those given in this session included."""

    subtype: ClassVar[str] = "list_permission_rules"
