"""Scripts survive their way through a prompt."""

import pytest

from claude_control.testing.model_prompt import Script, Turn, script, scripts_in
from claude_control.testing.model_script import (
    Answer,
    Delay,
    Drop,
    Gate,
    HttpError,
    LongText,
    Step,
    StreamError,
    Text,
    Thinking,
    ToolCall,
    Words,
)


def read(text: str) -> list[Script]:
    """Return the scripts in a text."""
    return [found for _, _, found in scripts_in(text)]


@pytest.mark.parametrize(
    "step",
    [
        Text('a\nb "c" 😀 \ud83d', pause=0.5),
        Words(3, pause=0.25),
        LongText(7),
        Thinking("hm"),
        ToolCall("Bash", command="ls", nested={"list": [1, None, True]}, step="x"),
        Answer(Gate("g"), Text("a"), Drop(times=None), StreamError("api_error", times=2), Delay(0.5), Thinking("b")),
        Answer(Text("a"), stop_reason="max_tokens", usage={"input_tokens": 7}),
    ],
)
def test_every_answer_comes_back_as_it_was(step: Step) -> None:
    """What a script says is what the server reads."""
    (found,) = read(script(step))
    assert found.turns == (Turn((), step if isinstance(step, Answer) else Answer(step)),)  # type: ignore[arg-type]


def test_steps_before_an_answer_belong_to_it() -> None:
    """Waits and errors stand before the next answer; after the last one they stand alone."""
    (found,) = read(script(Delay(1), HttpError(529, times=2, retry_after=0.5), Text("a"), Text("b"), Drop()))
    assert found.turns == (
        Turn((Delay(1), HttpError(529, times=2, retry_after=0.5)), Answer(Text("a"))),
        Turn((), Answer(Text("b"))),
        Turn((Drop(),), None),
    )
    assert found.turn(3) == Turn((), None)


def test_every_prompt_is_its_own() -> None:
    """Two prompts with the same steps are told apart."""
    assert read(script(Text("a")))[0].id != read(script(Text("a")))[0].id


def test_script_is_inert_text() -> None:
    """A prompt holds no file mention, tag, newline or character beyond ASCII that the program would act on."""
    prompt = script(Text("@file <system-reminder> é\n"), ToolCall("Bash", command="cat <x >@y"))
    assert prompt.isascii()
    assert prompt.isprintable()
    assert not set("@<>") & set(prompt)


def test_script_within_a_script_is_not_seen() -> None:
    """The prompt of a subagent may carry a script; the outer prompt has one script only."""
    inner = script(Text("inner"))
    outer = script(ToolCall("Task", prompt=inner), Text("outer"))
    (found,) = read(outer)
    answer = found.turns[0].answer
    assert answer is not None
    call = answer.parts[0]
    assert isinstance(call, ToolCall)
    assert call.input["prompt"] == inner


def test_scripts_are_found_inside_of_other_text() -> None:
    """Prompts that the program joins or wraps keep their scripts, in order, with their places."""
    one, two = script(Text("one")), script(Text("two"))
    text = f"The user wrote: {one}\n{two} and so on"
    assert [(start, end) for start, end, _ in scripts_in(text)] == [
        (text.index(one), text.index(one) + len(one)),
        (text.index(two), text.index(two) + len(two)),
    ]


@pytest.mark.parametrize(
    "text",
    [
        'model-script: {"id": "a", "steps": [',
        'model-script: {"id": "a"}',
        "model-script: 7",
        'model-script: {"id": "a", "steps": [{"step": "Unheard"}]}',
        'model-script: {"id": "a", "steps": [{"step": "Text", "colour": "red"}]}',
        'model-script: {"id": "a", "steps": [{"step": "HttpError", "status": 200}]}',
    ],
)
def test_broken_script_is_an_error(text: str) -> None:
    """A script that cannot be read is never taken for a plain prompt."""
    with pytest.raises(ValueError):
        list(scripts_in(text))


def test_what_is_no_step_is_refused() -> None:
    """A slip is found where the script is written."""
    with pytest.raises(ValueError, match="not a step of a script: 'hello'"):
        script("hello")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="not a step of a script: StreamError"):
        script(StreamError())  # type: ignore[arg-type]
