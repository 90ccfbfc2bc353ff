"""What the running program can do, as it says itself and as was measured."""

from typing import Any

from claude_control.records import frozen
from claude_control.wire.conformance import SUBTYPES
from claude_control.wire.requests import Request
from claude_control.wire.support import CURRENT, Program

__all__ = ["Capabilities"]


@frozen
class Capabilities:
    """What the running program can do.

    `names` are its own words, such as "interrupt_receipt_v1": 2.1.332 says some at the start and more with its first
    turn, older programs none. `name in capabilities` looks there.
    """

    program: Program
    names: tuple[str, ...] = ()

    @property
    def turn_ids(self) -> bool:
        """Whether frames name the prompts of their turn by uuid (2.1.332), so that turns are matched by that."""
        return self.program.modern

    def supports(self, what: "str | Request[Any]") -> bool:
        """Tell whether the program knows a request: a record with its fields, or a subtype.

        An older program whose exact version is not known yet counts as the oldest one.
        """
        needs = SUBTYPES.get(what, CURRENT) if isinstance(what, str) else what.needs()[1]
        return self.program.knows(needs)

    def __contains__(self, name: object) -> bool:
        return name in self.names
