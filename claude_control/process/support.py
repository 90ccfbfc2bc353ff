"""Which version of the program takes which option.

It is decided before the program is started: an unknown flag ends it, an unknown field is ignored without a word.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from claude_control.errors import CLIVersionError, NotSupportedError
from claude_control.options import Options
from claude_control.options.agents import agents_to_wire
from claude_control.options.callbacks import dialog_kinds
from claude_control.options.prompts import read_system_prompt
from claude_control.wire.support import CURRENT, parse_version

__all__ = ["check_supported", "flags_needing_version"]

_SNAPSHOT = "2.1.257"  # as the official SDK documents it; every other version here was measured
_AGENT_SERVERS = "2.1.7"

_NEW_FLAGS = frozenset(
    """
    autocompact await-initialize bare debug-file exclude-dynamic-system-prompt-sections name permission-prompts
    prompt-suggestions restricted safe-mode
    """.split()
)
"""Flags for `extra_args` that 2.0.75 and 2.1.7 refuse."""

_NEW_MODES = ("auto", "manual")
_OLD_AGENT_MODELS = ("sonnet", "opus", "haiku", "inherit")
_OLD_AGENT_KEYS = frozenset(("description", "prompt", "tools", "disallowedTools", "model", "permissionMode"))


def flags_needing_version(options: Options) -> tuple[str, ...]:
    """Return what of the options some measured program does not know; if anything, the version must be found out."""
    return tuple(what for what, _ in _demands(options))


def check_supported(options: Options, version: str | None) -> None:
    """Raise `NotSupportedError` for the first option that a program of that version does not know.

    A version between two measured ones counts as the older. `CLIVersionError` if the version is not known but matters.
    """
    numbers = parse_version(version) if version else None
    for what, needs in _demands(options):
        if numbers is None:
            text = (
                f"{what} needs Claude Code {needs}, and the program does not tell its version; run it with --version to"
                " see why, or leave the option out"
            )
            raise CLIVersionError(text, phase="start")
        if numbers < (parse_version(needs) or ()):
            text = f"{what} needs Claude Code {needs}, and {version} was found; update it, or leave the option out"
            raise NotSupportedError(text, what=what, needs=needs, program_version=version)


def _demands(options: Options) -> Iterator[tuple[str, str]]:
    """Yield (flag or option, the oldest program that knows it) for what not every measured program knows."""
    thinking = options.thinking or {}
    prompt = read_system_prompt(options.system_prompt)
    demands: tuple[tuple[bool, str, str], ...] = (
        (options.include_hook_events, "--include-hook-events", CURRENT),
        (options.effort is not None, "--effort", CURRENT),
        (options.task_budget is not None, "--task-budget", CURRENT),
        (options.resume_drops_turn is not None, "--resume-drops-turn", CURRENT),
        (thinking.get("type") == "adaptive", "--thinking", CURRENT),
        ("display" in thinking, "--thinking-display", CURRENT),
        (options.permission_mode in _NEW_MODES, f"--permission-mode={options.permission_mode}", CURRENT),
        (options.forward_subagent_text, "forward_subagent_text", CURRENT),
        (bool(dialog_kinds(options)), "supported_dialog_kinds", CURRENT),
        (options.skills not in (None, "all"), "a list of skills", CURRENT),
        (prompt.exclude_dynamic_sections is not None, "exclude_dynamic_sections in system_prompt", CURRENT),
        (prompt.snapshot is not None, "snapshot in system_prompt", _SNAPSHOT),
    )
    yield from ((what, needs) for wanted, what, needs in demands if wanted)
    yield from ((f"--{name}", CURRENT) for name in options.extra_args if name in _NEW_FLAGS)
    for name, agent in agents_to_wire(options.agents).items():
        yield from _agent_demands(f"agents[{name!r}]", agent)


def _agent_demands(where: str, agent: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield what of a subagent older programs ignore; a model's full name even makes them drop all agents."""
    for key in agent:
        if key not in _OLD_AGENT_KEYS:
            yield f"{key} in {where}", _AGENT_SERVERS if key == "mcpServers" else CURRENT
    if agent.get("model", "inherit") not in _OLD_AGENT_MODELS:
        yield f"a model's full name in {where}", CURRENT
    if agent.get("permissionMode") in _NEW_MODES:
        yield f"permissionMode {agent['permissionMode']!r} in {where}", CURRENT
