"""Single values: numbers, texts, paths and fixed words."""

from pathlib import Path
from typing import Any

import pytest

from claude_control import OptionsError
from claude_control.options import merge_options

HALF = "\ud83d"  # half of a surrogate pair: no system call takes it

TIMEOUTS = ("initialize_timeout", "control_timeout", "hook_timeout", "write_timeout")
GRACES = ("interrupt_grace", "exit_grace", "terminate_grace")
SWITCHES = (
    "continue_conversation fork_session strict_mcp_config enable_file_checkpointing include_partial_messages "
    "include_hook_events forward_subagent_text allow_bypass orphan_guard strict"
).split()


def refused(**fields: Any) -> OptionsError:
    """Return the error that a field raises."""
    with pytest.raises(OptionsError) as caught:
        merge_options(**fields)
    assert caught.value.field in fields
    assert str(caught.value).startswith(next(iter(fields)))
    return caught.value


@pytest.mark.parametrize("name", TIMEOUTS)
@pytest.mark.parametrize("value", [0, -1, "5", True, float("nan"), float("inf")])
def test_wrong_timeout_is_refused(name: str, value: Any) -> None:
    """A timeout is a positive finite number."""
    assert "seconds, or None for no limit" in str(refused(**{name: value}))


@pytest.mark.parametrize("name", TIMEOUTS)
@pytest.mark.parametrize("value", [None, 1, 0.25])
def test_timeout_is_taken(name: str, value: Any) -> None:
    """A positive number is taken as a timeout, and None for none."""
    assert getattr(merge_options(**{name: value}), name) == value


@pytest.mark.parametrize("name", GRACES)
def test_step_of_closing_has_an_end(name: str) -> None:
    """The steps of closing take 0 but not None: closing is bounded."""
    assert getattr(merge_options(None, **{name: 0}), name) == 0
    refused(**{name: None})
    refused(**{name: -1})


@pytest.mark.parametrize("name", ["inbox_bytes", "max_line_bytes", "max_buffer_size"])
@pytest.mark.parametrize("value", [0, 1023, 1e9, True, "1"])
def test_wrong_number_of_bytes_is_refused(name: str, value: Any) -> None:
    """A limit in bytes is a whole number that leaves room for one message."""
    refused(**{name: value})


@pytest.mark.parametrize("name", SWITCHES)
def test_switch_is_true_or_false(name: str) -> None:
    """A switch takes nothing that merely counts as true."""
    assert getattr(merge_options(None, **{name: True}), name) is True
    assert "True or False, not 1" in str(refused(**{name: 1}))


@pytest.mark.parametrize("name", ["model", "fallback_model", "resume", "permission_prompt_tool_name"])
@pytest.mark.parametrize("value", ["", "  ", "-x", "--dangerously-skip-permissions", "a\0b", HALF, 5, b"x"])
def test_wrong_text_is_refused(name: str, value: Any) -> None:
    """A text that would be a flag, is empty or cannot be handed to a program is refused."""
    refused(**{name: value})


@pytest.mark.parametrize("name", ["session_id", "resume_session_at", "resume_drops_turn"])
@pytest.mark.parametrize("value", ["x", "", "--x", 7, "9b2b4a4e6a534c1d9a0b5a0f4c1d2e3f"])
def test_wrong_uuid_is_refused(name: str, value: Any) -> None:
    """An id that the program would refuse is refused here."""
    refused(**{name: value})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("permission_mode", "yolo"),
        ("permission_mode", "delegate"),
        ("effort", "huge"),
        ("max_turns", 0),
        ("max_turns", True),
        ("max_turns", 1.5),
        ("max_budget_usd", 0),
        ("max_budget_usd", float("nan")),
        ("max_thinking_tokens", -1),
        ("cwd", 5),
        ("cwd", b"/tmp"),
        ("cwd", ""),
        ("cwd", "a\0b"),
        ("client_app", "app\n"),
        ("client_app", "app €"),
        ("client_app", 1),
    ],
)
def test_wrong_value_is_refused(name: str, value: Any) -> None:
    """A value out of its range is refused, and the error repeats it."""
    assert repr(value)[:20] in str(refused(**{name: value}))


def test_paths_are_taken_as_they_are() -> None:
    """Paths may be str or Path and need not exist: nothing is looked at before the session opens."""
    options = merge_options(cwd=Path("/nowhere"), add_dirs=["a", Path("b")])
    assert (options.cwd, options.add_dirs) == (Path("/nowhere"), ("a", Path("b")))


def test_error_does_not_repeat_a_secret() -> None:
    """A wrong value that holds a key is shown without it, and shortened."""
    error = refused(permission_mode="sk-ant-api03-canary" + "x" * 500)
    assert "canary" not in str(error)
    assert len(str(refused(permission_mode="y" * 5000))) < 300
