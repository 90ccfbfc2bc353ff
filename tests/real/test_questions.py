"""Questions and plans of the model on the real programs: what is asked, and what the model is told."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from claude_control import Allow, Deny, PendingAnswer, PermissionContext, Question, Session, SetMode
from claude_control.testing import ModelServer
from claude_control.testing.model_prompt import script
from claude_control.testing.model_script import Text, ToolCall
from claude_control.wire.questions import UNANSWERED
from tests.real.conftest import Opener, Program
from tests.waiting import wait_until

pytestmark = [pytest.mark.real, pytest.mark.shared]

NEWEST = "2.1.332"


def asking(*questions: dict[str, Any]) -> ToolCall:
    """A call by which the model asks."""
    return ToolCall("AskUserQuestion", questions=list(questions))


def question(text: str, *labels: str, several: bool = False) -> dict[str, Any]:
    """One question, as the model writes it."""
    options = [{"label": label, "description": f"about {label}"} for label in labels]
    return {"question": text, "header": text[6:18], "options": options, "multiSelect": several}


COLOUR = question("Which colour?", "Red", "Blue")
PARTS = question("Which parts?", "Wheels", "Seats, two", "Roof", several=True)


def results(messages: list[Any]) -> list[tuple[bool, str]]:
    """Return what the model was told by tools: whether it is an error, and the text."""
    contents = [message.raw["message"]["content"] for message in messages if message.raw.get("type") == "user"]
    blocks = [block for content in contents if isinstance(content, list) for block in content]
    return [(bool(block.get("is_error")), str(block["content"])) for block in blocks if block["type"] == "tool_result"]


def nobody(*_: Any) -> Any:
    """Take part in the options, and never be asked."""
    pytest.fail("on_question wins")


# -- questions ---------------------------------------------------------------------------------------------------------


def test_questions_are_typed(open_session: Opener) -> None:
    """The callback gets each question with its options, and a context that names the call."""
    seen: list[tuple[tuple[Question, ...], PermissionContext]] = []

    def answer(questions: tuple[Question, ...], context: PermissionContext) -> dict[str, str]:
        seen.append((questions, context))
        return {"Which colour?": "Red"}

    session = open_session(on_question=answer, can_use_tool=nobody)
    messages = list(session.ask(script(asking(COLOUR, PARTS), Text("done"))))
    (((colour, parts), context),) = seen
    assert (colour.question, colour.header, colour.multi_select) == ("Which colour?", "colour?", False)
    assert [(option.label, option.description) for option in colour.options] == [
        ("Red", "about Red"),
        ("Blue", "about Blue"),
    ]
    assert (parts.question, parts.multi_select, len(parts.options)) == ("Which parts?", True, 3)
    assert context.tool_use_id is not None
    assert context.session is session
    ((is_error, text),) = results(messages)
    assert not is_error
    assert '"Which colour?"="Red"' in text


ANSWERS: list[tuple[Any, str]] = [
    (
        {"Which colour?": "Blue", "Which parts?": ["Wheels", "Roof"]},
        '"Which colour?"="Blue", "Which parts?"="Wheels, Roof"',
    ),
    ({"Which parts?": ["Wheels", "Seats, two"]}, '"Which parts?"="Wheels, "Seats, two""'),
    ({"Which colour?": "green, please"}, '"Which colour?"="green, please"'),
    (None, UNANSWERED),
    ({}, UNANSWERED),
    (Deny("Decide for yourself."), "Decide for yourself."),
    ({"Which color?": "Red"}, "is no question that was asked"),
    ({"Which colour?": ["Red"]}, "takes one answer, not a list"),
    (True, "answers to questions are a dict"),
    (RuntimeError("broken"), "The on_question callback failed: RuntimeError: broken"),
]


def test_answers_reach_the_model(open_session: Opener) -> None:
    """The model is told labels, several choices and free texts as they are; a failure, or no answer, as what it is."""
    returned = iter([value for value, _ in ANSWERS])

    def answer(*_: Any) -> Any:
        value = next(returned)
        if isinstance(value, Exception):
            raise value
        return value

    session = open_session(on_question=answer, can_use_tool=nobody)
    told = results(list(session.ask(script(*[asking(COLOUR, PARTS)] * len(ANSWERS), Text("done")))))
    assert len(told) == len(ANSWERS)
    for (value, expected), (is_error, text) in zip(ANSWERS, told, strict=True):
        assert expected in text
        assert is_error == (not isinstance(value, dict) or expected[0] != '"')


def test_answers_can_come_later(open_session: Opener) -> None:
    """A person may answer after the callback has returned; a wrong answer leaves it open, a second one is too late."""
    later: list[PendingAnswer] = []

    def answer(_questions: tuple[Question, ...], context: PermissionContext) -> None:
        later.append(context.answer_later())

    session = open_session(on_question=answer, can_use_tool=nobody)
    turn = session.ask(script(asking(COLOUR), Text("done")))
    wait_until(lambda: bool(later), timeout=20)
    with pytest.raises(ValueError, match="no question that was asked"):
        later[0].answer({"Which color?": "Red"})
    assert later[0].answer({"Which colour?": "Red"}) is True
    assert later[0].deny("no") is False
    assert '"Which colour?"="Red"' in results(list(turn))[0][1]


MODES: dict[str, dict[str, Any]] = {
    "default": {"allowed_tools": ["AskUserQuestion"]},
    "bypassPermissions": {"allow_bypass": True, "env": {"IS_SANDBOX": "1"}},
    "dontAsk": {},
    "plan": {},
}


@pytest.mark.parametrize("mode", MODES)
def test_question_is_asked_in_every_mode_but_one(open_session: Opener, mode: str) -> None:
    """Neither a rule that allows the tool nor bypassPermissions answers for a person; in dontAsk nobody is asked."""
    asked: list[Any] = []

    def answer(questions: tuple[Question, ...], _context: PermissionContext) -> None:
        asked.append(questions)

    session = open_session(on_question=answer, **MODES[mode])
    session.set_permission_mode(mode)
    session.ask(script(asking(COLOUR), Text("done"))).result()
    assert len(asked) == (0 if mode == "dontAsk" else 1)


TOOLS: dict[str, tuple[dict[str, Any], bool]] = {
    "nobody": ({}, False),
    "named": ({"tools": ["AskUserQuestion", "Read", "WebFetch"], "disallowed_tools": ["WebFetch"]}, False),
    "plans only": ({"on_plan": lambda *_: Allow()}, False),
    "questions": ({"on_question": lambda *_: None}, True),
    "permissions": ({"can_use_tool": lambda *_: Allow()}, True),
}


@pytest.mark.parametrize(("options", "there"), TOOLS.values(), ids=TOOLS)
def test_tool_is_there_if_somebody_answers(
    open_session: Opener, model_server: ModelServer, options: dict[str, Any], there: bool
) -> None:
    """Where nobody could answer the model does not have the tool; the user's own lists of tools hold too."""
    prompt = script(Text("done"))
    open_session(**options).ask(prompt).result()
    tools = {name for request in model_server.requests if request.answers(prompt) for name in request.tools}
    assert ("AskUserQuestion" in tools) == there
    assert "Read" in tools
    assert not ("disallowed_tools" in options and "WebFetch" in tools)


