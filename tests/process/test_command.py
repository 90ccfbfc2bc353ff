"""The command line and the handshake: everything that is chosen is said, nothing secret or large is seen."""

import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest

from claude_control import Allow, HookMatcher, OptionsError
from claude_control.options import AgentDefinition, Options
from claude_control.process.command import build_command, initialize_fields, redact_command
from claude_control.process.discovery import Program
from claude_control.process.spill import SpillFiles

PROGRAM = Program(("/bin/claude",), "test")
ID = "9b2b4a4e-6a53-4c1d-9a0b-5a0f4c1d2e3f"
PRESET = {"type": "preset", "preset": "claude_code"}
NO_QUESTIONS = "--disallowedTools=AskUserQuestion"  # of every session that has nobody to answer them
BASE = ["--output-format=stream-json", "--verbose", "--input-format=stream-json"]


def allow(*_arguments: Any) -> Allow:
    """Let everything run."""
    return Allow()


def elsewhere(*_arguments: Any) -> Any:
    """Stand in for a function that starts programs in a container."""


@pytest.fixture
def files() -> Iterator[SpillFiles]:
    """The files of one session, removed at the end."""
    made = SpillFiles()
    yield made
    made.close()


def flags(options: Options, files: SpillFiles, **more: Any) -> list[str]:
    """Return what stands behind the base flags."""
    argv = build_command(options, PROGRAM, files, **{"session_id": None, "old": False, **more})
    assert argv[:4] == ["/bin/claude", *BASE]
    return [flag for flag in argv[4:] if flag != NO_QUESTIONS]


def content(flag: str) -> tuple[Path, Any]:
    """Return the file that a flag names, and what is in it."""
    path = Path(flag.partition("=")[2])
    return path, json.loads(path.read_text())


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, ["--system-prompt="]),
        ({"system_prompt": ""}, ["--system-prompt="]),
        ({"system_prompt": "be brief"}, []),
        ({"system_prompt": PRESET | {"append": "x"}}, []),
        ({"system_prompt": {"type": "file", "path": "-p.txt"}}, ["--system-prompt-file=-p.txt"]),
        ({"resume": "a title"}, ["--resume=a title"]),
        ({"continue_conversation": True}, ["--continue"]),
        ({"resume": ID, "fork_session": True}, [f"--resume={ID}", "--fork-session"]),
        (
            {"resume": ID, "resume_session_at": ID, "resume_drops_turn": ID},
            [f"--resume={ID}", f"--resume-session-at={ID}", f"--resume-drops-turn={ID}"],
        ),
        ({"model": "sonnet", "fallback_model": "haiku"}, ["--model=sonnet", "--fallback-model=haiku"]),
        ({"betas": ["a", "b"]}, ["--betas=a", "--betas=b"]),
        ({"thinking": {"type": "adaptive"}}, ["--thinking=adaptive"]),
        ({"thinking": {"type": "disabled"}}, ["--max-thinking-tokens=0"]),
        (
            {"thinking": {"type": "enabled", "budget_tokens": 9, "display": "omitted"}, "max_thinking_tokens": 5},
            ["--max-thinking-tokens=9", "--thinking-display=omitted"],
        ),
        ({"max_thinking_tokens": 0}, ["--max-thinking-tokens=0"]),
        ({"effort": "low"}, ["--effort=low"]),
        ({"max_turns": 3, "max_budget_usd": 1.5}, ["--max-turns=3", "--max-budget-usd=1.5"]),
        ({"task_budget": {"total": 7}}, ["--task-budget=7"]),
        ({"tools": []}, ["--tools="]),
        ({"tools": ["Read", "Bash"]}, ["--tools=Read,Bash"]),
        ({"tools": PRESET}, ["--tools=default"]),
        ({"allowed_tools": ["Read", "Bash(git log:*)"]}, ["--allowedTools=Read,Bash(git log:*)"]),
        ({"disallowed_tools": ["WebFetch"]}, ["--disallowedTools=WebFetch,AskUserQuestion"]),
        (
            {"disallowed_tools": ["WebFetch"], "on_question": allow},
            ["--disallowedTools=WebFetch", "--permission-prompt-tool=stdio"],
        ),
        ({"can_use_tool": allow}, ["--permission-prompt-tool=stdio"]),
        ({"on_plan": allow}, ["--permission-prompt-tool=stdio"]),
        ({"permission_prompt_tool_name": "mcp__a__b"}, ["--permission-prompt-tool=mcp__a__b"]),
        ({"permission_mode": "plan"}, ["--permission-mode=plan"]),
        ({"allow_bypass": True}, ["--allow-dangerously-skip-permissions"]),
        ({"skills": ["pdf"]}, ["--allowedTools=Skill(pdf)", "--setting-sources=user,project"]),
        ({"setting_sources": []}, ["--setting-sources="]),
        ({"setting_sources": ["user", "local"]}, ["--setting-sources=user,local"]),
        ({"strict_mcp_config": True}, ["--strict-mcp-config"]),
        ({"add_dirs": ["/a b", Path("-c")]}, ["--add-dir=/a b", "--add-dir=-c"]),
        (
            {"plugins": [{"type": "local", "path": "p"}, {"type": "local", "path": "q"}]},
            ["--plugin-dir=p", "--plugin-dir=q"],
        ),
        ({"include_partial_messages": True}, ["--include-partial-messages"]),
        ({"include_hook_events": True}, ["--include-hook-events"]),
        ({"extra_args": {"debug-file": "--x", "bare": None}}, ["--debug-file=--x", "--bare"]),
    ],
    ids=lambda value: ",".join(value) if isinstance(value, dict) else "",
)
def test_option_becomes_its_flag(fields: dict[str, Any], expected: list[str], files: SpillFiles) -> None:
    """Each option that is a flag is exactly that flag, its value bound with "="."""
    fields = {"system_prompt": PRESET, **fields} if fields else fields
    assert flags(Options(**fields), files) == expected


