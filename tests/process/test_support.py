"""Which program takes which option, decided before it is started."""

from typing import Any

import pytest

from claude_control import CLIVersionError, NotSupportedError
from claude_control.options import AgentDefinition, Options
from claude_control.process.support import check_supported, flags_needing_version

PRESET = {"type": "preset", "preset": "claude_code"}
ID = "9b2b4a4e-6a53-4c1d-9a0b-5a0f4c1d2e3f"

NEW: list[tuple[dict[str, Any], str]] = [
    ({"include_hook_events": True}, "--include-hook-events"),
    ({"effort": "low"}, "--effort"),
    ({"task_budget": {"total": 1}}, "--task-budget"),
    ({"resume": "x", "resume_session_at": ID, "resume_drops_turn": ID}, "--resume-drops-turn"),
    ({"thinking": {"type": "adaptive"}}, "--thinking"),
    ({"thinking": {"type": "enabled", "budget_tokens": 1, "display": "omitted"}}, "--thinking-display"),
    ({"permission_mode": "auto"}, "--permission-mode=auto"),
    ({"permission_mode": "manual"}, "--permission-mode=manual"),
    ({"forward_subagent_text": True}, "forward_subagent_text"),
    ({"skills": []}, "a list of skills"),
    ({"system_prompt": PRESET | {"exclude_dynamic_sections": False}}, "exclude_dynamic_sections in system_prompt"),
    ({"extra_args": {"await-initialize": None}}, "--await-initialize"),
    ({"extra_args": {"debug-file": "x"}}, "--debug-file"),
    ({"agents": {"a": AgentDefinition("d", "p", model="claude-haiku-5-5")}}, "a model's full name in agents['a']"),
    ({"agents": {"a": AgentDefinition("d", "p", effort="low")}}, "effort in agents['a']"),
    ({"agents": {"a": AgentDefinition("d", "p", permission_mode="auto")}}, "permissionMode 'auto' in agents['a']"),
]
OLD: list[dict[str, Any]] = [
    {},
    {"model": "x", "max_turns": 3, "skills": "all", "tools": [], "setting_sources": [], "client_app": "x"},
    {"thinking": {"type": "disabled"}, "permission_mode": "plan", "include_partial_messages": True},
    {"thinking": {"type": "enabled", "budget_tokens": 1}, "extra_args": {"agent": "x"}},
    {"system_prompt": PRESET | {"append": "x"}, "output_format": {"type": "json_schema", "schema": {}}},
    {
        "agents": {"a": AgentDefinition("d", "p", ["Read"], ["Bash"], "haiku", "plan")},
        "enable_file_checkpointing": True,
    },
]


@pytest.mark.parametrize(("fields", "what"), NEW, ids=[what for _, what in NEW])
def test_new_option_is_kept_from_old_programs(fields: dict[str, Any], what: str) -> None:
    """An option of 2.1.332 is named, refused for every older version, and let through from that version on."""
    options = Options(**fields)
    assert flags_needing_version(options) == (what,)
    for version in ("2.0.75", "2.1.7", "2.1.331 (Claude Code)"):
        with pytest.raises(NotSupportedError) as caught:
            check_supported(options, version)
        assert (caught.value.what, caught.value.needs) == (what, "2.1.332")
        assert caught.value.program_version == version
        assert what in str(caught.value) and version in str(caught.value)
    for version in ("2.1.332", "2.2.0", "3.0.0 (Claude Code)"):
        check_supported(options, version)


@pytest.mark.parametrize("fields", OLD)
def test_old_option_needs_no_version(fields: dict[str, Any]) -> None:
    """What all measured programs know does not cost a run of --version, and is never refused."""
    options = Options(**fields)
    assert flags_needing_version(options) == ()
    check_supported(options, None)
    check_supported(options, "2.0.75")


@pytest.mark.parametrize(
    ("fields", "needs", "older"),
    [
        ({"system_prompt": PRESET | {"snapshot": False}}, "2.1.257", "2.1.256"),
        ({"agents": {"a": AgentDefinition("d", "p", mcp_servers=["m"])}}, "2.1.7", "2.0.75"),
    ],
)
def test_option_may_come_from_a_version_between(fields: dict[str, Any], needs: str, older: str) -> None:
    """Where it is known since when, that version is the border."""
    options = Options(**fields)
    check_supported(options, needs)
    with pytest.raises(NotSupportedError, match=needs):
        check_supported(options, older)


@pytest.mark.parametrize("version", [None, "", "unknown"])
def test_unknown_version_is_an_error_only_where_it_matters(version: str | None) -> None:
    """A program that does not tell its version is refused the options that depend on it, and started without them."""
    check_supported(Options(), version)
    with pytest.raises(CLIVersionError, match=r"--effort needs Claude Code 2\.1\.332") as caught:
        check_supported(Options(effort="low"), version)
    assert caught.value.phase == "start"
