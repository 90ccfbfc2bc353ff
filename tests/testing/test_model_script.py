"""The steps of model scripts refuse what cannot be meant."""

import pytest

from claude_control.testing.model_script import (
    Answer,
    Delay,
    Drop,
    HttpError,
    LongText,
    StreamError,
    Text,
    ToolCall,
    Words,
)


def test_tool_call_takes_its_input_as_keywords() -> None:
    """Every keyword is input of the tool, `name` and `self` too."""
    call = ToolCall("Write", name="n", self="s", file_path="/a")
    assert (call.name, call.input) == ("Write", {"name": "n", "self": "s", "file_path": "/a"})


def test_steps_compare_by_value() -> None:
    """Two steps that say the same are equal, so scripts can be compared in tests."""
    assert Answer(Text("a"), usage={"input_tokens": 1}) == Answer(Text("a"), usage={"input_tokens": 1})
    assert ToolCall("Bash", command="a") != ToolCall("Bash", command="b")


@pytest.mark.parametrize("make", [lambda: Text("a", pause=-1), lambda: Words(2, pause=-1), lambda: Delay(-0.1)])
def test_negative_times_are_refused(make: object) -> None:
    """No step waits for less than nothing."""
    with pytest.raises(ValueError, match="seconds"):
        make()  # type: ignore[operator]


@pytest.mark.parametrize("fault", [Drop, StreamError])
def test_fault_that_never_happens_is_refused(fault: type[Drop | StreamError]) -> None:
    """A fault happens at least once, or always."""
    with pytest.raises(ValueError, match="at least 1"):
        fault(times=0)
    assert fault(times=None).times is None


@pytest.mark.parametrize("status", [200, 399, 600])
def test_status_that_is_no_error_is_refused(status: int) -> None:
    """An HTTP error has the status of one."""
    with pytest.raises(ValueError, match="status"):
        HttpError(status)


@pytest.mark.parametrize("size", [0, -1, 10**12])
def test_absurd_sizes_are_refused(size: int) -> None:
    """A text has at least one character or word, and fits into memory."""
    with pytest.raises(ValueError, match="characters"):
        LongText(size)
    with pytest.raises(ValueError, match="count"):
        Words(size)


def test_answer_is_made_of_parts() -> None:
    """An answer refuses what is not a part of one, and an answer without any content."""
    with pytest.raises(ValueError, match="not HttpError"):
        Answer(Text("a"), HttpError(500))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="at least one block"):
        Answer(Delay(1))


def test_usage_cannot_be_changed_afterwards() -> None:
    """An answer keeps the usage that it was made with."""
    usage = {"input_tokens": 1}
    answer = Answer(Text("a"), usage=usage)
    usage["input_tokens"] = 2
    assert answer.usage == {"input_tokens": 1}
    with pytest.raises(TypeError):
        answer.usage["input_tokens"] = 3  # type: ignore[index]
