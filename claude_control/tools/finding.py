"""What a request wants to have run of the user's code, and within which limits."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import attrs

from claude_control.records import frozen
from claude_control.tools import methods
from claude_control.tools.context import ToolContext
from claude_control.tools.gate import Gate
from claude_control.tools.jsonrpc import INVALID_PARAMS, METHOD_NOT_FOUND, Refused, Request

if TYPE_CHECKING:
    from claude_control.tools.server import ToolServer

__all__ = ["Answer", "Found", "Handed", "find"]

NOT_FOUND = -32002
"""MCP's own code: there is no such resource."""

Answer = Callable[[dict[str, Any] | Refused], None]
"""Takes a result, or why there is none, on any thread; nothing happens from the second time on."""


@frozen
class Found:
    """What is to be run. `timeout` is in seconds, None is no limit."""

    name: str
    perform: Callable[[ToolContext], dict[str, Any]]
    timeout: float | None = None
    gate: Gate = attrs.field(factory=lambda: Gate(None))


@frozen
class Handed:
    """What somebody else runs: `begin` returns at once, and the answer comes later. `timeout` is in seconds."""

    name: str
    begin: Callable[[ToolContext, Answer], None]
    timeout: float | None = None


def find(server: "ToolServer", request: Request) -> dict[str, Any] | Found | Refused:
    """Return the answer to a request that a server has at once, or what is to be run for it."""
    answer = methods.answer(server, request)
    if answer is not None:
        return answer
    found = _CALLS.get(request.method)
    if found is None:
        return Refused(METHOD_NOT_FOUND, f"{server.name} has no method {request.method}")
    return found(server, request.params)


def _find_tool(server: "ToolServer", params: dict[str, Any]) -> Found | Refused:
    name, arguments = params.get("name"), params.get("arguments")
    tool = server.tools.get(name) if isinstance(name, str) else None
    if tool is None:
        return Refused(
            INVALID_PARAMS, f"{server.name} has no tool {name!r}; it has {', '.join(server.tools) or 'none'}"
        )
    if not isinstance(arguments, dict | None):
        return Refused(INVALID_PARAMS, f"the arguments of {name} are not an object")
    given = arguments or {}
    timeout = server.timeout if tool.timeout is None else tool.timeout
    return Found(tool.name, lambda context: tool.run(given, context), timeout, tool.gate)


def _find_resource(server: "ToolServer", params: dict[str, Any]) -> Found | Refused:
    uri = params.get("uri")
    if not isinstance(uri, str):
        return Refused(INVALID_PARAMS, f"{server.name} has no resource {uri!r}")
    resource = server.resources.get(uri)
    if resource is not None:
        return Found(uri, lambda _context: resource.read(), server.timeout)
    matching = ((template, template.match(uri)) for template in server.templates.values())
    template, values = next(((each, found) for each, found in matching if found is not None), (None, None))
    if template is not None and values is not None:
        return Found(uri, lambda _context: template.read(uri, values), server.timeout)
    return Refused(NOT_FOUND, f"{server.name} has no resource {uri!r}")


def _find_prompt(server: "ToolServer", params: dict[str, Any]) -> Found | Refused:
    name, arguments = params.get("name"), params.get("arguments")
    prompt = server.prompts.get(name) if isinstance(name, str) else None
    if prompt is None:
        return Refused(INVALID_PARAMS, f"{server.name} has no prompt {name!r}")
    if not isinstance(arguments, dict | None):
        return Refused(INVALID_PARAMS, f"the arguments of {name} are not an object")
    given = arguments or {}
    if wrong := prompt.missing(given):
        return Refused(INVALID_PARAMS, f"the arguments of {name} do not fit: {', '.join(wrong)}")
    return Found(prompt.name, lambda _context: prompt.get(given), server.timeout)


_CALLS: dict[str, Callable[["ToolServer", dict[str, Any]], Found | Refused]] = {
    "tools/call": _find_tool,
    "resources/read": _find_resource,
    "prompts/get": _find_prompt,
}
