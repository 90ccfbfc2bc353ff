"""What a version of the program supports, read off the same tables that gate requests and options."""

from typing import Any

from claude_control.errors import CLIVersionError, NotSupportedError
from claude_control.options import Options
from claude_control.process.support import check_supported, flags_needing_version
from claude_control.records import frozen
from claude_control.wire import requests
from claude_control.wire.conformance import SUBTYPES
from claude_control.wire.support import CURRENT, OLDEST, Program

__all__ = ["Feature", "features"]

# One example for each field that not every measured program knows.
_REQUESTS: tuple[requests.Request[Any], ...] = (
    requests.Interrupt(cancel_queued=True),
    requests.RewindFiles("the prompt's uuid", dry_run=True),
    requests.SetMaxThinkingTokens(0, "omitted"),
    requests.SetPermissionMode("auto"),
)
_OPTIONS: tuple[dict[str, Any], ...] = (
    {"effort": "low"},
    {"include_hook_events": True},
    {"task_budget": {"total": 1}},
    {"thinking": {"type": "adaptive"}},
    {"skills": ["one"]},
    {"permission_mode": "auto"},
    {"forward_subagent_text": True},
)


@frozen
class Feature:
    """Something that a program may support; `needs` is the oldest version that does, None if this one does."""

    name: str
    needs: str | None


def features(program: Program, version: str | None) -> tuple[Feature, ...]:
    """Return what a program supports and what it does not."""
    found = [Feature(subtype, None) for subtype, needs in sorted(SUBTYPES.items()) if needs == OLDEST]
    found.append(Feature("all other control requests", None if program.modern else CURRENT))
    for request in _REQUESTS:
        what, needs = request.needs()
        found.append(Feature(what, None if program.knows(needs) else needs))
    for fields in _OPTIONS:
        options = Options(**fields)
        found.append(Feature(flags_needing_version(options)[0], _missing(options, version)))
    return tuple(found)


def _missing(options: Options, version: str | None) -> str | None:
    try:
        check_supported(options, version)
    except NotSupportedError as error:
        return error.needs
    except CLIVersionError:  # the version is not known, and matters
        return CURRENT
    return None
