"""Options as plain data: what comes back is what was sent, and what cannot be sent is never left out unsaid."""

import functools
import json
import pickle
from pathlib import Path
from typing import Any

import attrs
import pytest

from claude_control import HookMatcher, OptionsError
from claude_control.options import AgentDefinition, Options, merge_options
from claude_control.options.travelling import builtin_default

MIB = 1024 * 1024
ID = "9b2b4a4e-6a53-4c1d-9a0b-5a0f4c1d2e3f"


def guard(*_arguments: object) -> dict[str, Any]:
    """Stand in for any callback."""
    return {}


# One value, not the default, for every option that can travel by itself.
VALUES: dict[str, Any] = {
    "system_prompt": {"type": "preset", "preset": "claude_code", "append": "be brief"},
    "session_id": ID,
    "resume": ID,
    "continue_conversation": True,
    "fork_session": True,
    "resume_session_at": ID,
    "resume_drops_turn": ID,
    "model": "sonnet",
    "fallback_model": "haiku",
    "betas": ("context-1m-2025-08-07",),
    "thinking": {"type": "enabled", "budget_tokens": 1000},
    "max_thinking_tokens": 0,
    "effort": "high",
    "max_turns": 3,
    "max_budget_usd": 0.5,
    "task_budget": {"total": 5},
    "output_format": {"type": "json_schema", "schema": {"type": "object", "required": ["a"]}},
    "tools": (),
    "allowed_tools": ("Read", "Bash(git log:*)"),
    "disallowed_tools": ("WebFetch",),
    "permission_mode": "plan",
    "permission_prompt_tool_name": "mcp__a__b",
    "skills": "all",
    "agents": {
        "full": AgentDefinition("d", "p", tools=["Read"], mcp_servers=["m", {"n": {"command": "c"}}], max_turns=3),
        "short": AgentDefinition("d", "p"),
        "newer": {"description": "d", "prompt": "p", "fieldOfTomorrow": [1]},
    },
    "mcp_servers": {"m": {"type": "http", "url": "u", "headers": {"A": "secret"}}},
    "strict_mcp_config": True,
    "plugins": ({"type": "local", "path": "p"},),
    "cli_path": ("npx", "claude"),
    "cwd": "/somewhere",
    "add_dirs": ("a", "b"),
    "env": {"TOKEN": "secret", "GONE": None},
    "client_app": "app/1",
    "settings": '{"env": {"K": "secret"}}',
    "setting_sources": (),
    "sandbox": {"enabled": True},
    "extra_args": {"debug-file": "x", "bare": None},
    "enable_file_checkpointing": True,
    "include_partial_messages": True,
    "include_hook_events": True,
    "forward_subagent_text": True,
    "verbatim_prompts": True,
    "max_buffer_size": 2 * MIB,
    "initialize_timeout": 1.5,
    "control_timeout": None,
    "hook_timeout": 5,
    "write_timeout": 1.0,
    "interrupt_grace": 0,
    "exit_grace": 1.0,
    "terminate_grace": 2.0,
    "inbox_bytes": MIB,
    "max_line_bytes": MIB,
    "supported_dialog_kinds": ("refusal_fallback_prompt",),
    "allow_bypass": True,
    "orphan_guard": False,
    "strict": True,
}
NEEDS = {
    "resume_session_at": {"resume": ID},
    "resume_drops_turn": {"resume": ID, "resume_session_at": ID},
}
ASKED = ("on_question", "on_plan", "on_elicitation", "on_user_dialog")
LIVE: dict[str, Any] = {
    "can_use_tool": guard,
    "on_question": guard,
    "on_plan": guard,
    "on_elicitation": guard,
    "on_user_dialog": guard,
    "stderr": print,
    "spawn": functools.partial(guard, 1),
    "hooks": {"PreToolUse": [HookMatcher(hooks=[guard])]},
}


def travelled(options: Options) -> Options:
    """Return options that went through JSON text."""
    return Options.from_dict(json.loads(json.dumps(options.to_dict())))


def test_every_option_is_tried() -> None:
    """Each option either travels in these tests, is live, or takes nothing but its default."""
    refused = set()
    for field in attrs.fields(Options):
        if field.name not in VALUES | LIVE:
            with pytest.raises(OptionsError, match="not implemented yet"):
                merge_options(None, **{field.name: object()})
            refused.add(field.name)
    assert set(VALUES) | set(LIVE) | refused == set(attrs.fields_dict(Options))


@pytest.mark.parametrize("name", VALUES)
def test_option_comes_back(name: str) -> None:
    """An option that goes through JSON or pickle comes back equal, and only what was set is sent."""
    options = merge_options(None, **{name: VALUES[name]}, **NEEDS.get(name, {}))
    assert getattr(options, name) != builtin_default(attrs.fields_dict(Options)[name], Options())
    assert set(options.to_dict()) == {"version", name, *NEEDS.get(name, {})}
    assert options.portable() == ()
    assert travelled(options) == options
    assert pickle.loads(pickle.dumps(options)) == options


def test_many_options_come_back_together() -> None:
    """Options that are set together come back together, secrets whole."""
    alone = ("continue_conversation", "max_line_bytes")
    options = merge_options(None, **{name: value for name, value in VALUES.items() if name not in alone})
    assert travelled(options) == options
    assert json.dumps(options.to_dict()).count("secret") == 3
    assert "secret" not in repr(travelled(options))


def test_defaults_are_not_sent() -> None:
    """Options as they come are a version and nothing else."""
    assert Options().to_dict() == {"version": 1}
    assert Options.from_dict({"version": 1}) == Options()
    assert "version" not in attrs.fields_dict(Options)


