"""Every request that has a record, by subtype."""

from typing import Any, Final

from claude_control.wire.requests import (
    conversation,
    files,
    initialize,
    mcp,
    plugins,
    program,
    settings,
    steering,
    tasks,
    usage,
)
from claude_control.wire.requests.base import Request

__all__ = ["RECORDS"]

_TOPICS = (conversation, files, initialize, mcp, plugins, program, settings, steering, tasks, usage)


def _collect() -> dict[str, type[Request[Any]]]:
    values = [value for topic in _TOPICS for name, value in sorted(vars(topic).items()) if name in topic.__all__]
    return {value.subtype: value for value in values if isinstance(value, type) and issubclass(value, Request)}


RECORDS: Final = _collect()
"""Request records by subtype; what the modules of this package offer, and no second list."""
