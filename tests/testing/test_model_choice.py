"""Which answer a request gets, for each kind of conversation that the program sends."""

from typing import Any

import pytest

from claude_control.testing.model_choice import choose
from claude_control.testing.model_prompt import script
from claude_control.testing.model_script import Answer, Gate, Text, ToolCall
from tests.testing.api import Json, assistant, request, tool_result, user

DEFAULT = Answer(Text("default"))
PROMPT = script(Text("first"), Text("second"), Text("third"))
INTERRUPTED = "[Request interrupted by user]"


def chosen(*messages: Json | str, **more: Any) -> str:
    """Return the text of the answer to a conversation."""
    answer = choose(request(*messages, **more), DEFAULT).turn.answer
    assert answer is not None
    part = answer.parts[0]
    assert isinstance(part, Text)
    return part.text


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        ([PROMPT], "first"),
        ([PROMPT, assistant(), user(tool_result())], "second"),
        ([PROMPT, assistant(), assistant(), user(tool_result(), tool_result())], "second"),
        ([PROMPT, assistant(), user(tool_result()), assistant(), user(tool_result())], "third"),
        ([PROMPT, assistant(), "Stop hook feedback:\ngo on"], "second"),
        ([PROMPT, *[assistant(), user(tool_result())] * 3], "default"),
        (["hello", assistant(), PROMPT], "first"),
        ([PROMPT, assistant(), script(Text("newer"))], "newer"),
        ([user(PROMPT, script(Text("newer")))], "newer"),
        ([user(PROMPT, "a reminder of the program's")], "first"),
        ([f"{PROMPT}\n{script(Text('joined'))}"], "joined"),
        ([PROMPT, assistant(), user(tool_result(), f"The user sent: {script(Text('folded'))} Go on.")], "folded"),
        ([PROMPT, assistant(), user(tool_result(script(Text("not a prompt"))))], "second"),
        ([{"role": "user", "content": PROMPT}], "first"),
    ],
)
def test_script_in_force_and_answers_so_far_decide(messages: list[Json | str], expected: str) -> None:
    """The newest script answers, each request with the answer after those that the model has given."""
    assert chosen(*messages) == expected


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        ([PROMPT, assistant(), INTERRUPTED], "default"),
        ([user(PROMPT, INTERRUPTED, "hello")], "default"),
        ([user(PROMPT, INTERRUPTED, script(Text("new")))], "new"),
        ([f"{PROMPT}\n{INTERRUPTED}"], "default"),
        ([f"{INTERRUPTED}\n{PROMPT}"], "first"),
        ([PROMPT, assistant(), user(tool_result(), "[Request interrupted by user for tool use]")], "default"),
    ],
)
def test_interrupt_ends_a_script(messages: list[Json | str], expected: str) -> None:
    """After an interrupt the old script is over, and a new one is in force."""
    assert chosen(*messages) == expected


@pytest.mark.parametrize("messages", [[], ["hello"]])
def test_no_script_gets_the_default(messages: list[Json | str]) -> None:
    """A conversation without a script gets the default answer."""
    assert chosen(*messages) == "default"


def test_session_without_tools_can_be_scripted() -> None:
    """A prompt that begins with its script is a prompt, with or without tools."""
    assert chosen(PROMPT, tools=[]) == "first"


def test_side_requests_get_plain_text() -> None:
    """Requests that the program makes for itself take no answer from a script that they quote."""
    assert chosen(f"Write a title: <session>{PROMPT}</session>", tools=[]) == "A side answer."
    assert chosen(script(ToolCall("Bash", command="ls")), tools=[]) == "A side answer."
    assert "<summary>" in chosen(PROMPT, assistant(), "Your task is to create a detailed summary of the conversation")


def test_choice_names_its_script_and_step() -> None:
    """A choice tells which script and which answer of it was taken."""
    choice = choose(request(script(Gate("g"), Text("a"))), DEFAULT)
    assert choice.turn.before == (Gate("g"),)
    assert (choice.step, choice.script_id is None) == (0, False)
    assert choose(request("hello"), DEFAULT).script_id is None


def test_broken_script_is_an_error() -> None:
    """A script that cannot be read is not passed over."""
    with pytest.raises(ValueError, match="Expecting value"):
        choose(request("model-script: ?"), DEFAULT)
