"""MCP's methods that a server answers out of what it knows of itself: the handshake, ping, and the lists."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from claude_control.tools.jsonrpc import INVALID_PARAMS, Refused, Request

if TYPE_CHECKING:
    from claude_control.tools.server import ToolServer

__all__ = ["PROTOCOL_VERSION", "answer"]

PROTOCOL_VERSION = "2025-11-25"
"""The version of MCP that the three measured programs ask for (2.0.75, 2.1.7 and 2.1.332)."""

_VERSIONS = (PROTOCOL_VERSION, "2025-06-18", "2025-03-26", "2024-11-05")


def answer(server: "ToolServer", request: Request) -> dict[str, Any] | Refused | None:
    """Return the result of a request, or why there is none; None if it is not one of these methods."""
    known = _METHODS.get(request.method)
    return None if known is None else known(server, request.params)


def _initialize(server: "ToolServer", params: dict[str, Any]) -> dict[str, Any] | Refused:
    # May come again at any time: older programs do it with the first turn, and every program when it reconnects.
    wanted = params.get("protocolVersion")
    if not isinstance(wanted, str):
        return Refused(INVALID_PARAMS, "initialize names no protocolVersion")
    return server.initialize_result(wanted if wanted in _VERSIONS else PROTOCOL_VERSION)


def _ping(_server: "ToolServer", _params: dict[str, Any]) -> dict[str, Any]:
    return {}


def _listed(key: str, members: "Callable[[ToolServer], list[dict[str, Any]]]") -> "_Method":
    def run(server: "ToolServer", params: dict[str, Any]) -> dict[str, Any] | Refused:
        # All is on one page, so no cursor is ever handed out; one that comes all the same gets the one page.
        if not isinstance(params.get("cursor", ""), str | None):
            return Refused(INVALID_PARAMS, "the cursor is no text")
        return {key: members(server)}

    return run


_Method = Callable[["ToolServer", dict[str, Any]], dict[str, Any] | Refused]
_METHODS: dict[str, _Method] = {
    "initialize": _initialize,
    "ping": _ping,
    "tools/list": _listed("tools", lambda server: server.tools_list()["tools"]),
    "resources/list": _listed("resources", lambda server: [each.definition() for each in server.resources.values()]),
    "resources/templates/list": _listed(
        "resourceTemplates", lambda server: [each.definition() for each in server.templates.values()]
    ),
    "prompts/list": _listed("prompts", lambda server: [each.definition() for each in server.prompts.values()]),
}
