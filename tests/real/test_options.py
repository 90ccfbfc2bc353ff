"""What options say reaches the real programs: flags are taken; prompts, agents, schemas and settings take effect."""

import json
import tempfile
import uuid
from pathlib import Path
from typing import Any, Protocol

import pytest

from claude_control import Allow, HookMatcher, NotSupportedError, ResultMessage
from claude_control.options import AgentDefinition
from claude_control.testing import ModelRequest, ModelServer
from claude_control.testing.model_prompt import script
from claude_control.testing.model_script import Text, ToolCall
from tests.real.conftest import Opener, Program

pytestmark = pytest.mark.real

PRESET = {"type": "preset", "preset": "claude_code"}
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
NEWEST = "2.1.332"


def allow(*_arguments: Any) -> Allow:
    """Let everything run."""
    return Allow()


def no_opinion(*_arguments: Any) -> dict[str, Any]:
    """Have no opinion."""
    return {}


# Flags that go together share a start of the program.
TAKEN: dict[str, dict[str, Any]] = {
    "tools": {
        "tools": ["Bash", "Read"],
        "allowed_tools": ["Read", "Bash(git log:*)"],
        "disallowed_tools": ["WebFetch"],
        "permission_mode": "plan",
        "can_use_tool": allow,
        "hooks": {"PreToolUse": [HookMatcher(hooks=[no_opinion])]},
    },
    "no tools": {"tools": [], "setting_sources": [], "system_prompt": PRESET, "permission_mode": "dontAsk"},
    "all tools": {"tools": PRESET, "setting_sources": ["user", "local"], "permission_mode": "acceptEdits"},
    "model": {
        "model": "sonnet",
        "fallback_model": "haiku",
        "betas": ["context-1m-2025-08-07"],
        "max_thinking_tokens": 2000,
        "max_turns": 3,
        "max_budget_usd": 1.5,
        "include_partial_messages": True,
    },
    "surroundings": {
        "add_dirs": ["/", Path("/usr")],
        "strict_mcp_config": True,
        "mcp_servers": {"m": {"type": "http", "url": "http://127.0.0.1:1/mcp", "headers": {"A": "b"}}},
        "settings": '{"permissions": {"deny": ["WebFetch"]}}',
        "sandbox": {"enabled": False},
        "skills": "all",
        "client_app": "tests/1.0",
        "enable_file_checkpointing": True,
        "extra_args": {"no-session-persistence": None, "debug-to-stderr": None},
    },
    "bypass": {"allow_bypass": True, "permission_mode": "bypassPermissions", "env": {"IS_SANDBOX": "1"}},
    "bypass later": {"allow_bypass": True, "permission_mode": "default", "env": {"IS_SANDBOX": "1"}},
    "continue": {"continue_conversation": True, "fork_session": True},
}
TAKEN_BY_NEWEST: dict[str, dict[str, Any]] = {
    "new flags": {
        "include_hook_events": True,
        "effort": "low",
        "task_budget": {"total": 50_000},
        "thinking": {"type": "adaptive", "display": "summarized"},
        "permission_mode": "manual",
        "forward_subagent_text": True,
        "skills": ["nothing"],
        "system_prompt": PRESET | {"exclude_dynamic_sections": True, "snapshot": False},
    },
    "auto": {"permission_mode": "auto", "extra_args": {"await-initialize": None, "bare": None}},
}


TOGETHER: dict[str, Any] = {
    "agents": {"canary": AgentDefinition("CANARY-AGENT", "be useful", tools=["Read"], model="haiku")},
    "tools": ["Read", "Bash", "WebFetch", "Task"],
    "disallowed_tools": ["WebFetch"],
    "model": "claude-sonnet-4-5",
    "thinking": {"type": "enabled", "budget_tokens": 2000},
}
"""Options of one session whose effects do not touch each other, a test for each."""


class Asker(Protocol):
    """Runs one scripted turn under some options; returns the request that reached the model, and the turn's result."""

    def __call__(self, *steps: Any, **options: Any) -> tuple[ModelRequest, ResultMessage]: ...


@pytest.fixture
def ask(model_server: ModelServer, open_session: Opener) -> Asker:
    """Ask the real program one thing."""

    def run(*steps: Any, **options: Any) -> tuple[ModelRequest, ResultMessage]:
        prompt = script(*(steps or (Text("done"),)))
        result = open_session(**options).ask(prompt).result()
        answered = [request for request in model_server.requests if request.answers(prompt)]
        # Older programs also ask a small model for a title, without any tools.
        return max(answered, key=lambda request: (len(request.tools), len(request.system))), result

    return run


@pytest.mark.parametrize("options", TAKEN.values(), ids=TAKEN.keys())
def test_flags_are_taken(open_session: Opener, options: dict[str, Any]) -> None:
    """Every program starts and shakes hands with every option that all of them know."""
    assert open_session(**options).state == "idle"


@pytest.mark.parametrize("options", TAKEN_BY_NEWEST.values(), ids=TAKEN_BY_NEWEST.keys())
def test_new_flags_are_taken_or_refused_by_us(open_session: Opener, program: Program, options: dict[str, Any]) -> None:
    """The newest program takes the options that only it knows; for an older one we refuse them before it is started."""
    if program.version == NEWEST:
        assert open_session(**options).state == "idle"
    else:
        with pytest.raises(NotSupportedError, match=NEWEST):
            open_session(**options)


