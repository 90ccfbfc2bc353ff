"""A small MCP server on stdio, for the real program to run: its one tool asks a person, and says what it was told."""

import itertools
import json
import sys
from collections.abc import Iterator
from typing import Any

TOOL = {"name": "ask", "description": "Asks a person", "inputSchema": {"type": "object"}}

_ids = itertools.count(1000)
_needed: set[str] = set()
_offered: dict[str, Any] = {}


def say(message: dict[str, Any]) -> None:
    """Write one message of JSON-RPC."""
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def messages() -> Iterator[dict[str, Any]]:
    """Yield what comes until the input ends."""
    for line in sys.stdin:
        yield json.loads(line)


def ask(parameters: dict[str, Any]) -> Any:
    """Ask the client, and return what it answers; None if the call is cancelled first, or the input ends."""
    number = next(_ids)
    say({"id": number, "method": "elicitation/create", "params": parameters})
    for message in messages():
        if message.get("method") == "notifications/cancelled":
            return None
        if message.get("id") == number and "method" not in message:
            return message.get("result", message.get("error"))
        serve(message)
    return None


def call(arguments: dict[str, Any]) -> dict[str, Any]:
    """Run the tool: `arguments` are the parameters of `elicitation/create`, but for `complete`."""
    complete = arguments.pop("complete", False)
    told = ask(arguments)
    if complete:
        say({"method": "notifications/elicitation/complete", "params": {"elicitationId": arguments["elicitationId"]}})
    return {"content": [{"type": "text", "text": json.dumps({"told": told, "offered": _offered})}]}


def serve(message: dict[str, Any]) -> None:
    """Answer a request; notifications get no answer."""
    method, number, parameters = message.get("method"), message.get("id"), message.get("params", {})
    if number is None:
        return
    if method == "initialize":
        _offered.update(parameters.get("capabilities", {}))
        told = {"protocolVersion": parameters["protocolVersion"], "serverInfo": {"name": "asking", "version": "1"}}
        say({"id": number, "result": {**told, "capabilities": {"tools": {}}}})
    elif method == "tools/list":
        say({"id": number, "result": {"tools": [TOOL]}})
    elif method == "tools/call":
        arguments = dict(parameters.get("arguments", {}))
        needed = arguments.pop("first", None)
        if needed is not None and needed["elicitationId"] not in _needed:  # the call cannot begin before this is done
            _needed.add(needed["elicitationId"])
            error = {"code": -32042, "message": "log in first", "data": {"elicitations": [needed]}}
            say({"id": number, "error": error})
            say({"method": "notifications/elicitation/complete", "params": {"elicitationId": needed["elicitationId"]}})
        elif needed is not None:
            say({"id": number, "result": {"content": [{"type": "text", "text": json.dumps({"told": "done"})}]}})
        else:
            say({"id": number, "result": call(arguments)})
    else:
        say({"id": number, "error": {"code": -32601, "message": "no such method"}})


if __name__ == "__main__":
    for incoming in messages():
        serve(incoming)
