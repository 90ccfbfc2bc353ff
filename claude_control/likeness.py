"""Which known name a wrong one may have been meant as."""

from collections.abc import Iterable

from claude_control import loading

__all__ = ["closest"]


def closest(name: str, known: Iterable[str], cutoff: float = 0.6) -> str | None:
    """Return the known name that is most like `name`, or None if none is; `cutoff` goes from 0, like all, to 1."""
    difflib = loading.import_module("difflib")  # late: hardly any program makes a mistake that it is needed for
    found: list[str] = difflib.get_close_matches(name, known, n=1, cutoff=cutoff)
    return found[0] if found else None
