"""The flags that `run` and `chat` share, and the options of a session that they stand for."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

__all__ = ["session_flags", "session_options"]

F = TypeVar("F", bound=Callable[..., Any])

# Written out, so that a completion need not load the library; a test compares it with the library's own.
MODES = ("default", "acceptEdits", "plan", "dontAsk", "bypassPermissions", "auto", "manual")
"""The permission modes."""

_FLAGS = (
    click.option("--model", metavar="NAME", help="The model: sonnet, opus, haiku, or a full name."),
    click.option(
        "--permission-mode",
        type=click.Choice(MODES),
        metavar="MODE",
        help=f"How tools are permitted: {', '.join(MODES)}.",
    ),
    click.option("--cwd", type=click.Path(exists=True, file_okay=False), help="The directory to work in."),
    click.option("--resume", metavar="ID", help="Go on with this conversation."),
    click.option("--continue", "continue_", is_flag=True, help="Go on with the latest conversation of the directory."),
    click.option("--allow", "allow", metavar="TOOL", multiple=True, help="A tool that runs unasked; may be repeated."),
    click.option(
        "--tools",
        metavar="MODULE:NAME",
        multiple=True,
        help="A server of tools to offer, by its module, looked for in this directory first; may be repeated.",
    ),
    click.option("--max-turns", type=click.IntRange(min=1), metavar="N", help="Most exchanges with the model."),
    click.option("--allow-bypass", is_flag=True, help="Let bypassPermissions be used: every tool runs unasked."),
)


def session_flags(function: F) -> F:
    """Add the shared flags to a command."""
    for flag in reversed(_FLAGS):
        function = flag(function)
    return function


def session_options(flags: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of `Options` for the flags; raises UsageError for what only makes sense with another flag."""
    if flags["permission_mode"] == "bypassPermissions" and not flags["allow_bypass"]:
        raise click.UsageError("--permission-mode bypassPermissions lets every tool run unasked; add --allow-bypass.")
    if flags["resume"] is not None and flags["continue_"]:
        raise click.UsageError("--resume names a conversation, --continue takes the latest; give one of the two.")
    return {
        "model": flags["model"],
        "permission_mode": flags["permission_mode"],
        "cwd": flags["cwd"],
        "resume": flags["resume"],
        "continue_conversation": flags["continue_"],
        "allowed_tools": flags["allow"],
        "mcp_servers": _load(flags["tools"]),
        "max_turns": flags["max_turns"],
        "allow_bypass": flags["allow_bypass"],
    }


def _load(names: tuple[str, ...]) -> dict[str, Any]:
    if not names:
        return {}
    from claude_control.cli.serving import load_servers  # here, so that a completion need not load the library

    return load_servers(names)
