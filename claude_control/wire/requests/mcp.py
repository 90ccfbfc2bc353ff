"""Requests about the MCP servers of a session."""

from collections.abc import Mapping
from typing import Any, ClassVar

import attrs

from claude_control.errors import OptionsError
from claude_control.records import frozen
from claude_control.wire.requests.base import EmptyReply, Request
from claude_control.wire.requests.checks import check_flag, check_object, check_text, optional, reject, whole_number
from claude_control.wire.requests.replying import ReplyRecord

__all__ = [
    "MCPCall",
    "MCPCallReply",
    "MCPReadResource",
    "MCPReadResourceReply",
    "MCPReconnect",
    "MCPResource",
    "MCPServerStatus",
    "MCPSetServers",
    "MCPSetServersReply",
    "MCPStatus",
    "MCPStatusReply",
    "MCPToggle",
]


@frozen(repr=False)
class MCPServerStatus(ReplyRecord):
    """One MCP server of the session.

    `status` is connected, pending, failed, disabled or needs-auth. `error` comes from 2.1.7 on, what follows it from
    2.1.332. `source` says who brought the server: trust that, not its name. `config` may hold secrets.
    """

    name: str = ""
    status: str = ""
    error: str | None = None
    scope: str | None = None
    server_info: dict[str, Any] | None = None
    tools: tuple[dict[str, Any], ...] = ()
    transport: str | None = None
    source: str | None = None
    config: dict[str, Any] | None = attrs.field(default=None, repr=False)


@frozen(repr=False)
class MCPStatusReply(ReplyRecord):
    """Every MCP server of the session."""

    servers: tuple[MCPServerStatus, ...] = ()

    def __getitem__(self, name: str) -> MCPServerStatus:
        """Return the server called `name`; raises KeyError."""
        for server in self.servers:
            if server.name == name:
                return server
        raise KeyError(name)


@frozen
class MCPStatus(Request[MCPStatusReply]):
    """Asks how the session's MCP servers are."""

    subtype: ClassVar[str] = "mcp_status"


@frozen(repr=False)
class MCPSetServersReply(ReplyRecord):
    """What changed. A server that failed is in `added` too, and `errors` says why, by its name."""

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    errors: dict[str, str] = attrs.field(factory=dict)


@frozen
class MCPSetServers(Request[MCPSetServersReply]):
    """Replaces the servers that were set before by this request; those of the options and of settings files stay.

    `servers` maps names to configurations, as in `Options.mcp_servers`; a server on stdio needs no `args`. The answer
    comes when they are connected, or not.
    """

    subtype: ClassVar[str] = "mcp_set_servers"

    servers: Mapping[str, Mapping[str, Any]] = attrs.field(repr=False)

    @servers.validator
    def _configurations(self, _attribute: object, value: object) -> None:
        # Malformed servers end 2.0.75 and 2.1.7.
        if not isinstance(value, Mapping):
            raise OptionsError(
                "servers must map names to configurations, such as {'lab': {'command': 'lab'}}", field="servers"
            )
        for name, server in value.items():
            _check_server(name, server)

    def body(self) -> dict[str, Any]:
        """Return the wire form; 2.1.332 fails on a server on stdio without `args`."""
        return {"subtype": self.subtype, "servers": {name: _complete(server) for name, server in self.servers.items()}}


def _complete(server: Mapping[str, Any]) -> dict[str, Any]:
    needs_none = "url" in server or "args" in server or server.get("type") == "sdk"
    return dict(server) if needs_none else {**server, "args": []}


