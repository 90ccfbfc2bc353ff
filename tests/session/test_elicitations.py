"""Elicitations and dialogs on the scripted CLI: one answer for each, whatever the callback does.

The frames of elicitations are those that 2.1.332 sent; so are those of dialogs, but for kinds that were not declared,
which it never sends: those are from its own declarations.
"""

from typing import Any

import attrs
import pytest

from claude_control import AbortSignal, Accept, Decline, NotSupportedError, OptionsError, Session
from claude_control.session.asking import AskContext, LateAnswer
from claude_control.testing.scripted_cli import ScriptedCLI, ScriptedCLIFactory
from claude_control.testing.steps import answer, ask, cancel, on_request, reply, wait_gate
from tests.session.conftest import OpenScripted
from tests.waiting import wait_until

SCHEMA = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
FORM = {"subtype": "elicitation", "mcp_server_name": "st", "message": "?", "mode": "form", "requested_schema": SCHEMA}
KINDS: dict[str, Any] = {"supported_dialog_kinds": ["k"]}
DIALOGS: dict[str, Any] = {**KINDS, "on_user_dialog": print}
DIALOG = {"subtype": "request_user_dialog", "dialog_kind": "k", "payload": {"a": 1}}


@attrs.frozen
class Case:
    """A kind of request, the option for its callback, and the answer of nobody."""

    asks: dict[str, Any]
    option: str
    unanswered: dict[str, Any]

    def options(self, callback: Any) -> dict[str, Any]:
        """Return the options of a session whose callback this is."""
        return {**DIALOGS, self.option: callback}


ELICITATION = Case(FORM, "on_elicitation", {"action": "cancel"})
A_DIALOG = Case(DIALOG, "on_user_dialog", {"behavior": "cancelled"})
BOTH = pytest.mark.parametrize("case", [ELICITATION, A_DIALOG], ids=["elicitation", "dialog"])


def answers(cli: ScriptedCLI) -> list[dict[str, Any]]:
    """What the SDK answered, in order."""
    return [frame["response"] for frame in cli.received() if frame["type"] == "control_response"]


