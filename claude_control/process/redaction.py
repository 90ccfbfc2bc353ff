"""A command line for people: what it says that may be secret is left out."""

import functools
import re
import shlex
from collections.abc import Sequence

from claude_control import log

__all__ = ["redact_command"]

_ID_FLAGS = ("--session-id=", "--resume=")
_ID = re.compile(r"--[a-z-]+=[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_SHOWN = 300  # characters of one argument in an error
# Flags whose values say nothing private; of every other one only the name is shown.
_OPEN_FLAGS = frozenset(
    """
    output-format input-format model fallback-model permission-mode permission-prompt-tool session-id resume
    resume-session-at resume-drops-turn max-turns max-budget-usd max-thinking-tokens thinking thinking-display effort
    task-budget betas tools allowedTools disallowedTools setting-sources add-dir plugin-dir system-prompt-file
    """.split()
)


def redact_command(argv: Sequence[str]) -> str:
    """Return a command line for people: quoted for a shell, without what may be secret."""
    before = ["", *argv]  # what follows a bare "--token" is one
    return " ".join(_shown(argument, _names_secret(before[place])) for place, argument in enumerate(argv))


def _shown(argument: str, is_secret: bool) -> str:
    # Sessions are started with the same arguments, but for their ids, which are neither secret nor to be quoted.
    is_id = argument.startswith(_ID_FLAGS) and not is_secret and _ID.fullmatch(argument)
    return argument if is_id else _made_fit(argument, is_secret)


@functools.lru_cache(maxsize=64)
def _made_fit(argument: str, is_secret: bool) -> str:
    return shlex.quote("…" if is_secret else _redacted(argument))


def _redacted(argument: str) -> str:
    name, bound, value = argument.partition("=")
    flag = name.removeprefix("--")
    if name.startswith("--") and bound and value and flag not in _OPEN_FLAGS and not _is_our_file(flag, value):
        return f"{name}=…"
    if not name.startswith("-") and bound:  # NAME=value of a command such as `env` or `docker run`
        value = str(log.redact({name: value})[name])
    shown = str(log.redact(f"{name}{bound}{value}"))
    return shown if len(shown) <= _SHOWN else shown[:_SHOWN] + "…"


@functools.lru_cache(maxsize=64)
def _names_secret(argument: str) -> bool:
    bare = argument.startswith("-") and "=" not in argument
    return bare and bool(log.redact({argument: 0}) != {argument: 0})


def _is_our_file(flag: str, value: str) -> bool:
    return flag in ("settings", "mcp-config") and not value.lstrip().startswith("{")