@pytest.mark.parametrize(
    ("fields", "taken_out"), [({}, True), ({"on_plan": allow}, True), ({"on_question": allow}, False)]
)
def test_questions_are_taken_out(fields: dict[str, Any], taken_out: bool, files: SpillFiles) -> None:
    """The model has no tool for questions where nobody answers them."""
    argv = build_command(Options(**fields), PROGRAM, files, session_id=None)
    assert (NO_QUESTIONS in argv) == taken_out


def test_session_id_is_the_one_chosen(files: SpillFiles) -> None:
    """The id that the session chose is on the command line, or none where a conversation goes on under its own."""
    options = Options(system_prompt=PRESET, resume="x")
    assert flags(options, files, session_id=ID) == [f"--session-id={ID}", "--resume=x"]
    assert flags(options, files, session_id=None) == ["--resume=x"]


def test_echoes_are_asked_for_unless_known_to_be_needless(files: SpillFiles) -> None:
    """Old programs and unknown ones echo prompts, for turns are told apart by that; asking twice is avoided."""
    options = Options(system_prompt=PRESET)
    assert flags(options, files, old=True) == flags(options, files, old=None) == ["--replay-user-messages"]
    assert flags(options, files, old=False) == []
    asked = attrs.evolve(options, extra_args={"replay-user-messages": None})
    assert flags(asked, files, old=True) == flags(asked, files, old=False) == ["--replay-user-messages"]


SECRETS: dict[str, dict[str, Any]] = {
    "env": {"env": {"K": "canary"}},
    "header": {"mcp_servers": {"m": {"type": "http", "url": "u", "headers": {"A": "canary"}}}},
    "server environment": {"mcp_servers": {"m": {"command": "c", "env": {"A": "canary"}}}},
    "server argument": {"mcp_servers": {"m": {"command": "c", "args": ["canary"]}}},
    "servers as text": {"mcp_servers": '{"mcpServers": {"m": {"command": "canary"}}}'},
    "settings as text": {"settings": '{"env": {"A": "canary"}}'},
    "sandbox": {"sandbox": {"excludedCommands": ["canary"]}},
    "prompt": {"system_prompt": "canary"},
    "added prompt": {"system_prompt": PRESET | {"append": "canary"}},
    "agent": {"agents": {"a": AgentDefinition("canary", "canary")}},
    "schema": {"output_format": {"type": "json_schema", "schema": {"title": "canary"}}},
}


