"""The options of the official SDK: all of them are here, under the same names and with the same defaults."""

from pathlib import Path
from typing import Any

import attrs
import pytest

from claude_control import OptionsError
from claude_control.options import AgentDefinition, Options, merge_options
from claude_control.options.checks import not_built
from claude_control.options.official import OfficialOptions

# The fields of ClaudeAgentOptions in claude-agent-sdk 0.2.189, in its order, and their defaults.
OFFICIAL: dict[str, Any] = {
    "tools": None,
    "allowed_tools": [],
    "system_prompt": None,
    "mcp_servers": {},
    "strict_mcp_config": False,
    "permission_mode": None,
    "continue_conversation": False,
    "resume": None,
    "session_id": None,
    "max_turns": None,
    "max_budget_usd": None,
    "disallowed_tools": [],
    "model": None,
    "fallback_model": None,
    "betas": [],
    "permission_prompt_tool_name": None,
    "cwd": None,
    "cli_path": None,
    "settings": None,
    "add_dirs": [],
    "env": {},
    "extra_args": {},
    "max_buffer_size": None,
    "stderr": None,
    "can_use_tool": None,
    "hooks": None,
    "user": None,
    "include_partial_messages": False,
    "include_hook_events": False,
    "forward_subagent_text": False,
    "verbatim_prompts": False,
    "fork_session": False,
    "resume_session_at": None,
    "resume_drops_turn": None,
    "agents": None,
    "setting_sources": None,
    "skills": None,
    "sandbox": None,
    "plugins": [],
    "max_thinking_tokens": None,
    "thinking": None,
    "effort": None,
    "output_format": None,
    "enable_file_checkpointing": False,
    "session_store": None,
    "session_store_flush": "batched",
    "load_timeout_ms": 60000,
    "task_budget": None,
    "client_app": None,
}
# It has the host's stderr as a default that it does not read any more; here it is nothing.
DEPRECATED = {"debug_stderr": None}

# The fields of its AgentDefinition, in camelCase as it has them.
AGENT = """
    description prompt tools disallowedTools model skills memory mcpServers initialPrompt maxTurns background effort
    permissionMode
""".split()


def test_official_names_are_options() -> None:
    """The options of the official SDK are exactly those that this library calls so."""
    assert set(OFFICIAL | DEPRECATED) == set(attrs.fields_dict(OfficialOptions))


@pytest.mark.parametrize("name", OFFICIAL | DEPRECATED)
def test_default_is_the_official_one(name: str) -> None:
    """An option that nobody set has the official value, and giving that value changes nothing."""
    value = getattr(Options(), name)
    official = (OFFICIAL | DEPRECATED)[name]
    assert (list(value) if isinstance(value, tuple) else value) == official
    assert merge_options(None, **{name: official}) == Options()


@pytest.mark.parametrize("name", [field.name for field in attrs.fields(Options) if field.validator is not_built])
def test_what_is_not_built_says_so(name: str) -> None:
    """An option that has no effect yet takes its default and raises for anything else; it is never ignored."""
    assert merge_options(None, **{name: getattr(Options(), name)}) == Options()
    with pytest.raises(OptionsError, match=f"^{name} is not implemented yet$") as caught:
        merge_options(None, **{name: object()})
    assert caught.value.field == name


def test_agents_of_the_official_sdk_are_taken_whole() -> None:
    """Every field of an official agent definition has its place in ours."""
    values: dict[str, Any] = dict.fromkeys(AGENT, "x") | {
        "tools": ["Read"],
        "disallowedTools": ["Bash"],
        "skills": ["pdf"],
        "mcpServers": ["m"],
        "maxTurns": 2,
        "background": True,
    }
    (agent,) = (Options(agents={"a": values}).agents or {}).values()
    assert isinstance(agent, AgentDefinition)
    assert len(attrs.fields(AgentDefinition)) == len(AGENT)
    assert None not in attrs.astuple(agent)


def test_official_types_are_taken() -> None:
    """Lists and paths, which the official fields are made of, are taken where tuples and texts are."""
    options = Options(
        allowed_tools=["Read"], add_dirs=[Path("a")], betas=["b"], setting_sources=["user"], tools=["Bash"]
    )
    assert (options.allowed_tools, options.add_dirs, options.betas) == (("Read",), (Path("a"),), ("b",))
