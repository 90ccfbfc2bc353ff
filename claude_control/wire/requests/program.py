"""Requests about the program itself: its version, models and status (2.1.332)."""

from typing import Any, ClassVar

import attrs

from claude_control.records import frozen
from claude_control.wire.requests.base import EmptyReply, Request
from claude_control.wire.requests.checks import check_flag, optional
from claude_control.wire.requests.replying import ReplyRecord

__all__ = [
    "GetBinaryVersion",
    "GetBinaryVersionReply",
    "GetStatus",
    "GetStatusReply",
    "ListModels",
    "ListModelsReply",
    "ModelInfo",
    "SetHasSubscribers",
    "StatusSection",
]


@frozen(repr=False)
class GetBinaryVersionReply(ReplyRecord):
    """The program's version, when it was built (ISO 8601), and the oldest desktop SDK that it works with."""

    version: str | None = None
    build_time: str | None = None
    oldest_desktop_sdk: str | None = None


@frozen
class GetBinaryVersion(Request[GetBinaryVersionReply]):
    """Asks for the program's version."""

    subtype: ClassVar[str] = "get_binary_version"


@frozen(repr=False)
class ModelInfo(ReplyRecord):
    """A model that can be chosen: `value` is what `set_model()` takes, `resolved_model` what the API is told."""

    value: str = ""
    resolved_model: str | None = None
    display_name: str = ""
    description: str = ""
    supports_effort: bool | None = None
    supported_effort_levels: tuple[str, ...] = ()
    supports_adaptive_thinking: bool | None = None
    supports_fast_mode: bool | None = None
    supports_auto_mode: bool | None = None
    supports_thinking_off: bool | None = None


@frozen(repr=False)
class ListModelsReply(ReplyRecord):
    """The models that can be chosen."""

    models: tuple[ModelInfo, ...] = ()


@frozen
class ListModels(Request[ListModelsReply]):
    """Asks for the models that can be chosen."""

    subtype: ClassVar[str] = "list_models"


@frozen(repr=False)
class StatusSection(ReplyRecord):
    """A heading, and rows: dicts with a `label` and a `value`."""

    title: str = ""
    rows: tuple[dict[str, Any], ...] = ()


@frozen(repr=False)
class GetStatusReply(ReplyRecord):
    """The status as the terminal shows it, in sections."""

    sections: tuple[StatusSection, ...] = ()


@frozen
class GetStatus(Request[GetStatusReply]):
    """Asks for the status as the terminal shows it."""

    subtype: ClassVar[str] = "get_status"


@frozen
class SetHasSubscribers(Request[EmptyReply]):
    """Tells whether anybody watches the stream; None: it is not known.

    It matters only where the environment makes the program hold text back to join it.
    """

    subtype: ClassVar[str] = "set_has_subscribers"

    has_subscribers: bool | None = attrs.field(validator=optional(check_flag))