@pytest.mark.parametrize("fields", SECRETS.values(), ids=SECRETS.keys())
def test_nothing_secret_is_on_the_command_line(fields: dict[str, Any], files: SpillFiles) -> None:
    """Prompts, agents, schemas, settings and servers are nowhere on the command line, which everybody can see."""
    assert "canary" not in " ".join(flags(Options(**fields), files))


def test_large_values_do_not_reach_the_system_limit(files: SpillFiles) -> None:
    """Texts of a megabyte leave a command line that the system takes."""
    huge = "x" * 1_000_000
    options = Options(
        system_prompt=PRESET | {"append": huge},
        agents={"a": AgentDefinition("d", huge)},
        output_format={"type": "json_schema", "schema": {"title": huge}},
        settings=json.dumps({"x": huge}),
        mcp_servers={"m": {"command": "c", "args": [huge]}},
    )
    assert sum(map(len, flags(options, files))) < 1000


def test_value_that_no_command_line_takes_is_refused(files: SpillFiles) -> None:
    """A flag that can only stand on the command line and is too long for it is an error that names it."""
    rules = [f"Bash(command number {number}:*)" for number in range(10_000)]
    with pytest.raises(OptionsError, match="--allowedTools is too long"):
        flags(Options(allowed_tools=rules), files)


def test_servers_go_into_a_private_file(files: SpillFiles) -> None:
    """MCP servers reach the program through a file that only this user can read."""
    servers = {"m": {"command": "c", "env": {"A": "canary"}}}
    (flag,) = flags(Options(system_prompt=PRESET, mcp_servers=servers), files)
    path, written = content(flag)
    assert flag.startswith("--mcp-config=")
    assert written == {"mcpServers": servers}
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_no_servers_are_no_flag(files: SpillFiles) -> None:
    """An empty mapping of servers says nothing to the program."""
    assert flags(Options(system_prompt=PRESET, mcp_servers={}), files) == []


def test_sandbox_is_merged_into_the_settings(files: SpillFiles, tmp_path: Path) -> None:
    """Settings, given as text or as a file below `cwd`, are kept, and `sandbox` becomes a part of them."""
    (tmp_path / "s.json").write_text('\ufeff{"model": "x", "sandbox": {"enabled": false}}', encoding="utf-8")
    for settings in ("s.json", '{"model": "x"}'):
        options = Options(system_prompt=PRESET, settings=settings, sandbox={"enabled": True}, cwd=tmp_path)
        (flag,) = flags(options, SpillFiles() if files is None else files)
        assert content(flag)[1] == {"model": "x", "sandbox": {"enabled": True}}
        files.close()


@pytest.mark.parametrize("text", ["[]", "no", '{"a": canary}'])
def test_settings_that_cannot_be_merged_are_refused(files: SpillFiles, tmp_path: Path, text: str) -> None:
    """A settings file that is no JSON object is an error, not a session without its rules; its text is not repeated."""
    (tmp_path / "s.json").write_text(text)
    with pytest.raises(OptionsError, match="settings are no JSON object") as caught:
        flags(Options(settings="s.json", sandbox={}, cwd=tmp_path), files)
    assert "canary" not in str(caught.value)


@pytest.mark.parametrize(("name", "flag"), [("settings", "settings"), ("mcp_servers", "mcp-config")])
def test_named_file_is_passed_on_if_it_is_there(name: str, flag: str, files: SpillFiles, tmp_path: Path) -> None:
    """A path is given to the program as it is; a missing file is an error here, for 2.1.7 would end without a word."""
    fields: dict[str, Any] = {"system_prompt": PRESET, "cwd": tmp_path, name: "a b.json"}
    with pytest.raises(OptionsError, match="there is no such file") as caught:
        flags(Options(**fields), files)
    assert caught.value.field == name
    (tmp_path / "a b.json").write_text("{}")
    assert flags(Options(**fields), files) == [f"--{flag}=a b.json"]
    assert flags(Options(**{**fields, "cwd": "/nowhere", "spawn": elsewhere}), files) == [f"--{flag}=a b.json"]


