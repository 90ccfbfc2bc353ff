"""ToolServer: tools, resources and prompts under one name, as an MCP server inside of this process."""

import re
import threading
import weakref
from collections.abc import Callable, Iterable
from typing import Any

from claude_control.errors import OptionsError
from claude_control.tools.connection import Connection, Run, Send
from claude_control.tools.decorator import Tool, tool
from claude_control.tools.finding import find
from claude_control.tools.methods import PROTOCOL_VERSION
from claude_control.tools.resources import Prompt, Resource, ResourceTemplate
from claude_control.wire.framing import encode

__all__ = ["ToolServer"]

# The program calls a tool "mcp__server__tool", so that two underscores in a server's name would end it early.
_NAME = re.compile(r"(?!.*__)[A-Za-z0-9_-]{1,64}")


class ToolServer:
    """An MCP server inside of this process: `Session(mcp_servers={"lab": ToolServer("lab", [measure])})`.

    Plain functions become tools as they are. One server may serve many sessions at once: a tool's `max_concurrency`
    counts the calls of all. `timeout`, in seconds, is for the tools that have none of their own, for resources and for
    prompts; None is no limit. `instructions` tell the model what the server is for.
    """

    def __init__(
        self,
        name: str,
        tools: Iterable[Tool[..., Any] | Callable[..., Any]] = (),
        *,
        resources: Iterable[Resource | ResourceTemplate] = (),
        prompts: Iterable[Prompt | Callable[..., Any]] = (),
        version: str = "1.0.0",
        instructions: str | None = None,
        timeout: float | None = None,
    ) -> None:
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            text = f"a server's name has letters, digits, '-' and single '_', and {name!r} does not"
            raise OptionsError(text, field="name")
        if timeout is not None and not (isinstance(timeout, int | float) and 0 < timeout < float("inf")):
            raise OptionsError(f"timeout must be seconds above 0, or None, not {timeout!r}", field="timeout")
        made = [each if isinstance(each, Tool) else tool(each) for each in tools]
        readable = list(resources)
        whole = ((each.uri, each) for each in readable if isinstance(each, Resource))
        patterns = ((each.uri_template, each) for each in readable if isinstance(each, ResourceTemplate))
        offered = [each if isinstance(each, Prompt) else Prompt(each) for each in prompts]
        self.name = name
        self.version = version
        self.instructions = instructions
        self.timeout = timeout
        self.tools: dict[str, Tool[..., Any]] = _by_name("tools", {}, ((each.name, each) for each in made))
        self.resources: dict[str, Resource] = _by_name("resources", {}, whole)
        self.templates: dict[str, ResourceTemplate] = _by_name("resources", {}, patterns)
        self.prompts: dict[str, Prompt] = _by_name("prompts", {}, ((each.name, each) for each in offered))
        self._check_json()
        self._reset()

    def add_tool(self, added: Tool[..., Any] | Callable[..., Any]) -> None:
        """Offer one tool more, in sessions that are open too: the program is told, and asks anew what there is.

        Raises `OptionsError` if there is one of that name.
        """
        made = added if isinstance(added, Tool) else tool(added)
        encode(made.definition())
        with self._lock:
            self.tools = _by_name("tools", dict(self.tools), [(made.name, made)])
        self._tell_tools_changed()

    def remove_tool(self, name: str) -> None:
        """Offer a tool no more; calls that run go on. Raises `OptionsError` if there is none of that name."""
        with self._lock:
            if name not in self.tools:
                raise OptionsError(f"{self.name} has no tool {name!r} to remove", field="name")
            self.tools = {other: each for other, each in self.tools.items() if other != name}
        self._tell_tools_changed()

    def connect(self, run: Run, send: Send | None = None, session: Callable[[], Any] | None = None) -> Connection:
        """Serve one peer; it has threads and a wire, and the server neither.

        `run` has a function run soon, on a thread that may block, and returns False if that can never be; `send` writes
        a message that the server sends by itself (progress); `session` returns what `ToolContext.session` is to be.
        """
        connection = Connection(self.name, lambda request: find(self, request), run, send, session)
        with self._lock:
            self._connections.add(connection)
        return connection

    def initialize_result(self, protocol_version: str) -> dict[str, Any]:
        """Return the answer to MCP's `initialize` for a version of its protocol."""
        capabilities: dict[str, Any] = {"tools": {"listChanged": True}}
        if self.resources or self.templates:
            capabilities["resources"] = {}
        if self.prompts:
            capabilities["prompts"] = {}
        said = {} if self.instructions is None else {"instructions": self.instructions}
        info = {"name": self.name, "version": self.version}
        return {"protocolVersion": protocol_version, "capabilities": capabilities, "serverInfo": info, **said}

    def tools_list(self) -> dict[str, Any]:
        """Return the answer to `tools/list`: all on one page."""
        return {"tools": [each.definition() for each in self.tools.values()]}

    def manifest(self) -> dict[str, Any]:
        """Return what the program would ask during the handshake, to be sent ahead with the control `initialize`.

        2.1.332 then asks nothing before the first call; older programs do not know of it.
        """
        return {"initializeResult": self.initialize_result(PROTOCOL_VERSION), "toolsListResult": self.tools_list()}

    def _check_json(self) -> None:
        """Raise `OptionsError` if something that the server says of itself has no form in JSON: a schema, say."""
        resources = [each.definition() for each in self.resources.values()]
        templates = [each.definition() for each in self.templates.values()]
        prompts = [each.definition() for each in self.prompts.values()]
        encode({"manifest": self.manifest(), "resources": [*resources, *templates], "prompts": prompts})

    def _tell_tools_changed(self) -> None:
        with self._lock:
            connections = list(self._connections)
        for connection in connections:
            connection.notify("notifications/tools/list_changed")

    def _reset(self) -> None:
        self._lock = threading.Lock()  # guards changes of `tools`, and those who are told of them
        self._connections: weakref.WeakSet[Connection] = weakref.WeakSet()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in ("_lock", "_connections")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._reset()

    def __repr__(self) -> str:
        return f"<ToolServer {self.name}: {', '.join(self.tools) or 'no tools'}>"


def _by_name(field: str, found: dict[str, Any], pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    for name, each in pairs:
        if name in found:
            raise OptionsError(f"{field} has {name!r} twice", field=field)
        found[name] = each
    return found
