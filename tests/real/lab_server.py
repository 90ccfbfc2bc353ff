"""A small MCP server on stdio, for the real program to run: three tools and a page."""

import json
import sys
from typing import Any

TOOLS = [
    {
        "name": "echo",
        "description": "Says it again",
        "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}},
        "annotations": {"readOnlyHint": True},
    },
    {"name": "fail", "description": "Fails", "inputSchema": {"type": "object"}},
    {"name": "count", "description": "Counts", "inputSchema": {"type": "object"}, "outputSchema": {"type": "object"}},
]
PAGE = {"uri": "ui://lab/page", "mimeType": "text/html;profile=mcp-app"}


def call(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Run a tool."""
    if name == "echo":
        return {"content": [{"type": "text", "text": arguments.get("text", "")}]}
    if name == "count":
        return {"content": [{"type": "text", "text": '{"a": 1}'}], "structuredContent": {"a": 1}, "_meta": {"k": "v"}}
    return {"content": [{"type": "text", "text": "no luck"}], "isError": True}


def result(method: str, parameters: dict[str, Any]) -> dict[str, Any] | None:
    """Return the result of a request, or None for a method that is not known here."""
    if method == "initialize":
        told = {"protocolVersion": parameters["protocolVersion"], "serverInfo": {"name": "lab", "version": "1"}}
        return {**told, "capabilities": {"tools": {}, "resources": {}}}
    if method == "tools/call":
        return call(parameters["name"], parameters.get("arguments", {}))
    if method == "resources/read":
        return {"contents": [{**PAGE, "text": "<p>hello</p>", "_meta": {"ui": {"csp": {}}}}]}
    lists: dict[str, dict[str, Any]] = {
        "tools/list": {"tools": TOOLS},
        "resources/list": {"resources": [{**PAGE, "name": "page"}]},
    }
    return lists.get(method)


def main() -> None:
    """Answer requests until the input ends; notifications get no answer."""
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message:
            found = result(message["method"], message.get("params", {}))
            unknown = {"error": {"code": -32601, "message": "no such method"}}
            print(
                json.dumps(
                    {"jsonrpc": "2.0", "id": message["id"], **(unknown if found is None else {"result": found})}
                ),
                flush=True,
            )


if __name__ == "__main__":
    main()
