"""Servers of the installed `mcp` library, 1.x or 2.x, for the tests of the bridge; they need nothing else of it."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

from mcp import types
from mcp.server.lowlevel import Server

IS_FIRST = not hasattr(types, "jsonrpc_message_adapter")
"""Whether the library is 1.x."""

highlevel: Any = getattr(
    import_module("mcp.server.fastmcp" if IS_FIRST else "mcp.server.mcpserver"), "FastMCP" if IS_FIRST else "MCPServer"
)
"""The class whose objects have a decorator for tools: `FastMCP`, now `MCPServer`."""

Context: Any = import_module(highlevel.__module__.rpartition(".")[0]).Context
"""What its tools may have as a parameter."""


def lowlevel(call: Callable[[str, dict[str, Any]], Any], lifespan: Any = None) -> Any:
    """Return a server with the tool `echo`; `call(name, arguments)` is awaited for each call and returns a text."""
    schema = {"type": "object", "properties": {"x": {"type": "string"}}}
    more = {} if lifespan is None else {"lifespan": lifespan}
    make: Any = Server
    if IS_FIRST:
        server = make("low", **more)
        tools = [types.Tool(name="echo", description="Echo.", inputSchema=schema)]  # type: ignore[call-arg]

        async def list_tools() -> Any:
            return tools

        async def call_tool(name: str, arguments: dict[str, Any]) -> Any:
            return [types.TextContent(type="text", text=await call(name, arguments))]

        server.list_tools()(list_tools)
        server.call_tool()(call_tool)
        return server

    async def on_list(_context: Any, _params: Any) -> Any:
        return types.ListToolsResult(tools=[types.Tool(name="echo", description="Echo.", input_schema=schema)])

    async def on_call(_context: Any, params: Any) -> Any:
        text = await call(params.name, params.arguments or {})
        return types.CallToolResult(content=[types.TextContent(type="text", text=text)])

    return make("low", on_list_tools=on_list, on_call_tool=on_call, **more)
