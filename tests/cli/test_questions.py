"""Questions and plans of the model on the terminal: what is shown, and what each line that is typed answers."""

import json
from typing import Any

import pytest

from claude_control.cli.questions import chosen, shown_question
from claude_control.testing import ScriptedCLI
from claude_control.testing.steps import Step, ask_permission, cancel, delay, reply, turn, use_tool
from claude_control.wire.questions import UNANSWERED, Question, QuestionOption
from tests.cli.conftest import Program
from tests.cli.terminals import CTRL_D, Terminal, piped
from tests.cli.test_approve import decisions

ANSWER = "leaves it open: "
GO_AHEAD = "or say what to change: "

COLOUR = {
    "question": "Which colour?",
    "header": "Colour",
    "options": [
        {"label": "Red", "description": "as a rose", "preview": "#ff0000\n#ee0000"},
        {"label": "Blue", "description": "as the sky"},
    ],
    "multiSelect": False,
}
PARTS = {
    "question": "Which parts?",
    "header": "Parts",
    "options": [{"label": label, "description": ""} for label in ("Wheels", "Seats, two", "Roof")],
    "multiSelect": True,
}


def asking(*questions: dict[str, Any]) -> Step:
    """Return the use of the tool that asks."""
    return use_tool("AskUserQuestion", {"questions": list(questions)})


def handing_in(plan: str) -> Step:
    """Return the use of the tool that hands in a plan."""
    return use_tool("ExitPlanMode", {"plan": plan} if plan else {})


def given(cli: ScriptedCLI) -> dict[str, str]:
    """Return the answers that the program was sent."""
    (decision,) = decisions(cli)
    assert decision["behavior"] == "allow", decision
    answers: dict[str, str] = decision["updatedInput"]["answers"]
    return answers


def record(question: dict[str, Any]) -> Question:
    """Return a question as the library reads it."""
    options = tuple(QuestionOption(**option) for option in question["options"])
    return Question(question["question"], question["header"], options, question["multiSelect"])


# -- questions ---------------------------------------------------------------------------------------------------------


def test_questions_are_shown_and_answered(program: Program) -> None:
    """Each question is shown with its options and previews, and the lines typed are its answers."""
    cli = program(every_prompt=turn(asking(COLOUR, PARTS), reply("done")))
    with Terminal("run", "hi") as terminal:
        shown = terminal.expect(ANSWER)
        terminal.type("2\n")
        shown_next = terminal.expect(ANSWER)
        terminal.type("3, 1\n")
        assert terminal.finish() == 0
    assert (
        "Claude asks (1 of 2):\r\n  | Colour: Which colour?\r\n  | 1 Red: as a rose\r\n  |     #ff0000\r\n"
        "  |     #ee0000\r\n  | 2 Blue: as the sky\r\nYour answer? a number, or" in shown
    )
    assert "Claude asks (2 of 2):\r\n  | Parts: Which parts?\r\n  | 1 Wheels\r\n  | 2 Seats, two\r\n" in shown_next
    assert "numbers with commas" in shown_next
    assert given(cli) == {"Which colour?": "Blue", "Which parts?": "Roof, Wheels"}


SINGLE: list[tuple[str, str | None]] = [
    ("1", "Red"),
    (" Blue ", "Blue"),
    ("red", "red"),
    ("green, if you can", "green, if you can"),
    ("1, 2", "1, 2"),
    ("", ""),
    ("3", None),
    ("0", None),
]


@pytest.mark.parametrize(("line", "answer"), SINGLE)
def test_line_is_an_answer(line: str, answer: str | None) -> None:
    """A number or a label chooses, other texts are answers themselves, a number that is not there means nothing."""
    assert chosen(record(COLOUR), line + "\n") == answer


SEVERAL: list[tuple[str, list[str] | str | None]] = [
    ("2", ["Seats, two"]),
    ("Seats, two", ["Seats, two"]),
    ("3,1,, 3", ["Roof", "Wheels"]),
    ("Roof, 2", ["Roof", "Seats, two"]),
    ("1, and a horn", ["Wheels", "and a horn"]),
    ("none, thank you", ["none, thank you"]),
    ("", ""),
    ("1, 4", None),
]


@pytest.mark.parametrize(("line", "answer"), SEVERAL)
def test_line_is_several_answers(line: str, answer: list[str] | str | None) -> None:
    """Where several may be chosen the parts between commas count, unless none of them is an option."""
    assert chosen(record(PARTS), line + "\n") == answer


