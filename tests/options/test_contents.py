"""Options with an inner form: prompts, agents, thinking, servers, settings, environments, flags."""

import dataclasses
import pickle
from pathlib import Path
from typing import Any

import pytest

from claude_control import OptionsError, ToolServer
from claude_control.options import AgentDefinition, Options, merge_options
from claude_control.options.agents import agents_to_wire
from claude_control.options.prompts import SystemPrompt, read_system_prompt
from claude_control.options.servers import external, in_process

PRESET = {"type": "preset", "preset": "claude_code"}


@dataclasses.dataclass
class Official:
    """An agent definition with the official SDK's field names."""

    description: str
    prompt: str
    disallowedTools: list[str] | None = None
    maxTurns: int | None = None


@pytest.mark.parametrize(
    ("value", "parts"),
    [
        (None, SystemPrompt(text="")),
        ("", SystemPrompt(text="")),
        ("be brief", SystemPrompt(text="be brief")),
        (PRESET, SystemPrompt()),
        (PRESET | {"append": "be brief"}, SystemPrompt(append="be brief")),
        (PRESET | {"append": "", "snapshot": False}, SystemPrompt(snapshot=False)),
        (PRESET | {"exclude_dynamic_sections": True}, SystemPrompt(exclude_dynamic_sections=True)),
        ({"type": "custom", "prompt": "x", "snapshot": True}, SystemPrompt(text="x", snapshot=True)),
        ({"type": "file", "path": "p.txt"}, SystemPrompt(file="p.txt")),
    ],
)
def test_system_prompt_has_five_forms(value: Any, parts: SystemPrompt) -> None:
    """None is the empty prompt as in the official SDK; every form comes to the parts that the program is told."""
    assert read_system_prompt(Options(system_prompt=value).system_prompt) == parts


@pytest.mark.parametrize(
    "value",
    [
        5,
        ["x"],
        {},
        {"type": "other"},
        {"type": "preset"},
        {"type": "preset", "preset": "other"},
        PRESET | {"append": 5},
        PRESET | {"apend": "x"},
        PRESET | {"snapshot": 1},
        {"type": "custom"},
        {"type": "file", "path": ""},
        {"type": "file", "path": Path("p")},
    ],
)
def test_wrong_system_prompt_is_refused(value: Any) -> None:
    """A form that the program would not read is refused."""
    with pytest.raises(OptionsError) as caught:
        Options(system_prompt=value)
    assert caught.value.field == "system_prompt"


def test_agents_of_every_kind_come_to_one_form() -> None:
    """Our record, the official one and a dict become the same wire form, without what was not said."""
    ours = AgentDefinition("d", "p", disallowed_tools=["Bash"], max_turns=3)
    official = Official("d", "p", ["Bash"], 3)
    wire = {"description": "d", "prompt": "p", "disallowedTools": ["Bash"], "maxTurns": 3}
    agents = Options(agents={"a": ours, "b": official, "c": wire, "d": {**wire, "model": None}}).agents
    assert list(agents_to_wire(agents).values()) == [wire] * 4
    assert agents_to_wire(None) == {}


@pytest.mark.parametrize(
    "agents",
    [
        [AgentDefinition("d", "p")],
        {"": AgentDefinition("d", "p")},
        {"a": "d"},
        {"a": AgentDefinition},
        {"a": AgentDefinition("", "p")},
        {"a": {"description": "d"}},
        {"a": {"description": "d", "prompt": "p", "tools": "Read"}},
        {"a": {"description": "d", "prompt": "p", "skills": [1]}},
        {"a": {"description": "d", "prompt": "p", "model": ""}},
        {"a": {"description": "d", "prompt": "p", "maxTurns": 0}},
        {"a": {"description": "d", "prompt": "p", "mcpServers": "m"}},
    ],
)
def test_wrong_agent_is_refused(agents: Any) -> None:
    """A definition for which the program would drop all agents is refused."""
    with pytest.raises(OptionsError, match="agents"):
        Options(agents=agents)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("thinking", "adaptive"),
        ("thinking", {"type": "enabled"}),
        ("thinking", {"type": "enabled", "budget_tokens": 0}),
        ("thinking", {"type": "disabled", "display": "omitted"}),
        ("thinking", {"type": "adaptive", "display": "loud"}),
        ("task_budget", {"total": 0}),
        ("task_budget", 5),
        ("output_format", {"type": "json_schema"}),
        ("output_format", {"type": "text", "schema": {}}),
        ("output_format", {"type": "json_schema", "schema": {}, "name": "x"}),
        ("betas", "x"),
        ("betas", ["a,b"]),
        ("betas", ["-x"]),
        ("setting_sources", "user"),
        ("setting_sources", ["global"]),
        ("plugins", [{"type": "git", "path": "x"}]),
        ("plugins", ["x"]),
        ("plugins", "x"),
        ("sandbox", "on"),
        ("sandbox", {"a": object()}),
        ("cli_path", []),
        ("cli_path", 5),
        ("cli_path", ["npx", 5]),
        ("cli_path", ["npx", "a\0b"]),
        ("add_dirs", "/tmp"),
        ("add_dirs", [5]),
        ("settings", 5),
        ("mcp_servers", 5),
        ("mcp_servers", {"-x": {"command": "c"}}),
        ("mcp_servers", {"m": {}}),
        ("mcp_servers", {"m": {"type": "http"}}),
        ("mcp_servers", {"m": {"type": "htpp", "url": "u"}}),
        ("mcp_servers", {"m": {"type": 5, "url": "u"}}),
        ("mcp_servers", {"m": {"command": "c", "args": [object()]}}),
        ("mcp_servers", {"m": "c"}),
    ],
)
def test_wrong_content_is_refused(name: str, value: Any) -> None:
    """A content that the program would refuse or ignore is refused, and the error names the option."""
    with pytest.raises(OptionsError, match=name):
        merge_options(**{name: value})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("thinking", {"type": "enabled", "budget_tokens": 1000, "display": "omitted"}),
        ("output_format", {"type": "json_schema", "schema": {"type": "object"}}),
        ("mcp_servers", {"m": {"type": "ws", "url": "u"}, "n": {"command": "c"}}),
        ("mcp_servers", Path("mcp.json")),
        ("mcp_servers", '{"mcpServers": {}}'),
        ("settings", ' {"model": "x"} '),
        ("settings", Path("s.json")),
        ("cli_path", "claude"),
        ("env", {"A": "", "B": None}),
        ("extra_args", {"debug-file": "--x", "bare": None}),
        ("client_app", ""),
    ],
)
def test_content_is_taken(name: str, value: Any) -> None:
    """Contents in their usual forms are taken as they are."""
    assert getattr(merge_options(**{name: value}), name) == value


