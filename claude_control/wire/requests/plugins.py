"""Requests that read plugins, skills and output styles anew from disk (2.1.332)."""

from typing import Any, ClassVar

import attrs

from claude_control.records import frozen
from claude_control.wire.requests.base import Request
from claude_control.wire.requests.checks import check_flag, reject
from claude_control.wire.requests.mcp import MCPServerStatus
from claude_control.wire.requests.replying import ReplyRecord

__all__ = [
    "PluginInfo",
    "ReloadOutputStyles",
    "ReloadOutputStylesReply",
    "ReloadPlugins",
    "ReloadPluginsReply",
    "ReloadSkills",
    "ReloadSkillsReply",
]


@frozen(repr=False)
class PluginInfo(ReplyRecord):
    """A plugin; `version` is its own word."""

    name: str = ""
    path: str = ""
    source: str | None = None
    version: str | None = None


@frozen(repr=False)
class ReloadPluginsReply(ReplyRecord):
    """What the session has now; `commands` and `agents` are dicts with a `name`.

    `held` is True when the reload was put off for the cache's sake, and `cache_impact` then says what it would change.
    """

    plugins: tuple[PluginInfo, ...] = ()
    commands: tuple[dict[str, Any], ...] = ()
    agents: tuple[dict[str, Any], ...] = ()
    mcp_servers: tuple[MCPServerStatus, ...] = ()
    error_count: int = 0
    held: bool | None = None
    cache_impact: dict[str, Any] | None = None


@frozen
class ReloadPlugins(Request[ReloadPluginsReply]):
    """Reads the plugins anew.

    `refuse_if_busy` makes it an error while anything runs, `hold_on_cache_impact` puts it off where it would change the
    list of tools. `add_plugins` are more of them: dicts such as `{"type": "local", "path": "/absolute"}`.
    """

    subtype: ClassVar[str] = "reload_plugins"

    hold_on_cache_impact: bool = attrs.field(default=False, validator=check_flag)
    refuse_if_busy: bool = attrs.field(default=False, validator=check_flag)
    add_plugins: list[dict[str, Any]] | None = attrs.field(default=None)

    @add_plugins.validator
    def _local(self, _attribute: object, value: object) -> None:
        if value is None:
            return
        plugins = value if isinstance(value, list) else [None]
        if not all(isinstance(plugin, dict) and str(plugin.get("path", "")).startswith("/") for plugin in plugins):
            reject("add_plugins", value, "a list of dicts such as {'type': 'local', 'path': '/absolute/path'}")


@frozen(repr=False)
class ReloadSkillsReply(ReplyRecord):
    """The skills, as dicts with name, description, argumentHint and, for the program's own, `builtin`."""

    skills: tuple[dict[str, Any], ...] = ()


@frozen
class ReloadSkills(Request[ReloadSkillsReply]):
    """Reads the skills anew."""

    subtype: ClassVar[str] = "reload_skills"


@frozen(repr=False)
class ReloadOutputStylesReply(ReplyRecord):
    """The names of the output styles."""

    available_output_styles: tuple[str, ...] = ()


@frozen
class ReloadOutputStyles(Request[ReloadOutputStylesReply]):
    """Reads the output styles anew."""

    subtype: ClassVar[str] = "reload_output_styles"
