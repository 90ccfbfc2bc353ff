"""The survey of an old program: every row at once, and who is answered.

Old programs meet what they do not know with silence, which only time tells: so all rows are sent in one session, then a
request that is known, and one wait is for all of them.
"""

from collections.abc import Iterable

from claude_control import Session
from claude_control.deadline import Deadline
from claude_control.wire.requests import MCPStatus
from tests.real.conformance.lab import PATIENCE, past_the_gate
from tests.real.conformance.probes import Probe, Unchecked

SILENT_SECONDS = 6.0
"""How long nothing has to come; every program answers what it knows within milliseconds."""


def answered(session: Session, probes: Iterable[Probe]) -> frozenset[str]:
    """Return the labels of the rows that the program answers, with an error or without."""
    past_the_gate(session)
    replies = {probe.label: session.submit(Unchecked(probe.sample.body())) for probe in probes}
    session.submit(MCPStatus()).result(PATIENCE)  # whatever comes in order has come by now
    silence = Deadline(SILENT_SECONDS)
    for reply in replies.values():
        reply._wait(silence)
    session.submit(MCPStatus()).result(PATIENCE)  # it still lives: the silence was no death
    return frozenset(label for label, reply in replies.items() if reply.done())
