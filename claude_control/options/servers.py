"""MCP servers that a session brings along. Errors name servers, never what is in them."""

import os
from collections.abc import Callable, Mapping
from typing import Any, Protocol, runtime_checkable

import attrs

from claude_control.errors import OptionsError
from claude_control.likeness import closest
from claude_control.options.checks import is_path, is_text, reject
from claude_control.options.inline import check_json, fits_json, is_inline

__all__ = ["ToolServerLike", "check_mcp_servers", "external", "in_process", "lowlevel", "manifests"]

_TYPES = ("stdio", "sse", "http", "sdk")
_LIKENESS = 0.7  # "htpp" is a typing mistake, "ws" may be a type of a newer program


@runtime_checkable
class ToolServerLike(Protocol):
    """A server in this process, as a session sees it: `claude_control.ToolServer` is one."""

    name: str

    def manifest(self) -> dict[str, Any] | None:
        """Return what the program would ask during MCP's handshake, None if it is to ask."""

    def connect(
        self,
        run: Callable[[Callable[[], None]], bool | None],
        send: Callable[[dict[str, Any]], object] | None = None,
        session: Callable[[], Any] | None = None,
    ) -> Any:
        """Serve one session; the `receive` of what it returns takes messages, in the reader, and must not wait there.

        Until it is back no other request of the program is begun.
        """


def in_process(servers: Any) -> dict[str, Any]:
    """Return the servers in this process among those of a session, by name: of our kind, or of the mcp library's."""
    if not isinstance(servers, Mapping):
        return {}
    found = {name: _here(server) for name, server in servers.items()}
    return {name: server for name, server in found.items() if server is not None}


def manifests(servers: Any) -> dict[str, Any]:
    """Return what the servers in this process tell ahead of the handshake, by name."""
    ours = {name: server for name, server in in_process(servers).items() if isinstance(server, ToolServerLike)}
    told = {name: server.manifest() for name, server in ours.items()}
    return {name: manifest for name, manifest in told.items() if manifest is not None}


def lowlevel(server: Any) -> Any:
    """Return the mcp library's own server inside of an object of its, or of FastMCP's; None for anything else.

    It goes by what the object has: the library is not imported. mcp's `FastMCP` (1.23 to 1.30), its `MCPServer` (2.3)
    and the `FastMCP` of the package fastmcp (4.2) keep it in a private attribute.
    """
    if isinstance(server, type):
        return None
    for inner in (server, getattr(server, "_mcp_server", None), getattr(server, "_lowlevel_server", None)):
        if callable(getattr(inner, "create_initialization_options", None)) and callable(getattr(inner, "run", None)):
            return inner
    return None


def external(servers: Any) -> dict[str, Any]:
    """Return the other ones."""
    if not isinstance(servers, Mapping):
        return {}
    return {name: server for name, server in servers.items() if _here(server) is None}


def check_mcp_servers(_instance: Any, attribute: "attrs.Attribute[Any]", value: Any) -> None:
    """Take a mapping from name to server, a path, or a JSON object as text."""
    if not isinstance(value, Mapping):
        if not is_path(value):
            reject(attribute.name, type(value).__name__, "a mapping from name to server, or a path")
        if is_inline(value):
            check_json(attribute.name, os.fspath(value))
        return
    for name, server in value.items():
        if not is_text(name):
            reject(attribute.name, name, "a mapping whose keys are server names")
        _check_server(f"mcp_servers[{name!r}]", server)


def _check_server(where: str, server: Any) -> None:
    if _here(server) is not None:
        return
    if not isinstance(server, Mapping) or server.get("type") == "sdk":
        found = server.get("instance") if isinstance(server, Mapping) else server
        if found is not None and hasattr(found, "name"):
            text = f"{where} is a {type(found).__name__}, which is no server; make a ToolServer of its functions"
            raise OptionsError(text, field="mcp_servers")
        if isinstance(server, Mapping):
            text = f"{where} needs 'instance': a ToolServer, or a server of the mcp library"
            raise OptionsError(text, field="mcp_servers")
        reject(where, type(server).__name__, "a ToolServer, or a mapping such as {'command': 'server', 'args': []}")
    kind = server.get("type", "stdio")
    needed = "command" if kind == "stdio" else "url"
    if not isinstance(kind, str):
        reject(f"{where}['type']", kind, f"one of {', '.join(_TYPES)}")
    if not is_text(server.get(needed)):
        raise OptionsError(f"{where} needs {needed!r}: type {kind!r} is nothing without it", field="mcp_servers")
    if kind not in _TYPES and closest(kind.lower(), _TYPES, _LIKENESS):
        reject(f"{where}['type']", kind, f"one of {', '.join(_TYPES)}")
    if not fits_json(server):
        raise OptionsError(f"{where} has values that JSON cannot express", field="mcp_servers")


def _here(server: Any) -> Any:
    """Return a server in this process, also of the official SDK's form."""
    if isinstance(server, Mapping):
        server = server.get("instance") if server.get("type") == "sdk" else None
    return server if isinstance(server, ToolServerLike) or lowlevel(server) is not None else None
