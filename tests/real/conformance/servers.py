"""Requests about MCP servers, with one on stdio that was given at the start."""

import sys
from pathlib import Path
from types import MappingProxyType
from typing import Any

from claude_control.wire import requests
from tests.real import lab_server
from tests.real.conformance.lab import PATIENCE, Lab
from tests.real.conformance.probes import Topic, Unchecked
from tests.waiting import wait_until

ECHO = "mcp__lab__echo"
LATE = "mcp__late__echo"
SET = "mcp__set__echo"
PAGE = lab_server.PAGE["uri"]
READY = "ready"
"""The file in the working directory without which the server called late does not start."""


# Otherwise 2.1.332 tells the model of such tools only when it searches for them.
DIRECT = {"ENABLE_TOOL_SEARCH": "false"}
SERVER: dict[str, Any] = {"type": "stdio", "command": sys.executable, "args": [str(Path(lab_server.__file__))]}
WAITS = f'test -e {READY} && exec "$0" "$@"'
SERVERS = {
    "lab": SERVER,
    "late": {"type": "stdio", "command": "sh", "args": ["-c", WAITS, SERVER["command"], *SERVER["args"]]},
}
TOPIC = Topic("servers", MappingProxyType({"mcp_servers": SERVERS, "env": DIRECT}))


@TOPIC.answers(requests.MCPStatus())
def mcp_status(lab: Lab) -> object:
    """Of the two servers of the options one comes to be listed as connected, and one that does not start as failed."""
    wait_until(lambda: _status(lab) == {"lab": "connected", "late": "failed"}, PATIENCE)
    return ECHO in lab.ask().tools


def _status(lab: Lab) -> dict[str, str]:
    return {one.name: one.status for one in lab.session.request(requests.MCPStatus()).servers}


@TOPIC.works(requests.MCPSetServers({}))
def mcp_set_servers(lab: Lab) -> object:
    """The model has the tools of a server that is set, and no longer when it is replaced."""
    reply = lab.session.request(requests.MCPSetServers({"set": SERVER}))
    there = SET in lab.ask().tools
    gone = lab.session.request(requests.MCPSetServers({}))
    return (reply.added, gone.removed) == (("set",), ("set",)) and there and SET not in lab.ask().tools


@TOPIC.answers(
    Unchecked({"subtype": "mcp_message", "server_name": "none", "message": {"jsonrpc": "2.0", "method": "n"}})
)
def mcp_message(lab: Lab) -> object:
    """A notification for a server that is not there is acknowledged all the same."""
    message = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}
    body = {"subtype": "mcp_message", "server_name": "none", "message": message}
    return not lab.session.request(Unchecked(body))


@TOPIC.works(requests.MCPToggle("lab", False))
def mcp_toggle(lab: Lab) -> object:
    """The model loses the tools of a server that is switched off, and has them again when it is switched on."""
    lab.session.request(requests.MCPToggle("lab", False))
    off = ECHO in lab.ask().tools
    lab.session.request(requests.MCPToggle("lab", True))
    return not off and ECHO in lab.ask().tools


@TOPIC.works(requests.MCPReconnect("late"))
def mcp_reconnect(lab: Lab) -> object:
    """The model has the tools of a server that did not start before."""
    before = LATE in lab.ask().tools
    (lab.workspace / READY).touch()
    lab.session.request(requests.MCPReconnect("late"))
    return not before and LATE in lab.ask().tools


@TOPIC.answers(requests.MCPCall(ECHO))
def mcp_call(lab: Lab) -> object:
    """The tool's answer comes back, without the permission callback being asked."""
    before = len(lab.asked)
    reply = lab.session.request(requests.MCPCall(ECHO, {"text": "hello"}))
    return "hello" in str(reply.content) and len(lab.asked) == before


@TOPIC.answers(requests.MCPCall(ECHO, soft_error_result=True), "soft_error_result")
def mcp_call_soft(lab: Lab) -> object:
    """A tool that fails is a reply that says so."""
    return lab.session.request(requests.MCPCall("mcp__lab__fail", soft_error_result=True)).is_error


@TOPIC.works(requests.MCPCall(ECHO, check_permissions=True), "check_permissions")
def mcp_call_checked(lab: Lab) -> object:
    """The permission callback is asked."""
    before = len(lab.asked)
    lab.session.request(requests.MCPCall(ECHO, {"text": "hello"}, check_permissions=True))
    return [tool for tool, _ in lab.asked[before:]] == [ECHO]


@TOPIC.answers(requests.MCPReadResource("lab", PAGE))
def mcp_read_resource(lab: Lab) -> object:
    """The page of the server comes back."""
    (page,) = lab.session.request(requests.MCPReadResource("lab", PAGE)).contents
    return page.text == "<p>hello</p>"
