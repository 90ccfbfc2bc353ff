"""Tools in this process: functions that the model may call, and the MCP server that offers them without any of MCP.

    @tool
    def add(a: int, b: int) -> int:
        "Add two numbers."
        return a + b

    with Session(mcp_servers={"calc": ToolServer("calc", [add])}) as session: ...

Layers, each of which knows only the ones before it: what a tool takes (`inputs`, `schemas`, `descriptions`), what it
returns (`contents`, `results`, `cutting`), the tool itself, JSON-RPC and MCP's methods, and a connection, which runs
calls on the threads of whoever connects. Nothing here has a thread of its own, but a bridge to a server of the `mcp`
library, whose event loop needs one.
"""

from claude_control.tools.bridging import bridge
from claude_control.tools.connection import Connection
from claude_control.tools.contents import EmbeddedResource, Media, ResourceLink
from claude_control.tools.context import ToolContext
from claude_control.tools.decorator import Tool, tool
from claude_control.tools.resources import Prompt, Resource, ResourceTemplate
from claude_control.tools.results import ToolResult
from claude_control.tools.server import ToolServer

__all__ = [
    "Connection",
    "EmbeddedResource",
    "Media",
    "Prompt",
    "Resource",
    "ResourceLink",
    "ResourceTemplate",
    "Tool",
    "ToolContext",
    "ToolResult",
    "ToolServer",
    "bridge",
    "tool",
]
