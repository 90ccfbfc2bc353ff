"""Requests that steer a running conversation."""

from typing import Any

import pytest

from claude_control.errors import OptionsError
from claude_control.wire.requests import Interrupt, SetMaxThinkingTokens, SetModel, SetPermissionMode
from claude_control.wire.support import CURRENT, OLDEST
from tests.wire.requests.replies import exchange


def test_interrupt_reads_its_receipt() -> None:
    """The receipt of 2.1.332 says which prompts will run and which were dropped; the old programs' says nothing."""
    dropped = Interrupt(cancel_queued=True).reply(exchange("2.1.332/interrupt-2").reply.response)
    assert dropped.still_queued == ()
    assert len(dropped.cancelled) == 2
    assert Interrupt().reply({"still_queued": ["a", 5, "b"]}).still_queued == ("a", "b")
    assert Interrupt().reply(exchange("2.0.75/interrupt").reply.response).still_queued == ()


def test_interrupt_needs() -> None:
    """Only dropping what is queued needs a newer program."""
    assert Interrupt().needs() == ("interrupt", OLDEST)
    assert Interrupt(cancel_queued=True).needs() == ("interrupt(cancel_queued=True)", CURRENT)
    assert Interrupt().body() == {"subtype": "interrupt"}


@pytest.mark.parametrize("mode", ["default", "acceptEdits", "plan", "dontAsk", "bypassPermissions"])
def test_old_modes_need_no_newer_program(mode: str) -> None:
    """The modes that every measured program knows are sent to all of them."""
    assert SetPermissionMode(mode).needs() == ("set_permission_mode", OLDEST)


@pytest.mark.parametrize("mode", ["auto", "manual"])
def test_new_modes_need_a_newer_program(mode: str) -> None:
    """The modes that 2.0.75 and 2.1.7 would store without knowing them are kept from them."""
    assert SetPermissionMode(mode).needs() == (f"set_permission_mode(mode={mode!r})", CURRENT)


@pytest.mark.parametrize("mode", ["bogus", "Plan", "", "delegate", None, 5, ["plan"], {}], ids=repr)
def test_unknown_mode_is_refused(mode: Any) -> None:
    """A mode that no program knows is refused here, for 2.0.75 and 2.1.7 would take it."""
    with pytest.raises(OptionsError, match="use one of default, acceptEdits") as caught:
        SetPermissionMode(mode)
    assert caught.value.field == "mode"


def test_mode_in_force_is_read() -> None:
    """The program may map the mode that was asked for; the reply has the one in force."""
    assert SetPermissionMode("manual").reply({"mode": "default"}).mode == "default"
    assert SetPermissionMode("plan").reply({}).mode is None


@pytest.mark.parametrize("model", ["", "  ", 5, 0, False, [], {}, b"x"], ids=repr)
def test_model_that_is_no_name_is_refused(model: Any) -> None:
    """A number ends 2.0.75 and 2.1.7 at the next prompt, an empty name calls the API without one: neither is sent."""
    with pytest.raises(OptionsError) as caught:
        SetModel(model)
    assert caught.value.field == "model"


def test_model_may_be_the_default() -> None:
    """None asks for the program's default, and is sent as null."""
    assert SetModel().body() == SetModel(None).body() == {"subtype": "set_model", "model": None}
    assert SetModel("sonnet").reply({"model": "claude-sonnet-5"}).model == "claude-sonnet-5"


@pytest.mark.parametrize("tokens", [-1, 1.5, "100", True, [], {}], ids=repr)
def test_tokens_that_are_no_count_are_refused(tokens: Any) -> None:
    """What is no whole number from 0 is refused: the old programs take anything."""
    with pytest.raises(OptionsError) as caught:
        SetMaxThinkingTokens(tokens)
    assert caught.value.field == "max_thinking_tokens"


@pytest.mark.parametrize("display", ["", "bogus", 5, True, []], ids=repr)
def test_unknown_display_is_refused(display: Any) -> None:
    """A display that 2.1.332 would refuse is refused here."""
    with pytest.raises(OptionsError) as caught:
        SetMaxThinkingTokens(100, display)
    assert caught.value.field == "thinking_display"


def test_thinking_is_sent() -> None:
    """0 and None are sent as they are; a display goes beside, to a program that knows it."""
    assert SetMaxThinkingTokens(0).body() == {"subtype": "set_max_thinking_tokens", "max_thinking_tokens": 0}
    assert SetMaxThinkingTokens(None).body()["max_thinking_tokens"] is None
    assert SetMaxThinkingTokens(thinking_display=None).body() == {
        "subtype": "set_max_thinking_tokens",
        "thinking_display": None,
    }
    with pytest.raises(OptionsError, match="or both"):
        SetMaxThinkingTokens()
    shown = SetMaxThinkingTokens(10, "omitted")
    assert shown.body()["thinking_display"] == "omitted"
    assert shown.needs() == ("set_max_thinking_tokens(thinking_display='omitted')", CURRENT)
    assert SetMaxThinkingTokens(10).needs() == ("set_max_thinking_tokens", OLDEST)
