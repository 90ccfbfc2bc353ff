"""Requests that steer a running conversation: interrupt, permission mode, model, thinking."""

from typing import Any, ClassVar

import attrs

from claude_control.errors import OptionsError
from claude_control.records import frozen
from claude_control.unset import UNSET, Unset
from claude_control.wire.requests.base import EmptyReply, Request
from claude_control.wire.requests.checks import check_flag, check_text, optional, reject
from claude_control.wire.requests.replying import ReplyRecord

__all__ = [
    "PERMISSION_MODES",
    "CancelAsyncMessage",
    "CancelAsyncMessageReply",
    "Interrupt",
    "InterruptReply",
    "SetMaxThinkingTokens",
    "SetModel",
    "SetModelReply",
    "SetPermissionMode",
    "SetPermissionModeReply",
]

PERMISSION_MODES = ("default", "acceptEdits", "plan", "dontAsk", "bypassPermissions", "auto", "manual")
"""The modes that 2.1.332 takes; "auto" and "manual" are unknown to 2.0.75 and 2.1.7."""

_DISPLAYS = ("summarized", "omitted", "highlights")


@frozen(repr=False)
class InterruptReply(ReplyRecord):
    """The receipt of an interrupt.

    `still_queued` has the uuids of prompts that were not begun and will still run, `cancelled` of those dropped on
    request (2.1.332; older programs send an empty receipt, and both are empty).
    """

    still_queued: tuple[str, ...] = ()
    cancelled: tuple[str, ...] = ()


@frozen
class Interrupt(Request[InterruptReply]):
    """Stops the turn that runs; harmless when none does.

    `cancel_queued` also drops prompts that the program holds (2.1.332).
    """

    subtype: ClassVar[str] = "interrupt"

    cancel_queued: bool = attrs.field(default=False, validator=check_flag)


@frozen(repr=False)
class SetPermissionModeReply(ReplyRecord):
    """The permission mode that is now in force.

    The program may map the one asked for ("manual" becomes "default" on 2.1.332).
    """

    mode: str | None = None


@frozen
class SetPermissionMode(Request[SetPermissionModeReply]):
    """Changes how tools are permitted, at once, also while a turn runs.

    The mode is checked here, because 2.0.75 and 2.1.7 take any text, and bypassPermissions without having been launched
    for it.
    """

    subtype: ClassVar[str] = "set_permission_mode"

    mode: str = attrs.field()

    @mode.validator
    def _known(self, _attribute: object, value: str) -> None:
        if value not in PERMISSION_MODES:
            raise OptionsError(
                f"permission mode {value!r} is unknown; use one of {', '.join(PERMISSION_MODES)}", field="mode"
            )


@frozen(repr=False)
class SetModelReply(ReplyRecord):
    """The model that the next request to the API will name, as 2.1.332 resolved it; None on older programs."""

    model: str | None = None


@frozen
class SetModel(Request[SetModelReply]):
    """Changes the model from the next API request on; None means the program's default.

    An unknown name is taken by every program and fails the next turn.
    """

    subtype: ClassVar[str] = "set_model"

    # A number makes 2.0.75 and 2.1.7 crash at the next prompt, an empty text makes them call the API without a model.
    model: str | None = attrs.field(default=None, validator=optional(check_text))

    def body(self) -> dict[str, Any]:
        """Return the wire form; the default is asked for by null, which every program knows."""
        return {"subtype": self.subtype, "model": self.model}


@frozen
class SetMaxThinkingTokens(Request[EmptyReply]):
    """Limits the tokens spent on thinking from the next turn on; 0 turns it off.

    None goes back to the session's own setting (2.1.332), or turns it off (older programs). `thinking_display` says
    what is shown of it, None what the program shows by itself (2.1.332); "highlights" is for Anthropic's own hosts.
    """

    subtype: ClassVar[str] = "set_max_thinking_tokens"

    max_thinking_tokens: int | Unset | None = attrs.field(default=UNSET)
    thinking_display: str | Unset | None = attrs.field(default=UNSET)

    @max_thinking_tokens.validator
    def _count(self, _attribute: object, value: object) -> None:
        if value is None or value is UNSET:
            return
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            reject("max_thinking_tokens", value, "a whole number from 0 or None")

    @thinking_display.validator
    def _display(self, _attribute: object, value: object) -> None:
        if value is UNSET and self.max_thinking_tokens is UNSET:
            raise OptionsError("give max_thinking_tokens, thinking_display or both", field="max_thinking_tokens")
        if value not in (None, UNSET, *_DISPLAYS):
            reject("thinking_display", value, f"one of {', '.join(_DISPLAYS)} or None")


@frozen(repr=False)
class CancelAsyncMessageReply(ReplyRecord):
    """Whether a prompt was dropped; `message_uuid` is there if so."""

    cancelled: bool = False
    message_uuid: str | None = None


@frozen
class CancelAsyncMessage(Request[CancelAsyncMessageReply]):
    """Drops a prompt that the program holds and has not begun, by the uuid that `send()` returned (2.1.332)."""

    subtype: ClassVar[str] = "cancel_async_message"

    message_uuid: str = attrs.field(validator=check_text)
