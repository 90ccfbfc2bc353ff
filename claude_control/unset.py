"""The one marker for "not given", which is neither None nor null."""

import enum


class Unset(enum.Enum):
    """The type of `UNSET`; an enum of one member, so that type checkers can narrow on it."""

    UNSET = "UNSET"

    def __repr__(self) -> str:
        return "UNSET"

    def __bool__(self) -> bool:
        return False


UNSET = Unset.UNSET
"""Not given: a timeout then is the configured default, a wire field is left out."""