def test_data_is_plain() -> None:
    """Paths become texts, tuples lists and records dicts, at any depth."""
    options = Options(
        cwd=Path("/a"),
        add_dirs=[Path("b")],
        cli_path=["npx", Path("c")],
        plugins=[{"type": "local", "path": Path("p")}],
        agents={"a": AgentDefinition("d", "p", tools=["Read"])},
    )
    assert options.to_dict() == {
        "version": 1,
        "agents": {"a": {"description": "d", "prompt": "p", "tools": ["Read"]}},
        "plugins": [{"type": "local", "path": "p"}],
        "cli_path": ["npx", "c"],
        "cwd": "/a",
        "add_dirs": ["b"],
    }
    assert travelled(options).cwd == "/a"


def test_dict_is_a_copy() -> None:
    """Who changes the dict changes no options."""
    options = Options(env={"A": "1"}, output_format={"type": "json_schema", "schema": {"required": ["a"]}})
    document = options.to_dict()
    document["env"]["A"] = "2"
    document["output_format"]["schema"]["required"].append("b")
    assert options == Options(env={"A": "1"}, output_format={"type": "json_schema", "schema": {"required": ["a"]}})


@pytest.mark.parametrize("name", LIVE)
def test_live_option_is_named(name: str) -> None:
    """What holds a function is named by `portable()`, refused by `to_dict()`, and left out if one says so."""
    options = merge_options(Options(model="sonnet"), **{name: LIVE[name]})
    assert options.portable() == (name,)
    with pytest.raises(OptionsError, match=rf"{name} cannot be written as data.*skip=options.portable\(\)") as caught:
        options.to_dict()
    assert caught.value.field == name
    assert options.to_dict(skip=options.portable()) == {"version": 1, "model": "sonnet"}


def test_several_live_options_are_named_at_once() -> None:
    """An error names all of them but those that are skipped."""
    options = merge_options(None, **LIVE)
    assert options.portable() == ("can_use_tool", "hooks", "stderr", "spawn", *ASKED)
    with pytest.raises(OptionsError, match=rf"^can_use_tool, stderr, spawn, {', '.join(ASKED)} cannot"):
        options.to_dict(skip=["hooks"])


@pytest.mark.parametrize("item", [object(), {1: "a"}, {"a": {"b", "c"}}, [float("nan")], b"x"], ids=repr)
def test_value_without_a_plain_form_is_named(item: Any) -> None:
    """An object that JSON has no form for, however deep, is not sent as something else."""
    options = Options(output_format={"type": "json_schema", "schema": {"x": item}})
    assert options.portable() == ("output_format",)
    with pytest.raises(OptionsError, match="output_format"):
        options.to_dict()


def test_hooks_without_functions_travel() -> None:
    """An event for which nothing was registered is data."""
    options = Options(hooks={"Stop": []})
    assert travelled(options) == options


def test_skip_takes_what_can_travel_too() -> None:
    """Any option can be left out, such as one with a secret; a name that is none is refused."""
    options = Options(model="sonnet", env={"TOKEN": "secret"})
    assert options.to_dict(skip={"env"}) == {"version": 1, "model": "sonnet"}
    with pytest.raises(OptionsError, match="skip names 'envv', which is no option"):
        options.to_dict(skip=["envv"])
    with pytest.raises(OptionsError, match="skip must be a list of names"):
        options.to_dict(skip="env")


@pytest.mark.parametrize(
    ("document", "field", "told"),
    [
        ([], "options", "a dict as Options.to_dict() makes it"),
        (None, "options", "a dict as Options.to_dict() makes it"),
        ({}, "version", "no 'version', and this release reads 1"),
        ({"model": "x"}, "version", "write them anew with Options.to_dict()"),
        ({"version": 2}, "version", "version 2"),
        ({"version": True}, "version", "version True"),
        ({"version": "1"}, "version", "version '1'"),
        ({"version": 1, "modle": "x"}, "modle", "did you mean 'model'?"),
        ({"version": 1, 5: "x"}, "5", "there is no option 5"),
        ({"version": 1, "max_turns": 0}, "max_turns", "a whole number, 1 or more, not 0"),
        ({"version": 1, "can_use_tool": "guard"}, "can_use_tool", "a function"),
        ({"version": 1, "hooks": {"Stop": [{"hooks": []}]}}, "hooks", "a list of HookMatcher"),
        ({"version": 1, "permission_mode": "bypassPermissions"}, "permission_mode", "allow_bypass=True"),
        ({"version": 1, "user": "nobody"}, "user", "not implemented yet"),
    ],
)
def test_wrong_document_is_refused(document: Any, field: str, told: str) -> None:
    """What arrives is checked like what is written in code, and its version and names before that."""
    with pytest.raises(OptionsError) as caught:
        Options.from_dict(document)
    assert told in str(caught.value)
    assert caught.value.field == field


def test_wrong_document_shows_no_secret() -> None:
    """A value that is refused is shown without its secret."""
    with pytest.raises(OptionsError) as caught:
        Options.from_dict({"version": "sk-ant-api03-canary"})
    assert "canary" not in str(caught.value)


def test_agents_of_every_kind_are_one_record() -> None:
    """A dict with either spelling is the same definition as the record, so that what arrives equals what was sent."""
    definition = AgentDefinition("d", "p", disallowed_tools=["Bash"], max_turns=2)
    ours = {"description": "d", "prompt": "p", "disallowed_tools": ["Bash"], "max_turns": 2}
    wire = {"description": "d", "prompt": "p", "disallowedTools": ["Bash"], "maxTurns": 2, "model": None}
    assert Options(agents={"a": definition}) == Options(agents={"a": ours}) == Options(agents={"a": wire})
    for wrong in ({5: "d"}, {"description": "d"}):
        with pytest.raises(OptionsError, match="agents"):
            Options(agents={"a": wrong})
