"""A signal handler that strikes the thread which notes what it has read of a turn does not wait for itself."""

import signal
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from claude_control import AssistantMessage, ConcurrencyError, Session, Turn
from claude_control.session.notes import Notes
from claude_control.testing.scripted_cli import ScriptedCLIFactory
from claude_control.testing.steps import reply
from tests.session.conftest import OpenScripted

ASKS: dict[str, Callable[[Session, Turn], Any]] = {
    "call": lambda session, turn: session.set_permission_mode("plan", timeout=20),
    "interrupt": lambda session, turn: session.interrupt(),
    "usage": lambda session, turn: turn.usage,
    "total": lambda session, turn: session.usage,
    "ask": lambda session, turn: session.ask("more"),
    "idle": lambda session, turn: session.wait_idle(timeout=20),
    "close": lambda session, turn: session.close(),
}


@pytest.fixture
def strike(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Callable[[], object]], None]]:
    """Return what has a function called by a signal handler, once, where a run is noted."""
    before, original, struck = signal.getsignal(signal.SIGUSR1), Notes.settle_run, list[Notes]()

    def settle_run(notes: Notes, *given: Any) -> None:
        original(notes, *given)
        if not struck:
            struck.append(notes)
            signal.raise_signal(signal.SIGUSR1)

    def arrange(function: Callable[[], object]) -> None:
        signal.signal(signal.SIGUSR1, lambda *_: function())

    monkeypatch.setattr(Notes, "settle_run", settle_run)
    yield arrange
    signal.signal(signal.SIGUSR1, before)


def texts(messages: Sequence[object]) -> list[str]:
    """Return what the model has said."""
    return [message.text for message in messages if isinstance(message, AssistantMessage)]


@pytest.mark.parametrize("what", ASKS)
def test_signal_handler_that_would_wait_for_itself_gets_an_error(
    scripted_cli: ScriptedCLIFactory,
    open_scripted: OpenScripted,
    strike: Callable[[Callable[[], object]], None],
    what: str,
) -> None:
    """It is raised at once, where the turn is iterated, and nothing is lost: the turn, and the session, go on."""
    session = open_scripted(scripted_cli(prompts=[[reply("one"), reply("two")]]))
    turn, messages = session.ask("x"), list[object]()
    strike(lambda: ASKS[what](session, turn))
    with pytest.raises(ConcurrencyError, match="signal handler"):
        messages.extend(turn)
    if what != "close":
        messages.extend(turn)
        assert texts(messages) == ["one", "two"]
        assert session.set_permission_mode("plan", timeout=20).mode == "plan"
    session.close()
    assert session.state == "closed"


def test_signal_handler_gets_the_text_so_far(
    scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted, strike: Callable[[Callable[[], object]], None]
) -> None:
    """The text needs nothing that the handler would have to wait for."""
    session = open_scripted(scripted_cli(prompts=[[reply("one")]]))
    turn, found = session.ask("x"), list[str]()
    strike(lambda: found.append(turn.text))
    assert texts(list(turn)) == ["one"]
    assert found == ["one"]
