"""Which measured program knows what: the gate that every request passes before it is written.

Programs before 2.1.332 never answer what they do not know, and 2.0.75 really rewinds on a dry run, so nothing unknown
may reach them. A version between two measured ones counts as the older of them unless its initialize answer has
`capabilities`.
"""

import re

import attrs

__all__ = ["CURRENT", "MEASURED", "OLDEST", "Program", "parse_version"]

OLDEST = "2.0.75"
"""The oldest program that is known here."""
CURRENT = "2.1.332"
"""The newest one; newer ones are taken to know all that it knows."""
MEASURED = (OLDEST, "2.1.7", CURRENT)
"""The programs that the facts in this package were measured on, oldest first."""


def parse_version(text: str) -> tuple[int, ...] | None:
    """Return the numbers of "2.1.332" or "2.1.332 (Claude Code)"; None if there are none."""
    found = re.search(r"\d+(?:\.\d+)+", text)
    return tuple(int(part) for part in found.group().split(".")) if found else None


@attrs.frozen
class Program:
    """What is known of the running program.

    `version` is its own word ("2.1.332"), or None if it has not said it. `modern` says that its initialize answer had
    `capabilities`: it then names the uuids of a turn's prompts, reports its state and answers unknown requests.
    """

    version: str | None
    modern: bool

    @property
    def measured(self) -> str:
        """The measured version that this one counts as."""
        if self.modern:
            return CURRENT
        numbers = parse_version(self.version) if self.version else None
        return "2.1.7" if numbers is not None and numbers >= (2, 1, 7) else OLDEST

    def knows(self, needs: str) -> bool:
        """Tell whether it knows what the measured version `needs` brought."""
        return MEASURED.index(self.measured) >= MEASURED.index(needs)