@BOTH
@pytest.mark.parametrize("failure", [ValueError("no"), SystemExit(1), KeyboardInterrupt()], ids=repr)
def test_failing_callback_answers(
    scripted_cli: ScriptedCLIFactory,
    open_scripted: OpenScripted,
    case: Case,
    failure: BaseException,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A callback that raises anything at all gets the one answer of nobody, and a warning in the log."""

    def fail(_request: Any, _context: AskContext) -> None:
        raise failure

    cli = scripted_cli(prompts=[[ask(case.asks)]])
    open_scripted(cli, **case.options(fail)).ask("x").result()
    assert [sent["response"] for sent in answers(cli)] == [case.unanswered]
    assert any("person.failed" in record.getMessage() for record in caplog.records)


def test_wrong_values_are_not_sent(scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted) -> None:
    """Content that does not fit, and a result that JSON has no form for, never reach the program."""
    cli = scripted_cli(prompts=[[ask(FORM), ask(DIALOG)]])
    options: dict[str, Any] = {
        "on_elicitation": lambda *_: Accept({"name": 5}),
        "on_user_dialog": lambda *_: object(),
    }
    open_scripted(cli, **KINDS, **options).ask("x").result()
    assert [sent["response"] for sent in answers(cli)] == [{"action": "cancel"}, {"behavior": "cancelled"}]


def test_without_a_callback_an_elicitation_is_cancelled(
    scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted
) -> None:
    """Nobody to ask is cancel, never decline, and never an error."""
    cli = scripted_cli(prompts=[[ask(FORM)]])
    open_scripted(cli).ask("x").result()
    [sent] = answers(cli)
    assert (sent["subtype"], sent["response"]) == ("success", {"action": "cancel"})


@pytest.mark.parametrize("kinds", [["other"], []], ids=["another kind", "no kinds"])
def test_undeclared_dialog_is_left_alone(
    scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted, kinds: list[str]
) -> None:
    """A kind that was not declared gets no answer at all, as the declarations of 2.1.332 demand; others still do."""
    cli = scripted_cli(prompts=[[ask(DIALOG, wait=False), ask(FORM), reply("ok")]])
    asked: list[Any] = []
    options = {"on_user_dialog": lambda request, _context: asked.append(request), "supported_dialog_kinds": kinds}
    session = open_scripted(cli, **options)
    session.ask("x").result()
    wait_until(lambda: session.state == "idle")
    assert [sent["response"] for sent in answers(cli)] == [{"action": "cancel"}]
    assert asked == []


def test_kinds_are_declared_with_a_callback(scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted) -> None:
    """The handshake declares the kinds, but only if there is something to show them."""
    declared = []
    for options in ({**KINDS, "on_user_dialog": print}, KINDS, {}):
        cli = scripted_cli()
        open_scripted(cli, **options).close()
        [initialize] = [frame["request"] for frame in cli.received() if frame["type"] == "control_request"]
        declared.append(initialize.get("supportedDialogKinds"))
    assert declared == [["k"], None, None]


@pytest.mark.parametrize("program", ["2.0.75", "2.1.7"])
def test_old_program_is_refused(scripted_cli: ScriptedCLIFactory, program: str) -> None:
    """A program that knows no dialogs is not started with kinds to declare; elicitation is no flag of ours."""
    cli = scripted_cli(program=program)
    with pytest.raises(NotSupportedError, match="supported_dialog_kinds") as caught:
        Session(cli_path=cli.command, **KINDS, on_user_dialog=print).open()
    assert (caught.value.needs, caught.value.program_version) == ("2.1.332", program)
    with Session(cli_path=cli.command, on_elicitation=print) as session:
        assert session.state == "idle"


@pytest.mark.parametrize("kinds", ["k", [5], [""], 5])
def test_wrong_kinds_are_refused(kinds: Any) -> None:
    """The kinds are a list of texts."""
    with pytest.raises(OptionsError) as caught:
        Session(on_user_dialog=print, supported_dialog_kinds=kinds)
    assert caught.value.field == "supported_dialog_kinds"


def test_callback_that_is_never_called_is_told(caplog: pytest.LogCaptureFixture) -> None:
    """A callback for dialogs without kinds to show is warned about, and refused with `strict`."""
    Session(on_user_dialog=print)
    assert any("callback_unreachable" in record.getMessage() for record in caplog.records)
    with pytest.raises(OptionsError, match="supported_dialog_kinds"):
        Session(on_user_dialog=print, strict=True)


@BOTH
def test_answer_comes_later(
    scripted_cli: ScriptedCLIFactory,
    open_scripted: OpenScripted,
    case: Case,
) -> None:
    """A request is open, and the session waiting, until somebody answers; the first answer counts."""
    later: list[LateAnswer] = []
    cli = scripted_cli(prompts=[[ask(case.asks)]])

    def put_off(_request: Any, context: AskContext) -> str:
        later.append(context.answer_later())
        return "is not looked at"

    session = open_scripted(cli, **case.options(put_off))
    turn = session.ask("x")
    wait_until(lambda: bool(later))
    assert session.state == "waiting"
    with pytest.raises(OptionsError):
        later[0].answer(object())
    assert session.state == "waiting"
    assert later[0].answer(None)
    assert not later[0].answer(None)
    turn.result()
    assert [sent["response"] for sent in answers(cli)] == [case.unanswered]


@BOTH
def test_withdrawn_request_gets_no_answer(
    scripted_cli: ScriptedCLIFactory,
    open_scripted: OpenScripted,
    case: Case,
) -> None:
    """When the program withdraws it, the signal fires, the late answer is dropped and counted, and none is written."""
    signals: list[AbortSignal] = []

    def slow(_request: Any, context: AskContext) -> Any:
        signals.append(context.signal)
        context.signal.wait(20)
        return Decline() if case is ELICITATION else "chosen"

    cli = scripted_cli(prompts=[[ask(case.asks, wait=False), wait_gate("asked"), cancel(), reply("ok")]])
    session = open_scripted(cli, **case.options(slow))
    turn = session.ask("x")
    wait_until(lambda: bool(signals))
    cli.open_gate("asked")
    turn.result()
    wait_until(lambda: session.stats.late_answers == 1)
    assert signals[0].reason == "cancelled"
    assert answers(cli) == []


@BOTH
def test_close_ends_what_is_open(
    scripted_cli: ScriptedCLIFactory,
    open_scripted: OpenScripted,
    case: Case,
) -> None:
    """At close the signal fires, and an answer then is too late."""
    later: list[LateAnswer] = []

    def put_off(_request: Any, context: AskContext) -> None:
        later.append(context.answer_later())

    cli = scripted_cli(prompts=[[ask(case.asks)]])
    session = open_scripted(cli, **case.options(put_off))
    session.ask("x")
    wait_until(lambda: bool(later))
    session.close(timeout=20)
    assert later[0].signal.aborted
    assert not later[0].answer(None)
    assert [sent["response"] for sent in answers(cli) if sent["subtype"] == "success"] in ([], [case.unanswered])


@pytest.mark.parametrize(("request_", "listed"), [(FORM, "elicitation"), (DIALOG, "user_dialog")])
def test_open_requests_of_the_handshake_are_answered(
    scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted, request_: dict[str, Any], listed: str
) -> None:
    """What an answer to initialize lists as open is answered like any other, once."""
    asked: list[Any] = []
    frame = {"type": "control_request", "request_id": "open", "request": request_}
    answered = answer({"capabilities": []}, **{f"pending_{listed}_requests": [frame]})
    cli = scripted_cli(reactions=[on_request("initialize", answered)])
    note = {name: lambda request, _context: asked.append(request) for name in ("on_elicitation", "on_user_dialog")}
    open_scripted(cli, **KINDS, **note)
    wait_until(lambda: bool(answers(cli)))
    assert [sent["request_id"] for sent in answers(cli)] == ["open"]
    assert len(asked) == 1
