"""Permission requests in a session, on the scripted CLI: who is asked, with what, and the one answer that goes back.

What a real program does with the answers is in tests/real/test_permissions.py and test_questions.py.
"""

import copy
import pickle
import threading
from typing import Any

import attrs
import pytest

from claude_control import AddRules, Allow, Deny, OptionsError, PendingAnswer, SetMode
from claude_control.testing.scripted_cli import ScriptedCLI, ScriptedCLIFactory
from claude_control.testing.steps import ask_permission, use_tool
from claude_control.wire.questions import UNANSWERED
from tests.session.conftest import OpenScripted
from tests.waiting import wait_until

QUESTIONS = {
    "questions": [
        {
            "question": "Which colour?",
            "header": "Colour",
            "options": [{"label": "Red", "description": "warm"}, {"label": "Blue", "description": "cold"}],
            "multiSelect": False,
        }
    ]
}
ASK_QUESTION = ask_permission("AskUserQuestion", QUESTIONS)
ASK_PLAN = ask_permission("ExitPlanMode", {"plan": "# Do it", "novel": 1})


def answers(cli: ScriptedCLI) -> list[dict[str, Any]]:
    """What the SDK decided, in order."""
    return [frame["response"]["response"] for frame in cli.received() if frame["type"] == "control_response"]


def never(*_: Any) -> None:
    """Fail: another callback was to be asked."""
    raise AssertionError("this callback is not the one to ask")


def test_question_has_its_callback(scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted) -> None:
    """`on_question` is asked in place of can_use_tool, and its answers go back in the tool's input."""
    seen: list[Any] = []

    def answer(questions: Any, context: Any) -> dict[str, str]:
        seen.append((questions, context.session))
        questions[0].raw["question"] = "changed"  # a copy, so that the program's own text goes back
        return {"Which colour?": "Red"}

    cli = scripted_cli(prompts=[[ASK_QUESTION]])
    session = open_scripted(cli, on_question=answer, can_use_tool=never, on_plan=never)
    session.ask("x").result()
    assert answers(cli) == [{"behavior": "allow", "updatedInput": {**QUESTIONS, "answers": {"Which colour?": "Red"}}}]
    (((question,), seen_session),) = seen
    assert [option.label for option in question.options] == ["Red", "Blue"]
    assert seen_session is session


def test_plan_has_its_callback(scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted) -> None:
    """`on_plan` is asked in place of can_use_tool; what it allows echoes the input, and may set a mode."""

    def judge(plan: str, _context: Any) -> Allow:
        assert plan == "# Do it"
        return Allow(updated_permissions=[SetMode("acceptEdits"), AddRules("Bash(make:*)")])

    cli = scripted_cli(prompts=[[ASK_PLAN]])
    open_scripted(cli, on_plan=judge, can_use_tool=never, on_question=never).ask("x").result()
    (answer,) = answers(cli)
    assert answer["updatedInput"] == {"plan": "# Do it", "novel": 1}
    assert [update["type"] for update in answer["updatedPermissions"]] == ["setMode", "addRules"]


def test_other_tools_go_to_can_use_tool(scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted) -> None:
    """Every other tool, and both of these without a callback of their own, are can_use_tool's."""
    seen: list[str] = []

    def allow(tool: str, _input: Any, _context: Any) -> Allow:
        seen.append(tool)
        return Allow()

    prompts = [[ask_permission("Bash", {"command": "ls"}), ASK_QUESTION, ASK_PLAN]]
    open_scripted(scripted_cli(prompts=prompts), can_use_tool=allow, on_plan=lambda *_: Deny()).ask("x").result()
    assert seen == ["Bash", "AskUserQuestion"]


@pytest.mark.parametrize("asked", [ASK_QUESTION, ASK_PLAN, ask_permission("Bash", {"command": "ls"})])
def test_nobody_to_ask_denies(scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted, asked: Any) -> None:
    """A request that no callback is for is denied at once, and says which option is missing."""
    cli = scripted_cli(prompts=[[asked]])
    open_scripted(cli).ask("x").result()
    (answer,) = answers(cli)
    assert answer["behavior"] == "deny"
    assert answer["message"].endswith("this session has no can_use_tool callback.")


@pytest.mark.parametrize(
    ("returned", "told"),
    [
        (None, UNANSWERED),
        ({}, UNANSWERED),
        (Deny("not now"), "not now"),
        (Allow(), "The on_question callback failed: OptionsError: answers to questions are a dict"),
        ({"Which?": "Red"}, "'Which?' is no question that was asked"),
        ({"Which colour?": 5}, "give a label of its options or a text of your own"),
        ("Red", "answers to questions are a dict"),
    ],
    ids=str,
)
def test_question_without_a_valid_answer_denies(
    scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted, returned: Any, told: str
) -> None:
    """Where nobody answers, or not what was asked, the model is told so, and never that there was an answer."""
    cli = scripted_cli(prompts=[[ASK_QUESTION]])
    open_scripted(cli, on_question=lambda *_: returned).ask("x").result()
    (answer,) = answers(cli)
    assert answer["behavior"] == "deny"
    assert told in answer["message"]


@pytest.mark.parametrize("returned", [None, True, "approved", {"behavior": "allow"}], ids=str)
def test_plan_without_a_decision_denies(
    scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted, returned: Any
) -> None:
    """What is neither Allow nor Deny approves of no plan."""
    cli = scripted_cli(prompts=[[ASK_PLAN]])
    open_scripted(cli, on_plan=lambda *_: returned).ask("x").result()
    (answer,) = answers(cli)
    assert answer["behavior"] == "deny"
    assert answer["message"].startswith("The on_plan callback failed: OptionsError")


