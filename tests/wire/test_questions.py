"""Questions and plans of the model, and what a person's answers become."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claude_control.errors import OptionsError
from claude_control.wire.permissions import Allow, Deny
from claude_control.wire.questions import (
    UNANSWERED,
    Question,
    QuestionOption,
    decide_questions,
    read_plan,
    read_questions,
)
from tests.wire.messages.samples import json_values

# As all three programs pass it on.
INPUT: dict[str, Any] = {
    "questions": [
        {
            "question": "Which colour?",
            "header": "Colour",
            "options": [
                {"label": "Red", "description": "warm"},
                {"label": "Blue", "description": "cold", "preview": "<b>blue</b>"},
            ],
            "multiSelect": False,
        },
        {
            "question": "Which parts?",
            "header": "Parts",
            "options": [
                {"label": "Wheels", "description": "w"},
                {"label": "Seats, two", "description": "s"},
                {"label": 'The "big" one', "description": "b"},
            ],
            "multiSelect": True,
            "kind": "choice",
        },
    ],
    "metadata": {"source": "test"},
}


def answers(value: Any) -> dict[str, str]:
    """Return the answers that are sent for what a callback returned."""
    decision = decide_questions(value, INPUT)
    assert isinstance(decision, Allow)
    assert decision.updated_input is not None
    sent: dict[str, str] = decision.updated_input["answers"]
    return sent


def test_questions_are_read() -> None:
    """A question has its text, its header, its options and whether several may be chosen; the rest is in `raw`."""
    colour, parts = read_questions(INPUT)
    assert (colour.question, colour.header, colour.multi_select) == ("Which colour?", "Colour", False)
    assert colour.options == (QuestionOption("Red", "warm"), QuestionOption("Blue", "cold", "<b>blue</b>"))
    assert (parts.multi_select, parts.raw["kind"]) == (True, "choice")


@given(value=json_values)
def test_no_questions_raise(value: Any) -> None:
    """Whatever stands where questions should be, reading it gives questions."""
    items = [*read_questions({"questions": value}), *read_questions({"questions": [{"options": value}, value]})]
    assert all(isinstance(item, Question) and isinstance(item.question, str) for item in items)


@pytest.mark.parametrize(
    ("given_input", "plan"),
    [({"plan": "# Do it"}, "# Do it"), ({}, ""), ({"plan": None}, ""), ({"plan": 5}, "")],
)
def test_plan_is_a_text(given_input: dict[str, Any], plan: str) -> None:
    """A plan is the text of the input, and empty if the model handed in none."""
    assert read_plan(given_input) == plan


def test_answers_go_back_in_the_input() -> None:
    """Answers are added to the input as it came, by the texts of the questions."""
    decision = decide_questions({"Which colour?": "Red"}, INPUT)
    assert decision == Allow({**INPUT, "answers": {"Which colour?": "Red"}})
    assert "answers" not in INPUT


@pytest.mark.parametrize(
    ("value", "sent"),
    [
        ("Red", "Red"),
        ("neither, and why?", "neither, and why?"),
        ('Red, "or" so', 'Red, "or" so'),
    ],
)
def test_one_answer_goes_as_it_is(value: str, sent: str) -> None:
    """A label or a free text is the answer."""
    assert answers({"Which colour?": value}) == {"Which colour?": sent}


@pytest.mark.parametrize(
    ("value", "sent"),
    [
        (["Wheels"], "Wheels"),
        (("Wheels", "something else"), "Wheels, something else"),
        (["Wheels", "Seats, two"], 'Wheels, "Seats, two"'),
        (['The "big" one', "Wheels"], '"The \\"big\\" one", Wheels'),
        (["Räder, ö"], '"Räder, ö"'),
        ("all of them", "all of them"),
    ],
)
def test_several_choices_are_one_text(value: Any, sent: str) -> None:
    """Choices are joined by ", ", and quoted where one could be taken for two."""
    assert answers({"Which parts?": value}) == {"Which parts?": sent}


@given(st.lists(st.text(alphabet='ab ,"\\', min_size=1).filter(str.strip), min_size=1, max_size=4))
def test_choices_can_be_told_apart(chosen: list[str]) -> None:
    """From the text that is sent, each choice can be read again."""
    import json

    text, found = answers({"Which parts?": chosen})["Which parts?"], []
    while text:
        if text.startswith('"'):
            item, end = json.JSONDecoder().raw_decode(text)
        else:
            item = text.split(", ")[0]
            end = len(item)
        found.append(item)
        text = text[end:].removeprefix(", ")
    assert found == chosen


@pytest.mark.parametrize("value", [None, {}], ids=repr)
def test_no_answer_is_said_to_be_none(value: Any) -> None:
    """Where nobody answers the model is told so, in words that every program passes on."""
    assert decide_questions(value, INPUT) == Deny(UNANSWERED)


def test_denial_passes_through() -> None:
    """A Deny tells the model what it says, and may end the turn."""
    assert decide_questions(Deny("ask later", interrupt=True), INPUT) == Deny("ask later", interrupt=True)


WRONG: dict[str, tuple[Any, str]] = {
    "allow": (Allow(), r"None if nobody answers, or Deny\(…\), not Allow"),
    "text": ("Red", "are a dict"),
    "list": (["Red"], "are a dict"),
    "truth": (True, "are a dict"),
    "unknown question": ({"Which color?": "Red"}, r"no question that was asked.*'Which colour\?', 'Which parts\?'"),
    "index": ({0: "Red"}, r"use question\.question as the key"),
    "number": ({"Which colour?": 5}, "give a label of its options or a text"),
    "nothing": ({"Which colour?": None}, "leave the question out"),
    "blank": ({"Which colour?": " "}, "leave the question out"),
    "option": ({"Which colour?": QuestionOption("Red")}, "give a label"),
    "list for one": ({"Which colour?": ["Red"]}, "takes one answer, not a list"),
    "empty list": ({"Which parts?": []}, "not empty"),
    "list of others": ({"Which parts?": ["Wheels", 5]}, "a list of labels"),
    "set": ({"Which parts?": {"Wheels"}}, "give a label"),
}


@pytest.mark.parametrize(("value", "told"), WRONG.values(), ids=WRONG)
def test_wrong_answer_is_refused(value: Any, told: str) -> None:
    """What is no answer to what was asked is refused, and the error says what would be one."""
    with pytest.raises(OptionsError, match=told):
        decide_questions(value, INPUT)


@given(value=json_values)
def test_no_json_value_is_half_an_answer(value: Any) -> None:
    """Whatever a callback returns is refused, or becomes texts by the questions that were asked."""
    for returned in (value, {"Which parts?": value}):
        try:
            decision = decide_questions(returned, INPUT)
        except OptionsError:
            continue
        if isinstance(decision, Allow):
            assert decision.updated_input is not None
            assert all(isinstance(text, str) and text for text in decision.updated_input["answers"].values())
