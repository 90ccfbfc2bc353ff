"""What the options say reaches the real programs: flags are taken, and prompts, agents, schemas and settings take effect."""

import json
import os
import uuid
from pathlib import Path
from typing import Any

import pytest

from claude_control import Allow, HookMatcher, NotSupportedError
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
    "plain": {},
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


@pytest.fixture
def asked(model_server: ModelServer, open_session: Opener) -> Any:
    """Run one short turn under some options and return the request for it that reached the model."""

    def ask(*parts: Any, **options: Any) -> ModelRequest:
        session = open_session(**options)
        prompt = script(*(parts or (Text("done"),)), label=uuid.uuid4().hex)
        session.ask(prompt).result()
        return model_server.wait_for_request(lambda request: request.answers(prompt) and bool(request.messages))

    return ask


@pytest.mark.parametrize("options", TAKEN.values(), ids=TAKEN.keys())
def test_flags_are_taken(open_session: Opener, options: dict[str, Any]) -> None:
    """Every program starts and shakes hands with every option that all of them know."""
    assert open_session(**options).state == "idle"


@pytest.mark.parametrize("options", TAKEN_BY_NEWEST.values(), ids=TAKEN_BY_NEWEST.keys())
def test_new_flags_are_taken_or_refused_by_us(open_session: Opener, program: Program, options: dict[str, Any]) -> None:
    """The newest program takes the options that only it knows; for an older one they are refused before it is started."""
    if program.version == NEWEST:
        assert open_session(**options).state == "idle"
    else:
        with pytest.raises(NotSupportedError, match=NEWEST):
            open_session(**options)
