"""The text that shows options to people: what differs from the defaults, and nothing secret."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from claude_control import log
from claude_control.options.travelling import changed_fields

if TYPE_CHECKING:
    from claude_control.options.options import Options

__all__ = ["show"]

_LONGEST = 200  # characters of one value: an error or a log line shows many


def show(options: "Options") -> str:
    """Return the `repr` of options."""
    shown = [f"{name}={_text(name, value)}" for name, value in changed_fields(options).items()]
    return f"{type(options).__name__}({', '.join(shown)})"


def _text(name: str, value: Any) -> str:
    shown = _SHOWN.get(name, lambda item: repr(log.redact(item)))(value)
    return shown if len(shown) <= _LONGEST else shown[:_LONGEST] + "…"


def _keys(value: Any) -> str:
    return "{" + ", ".join(f"{key!r}: …" for key in value) + "}" if isinstance(value, Mapping) else "…"


def _flags(value: Mapping[str, str | None]) -> str:
    return "{" + ", ".join(f"{key!r}: {'None' if item is None else '…'}" for key, item in value.items()) + "}"


def _settings(value: Any) -> str:
    return "…" if isinstance(value, str) and "{" in value else repr(value)


def _events(value: Any) -> str:
    counts = {event: sum(len(matcher.hooks) for matcher in matchers) for event, matchers in (value or {}).items()}
    return "{" + ", ".join(f"{event!r}: {count} hooks" for event, count in counts.items()) + "}"


_SHOWN: dict[str, Callable[[Any], str]] = {
    "agents": _keys,
    "env": _keys,
    "extra_args": _flags,
    "hooks": _events,
    "mcp_servers": _keys,
    "sandbox": _keys,
    "settings": _settings,
}
