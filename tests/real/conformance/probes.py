"""Probes and topics: what is sent for a row of the matrix, and how its effect is seen."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import attrs

from claude_control.wire.requests import Request

if TYPE_CHECKING:
    from tests.real.conformance.lab import Lab

WORKS = "works"
ANSWERS = "answers"
SILENCE = "silence"
IGNORED = "ignored"

Check = Callable[["Lab"], object]
C = TypeVar("C", bound=Check)


@attrs.frozen
class Unchecked(Request[dict[str, Any]]):
    """A request with any body, valid or not; the reply is its payload."""

    subtype: ClassVar[str] = ""
    fields: Mapping[str, Any]

    def body(self) -> dict[str, Any]:
        """Return the fields, the subtype among them."""
        return dict(self.fields)

    def reply(self, response: dict[str, Any]) -> dict[str, Any]:
        """Return the payload."""
        return response


@attrs.frozen
class Probe:
    """One row: `check(lab)` makes the request and returns whether it did what it should, or a verdict in words.

    `sample` is what the survey sends to see whether the program answers at all. `field` names the field, or the field
    with its value, that the row is about; "" for the request itself.
    """

    sample: Request[Any]
    field: str
    verdict: str
    check: Check

    @property
    def label(self) -> str:
        """The row's first column."""
        subtype: str = self.sample.body()["subtype"]
        return f"{subtype}: {self.field}" if self.field else subtype

    @property
    def told(self) -> str:
        """What the check looks at, in words."""
        return " ".join((self.check.__doc__ or "").split())


@attrs.frozen
class Topic:
    """Probes that share a session, opened with these options, and are made in their order."""

    name: str
    options: Mapping[str, Any] = MappingProxyType({})
    probes: list[Probe] = attrs.field(factory=list)

    def works(self, sample: Request[Any], field: str = "") -> Callable[[C], C]:
        """Add a probe whose effect is seen outside of the answer."""
        return self._adds(sample, field, WORKS)

    def answers(self, sample: Request[Any], field: str = "") -> Callable[[C], C]:
        """Add a probe that asks for something, or whose effect shows nowhere: its answer is checked."""
        return self._adds(sample, field, ANSWERS)

    def _adds(self, sample: Request[Any], field: str, verdict: str) -> Callable[[C], C]:
        def add(check: C) -> C:
            self.probes.append(Probe(sample, field, verdict, check))
            return check

        return add

    def __str__(self) -> str:
        return self.name
