"""Dialogs of the real program: the one that asks what to do when the model refused and another one could answer.

Only 2.1.332 has dialogs, and that one only for a Fable model, with the setting `switchModelsOnFlag` off.
"""

import json
from typing import Any

import pytest

from claude_control import AskContext, AssistantMessage, DialogRequest, LateAnswer, NotSupportedError, Session, Turn
from claude_control.testing.model_prompt import script
from claude_control.testing.model_script import Answer, Text
from claude_control.wire.support import CURRENT
from tests.real.conftest import Opener, Program
from tests.waiting import wait_until

pytestmark = pytest.mark.real

KIND = "refusal_fallback_prompt"
OPTIONS: dict[str, Any] = {"model": "claude-fable-5", "settings": json.dumps({"switchModelsOnFlag": False})}
DETAILS = {"type": "refusal", "category": "cyber", "explanation": "because"}
REFUSAL = Answer(Text("no"), stop_reason="refusal", stop_details=DETAILS)
REFUSED = script(REFUSAL, REFUSAL)  # the program tries a second time by itself, and then asks what to do
ON_IT_GOES = script(Text("on it goes"))


@pytest.fixture
def current(program: Program) -> None:
    """Skip the programs that have no dialogs."""
    if program.version != CURRENT:
        pytest.skip("older programs have no dialogs")


def models(turn: Turn) -> set[str]:
    """Return which models spoke in a turn, with what the program says itself."""
    return {str(message.model) for message in turn if isinstance(message, AssistantMessage)}


def opened(open_session: Opener, on_user_dialog: Any) -> Session:
    """Open a session that can show the dialog."""
    return open_session(**OPTIONS, on_user_dialog=on_user_dialog, supported_dialog_kinds=[KIND])


@pytest.mark.usefixtures("current")
def test_result_is_used(open_session: Opener) -> None:
    """A dialog arrives with its payload, and what the callback returns decides what the program does."""
    seen: list[DialogRequest] = []

    def retry(request: DialogRequest, context: AskContext) -> str:
        assert context.session is session
        assert context.session.state == "waiting"
        seen.append(request)
        return "retry_fallback"

    session = opened(open_session, retry)
    spoke = models(session.ask(REFUSED))
    assert [request.kind for request in seen] == [KIND]
    assert seen[0].payload["originalModel"] == "claude-fable-5"
    assert {"claude-fable-5", seen[0].payload["fallbackModel"]} <= spoke


@pytest.mark.usefixtures("current")
@pytest.mark.parametrize("answer", [None, object(), "no such choice", ValueError("no"), SystemExit(1)], ids=repr)
def test_dismissed_dialog_keeps_the_refusal(open_session: Opener, answer: Any) -> None:
    """None, and a callback that fails or answers nonsense, leave what happens without a dialog; the session goes on."""

    def dismiss(_request: DialogRequest, _context: AskContext) -> Any:
        if isinstance(answer, BaseException):
            raise answer
        return answer

    session = opened(open_session, dismiss)
    turn = session.ask(REFUSED)
    assert models(turn) == {"claude-fable-5", "<synthetic>"}
    assert turn.outcome == "refused"
    session.set_model("sonnet")
    assert session.ask(ON_IT_GOES).result().result == "on it goes"


@pytest.mark.usefixtures("current")
def test_person_answers_later(open_session: Opener) -> None:
    """The answer can come from another thread, long after the callback returned."""
    later: list[LateAnswer] = []
    session = opened(open_session, lambda _request, context: later.append(context.answer_later()))
    turn = session.ask(REFUSED)
    wait_until(lambda: bool(later), 20)
    assert session.state == "waiting"
    assert later[0].answer("retry_fallback")
    assert not later[0].answer("retry_fallback")
    assert any("opus" in model for model in models(turn))


@pytest.mark.usefixtures("current")
def test_interrupt_withdraws_the_dialog(open_session: Opener) -> None:
    """An interrupt fires the signal, and a late answer is dropped."""
    later: list[LateAnswer] = []
    session = opened(open_session, lambda _request, context: later.append(context.answer_later()))
    turn = session.ask(REFUSED)
    wait_until(lambda: bool(later), 20)
    turn.interrupt()
    assert later[0].signal.wait(10)
    assert later[0].signal.reason == "cancelled"
    assert not later[0].answer("retry_fallback")
    turn.result(check=False)
    session.set_model("sonnet")
    assert session.ask(ON_IT_GOES).result().result == "on it goes"


@pytest.mark.usefixtures("current")
def test_kind_that_is_not_declared_is_not_sent(open_session: Opener) -> None:
    """A session that declares other kinds, or none, gets no such dialog, and the model's refusal at once."""
    asked: list[Any] = []
    others = {"on_user_dialog": lambda request, _context: asked.append(request), "supported_dialog_kinds": ["of_mine"]}
    for options in (others, {}):
        turn = open_session(**OPTIONS, **options).ask(REFUSED)
        assert turn.result(check=False) is not None
        assert turn.outcome == "refused"
    assert asked == []


def test_older_programs_refuse_the_option(open_session: Opener, program: Program) -> None:
    """A program that knows no dialogs is refused before it is started."""
    if program.version == CURRENT:
        assert opened(open_session, lambda _request, _context: None).state == "idle"
        return
    with pytest.raises(NotSupportedError, match=r"supported_dialog_kinds needs Claude Code 2\.1\.332"):
        opened(open_session, lambda _request, _context: None)