def test_missing_settings_file_for_a_merge_is_refused(files: SpillFiles, tmp_path: Path) -> None:
    """A settings file that is to be merged and cannot be read is an error."""
    with pytest.raises(OptionsError, match="settings cannot be read"):
        flags(Options(settings="gone.json", sandbox={}, cwd=tmp_path), files)


@pytest.mark.parametrize(
    ("fields", "inline"),
    [
        ({"settings": '{"permissions": {"deny": ["WebFetch"]}}'}, True),
        ({"sandbox": {"enabled": True}}, True),
        ({"mcp_servers": {"m": {"type": "http", "url": "http://host/mcp"}}}, True),
        ({"mcp_servers": {"m": {"command": "c", "args": ["--verbose"]}}}, True),
        ({"settings": '{"env": {}}'}, False),
        ({"settings": '{"x": "sk-ant-api03-abcdefgh"}'}, False),
        ({"settings": json.dumps({"x": "y" * 5000})}, False),
        ({"mcp_servers": {"m": {"type": "http", "url": "http://host/mcp?key=1"}}}, False),
        ({"mcp_servers": {"m": {"type": "http", "url": "http://me:pw@host/mcp"}}}, False),
        ({"mcp_servers": {"m": {"command": "c", "args": ["--token", "x"]}}}, False),
        ({"mcp_servers": {"m": {"type": "http", "url": "u", "headers": {}}}}, False),
    ],
)
def test_program_elsewhere_gets_harmless_json_directly(fields: dict[str, Any], inline: bool, files: SpillFiles) -> None:
    """A custom spawn may not share our files: there, and only there, short JSON without secrets is an argument."""
    (there,) = flags(Options(system_prompt=PRESET, spawn=elsewhere, **fields), files)
    assert there.partition("=")[2].startswith("{") == inline
    files.close()
    (here,) = flags(Options(system_prompt=PRESET, **fields), files)
    assert os.path.isabs(here.partition("=")[2])


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, {}),
        ({"system_prompt": "be brief"}, {"systemPrompt": "be brief"}),
        (
            {"system_prompt": {"type": "custom", "prompt": "x", "snapshot": False}},
            {"systemPrompt": "x", "systemPromptSnapshot": False},
        ),
        ({"system_prompt": PRESET | {"append": "x"}}, {"appendSystemPrompt": "x"}),
        ({"system_prompt": PRESET | {"exclude_dynamic_sections": True}}, {"excludeDynamicSections": True}),
        ({"agents": {}}, {}),
        ({"agents": {"a": AgentDefinition("d", "p")}}, {"agents": {"a": {"description": "d", "prompt": "p"}}}),
        ({"output_format": {"type": "json_schema", "schema": {"type": "object"}}}, {"jsonSchema": {"type": "object"}}),
        ({"skills": "all"}, {}),
        ({"skills": []}, {"skills": []}),
        ({"skills": ["pdf"]}, {"skills": ["pdf"]}),
        ({"forward_subagent_text": True}, {"forwardSubagentText": True}),
    ],
)
def test_handshake_carries_what_is_not_on_the_command_line(fields: dict[str, Any], expected: dict[str, Any]) -> None:
    """What the handshake can carry is in its fields, what was not chosen is absent, and all of it is JSON."""
    made = initialize_fields(Options(hooks={"Stop": [HookMatcher(hooks=[allow])]}, **fields))
    assert made == expected
    assert json.loads(json.dumps(made)) == made


def test_command_for_people_hides_values_that_may_be_secret() -> None:
    """An error shows flags, models and paths, and nothing of inline JSON, unknown flags, keys or named secrets."""
    argv = [
        *("docker", "run", "-e", "API_KEY=canary", "--token", "canary", "-e", "HOME=/h", "image with blank"),
        *("--model=sonnet", "--debug-file=canary", "--mcp-config=/tmp/x/mcp.json", '--settings={"a":"canary"}'),
        *("--resume=sk-ant-api03-canary", "--system-prompt=", "--verbose", "--allowedTools=" + "x" * 1000),
    ]
    shown = redact_command(argv)
    assert "canary" not in shown
    assert shown.startswith("docker run -e ")
    for part in ("HOME=/h", "'image with blank'", "--model=sonnet", "--mcp-config=/tmp/x/mcp.json", "--system-prompt="):
        assert part in shown
    assert len(shown) < 800
