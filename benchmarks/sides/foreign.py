"""The same small tool in servers of the `mcp` library (2.x), which both SDKs can take."""

from typing import Any


def lowlevel() -> Any:
    """Return a low-level server."""
    from mcp import types
    from mcp.server.lowlevel import Server

    schema = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}

    async def on_list(_context: Any, _params: Any) -> Any:
        return types.ListToolsResult(tools=[types.Tool(name="echo", input_schema=schema)])

    async def on_call(_context: Any, params: Any) -> Any:
        return types.CallToolResult(content=[types.TextContent(type="text", text=params.arguments["text"])])

    return Server("low", on_list_tools=on_list, on_call_tool=on_call)


def highlevel() -> Any:
    """Return a server that is made of functions: `MCPServer`, which was `FastMCP` in mcp 1.x."""
    from mcp.server.mcpserver import MCPServer

    server = MCPServer("high", log_level="WARNING")
    server.tool()(echo)
    return server


async def echo(text: str) -> str:
    """Return the text."""
    return text
