"""Requests about the MCP servers of a session."""

from typing import Any, ClassVar

import attrs

from claude_control.errors import ProtocolError
from claude_control.wire.requests.base import Request, read_list, read_text


@attrs.frozen
class MCPServerStatus:
    """One MCP server of the session.

    `status` is connected, pending, failed, disabled or needs-auth. `error`, `scope` and `tools` come from 2.1.332
    (2.1.7 sends `error` too).
    """

    name: str = ""
    status: str = ""
    error: str | None = None
    scope: str | None = None
    server_info: dict[str, Any] | None = None
    tools: tuple[dict[str, Any], ...] = ()
    raw: dict[str, Any] = attrs.field(factory=dict, repr=False)


@attrs.frozen
class MCPStatusReply:
    """Every MCP server of the session."""

    servers: tuple[MCPServerStatus, ...] = ()
    raw: dict[str, Any] = attrs.field(factory=dict, repr=False)

    def __getitem__(self, name: str) -> MCPServerStatus:
        """Return the server called `name`; raises KeyError."""
        for server in self.servers:
            if server.name == name:
                return server
        raise KeyError(name)


@attrs.frozen
class MCPStatus(Request[MCPStatusReply]):
    """Asks how the session's MCP servers are."""

    subtype: ClassVar[str] = "mcp_status"

    def body(self) -> dict[str, Any]:
        """Return the wire form."""
        return {"subtype": self.subtype}

    def reply(self, response: dict[str, Any]) -> MCPStatusReply:
        """Read the servers."""
        servers = read_list(response, "mcpServers", self.subtype)
        return MCPStatusReply(tuple(_read_server(item, response) for item in servers), response)


def _read_server(item: Any, response: dict[str, Any]) -> MCPServerStatus:
    if not isinstance(item, dict):
        raise ProtocolError("a server in the answer to mcp_status is not a JSON object", raw=response)
    info = item.get("serverInfo")
    return MCPServerStatus(
        name=read_text(item, "name") or "",
        status=read_text(item, "status") or "",
        error=read_text(item, "error"),
        scope=read_text(item, "scope"),
        server_info=info if isinstance(info, dict) else None,
        tools=tuple(tool for tool in read_list(item, "tools", "mcp_status") if isinstance(tool, dict)),
        raw=item,
    )
