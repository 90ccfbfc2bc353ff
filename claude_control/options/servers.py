"""MCP servers that a session brings along. Errors name servers, never what is in them."""

import difflib
import os
from collections.abc import Mapping
from typing import Any

import attrs

from claude_control.errors import OptionsError
from claude_control.options.checks import is_path, is_text, reject
from claude_control.options.inline import check_json, fits_json, is_inline

__all__ = ["check_mcp_servers"]

_TYPES = ("stdio", "sse", "http", "sdk")
_LIKENESS = 0.7  # "htpp" is a typing mistake, "ws" may be a type of a newer program


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
    if not isinstance(server, Mapping) or server.get("type") == "sdk":
        if not isinstance(server, Mapping) and not hasattr(server, "name"):
            reject(where, type(server).__name__, "a mapping such as {'command': 'server', 'args': []}")
        raise OptionsError(f"{where}: servers inside of this process are not implemented yet", field="mcp_servers")
    kind = server.get("type", "stdio")
    needed = "command" if kind == "stdio" else "url"
    if not isinstance(kind, str):
        reject(f"{where}['type']", kind, f"one of {', '.join(_TYPES)}")
    if not is_text(server.get(needed)):
        raise OptionsError(f"{where} needs {needed!r}: type {kind!r} is nothing without it", field="mcp_servers")
    if kind not in _TYPES and difflib.get_close_matches(kind.lower(), _TYPES, n=1, cutoff=_LIKENESS):
        reject(f"{where}['type']", kind, f"one of {', '.join(_TYPES)}")
    if not fits_json(server):
        raise OptionsError(f"{where} has values that JSON cannot express", field="mcp_servers")