# -- plans -------------------------------------------------------------------------------------------------------------

PLAN = "# The plan\n1. Build it.\n"


@pytest.fixture
def hand_in(model_server: ModelServer) -> Callable[[Session], list[Any]]:
    """Have the model write its plan to the file that the program names, and hand it in."""

    def run(session: Session) -> list[Any]:
        session.ask(script(Text("hello"))).result()
        asked = str([request.body for request in model_server.requests])
        path = re.findall(r"/[^\s\"'`\\]*/plans/[\w-]+\.md", asked)[-1]
        write = ToolCall("Write", file_path=path, content=PLAN)
        return list(session.ask(script(write, ToolCall("ExitPlanMode"), Text("done"))))

    return run


HandIn = Callable[[Session], list[Any]]


def test_plan_is_approved(open_session: Opener, hand_in: HandIn, workspace: Path) -> None:
    """The callback gets the plan's text; after an Allow that sets acceptEdits a file is written without a question."""
    seen: list[str] = []

    def judge(plan: str, _context: PermissionContext) -> Allow:
        seen.append(plan)
        return Allow(updated_permissions=[SetMode("acceptEdits")])

    session = open_session(on_plan=judge, permission_mode="plan")
    session.set_permission_mode("plan")
    messages = hand_in(session)
    assert seen == [PLAN]
    assert "User has approved your plan" in results(messages)[-1][1]
    session.ask(script(ToolCall("Write", file_path=str(workspace / "built"), content="x"), Text("ok"))).result()
    assert (workspace / "built").exists()


def test_plan_is_sent_back(open_session: Opener, hand_in: HandIn, workspace: Path) -> None:
    """A Deny tells the model what is wrong with the plan, and plan mode goes on: nothing is written."""
    session = open_session(on_plan=lambda *_: Deny("Tests are missing."), permission_mode="plan")
    session.set_permission_mode("plan")
    assert results(hand_in(session))[-1] == (True, "Tests are missing.")
    session.ask(script(ToolCall("Write", file_path=str(workspace / "built"), content="x"), Text("ok"))).result()
    assert not (workspace / "built").exists()


@pytest.mark.alone
def test_plan_may_be_missing(open_session: Opener) -> None:
    """A model that wrote no plan hands in an empty one; what is no decision denies."""
    seen: list[str] = []

    def judge(plan: str, _context: PermissionContext) -> Any:
        seen.append(plan)
        return True

    session = open_session(on_plan=judge, permission_mode="plan")
    ((is_error, text),) = results(list(session.ask(script(ToolCall("ExitPlanMode"), Text("done")))))
    assert seen == [""]
    assert is_error
    assert "The on_plan callback failed" in text


def test_plan_without_its_callback_is_a_tool(open_session: Opener, hand_in: HandIn, program: Program) -> None:
    """Without on_plan it is can_use_tool that is asked, with the plan in the tool's input, and where it lies."""
    seen: list[dict[str, Any]] = []

    def allow(tool: str, tool_input: dict[str, Any], context: PermissionContext) -> Allow:
        if tool == "ExitPlanMode":
            seen.append(tool_input)
            assert context.requires_user_interaction == (program.version == NEWEST)
        return Allow()

    hand_in(open_session(can_use_tool=allow, permission_mode="plan"))
    (tool_input,) = seen
    assert tool_input["plan"] == PLAN
    if program.version == NEWEST:
        assert Path(tool_input["planFilePath"]).read_text() == PLAN
