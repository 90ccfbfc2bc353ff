"""Requests that steer a running conversation: interrupt, permission mode, model, thinking."""

from typing import Any, ClassVar

import attrs

from claude_control.errors import OptionsError
from claude_control.wire.requests.base import EmptyReply, Request, read_text, read_texts
from claude_control.wire.support import CURRENT

PERMISSION_MODES = ("default", "acceptEdits", "plan", "dontAsk", "bypassPermissions", "auto", "manual")
"""The modes that 2.1.332 takes; "auto" and "manual" are unknown to 2.0.75 and 2.1.7."""


@attrs.frozen
class InterruptReply:
    """The receipt of an interrupt.

    `still_queued` has the uuids of prompts that were not begun and will still run, `cancelled` of those dropped on
    request (2.1.332; older programs send an empty receipt, and both are empty).
    """

    still_queued: tuple[str, ...] = ()
    cancelled: tuple[str, ...] = ()
    raw: dict[str, Any] = attrs.field(factory=dict, repr=False)


@attrs.frozen
class Interrupt(Request[InterruptReply]):
    """Stops the turn that runs; harmless when none does.

    `cancel_queued` also drops prompts that the program holds (2.1.332).
    """

    subtype: ClassVar[str] = "interrupt"

    cancel_queued: bool = False

    def body(self) -> dict[str, Any]:
        """Return the wire form."""
        return {"subtype": self.subtype, **({"cancel_queued": True} if self.cancel_queued else {})}

    def reply(self, response: dict[str, Any]) -> InterruptReply:
        """Read the receipt."""
        queued = read_texts(response, "still_queued", self.subtype)
        return InterruptReply(queued, read_texts(response, "cancelled", self.subtype), response)

    def needs(self) -> tuple[str, str]:
        """Return 2.1.332 for `cancel_queued`."""
        return ("interrupt(cancel_queued=True)", CURRENT) if self.cancel_queued else super().needs()


@attrs.frozen
class SetPermissionModeReply:
    """The permission mode that is now in force.

    The program may map the one asked for ("manual" becomes "default" on 2.1.332).
    """

    mode: str | None = None
    raw: dict[str, Any] = attrs.field(factory=dict, repr=False)


@attrs.frozen
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

    def body(self) -> dict[str, Any]:
        """Return the wire form."""
        return {"subtype": self.subtype, "mode": self.mode}

    def reply(self, response: dict[str, Any]) -> SetPermissionModeReply:
        """Read the mode."""
        return SetPermissionModeReply(read_text(response, "mode"), response)

    def needs(self) -> tuple[str, str]:
        """Return 2.1.332 for the modes that came later."""
        return (f"permission mode {self.mode!r}", CURRENT) if self.mode in ("auto", "manual") else super().needs()


@attrs.frozen
class SetModelReply:
    """The model that the next request to the API will name, as the program resolved it (2.1.332.

    None on older programs).
    """

    model: str | None = None
    raw: dict[str, Any] = attrs.field(factory=dict, repr=False)


@attrs.frozen
class SetModel(Request[SetModelReply]):
    """Changes the model from the next API request on; None means the program's default.

    An unknown name is taken by every program and fails the next turn.
    """

    subtype: ClassVar[str] = "set_model"

    model: str | None = attrs.field(default=None)

    @model.validator
    def _text(self, _attribute: object, value: object) -> None:
        # A number makes 2.0.75 and 2.1.7 crash at the next prompt, an empty text makes them call the API without a
        # model.
        if value is not None and (not isinstance(value, str) or not value.strip()):
            raise OptionsError(f"model must be a name or None, not {value!r}", field="model")

    def body(self) -> dict[str, Any]:
        """Return the wire form."""
        return {"subtype": self.subtype, "model": self.model}

    def reply(self, response: dict[str, Any]) -> SetModelReply:
        """Read the model."""
        return SetModelReply(read_text(response, "model"), response)


@attrs.frozen
class SetMaxThinkingTokens(Request[EmptyReply]):
    """Limits the tokens spent on thinking from the next turn on; None or 0 turns it off.

    `thinking_display` says what is shown (2.1.332).
    """

    subtype: ClassVar[str] = "set_max_thinking_tokens"

    max_thinking_tokens: int | None = attrs.field(default=None)
    thinking_display: str | None = attrs.field(default=None)

    @max_thinking_tokens.validator
    def _count(self, _attribute: object, value: object) -> None:
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 0):
            text = f"max_thinking_tokens must be a number from 0 or None, not {value!r}"
            raise OptionsError(text, field="max_thinking_tokens")

    @thinking_display.validator
    def _display(self, _attribute: object, value: object) -> None:
        if value not in (None, "summarized", "omitted", "highlights"):
            text = f"thinking_display must be 'summarized', 'omitted', 'highlights' or None, not {value!r}"
            raise OptionsError(text, field="thinking_display")

    def body(self) -> dict[str, Any]:
        """Return the wire form."""
        display = {"thinking_display": self.thinking_display} if self.thinking_display else {}
        return {"subtype": self.subtype, "max_thinking_tokens": self.max_thinking_tokens, **display}

    def reply(self, response: dict[str, Any]) -> EmptyReply:
        """Read nothing."""
        return EmptyReply(response)

    def needs(self) -> tuple[str, str]:
        """Return 2.1.332 for `thinking_display`."""
        return ("thinking_display", CURRENT) if self.thinking_display else super().needs()
