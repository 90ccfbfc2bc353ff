"""Times that the environment sets: an option wins over the variable, the variable over the default."""

import os
import pickle
import subprocess
import sys
from typing import Any

import attrs
import pytest

from claude_control import OptionsError, Session
from claude_control.options import Options, merge_options

TIMEOUTS = {
    "initialize_timeout": "CLAUDE_CONTROL_INITIALIZE_TIMEOUT",
    "control_timeout": "CLAUDE_CONTROL_CONTROL_TIMEOUT",
    "hook_timeout": "CLAUDE_CONTROL_HOOK_TIMEOUT",
    "write_timeout": "CLAUDE_CONTROL_WRITE_TIMEOUT",
}
GRACES = {
    "interrupt_grace": "CLAUDE_CONTROL_INTERRUPT_GRACE",
    "exit_grace": "CLAUDE_CONTROL_EXIT_GRACE",
    "terminate_grace": "CLAUDE_CONTROL_TERMINATE_GRACE",
}
TIMES = TIMEOUTS | GRACES


@pytest.mark.parametrize("name", TIMES)
def test_variable_is_the_default(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A variable sets its own time and no other, an option wins over it, and an empty one says nothing."""
    plain = Options()
    monkeypatch.setenv(TIMES[name], " 7.5 ")
    assert Options() == merge_options(plain, **{name: 7.5})
    assert getattr(merge_options(None, **{name: 9}), name) == 9
    monkeypatch.setenv(TIMES[name], "")
    assert Options() == plain


@pytest.mark.parametrize("name", TIMEOUTS)
def test_none_is_no_limit(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The word none takes a limit away, however it is written."""
    for word in ("none", "None"):
        monkeypatch.setenv(TIMES[name], word)
        assert getattr(Options(), name) is None


@pytest.mark.parametrize("name", GRACES)
def test_step_of_closing_may_be_nothing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A step of closing may have no time at all, but not all the time."""
    monkeypatch.setenv(TIMES[name], "0")
    assert getattr(Options(), name) == 0
    monkeypatch.setenv(TIMES[name], "none")
    with pytest.raises(OptionsError, match=f"{TIMES[name]} must be a number of seconds, 0 or more, not 'none'"):
        Options()


@pytest.mark.parametrize("name", TIMES)
@pytest.mark.parametrize("value", ["soon", "-1", "nan", "inf", "1,5", "5s"])
def test_malformed_variable_is_named(name: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is no time is an error with the variable and the value; who gives the option is not concerned."""
    monkeypatch.setenv(TIMES[name], value)
    with pytest.raises(OptionsError) as caught:
        Options()
    assert f"environment variable {TIMES[name]} must be" in str(caught.value)
    assert repr(value) in str(caught.value)
    assert caught.value.field == TIMES[name]
    with pytest.raises(OptionsError):
        Session()
    assert getattr(merge_options(None, **{name: 3.0}), name) == 3.0


def test_zero_is_no_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    """A timeout of 0 would let nothing succeed."""
    monkeypatch.setenv("CLAUDE_CONTROL_HOOK_TIMEOUT", "0")
    with pytest.raises(OptionsError, match="positive number of seconds, or 'none'"):
        Options()


def test_value_shows_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key that was put into the wrong variable is not repeated, and a long text not whole."""
    monkeypatch.setenv("CLAUDE_CONTROL_HOOK_TIMEOUT", "sk-ant-api03-canary" + "x" * 500)
    with pytest.raises(OptionsError) as caught:
        Options()
    assert "canary" not in str(caught.value)
    monkeypatch.setenv("CLAUDE_CONTROL_HOOK_TIMEOUT", "y" * 5000)
    with pytest.raises(OptionsError) as caught:
        Options()
    assert len(str(caught.value)) < 300


def test_made_options_keep_their_times(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once options are made, no environment changes them: not by a merge, a pickle, or their plain form."""
    monkeypatch.setenv("CLAUDE_CONTROL_HOOK_TIMEOUT", "7")
    seven, sent = Options(), pickle.dumps(Options())
    document = seven.to_dict()
    assert document == {"version": 1, "hook_timeout": 7.0}
    monkeypatch.setenv("CLAUDE_CONTROL_HOOK_TIMEOUT", "8")
    monkeypatch.setenv("CLAUDE_CONTROL_CONTROL_TIMEOUT", "9")
    received: list[Any] = [pickle.loads(sent), Options.from_dict(document), attrs.evolve(seven)]
    assert received == [seven] * 3
    assert merge_options(seven, model="x").hook_timeout == 7
    assert Options.from_dict({"version": 1}).hook_timeout == 60


def test_variables_of_the_process_count() -> None:
    """What a shell sets for a whole process is seen in it, in repr as well."""
    variables = {**os.environ, "CLAUDE_CONTROL_WRITE_TIMEOUT": "12", "CLAUDE_CONTROL_EXIT_GRACE": "0.5"}
    code = "from claude_control import Options; print(Options())"
    done = subprocess.run([sys.executable, "-c", code], env=variables, capture_output=True, text=True, check=True)
    assert done.stdout == "Options(write_timeout=12.0, exit_grace=0.5)\n"


def test_repr_needs_no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Options can be shown, and their fields named, while a variable is malformed."""
    options = Options(model="x")
    monkeypatch.setenv("CLAUDE_CONTROL_HOOK_TIMEOUT", "soon")
    assert repr(options) == "Options(model='x')"
    assert options.portable() == ()
