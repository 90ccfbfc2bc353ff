"""Asking a person on the terminal what the model asks: its questions, and whether its plan is good."""

from claude_control.cli.person import WITHDRAWN, Person, marked, name, whom
from claude_control.session.permissions import PermissionContext
from claude_control.wire.permissions import Allow, Deny
from claude_control.wire.questions import PLAN_TOOL, QUESTION_TOOL, Question, QuestionOption

__all__ = ["Answerer", "Judge", "chosen", "shown_question"]

_INDENT = " " * 4


class Answerer:
    """The callback of the command for questions: the person at the keyboard answers, or nobody can be asked."""

    def __init__(self, person: Person) -> None:
        self._person = person

    def __call__(
        self, questions: tuple[Question, ...], context: PermissionContext
    ) -> dict[str, str | list[str]] | Deny | None:
        """Answer what one use of the tool asks; None if the person has left."""
        if not self._person.is_there:
            return self._person.deny_unasked(QUESTION_TOOL, "What you asked was not shown to anybody.")
        answers: dict[str, str | list[str]] = {}
        with self._person.asked(context, f"{whom(context)} has a question.") as has_keyboard:
            if not has_keyboard:
                return WITHDRAWN
            for number, question in enumerate(questions, 1):
                place = f" ({number} of {len(questions)})" if len(questions) > 1 else ""
                self._person.terminal.note(f"{whom(context)} asks{place}:", "bold")
                line = self._ask(question, context)
                if not line:
                    return WITHDRAWN if line is None else None
                if answer := chosen(question, line):
                    answers[question.question] = answer
        return answers

    def _ask(self, question: Question, context: PermissionContext) -> str | None:
        """Return a line that means something; "" at the end of input, None when the question is withdrawn."""
        for shown in shown_question(question, self._person.terminal.columns):
            self._person.terminal.note(shown)
        self._person.forget()
        while True:
            line = self._person.read(_prompt(question), context)
            if not line or chosen(question, line) is not None:
                return line
            self._person.terminal.note("(no option has that number)", "yellow")


class Judge:
    """The callback of the command for plans: the person at the keyboard judges, or nobody can be asked."""

    def __init__(self, person: Person) -> None:
        self._person = person

    def __call__(self, plan: str, context: PermissionContext) -> Allow | Deny:
        """Judge a plan."""
        if not self._person.is_there:
            return self._person.deny_unasked(PLAN_TOOL, "The plan was not shown to anybody.")
        with self._person.asked(context, f"{whom(context)} has a plan.") as has_keyboard:
            if not has_keyboard:
                return WITHDRAWN
            text = plan.strip("\n")
            self._person.terminal.note(f"{whom(context)} has a plan{':' if text else ', but wrote nothing.'}", "bold")
            lines = marked(text, self._person.terminal.columns) if text else []
            return self._person.decide(lines, "Go ahead? y yes, n no, or say what to change: ", context)


def shown_question(question: Question, columns: int) -> list[str]:
    """Return a question and its options as marked lines.

    Options begin at the left with a number, or a dash where labels are numbers themselves. No other text of the model
    begins there but the question's first line.
    """
    header = f"{name(question.header)}: " if question.header.strip() else ""
    lines = marked(header + question.question, columns, indent=_INDENT)
    for number, option in enumerate(_options(question), 1):
        key = f"{number} " if _is_numbered(question) else "- "
        about = f": {option.description}" if option.description else ""
        lines += marked(name(option.label) + about, columns, first=key, indent=_INDENT)
        if option.preview:
            lines += marked(option.preview.strip("\n"), columns, first=_INDENT, indent=_INDENT)
    return lines


def chosen(question: Question, line: str) -> str | list[str] | None:
    """Return the answer that a typed line is; "" for a blank one, None for the number of an option that is not there.

    With several choices the parts between commas count each, if one of them is an option; what is none is a free text.
    """
    text = line.strip()
    labels = {option.label.strip(): option.label for option in _options(question)}
    if _is_numbered(question):
        labels |= {str(number): option.label for number, option in enumerate(_options(question), 1)}
    whole = labels.get(text, text)
    if not question.multi_select:
        return None if _is_missing(question, whole) else whole
    if text in labels:
        return [whole]
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if any(_is_missing(question, part) for part in parts if part not in labels):
        return None
    if not any(part in labels for part in parts):
        return [text] if text else ""
    return list(dict.fromkeys(labels.get(part, part) for part in parts))


def _options(question: Question) -> tuple[QuestionOption, ...]:
    return tuple(option for option in question.options if option.label.strip())


def _is_numbered(question: Question) -> bool:
    """Return whether options have numbers: not where one would be taken for the label of another."""
    return not any(option.label.strip().isdecimal() for option in question.options)


def _is_missing(question: Question, text: str) -> bool:
    return text.isdecimal() and _is_numbered(question) and bool(_options(question))


def _prompt(question: Question) -> str:
    words = "or your own words; Enter leaves it open: "
    if not _options(question):
        return f"Your answer? In {words[3:]}"
    one, several = ("a number", "numbers") if _is_numbered(question) else ("a label", "labels")
    return f"Your answer? {several} with commas, {words}" if question.multi_select else f"Your answer? {one}, {words}"
