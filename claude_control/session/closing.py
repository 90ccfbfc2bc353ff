"""The close ladder, for one session or many at once.

Interrupt what runs and wait for its end; deny what is still asked; end every program's input; keep reading until their
output ends; SIGTERM; SIGKILL to the group; then whatever still carries the session's marker. All programs take each
step together, so that many sessions take about as long as the slowest. Every step is bounded, and nothing here waits
for a user's code.
"""

from collections.abc import Sequence

from claude_control import log
from claude_control.deadline import Deadline, wait_event
from claude_control.errors import ClaudeControlError
from claude_control.process.stopping import stop
from claude_control.session.belongings import give_back
from claude_control.session.connection import Connection
from claude_control.wire.requests import Interrupt

__all__ = ["close_connections"]

CALLBACK_PATIENCE = 1.0
"""Seconds that callbacks get to end after their signal has fired, before they are abandoned."""

FLUSH_PATIENCE = 1.0
"""Seconds that lines still queued get to be written before the input ends."""

JOIN_PATIENCE = 2.0
"""Seconds that readers and writers get to end once the programs are gone, all together."""

KILL_PATIENCE = 2.0
"""Seconds that the system gets to carry out a SIGKILL; more than a process in an uninterruptible wait deserves."""

_log = log.get(__name__)


def close_connections(
    connections: Sequence[Connection], *, timeout: float | None, wait: bool = False, exiting: bool = False
) -> None:
    """Close them all; one that somebody else closes already is waited for.

    `timeout` (seconds, None: only the steps' own limits) bounds the whole; with `wait` turns are first let to end.
    At the interpreter's exit (`exiting`) no thread is started, and no callback waited for.
    """
    deadline = Deadline(timeout)
    if wait:
        for connection in connections:
            _wait_for_turns(connection, deadline)
    if exiting:
        for connection in connections:
            connection.start_no_thread()
    mine: list[Connection] = []
    try:
        mine += [connection for connection in connections if connection.begin_close()]
        _climb(mine, deadline, exiting=exiting)
    except BaseException:
        for connection in mine:
            connection.leave_close()
        raise
    for connection in set(connections).difference(mine):
        # A callback cannot wait for somebody who waits for it.
        if not connection.pool.owns_this_thread():
            wait_event(connection.released, deadline.sooner(connection.close_bound()))


def _climb(mine: Sequence[Connection], deadline: Deadline, *, exiting: bool) -> None:
    """Take every step; whoever is struck by Ctrl-C in the middle leaves the rest to the next close."""
    _interrupt(mine, deadline)
    _end_input(mine, deadline)
    _stop(mine, deadline, threads=not exiting)
    threads, callbacks = deadline.sooner(JOIN_PATIENCE), deadline.sooner(0.0 if exiting else CALLBACK_PATIENCE)
    for connection in reversed(mine):  # the last one first, as its thread ends last: the others are done then
        connection.settle(threads, callbacks)
    give_back(mine)


def _wait_for_turns(connection: Connection, deadline: Deadline) -> None:
    while (record := connection.conversation.current) is not None and wait_event(record.done, deadline):
        if connection.conversation.current is record:
            return  # it did not end by its result: the session has failed, or somebody else closes it


def _interrupt(connections: Sequence[Connection], deadline: Deadline) -> None:
    waits = []
    for connection in connections:
        connection.conversation.refuse()
        record = connection.conversation.current
        if not connection.has_ended and (
            record is not None or connection.conversation.router.state not in (None, "idle")
        ):
            connection.conversation.note_stop()
            try:
                connection.calls.submit(Interrupt())
            except ClaudeControlError:
                continue  # it has just ended by itself
            if record is not None:
                waits.append((record, deadline.sooner(connection.options.interrupt_grace)))
    for record, until in waits:
        wait_event(record.done, until)


def _end_input(connections: Sequence[Connection], deadline: Deadline) -> None:
    for connection in connections:
        connection.answers.end("closed", deny=True)
    until = deadline.sooner(FLUSH_PATIENCE)
    for connection in connections:
        connection.writer.flush(until)
        connection.writer.close()  # the first of the steps to come ends the input itself


def _stop(connections: Sequence[Connection], deadline: Deadline, *, threads: bool) -> None:
    if not connections:
        return
    left = stop(
        [connection.transport for connection in connections],
        exit_grace=max(connection.options.exit_grace for connection in connections),
        terminate_grace=max(connection.options.terminate_grace for connection in connections),
        kill_grace=KILL_PATIENCE,
        deadline=deadline,
        threads=threads,
    )
    for transport in left:
        _log.warning("process.not_stopped", transport=repr(transport))
