"""What surrounds the program: its command, directories, environment, settings and plugins."""

import os
import re
from collections.abc import Mapping
from typing import Any

import attrs

from claude_control.options.checks import is_passable, is_path, reject
from claude_control.options.inline import check_json, fits_json, is_inline

__all__ = [
    "check_cli_path",
    "check_client_app",
    "check_env",
    "check_paths",
    "check_plugins",
    "check_sandbox",
    "check_setting_sources",
    "check_settings",
]

_SOURCES = ("user", "project", "local")
_CONTROLS = re.compile("[\x00-\x1f\x7f]")


def check_env(_instance: Any, attribute: "attrs.Attribute[Any]", value: Any) -> None:
    """Take a mapping from variable name to text, or to None to take the variable away. Errors name no value."""
    if not isinstance(value, Mapping):
        reject(attribute.name, type(value).__name__, "a mapping from variable name to text")
    for name, item in value.items():
        if not isinstance(name, str) or name == "" or "=" in name or not is_passable(name):
            reject(attribute.name, name, "a mapping whose keys are names of variables, without '='")
        if item is not None and (not isinstance(item, str) or not is_passable(item)):
            reject(
                f"env[{name!r}]",
                type(item).__name__,
                "a text without NUL characters, or None to take the variable away",
            )


def check_paths(_instance: Any, attribute: "attrs.Attribute[Any]", value: Any) -> None:
    """Take a list of paths."""
    if not isinstance(value, tuple) or not all(is_path(item) for item in value):
        reject(attribute.name, value, "a list of paths (str or Path)")


def check_cli_path(_instance: Any, attribute: "attrs.Attribute[Any]", value: Any) -> None:
    """Take a path, the name of a program on PATH, or a whole command as a list."""
    if value is None or is_path(value):
        return
    if not isinstance(value, tuple) or not value or not is_path(value[0]):
        reject(
            attribute.name, value, "a path, or a command as a list such as ['npx', '-y', '@anthropic-ai/claude-code']"
        )
    if not all(part == "" or is_path(part) for part in value):
        reject(attribute.name, value, "a command whose parts are texts")


def check_setting_sources(_instance: Any, attribute: "attrs.Attribute[Any]", value: Any) -> None:
    """Take a list of sources (empty: no settings files at all), or None for the program's default."""
    if value is None:
        return
    if not isinstance(value, tuple) or not all(source in _SOURCES for source in value):
        reject(attribute.name, value, f"a list of {', '.join(_SOURCES)}, or None")


def check_settings(_instance: Any, attribute: "attrs.Attribute[Any]", value: Any) -> None:
    """Take a path or a JSON object as text. Errors do not repeat it."""
    if value is None:
        return
    if not is_path(value):
        reject(attribute.name, type(value).__name__, "a path, or a JSON object as text")
    if is_inline(value):
        check_json(attribute.name, os.fspath(value))


def check_sandbox(_instance: Any, attribute: "attrs.Attribute[Any]", value: Any) -> None:
    """Take a mapping that becomes the `sandbox` part of the settings."""
    if value is not None and not (isinstance(value, Mapping) and fits_json(value)):
        reject(attribute.name, type(value).__name__, "a mapping such as {'enabled': True}")


def check_plugins(_instance: Any, attribute: "attrs.Attribute[Any]", value: Any) -> None:
    """Take a list of {"type": "local", "path": …}."""
    if not isinstance(value, tuple):
        reject(attribute.name, value, "a list of {'type': 'local', 'path': …}")
    for plugin in value:
        if not isinstance(plugin, Mapping) or plugin.get("type") != "local" or not is_path(plugin.get("path")):
            reject(attribute.name, plugin, "a list of {'type': 'local', 'path': …}")


def check_client_app(_instance: Any, attribute: "attrs.Attribute[Any]", value: Any) -> None:
    """Take what can stand in an HTTP header: a wrong character would stop every request of the program."""
    if value is None:
        return
    if not isinstance(value, str) or _CONTROLS.search(value) or any(ord(character) > 0xFF for character in value):
        reject(attribute.name, value, "a text of Latin-1 characters without control characters, such as 'my-app/1.0'")
