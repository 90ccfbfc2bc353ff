"""What a session holds outside of its own objects, and how many sessions give theirs back together."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import attrs

from claude_control import log
from claude_control.process import orphans
from claude_control.process.bounded import call_bounded
from claude_control.process.spill import SpillFiles
from claude_control.session import living

if TYPE_CHECKING:
    from claude_control.session.connection import Connection

__all__ = ["Belongings", "give_back"]

_log = log.get(__name__)


@attrs.frozen
class Belongings:
    """The marker that the session's processes carry, whether the watchdog knows it, and the session's files."""

    marker: str
    guarded: bool
    files: SpillFiles


def give_back(connections: Sequence["Connection"]) -> None:
    """Give back what connections hold whose programs are gone: tools that still run, the guard, files, descriptors.

    One sweep for all, for it looks at every process of the machine. Who is struck by Ctrl-C in here leaves the rest to
    the next close; after a failure there is none, and nobody waits for these any longer.
    """
    try:
        _give_back(connections)
    except Exception:
        _let_go(connections)
        raise
    _let_go(connections)


def _give_back(connections: Sequence["Connection"]) -> None:
    killed = orphans.sweep([each.belongings.marker for each in connections if each.kill_tools])
    if killed:
        _log.info("tools.ended", pids=killed)
    orphans.release([each.belongings.marker for each in connections if each.belongings.guarded])
    for each in connections:
        each.belongings.files.close()
        call_bounded(each.transport, "close")


def _let_go(connections: Sequence["Connection"]) -> None:
    for each in connections:
        living.remove(each)
        each.released.set()
