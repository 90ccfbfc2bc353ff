"""`Options` as a whole: its names, its defaults, and what becomes of it in repr, pickle and merge."""

import pickle
from typing import Any

import attrs
import pytest

from claude_control import OptionsError
from claude_control.options import Options, merge_options

MIB = 1024 * 1024


def guard(*_arguments: object) -> None:
    """Stand in for any callback."""


def test_defaults_are_the_documented_ones() -> None:
    """The limits that nobody chose are those that the documentation promises, in seconds and bytes."""
    options = Options()
    assert (options.initialize_timeout, options.control_timeout, options.hook_timeout) == (60.0, 60.0, 60.0)
    assert (options.write_timeout, options.idle_timeout) == (30.0, None)
    assert (options.interrupt_grace, options.exit_grace, options.terminate_grace) == (2.0, 5.0, 5.0)
    assert (options.inbox_bytes, options.max_line_bytes) == (32 * MIB, 64 * MIB)
    assert (options.allow_bypass, options.orphan_guard, options.strict) == (False, True, False)


@pytest.mark.parametrize(("wrong", "meant"), [("modle", "model"), ("allowed_tool", "allowed_tools"), ("qqq", None)])
def test_unknown_name_says_what_was_meant(wrong: str, meant: str | None) -> None:
    """A misspelt option is an OptionsError that names the likely one, or none if nothing is like it."""
    with pytest.raises(OptionsError) as caught:
        merge_options(None, **{wrong: 1})
    assert caught.value.field == wrong
    assert ("did you mean" in str(caught.value)) == (meant is not None)
    assert meant is None or repr(meant) in str(caught.value)


def test_fields_win_over_options() -> None:
    """What is given in a merge replaces what was there; the rest is kept, and the options given stay as they were."""
    given = Options(model="a", max_turns=3)
    assert merge_options(given, model="b") == Options(model="b", max_turns=3)
    assert given == Options(model="a", max_turns=3)
    assert merge_options(given) is given
    with pytest.raises(OptionsError, match="options must be Options or None, not dict"):
        merge_options({"model": "a"})  # type: ignore[arg-type]


def test_merged_options_are_checked() -> None:
    """A field that does not go with the options it is merged into is refused."""
    with pytest.raises(OptionsError, match="session_id"):
        merge_options(Options(resume="x"), session_id="9b2b4a4e-6a53-4c1d-9a0b-5a0f4c1d2e3f")


def test_two_names_of_the_line_limit_are_one() -> None:
    """Either name sets the limit, the one that is given later wins, and two values at once are refused."""
    official = Options(max_buffer_size=2 * MIB)
    assert official.max_line_bytes == 2 * MIB
    assert merge_options(official, max_line_bytes=3 * MIB).max_line_bytes == 3 * MIB
    assert merge_options(official, max_buffer_size=4 * MIB).max_line_bytes == 4 * MIB
    assert merge_options(Options(max_line_bytes=MIB), max_buffer_size=4 * MIB).max_line_bytes == 4 * MIB
    with pytest.raises(OptionsError, match="alias"):
        Options(max_buffer_size=MIB, max_line_bytes=2 * MIB)


def test_options_cannot_be_changed() -> None:
    """Neither a field nor the list or dict that it was made from changes options that exist."""
    tools, env = ["Read"], {"A": "1"}
    options = Options(allowed_tools=tools, env=env)
    tools.append("Bash")
    env["B"] = "2"
    assert (list(options.allowed_tools), options.env) == (["Read"], {"A": "1"})
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        options.model = "x"  # type: ignore[misc]


def test_options_travel_between_processes() -> None:
    """Options pickle, callables of a module included."""
    options = Options(
        model="sonnet",
        max_buffer_size=2 * MIB,
        can_use_tool=guard,
        env={"A": "1"},
        mcp_servers={"m": {"command": "server"}},
        skills=["pdf"],
    )
    assert pickle.loads(pickle.dumps(options)) == options


def test_repr_shows_changes_and_no_secrets() -> None:
    """A repr has what differs from the defaults, and nothing of environments, settings, servers or other values."""
    options = Options(
        model="sonnet",
        env={"TOKEN": "canary-1", "GONE": None},
        mcp_servers={"files": {"command": "server", "args": ["canary-2"], "env": {"K": "canary-3"}}},
        settings='{"env": {"K": "canary-4"}}',
        extra_args={"debug-file": "canary-5", "bare": None},
        system_prompt="use sk-ant-api03-canary-6",
    )
    text = repr(options)
    assert "canary" not in text
    assert text.startswith("Options(") and "model='sonnet'" in text and "'TOKEN'" in text and "'files'" in text
    assert "max_turns" not in text
    assert repr(Options()) == "Options()"
    assert repr(Options(settings="a/settings.json")) == "Options(settings='a/settings.json')"


def test_repr_is_short() -> None:
    """A huge value does not make a huge repr."""
    assert len(repr(Options(system_prompt="x" * 1_000_000))) < 400


def test_repr_counts_hooks() -> None:
    """Hooks are shown by event and number."""
    from claude_control import HookMatcher

    options = Options(hooks={"PreToolUse": [HookMatcher(hooks=[guard]), HookMatcher("Bash", [guard, guard])]})
    assert repr(options) == "Options(hooks={'PreToolUse': 3 hooks})"


@pytest.mark.parametrize(
    "fields",
    [
        {"user": "nobody"},
        {"session_store": object()},
        {"session_store_flush": "eager"},
        {"load_timeout_ms": 1},
        {"idle_timeout": 5.0},
        {"debug_stderr": object()},
    ],
    ids=lambda fields: next(iter(fields)),
)
def test_what_is_not_built_is_refused(fields: dict[str, Any]) -> None:
    """An option that has no effect yet raises and says so; it is never ignored."""
    (name,) = fields
    with pytest.raises(OptionsError, match="is not implemented yet") as caught:
        merge_options(**fields)
    assert caught.value.field == name