@pytest.mark.parametrize("error", [RuntimeError("broken"), SystemExit(3), KeyboardInterrupt()], ids=repr)
@pytest.mark.parametrize("option", ["on_question", "on_plan"])
def test_raising_denies(
    scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted, option: str, error: BaseException
) -> None:
    """A callback that raises, whatever it raises, denies; the session lives on."""

    def broken(*_: Any) -> None:
        raise error

    cli = scripted_cli(prompts=[[ASK_QUESTION if option == "on_question" else ASK_PLAN]])
    session = open_scripted(cli, **{option: broken})
    session.ask("x").result()
    (answer,) = answers(cli)
    assert answer["message"].startswith(f"The {option} callback failed: {type(error).__name__}")
    assert session.ask("y").result().result == "answer to: y"


def test_person_answers_later(scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted) -> None:
    """A wrong answer raises and leaves the question open, the first right one counts, another is too late."""
    later: list[PendingAnswer] = []
    cli = scripted_cli(prompts=[[ASK_QUESTION]])
    session = open_scripted(cli, on_question=lambda _questions, context: later.append(context.answer_later()))
    asked = session.ask("x")
    wait_until(lambda: bool(later))
    for wrong in ("Red", Allow(), {"Which?": "Red"}):
        with pytest.raises(OptionsError):
            later[0].answer(wrong)
    assert session.state == "waiting"
    assert later[0].answer({"Which colour?": "Blue"}) is True
    assert (later[0].answer(None), later[0].deny()) == (False, False)
    asked.result(timeout=10)
    assert [answer["updatedInput"]["answers"] for answer in answers(cli)] == [{"Which colour?": "Blue"}]


def test_pending_answer_takes_what_the_callback_could_return(
    scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted
) -> None:
    """`answer()` takes a decision about a tool as well; allow() and deny() are short for it."""
    later: list[PendingAnswer] = []
    prompts = [[use_tool("Bash", {"command": "ls"})], [use_tool("Bash", {"command": "ls"})]]
    cli = scripted_cli(prompts=prompts)
    session = open_scripted(cli, can_use_tool=lambda _t, _i, context: later.append(context.answer_later()))
    for number, decision in enumerate((Allow(updated_permissions=[SetMode("plan")]), Deny("no"))):
        asked = session.ask("x")
        wait_until(lambda number=number: len(later) > number)  # type: ignore[misc]  # mypy cannot infer the default
        with pytest.raises(OptionsError):
            later[number].answer({"Which colour?": "Blue"})
        assert later[number].answer(decision) is True
        asked.result(timeout=10)
    assert [answer["behavior"] for answer in answers(cli)] == ["allow", "deny"]


def test_context_has_what_the_program_told(scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted) -> None:
    """Every detail of the request is an attribute of the context, and those of tomorrow are in `raw`."""
    seen: list[Any] = []

    def note(_tool: str, _input: Any, context: Any) -> Deny:
        seen.append(context)
        return Deny()

    told: dict[str, Any] = {
        "agent_id": "a1",
        "decision_reason_type": "hook",
        "mcp_server": {"name": "lab"},
        "novel": [1],
    }
    cli = scripted_cli(prompts=[[ask_permission("Bash", {"command": "ls"}, **told)]])
    open_scripted(cli, can_use_tool=note).ask("x").result()
    (context,) = seen
    assert (context.agent_id, context.decision_reason_type, context.mcp_server.name) == ("a1", "hook", "lab")
    assert context.raw["novel"] == [1]
    assert "decision_reason_type='hook'" in repr(context)
    assert "novel" not in repr(context)


def test_context_is_whole_for_whoever_looks(scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted) -> None:
    """A context of which nothing was read yet can be copied and compared field by field, and has no other names."""
    seen: list[Any] = []

    def note(_tool: str, _input: Any, context: Any) -> Deny:
        seen.append(context)
        return Deny()

    told: dict[str, Any] = {
        "agent_id": "a1",
        "permission_suggestions": [{"type": "setMode", "mode": "plan", "destination": "session"}],
    }
    cli = scripted_cli(prompts=[[ask_permission("Bash", {"command": "ls"}, **told)] * 2])
    open_scripted(cli, can_use_tool=note).ask("x").result()
    first, second = seen
    changed = attrs.evolve(first, agent_id="a2")
    assert (changed.agent_id, changed.suggestions, changed.raw) == ("a2", first.suggestions, first.raw)
    assert [update.mode for update in copy.copy(second).suggestions] == ["plan"]
    assert second.blocked_path is None
    assert not hasattr(second, "novel")
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        second.agent_id = "a3"


def test_questions_wait_for_nobody_else(scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted) -> None:
    """A question that a callback sits on holds up neither another request nor a control call."""
    sitting, release = threading.Event(), threading.Event()

    def sit(*_: Any) -> None:
        sitting.set()
        release.wait(20)

    asks = ask_permission("AskUserQuestion", QUESTIONS, request_id="slow", wait=False)
    cli = scripted_cli(prompts=[[asks, ask_permission("Bash", {"command": "ls"})]])
    session = open_scripted(cli, on_question=sit, can_use_tool=lambda *_: Allow())
    asked = session.ask("x")
    assert sitting.wait(10)
    assert session.set_permission_mode("plan", timeout=10).mode == "plan"
    wait_until(lambda: [answer["behavior"] for answer in answers(cli)] == ["allow"])
    release.set()
    asked.result(timeout=10)
    wait_until(lambda: len(answers(cli)) == 2)


def test_questions_and_plans_pickle() -> None:
    """Questions can be handed to another process, as an application with workers does."""
    from claude_control.wire.questions import read_questions

    assert pickle.loads(pickle.dumps(read_questions(QUESTIONS))) == read_questions(QUESTIONS)