FOREIGN = type("Server", (), {"name": "x"})()


@pytest.mark.parametrize(
    ("server", "told"),
    [
        ({"type": "sdk", "name": "x"}, "needs 'instance'"),
        ({"type": "sdk", "name": "x", "instance": None}, "needs 'instance'"),
        ({"type": "sdk", "name": "x", "instance": FOREIGN}, "make a ToolServer of its functions"),
        (FOREIGN, "make a ToolServer of its functions"),
        (object(), "a ToolServer, or a mapping"),
    ],
)
def test_server_in_this_process_must_be_one(server: Any, told: str) -> None:
    """What stands for a server in this process and is none says what would be one."""
    with pytest.raises(OptionsError, match=told) as caught:
        Options(mcp_servers={"m": server})
    assert caught.value.field == "mcp_servers"


def test_server_in_this_process_is_found_in_both_forms() -> None:
    """A tool server is taken as it is or as the official SDK wraps it, apart from the servers of other processes."""
    server = ToolServer("lab")
    elsewhere = {"type": "http", "url": "u"}
    wrapped = {"type": "sdk", "name": "b", "instance": server}
    options = Options(mcp_servers={"a": server, "b": wrapped, "c": elsewhere})
    assert in_process(options.mcp_servers) == {"a": server, "b": server}
    assert external(options.mcp_servers) == {"c": elsewhere}
    assert in_process(Path("mcp.json")) == {}
    assert options.portable() == ("mcp_servers",)
    assert list(in_process(pickle.loads(pickle.dumps(options)).mcp_servers)) == ["a", "b"]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("env", {"A": 1, "B": "canary"}),
        ("env", {"A=B": "canary"}),
        ("env", {"": "canary"}),
        ("env", {"A": "canary\0"}),
        ("env", {"A": "canary\ud800"}),
        ("env", [("A", "canary")]),
        ("settings", '{"token": canary}'),
        ("mcp_servers", '{"token": canary}'),
        ("mcp_servers", {"m": {"url": "canary", "command": 5}}),
        ("mcp_servers", ["canary"]),
        ("extra_args", {"debug": b"canary"}),
        ("extra_args", ["canary"]),
    ],
)
def test_error_repeats_nothing_of_a_secret_option(name: str, value: Any) -> None:
    """Errors about environments, settings, servers and flags name the place, never the value."""
    with pytest.raises(OptionsError) as caught:
        merge_options(**{name: value})
    assert name in str(caught.value)
    assert "canary" not in str(caught.value)
    assert caught.value.__cause__ is None


@pytest.mark.parametrize(
    ("flag", "remedy"),
    [
        ("model", "use the option model"),
        ("dangerously-skip-permissions", "use the option permission_mode and allow_bypass"),
        ("allowed-tools", "use the option allowed_tools"),
        ("output-format", "the protocol needs it"),
        ("--debug-file", "without dashes"),
        ("debug file", "without dashes"),
        ("allowedTools", "without dashes"),
        ("x=y", "without dashes"),
        ("", "without dashes"),
    ],
)
def test_flag_of_ours_is_refused(flag: str, remedy: str) -> None:
    """extra_args sets no flag that an option or the protocol sets, under no spelling, and says which option does."""
    with pytest.raises(OptionsError, match="extra_args") as caught:
        Options(extra_args={flag: None})
    assert remedy in str(caught.value)
