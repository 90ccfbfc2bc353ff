"""The child side of the scripted CLI: a small program that plays a script over its pipes.

It is run by `_cli_main.py` in a bare interpreter as a top-level package, so its modules import each other relatively,
and beyond that only what is cheap of the standard library: no `typing`, `uuid`, `threading` or `subprocess`. One thread
does everything: output is queued and written when the pipe takes it, input is read whatever a step waits for.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:  # what annotations use; `typing` itself starts slowly
    from collections.abc import Generator
    from typing import Any, TypeAlias

    from .loop import Wait

    Frame: TypeAlias = dict[str, Any]
    """One line of either direction, decoded."""

    Play: TypeAlias = Generator[Wait, None, None]
    """A script being played: it yields what it waits for."""