def _check_server(name: object, server: object) -> None:
    """Check one configuration; the error does not show what is in it, for it may hold secrets."""
    if not isinstance(name, str) or not name:
        reject("servers", name, "a dict whose keys are server names")
    if not isinstance(server, Mapping):
        needed = "a dict such as {'command': 'server'}"
        raise OptionsError(f"servers[{name!r}] must be {needed}, not {type(server).__name__}", field="servers")
    kind = server.get("type", "stdio")
    if kind == "sdk":
        if dict(server) != {"type": "sdk", "name": name}:
            text = f"servers[{name!r}] is in this process: give it to Session.set_mcp_servers(), which connects it too"
            raise OptionsError(text, field="servers")
        return
    needed = "command" if kind == "stdio" else "url"
    if not isinstance(kind, str) or not isinstance(server.get(needed), str) or not server[needed]:
        raise OptionsError(f"servers[{name!r}] needs {needed!r}: type {kind!r} is nothing without it", field="servers")


@frozen
class MCPReconnect(Request[EmptyReply]):
    """Connects a server anew, and waits for it (2.1.332); an unknown one is a `ControlRequestError`."""

    subtype: ClassVar[str] = "mcp_reconnect"

    server_name: str = attrs.field(validator=check_text)


@frozen
class MCPToggle(Request[EmptyReply]):
    """Switches a server off, with its tools, or on again (2.1.332); an unknown one is a `ControlRequestError`."""

    subtype: ClassVar[str] = "mcp_toggle"

    server_name: str = attrs.field(validator=check_text)
    enabled: bool = attrs.field(validator=check_flag)


@frozen(repr=False)
class MCPCallReply(ReplyRecord):
    """What a tool returned: `content` is a text or a list of content blocks.

    `is_error` can be True with `soft_error_result` only. `staging` says what became of staged files.
    """

    content: str | list | None = None  # type: ignore[type-arg]  # the reader tests the class alone
    structured_content: Any = None
    is_error: bool = False
    meta: dict[str, Any] | None = None
    staging: dict[str, Any] | None = None


@frozen
class MCPCall(Request[MCPCallReply]):
    """Calls a tool of a server that the program runs, without the model and, unless asked for, without permission.

    `tool` is its full name, "mcp__server__tool". A tool that fails is a `ControlRequestError`, or with
    `soft_error_result` a reply that says so. `check_permissions` lets the rules, hooks and the permission callback
    decide, as for a call of the model's. `result_not_for_model` gives the server's own blocks, uncut. `timeout_ms` is
    for the tool; give the call a longer `timeout`. Files are staged in cloud sessions only (2.1.332).
    """

    subtype: ClassVar[str] = "mcp_call"

    tool: str = attrs.field(validator=check_text)
    arguments: Mapping[str, Any] = attrs.field(factory=dict, validator=check_object, repr=False)
    soft_error_result: bool = attrs.field(default=False, validator=check_flag)
    result_not_for_model: bool = attrs.field(default=False, validator=check_flag)
    check_permissions: bool = attrs.field(default=False, validator=check_flag)
    timeout_ms: int | None = attrs.field(default=None, validator=optional(whole_number(1)))
    expires_at: str | None = attrs.field(default=None, validator=optional(check_text))
    input_files: list[dict[str, Any]] | None = None
    output_files: list[dict[str, Any]] | None = None


@frozen(repr=False)
class MCPResource(ReplyRecord):
    """A part of a resource: a `text`, or a `blob` in base 64. It is a stranger's; show HTML in a sandbox only."""

    uri: str = ""
    mime_type: str | None = None
    text: str | None = None
    blob: str | None = None
    meta: dict[str, Any] | None = None


@frozen(repr=False)
class MCPReadResourceReply(ReplyRecord):
    """The parts of a resource."""

    contents: tuple[MCPResource, ...] = ()


@frozen
class MCPReadResource(Request[MCPReadResourceReply]):
    """Reads a page that a server offers for showing what its tools do (2.1.332)."""

    subtype: ClassVar[str] = "mcp_read_resource"

    server_name: str = attrs.field(validator=check_text)
    uri: str = attrs.field()

    @uri.validator
    def _page(self, _attribute: object, value: object) -> None:
        if not isinstance(value, str) or not value.startswith("ui://"):
            reject("uri", value, "a text that begins with 'ui://'; the program reads no other")