def test_labels_that_are_numbers_are_typed_as_they_are() -> None:
    """Where a label is a number options have none, so that "2" cannot be taken for another one."""
    options = [{"label": label, "description": "cores"} for label in ("2", "4", "8")]
    question = record({**COLOUR, "options": options})
    assert shown_question(question, 80)[1:] == ["  | - 2: cores", "  | - 4: cores", "  | - 8: cores"]
    assert [chosen(question, line) for line in ("2", "8", "3")] == ["2", "8", "3"]


def test_question_without_options_takes_words() -> None:
    """Without options a number is a text like any other."""
    question = record({**COLOUR, "options": []})
    assert shown_question(question, 80) == ["  | Colour: Which colour?"]
    assert chosen(question, "7") == "7"


def test_number_that_is_not_there_is_asked_again(program: Program) -> None:
    """A slip of the finger answers nothing; it is said what is wrong, and the question is asked once more."""
    cli = program(every_prompt=turn(asking(COLOUR), reply("done")))
    with Terminal("run", "hi") as terminal:
        terminal.expect(ANSWER)
        terminal.type("3\n")
        assert "(no option has that number)" in terminal.expect(ANSWER)
        terminal.type("1\n")
        assert terminal.finish() == 0
    assert given(cli) == {"Which colour?": "Red"}


def test_empty_line_leaves_a_question_open(program: Program) -> None:
    """Enter answers this question not, and the next one is asked."""
    cli = program(every_prompt=turn(asking(COLOUR, PARTS), reply("done")))
    with Terminal("run", "hi") as terminal:
        terminal.expect(ANSWER)
        terminal.type("\n")
        terminal.expect(ANSWER)
        terminal.type("Roof\n")
        assert terminal.finish() == 0
    assert given(cli) == {"Which parts?": "Roof"}


@pytest.mark.parametrize("keys", ["\n", CTRL_D], ids=["enter", "end of input"])
def test_nobody_answers(program: Program, keys: str) -> None:
    """No answer at all, or the end of input, tells the model that the user did not answer; the run ends well."""
    cli = program(every_prompt=turn(asking(COLOUR), reply("done")))
    with Terminal("run", "hi") as terminal:
        terminal.expect(ANSWER)
        terminal.type(keys)
        assert terminal.finish() == 0
    assert decisions(cli) == [{"behavior": "deny", "message": UNANSWERED}]


def test_end_of_input_ends_all_questions(program: Program) -> None:
    """Who leaves at the second question has answered none."""
    cli = program(every_prompt=turn(asking(COLOUR, PARTS), reply("done")))
    with Terminal("run", "hi") as terminal:
        terminal.expect(ANSWER)
        terminal.type("1\n")
        terminal.expect(ANSWER)
        terminal.type(CTRL_D)
        assert terminal.finish() == 0
    assert decisions(cli) == [{"behavior": "deny", "message": UNANSWERED}]


@pytest.mark.parametrize(
    ("tool", "tool_input", "prompt"),
    [("AskUserQuestion", {"questions": [COLOUR]}, ANSWER), ("ExitPlanMode", {"plan": "Build it."}, GO_AHEAD)],
)
def test_question_that_is_withdrawn(program: Program, tool: str, tool_input: dict[str, Any], prompt: str) -> None:
    """What the program takes back is no longer asked, and the turn goes on."""
    program(every_prompt=turn(ask_permission(tool, tool_input, wait=False), delay(0.5), cancel(), reply("done")))
    with Terminal("run", "hi") as terminal:
        terminal.expect(prompt)
        terminal.expect("(no longer asked)")
        assert terminal.finish() == 0


def test_keys_typed_before_the_question_do_not_answer_it(program: Program) -> None:
    """A number that was typed before there was a question is dropped."""
    cli = program(every_prompt=turn(reply("wait"), delay(0.3), asking(COLOUR), reply("done")))
    with Terminal("run", "hi") as terminal:
        terminal.expect("wait")
        terminal.type("1\n")
        terminal.expect(ANSWER)
        terminal.type("2\n")
        assert terminal.finish() == 0
    assert given(cli) == {"Which colour?": "Blue"}


def test_chat_asks_too(program: Program) -> None:
    """In a chat a question is answered while its turn runs, and the next prompt is none of its answers."""
    cli = program(every_prompt=turn(asking(COLOUR), reply("Noted.")))
    with Terminal("chat") as terminal:
        terminal.expect("> ")
        terminal.type("hi\n")
        terminal.expect(ANSWER)
        terminal.type("2\n")
        terminal.expect("Noted.")
        terminal.expect("> ")
        terminal.type(CTRL_D)
        assert terminal.finish() == 0
    assert given(cli) == {"Which colour?": "Blue"}