@pytest.mark.parametrize(
    ("value", "own", "added", "default"),
    [
        (None, False, False, False),
        (PRESET, False, False, True),
        ("CANARY-OWN", True, False, False),
        ({"type": "custom", "prompt": "CANARY-OWN"}, True, False, False),
        (PRESET | {"append": "CANARY-ADDED"}, False, True, True),
    ],
    ids=["none", "preset", "own", "custom", "added"],
)
def test_system_prompt_reaches_the_model(ask: Asker, value: Any, own: bool, added: bool, default: bool) -> None:
    """The model gets the empty prompt, the program's own, a custom one or an addition, just as the option says."""
    request, _ = ask(system_prompt=value)
    system = request.system
    assert ("CANARY-OWN" in system, "CANARY-ADDED" in system, "IMPORTANT" in system) == (own, added, default)


def test_system_prompt_of_a_megabyte_reaches_the_model(ask: Asker) -> None:
    """A prompt that no command line could carry arrives whole."""
    huge = "CANARY " + "word " * 200_000 + "END"
    request, _ = ask(system_prompt=huge)
    assert huge in request.system


def test_system_prompt_file_reaches_the_model(ask: Asker, workspace: Path) -> None:
    """A prompt file is read by the program, below its working directory."""
    (workspace / "prompt.txt").write_text("CANARY-FILE")
    request, _ = ask(system_prompt={"type": "file", "path": "prompt.txt"})
    assert "CANARY-FILE" in request.system


@pytest.mark.shared
def test_agents_reach_the_model(ask: Asker) -> None:
    """A subagent given in the options is one that the model is told of."""
    request, _ = ask(**TOGETHER)
    assert "CANARY-AGENT" in json.dumps(dict(request.body))


def test_structured_output_has_the_shape(ask: Asker) -> None:
    """With an output format the result carries data of that shape."""
    call = ToolCall("StructuredOutput", n=5)
    request, result = ask(call, Text("done"), output_format={"type": "json_schema", "schema": SCHEMA})
    assert "StructuredOutput" in request.tools
    assert result.structured_output == {"n": 5}


@pytest.mark.shared
def test_tools_are_those_of_the_options(ask: Asker) -> None:
    """The model has the tools that were listed, and no forbidden one."""
    request, _ = ask(**TOGETHER)
    assert {"Read", "Bash"} <= set(request.tools)
    assert not {"WebFetch", "Write", "Edit"} & set(request.tools)


def test_settings_and_model_take_effect(ask: Asker) -> None:
    """Settings given as text act as a settings file would, and the model asked is the one named."""
    request, _ = ask(settings='{"permissions": {"deny": ["WebFetch"]}}', sandbox={"enabled": False}, model="haiku")
    assert "WebFetch" not in request.tools
    assert "haiku" in str(request.model)


def test_thinking_can_be_turned_off(ask: Asker) -> None:
    """Thinking that is disabled is disabled on every program."""
    request, _ = ask(model="claude-sonnet-4-5", thinking={"type": "disabled"})
    assert request.body.get("thinking") in (None, {"type": "disabled"})


@pytest.mark.shared
def test_thinking_has_its_budget(ask: Asker) -> None:
    """A budget of tokens for thinking reaches the model."""
    request, _ = ask(**TOGETHER)
    assert request.body["thinking"]["budget_tokens"] == 2000


def test_skills_are_those_of_the_options(ask: Asker, program: Program, home: Path, real_environment: Any) -> None:
    """The newest program shows the model the skills that were listed; older ones could not hide any, so we refuse."""
    folder = Path(real_environment.get("CLAUDE_CONFIG_DIR", home / ".claude"))
    for name in ("alpha", "beta"):
        (folder / "skills" / name).mkdir(parents=True)
        (folder / "skills" / name / "SKILL.md").write_text(f"---\nname: {name}\ndescription: CANARY-{name}\n---\nx\n")
    if program.version != NEWEST:
        with pytest.raises(NotSupportedError, match="a list of skills"):
            ask(skills=["alpha"])
        return
    request, _ = ask(skills=["alpha"])
    text = json.dumps(dict(request.body))
    assert ("CANARY-alpha" in text, "CANARY-beta" in text) == (True, False)


def test_resumed_conversation_goes_on(ask: Asker) -> None:
    """A conversation is begun under a chosen id, resumed under it, and forked under a new one."""
    first, forked = str(uuid.uuid4()), str(uuid.uuid4())
    _, begun = ask(session_id=first)
    assert begun.session_id == first
    request, resumed = ask(resume=first)
    assert (resumed.session_id, len(request.messages) > 2) == (first, True)
    _, other = ask(resume=first, fork_session=True, session_id=forked)
    assert other.session_id == forked


def test_outer_session_does_not_show(ask: Asker, monkeypatch: pytest.MonkeyPatch) -> None:
    """Inside of another Claude Code's shell the program behaves as it does anywhere else, and keeps its transcript."""
    for name in ("CLAUDECODE", "CLAUDE_CODE_CHILD_SESSION"):
        monkeypatch.setenv(name, "1")
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", str(uuid.uuid4()))
    _, begun = ask()
    request, _ = ask(resume=begun.session_id)
    assert len(request.messages) > 2


def test_nothing_is_left_in_the_temporary_directory(open_session: Opener) -> None:
    """The files that carried settings and servers are gone after close, and were private before."""
    before = set(Path(tempfile.gettempdir()).glob("claude-control-*-*-*-*"))  # of sessions that other tests share
    session = open_session(settings='{"env": {"A": "b"}}', mcp_servers={"m": {"command": "false"}})
    (folder,) = set(Path(tempfile.gettempdir()).glob("claude-control-*-*-*-*")) - before
    assert sorted(path.name for path in folder.iterdir()) == ["mcp.json", "settings.json"]
    session.close()
    assert not folder.exists()
