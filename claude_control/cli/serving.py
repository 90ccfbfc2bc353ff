"""Servers of tools that are named on the command line: `--tools module:name`."""

import os
import pkgutil
import sys
import traceback
from collections.abc import Iterable
from types import ModuleType
from typing import Any

import click

from claude_control.options.servers import ToolServerLike, lowlevel

__all__ = ["load_servers"]


def load_servers(names: Iterable[str]) -> dict[str, Any]:
    """Return the servers, each under its own name. Modules are looked for in the current directory first.

    Raises UsageError for whatever is wrong, with what to do about it.
    """
    here = os.getcwd()
    if here not in sys.path:
        sys.path.insert(0, here)
    found: dict[str, Any] = {}
    for name in names:
        server = _load(name)
        its_name = str((lowlevel(server) or server).name)
        if its_name in found:
            raise click.UsageError(f"--tools {name}: there is a server named {its_name} already; give it another name.")
        found[its_name] = server
    return found


def _load(name: str) -> Any:
    module_name, colon, attribute = name.partition(":")
    if not (colon and _is_dotted(module_name) and _is_dotted(attribute)):
        raise click.UsageError(f"--tools wants MODULE:NAME, such as tools:server, not {name}.")
    module = _import(name, module_name)
    value: Any = module
    for part in attribute.split("."):
        if not hasattr(value, part):
            raise click.UsageError(f"--tools {name}: {module_name} has no {attribute}; {_others(module)}.")
        value = getattr(value, part)
    if not _is_server(value):
        raise click.UsageError(
            f"--tools {name}: that is a {type(value).__name__}, where a ToolServer is needed; {_others(module)}."
        )
    return value


def _import(name: str, module_name: str) -> ModuleType:
    try:
        module: ModuleType = pkgutil.resolve_name(f"{module_name}:")
    except Exception as error:  # a module of the user's may raise anything
        missing = error.name if isinstance(error, ModuleNotFoundError) else None
        if missing is not None and f"{module_name}.".startswith(f"{missing}."):
            text = f"there is no module {missing}, neither in this directory nor installed"
        else:
            frames = traceback.extract_tb(error.__traceback__)
            text = f"{type(error).__name__}: {error} ({frames[-1].filename}, line {frames[-1].lineno})"
        raise click.UsageError(f"--tools {name}: {text}.") from error
    return module


def _is_dotted(name: str) -> bool:
    return all(part.isidentifier() for part in name.split("."))


def _is_server(value: object) -> bool:
    return not isinstance(value, type) and (isinstance(value, ToolServerLike) or lowlevel(value) is not None)


def _others(module: ModuleType) -> str:
    """Say which servers a module has."""
    servers = sorted(name for name, value in vars(module).items() if _is_server(value))
    if not servers:
        return f"make one there: server = ToolServer({module.__name__!r}, [...])"
    return f"it has {', '.join(servers)}"
