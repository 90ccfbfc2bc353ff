"""What the model asks a person by calling a tool: questions (`AskUserQuestion`), and whether a plan is good.

The program asks for them with a permission request whose input has the questions; an allow brings the answers back in
that input, by the questions' texts. On 2.0.75, 2.1.7 and 2.1.332 several choices go as one text with ", " between
them. All three take a list too, but tell the model its items with a bare comma, so that nobody can tell two choices
from one that has a comma in it.

A plan (`ExitPlanMode`) stands in the tool's input, which all three fill from the file that the model wrote it to.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from claude_control.errors import OptionsError
from claude_control.records import frozen
from claude_control.wire.permissions import Allow, Deny
from claude_control.wire.reading import reader, using
from claude_control.wire.record import WireRecord

__all__ = [
    "PLAN_TOOL",
    "QUESTION_TOOL",
    "UNANSWERED",
    "Question",
    "QuestionOption",
    "decide_questions",
    "read_plan",
    "read_questions",
]

QUESTION_TOOL = "AskUserQuestion"
"""The tool by which the model asks questions."""

PLAN_TOOL = "ExitPlanMode"
"""The tool by which the model hands in a plan, to leave plan mode."""

UNANSWERED = "The user did not answer the questions."
"""What the model is told when nobody answers: 2.1.332's own words; older programs would say that they were answered."""


@frozen(repr=False)
class QuestionOption(WireRecord):
    """One choice: its label is the answer; `preview` is what choosing it would look like, if the model shows that."""

    label: str = ""
    description: str | None = None
    preview: str | None = None


def _read_options(value: object) -> tuple[QuestionOption, ...]:
    items = value if isinstance(value, list) else []
    return tuple(reader(QuestionOption)(item) for item in items if isinstance(item, dict))


@frozen(repr=False)
class Question(WireRecord):
    """One question of the model.

    `question` is its text, by which it is answered, and `header` a word or two for it. With `multi_select` several of
    the `options` may be chosen. A free text is an answer to any question.
    """

    question: str = ""
    header: str = ""
    options: tuple[QuestionOption, ...] = attrs.field(default=(), metadata=using(_read_options))
    multi_select: bool = False


def read_questions(tool_input: Mapping[str, Any]) -> tuple[Question, ...]:
    """Read the questions from the input of the tool."""
    items = tool_input.get("questions")
    return tuple(reader(Question)(item) for item in items if isinstance(item, dict)) if isinstance(items, list) else ()


def read_plan(tool_input: Mapping[str, Any]) -> str:
    """Return the text of the plan; "" if the model wrote none, for it may hand in nothing."""
    plan = tool_input.get("plan")
    return plan if isinstance(plan, str) else ""


def decide_questions(answers: object, tool_input: Mapping[str, Any]) -> Allow | Deny:
    """Return the decision that carries a person's answers.

    `answers` maps the text of a question to a label or a free text, or to a list of them if the question takes several;
    a question may be missing. None, or no answer at all, says that nobody answered, and a `Deny` stays what it is.
    Raises `OptionsError` for anything else.
    """
    if isinstance(answers, Deny):
        return answers
    if answers is None:
        return Deny(UNANSWERED)
    if not isinstance(answers, Mapping):
        raise OptionsError(
            "answers to questions are a dict {question.question: label or text}, None if nobody answers, or Deny(…), "
            f"not {type(answers).__name__}"
        )
    questions = {question.question: question for question in read_questions(tool_input)}
    given: dict[str, str] = {}
    for text, value in answers.items():
        question = _known(text, questions)
        given[question.question] = _answer(question, value)
    return Allow({**tool_input, "answers": given}) if given else Deny(UNANSWERED)


def _known(text: object, questions: Mapping[str, Question]) -> Question:
    if not isinstance(text, str) or text not in questions:
        known = ", ".join(map(repr, questions))
        raise OptionsError(f"{text!r} is no question that was asked; use question.question as the key: {known}")
    return questions[text]


def _answer(question: Question, value: object) -> str:
    if isinstance(value, str) and value.strip():
        return value
    if isinstance(value, list | tuple):
        return _choices(question, value)
    raise OptionsError(
        f"the answer to {question.question!r} is {value!r}; give a label of its options or a text of your own, "
        "and leave the question out if there is no answer"
    )


def _choices(question: Question, values: Sequence[object]) -> str:
    if not question.multi_select:
        raise OptionsError(f"{question.question!r} takes one answer, not a list: give the label itself")
    texts = [value for value in values if isinstance(value, str) and value.strip()]
    if not texts or len(texts) < len(values):
        raise OptionsError(
            f"the answer to {question.question!r} is {values!r}; give a list of labels or texts that is not empty"
        )
    return ", ".join(map(_quoted, texts))


def _quoted(text: str) -> str:
    """Return one of several choices, quoted as 2.1.332 quotes what could be taken for two."""
    return json.dumps(text, ensure_ascii=False) if ", " in text or '"' in text else text