EVIL = "\x1b[2J\rx\u202e\nYour answer? \n1 No: " + "y" * 60


def test_question_hides_nothing(program: Program) -> None:
    """Codes are spelled out, and no text of the model stands where our question or a number of an option would."""
    option = {"label": f"Red{EVIL}", "description": EVIL, "preview": EVIL}
    question = {"question": f"Which?{EVIL}", "header": EVIL, "options": [option], "multiSelect": False}
    program(every_prompt=turn(asking(question), reply("done")))
    with Terminal("run", "hi", columns=30) as terminal:
        shown = terminal.expect("Your answer? a number")
        terminal.type("\n")
        terminal.finish()
    assert "\u202e" not in shown
    lines = shown.replace("\r\n", "\n").partition("Claude asks:\n")[2].split("\n")
    assert "\x1b[2J" not in "".join(lines)
    assert all(line.startswith("  | ") for line in lines[:-1])
    assert [line[:6] for line in lines[1:-1] if line[4] != " "] == ["  | 1 "]


# -- plans -------------------------------------------------------------------------------------------------------------

PLAN = "# The plan\n1. Build it.\n"


@pytest.mark.parametrize(
    ("typed", "decision"),
    [
        ("y\n", {"behavior": "allow", "updatedInput": {"plan": PLAN}}),
        ("n\n", {"behavior": "deny", "message": "The person at the terminal said no."}),
        ("tests first\n", {"behavior": "deny", "message": "tests first"}),
        (CTRL_D, {"behavior": "deny", "message": "The person at the terminal has left."}),
    ],
    ids=["yes", "no", "words", "end of input"],
)
def test_plan_is_judged(program: Program, typed: str, decision: dict[str, Any]) -> None:
    """A plan is shown as text; yes lets the model go ahead, a no or words send it back."""
    cli = program(every_prompt=turn(handing_in(PLAN), reply("done")))
    with Terminal("run", "hi") as terminal:
        shown = terminal.expect(GO_AHEAD)
        terminal.type(typed)
        assert terminal.finish() == 0
    assert "Claude has a plan:\r\n  | # The plan\r\n  | 1. Build it.\r\nGo ahead? y yes, n no, or" in shown
    assert decisions(cli) == [decision]


def test_long_plan_is_shown_on_request(program: Program) -> None:
    """Of a long plan the beginning is shown; `v` shows all of it, and a strange letter decides nothing."""
    program(every_prompt=turn(handing_in("\n".join(f"step {number}" for number in range(100))), reply("done")))
    with Terminal("run", "hi") as terminal:
        assert "more lines; v shows everything" in terminal.expect(GO_AHEAD)
        terminal.type("v\n")
        assert "  | step 99\r\n" in terminal.expect(GO_AHEAD)
        terminal.type("a\n")
        terminal.expect(GO_AHEAD)
        terminal.type("y\n")
        assert terminal.finish() == 0


def test_plan_may_be_missing(program: Program) -> None:
    """That the model wrote no plan is said."""
    program(every_prompt=turn(handing_in(""), reply("done")))
    with Terminal("run", "hi") as terminal:
        assert "Claude has a plan, but wrote nothing.\r\nGo ahead?" in terminal.expect(GO_AHEAD)
        terminal.type("n\n")
        assert terminal.finish() == 0


# -- nobody there ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("step", "tool"),
    [(asking(COLOUR), "AskUserQuestion"), (handing_in(PLAN), "ExitPlanMode")],
    ids=["question", "plan"],
)
def test_nobody_can_be_asked_without_a_terminal(program: Program, step: Step, tool: str) -> None:
    """Without a terminal the model is told that nobody can be asked, stderr says so too, and the exit code is 4."""
    cli = program(every_prompt=turn(step, reply("I decide myself.")))
    done = piped("run", "hi", "--json")
    assert (done.returncode, json.loads(done.stdout)["result"]) == (4, "I decide myself.")
    assert done.stderr == f"claude-control: denied {tool}: there is no terminal to ask on\n"
    (decision,) = decisions(cli)
    assert decision["behavior"] == "deny"
    assert decision["message"].startswith("Nobody can be asked: this run has no terminal.")
