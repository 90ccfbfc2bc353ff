"""Waiting until a session has come to rest: no turn, no prompt on its way, no background task."""

import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from claude_control.deadline import Deadline
from claude_control.errors import NotSupportedError, ProcessExitedError, SessionClosedError, WaitTimeoutError
from claude_control.session.reading import read_item
from claude_control.unset import UNSET, Unset
from claude_control.wire.messages import Message
from claude_control.wire.support import CURRENT

if TYPE_CHECKING:
    from claude_control.session.connection import Connection

__all__ = ["follow", "wait_idle", "wait_tasks"]

SETTLE = 0.5
"""Seconds after the end of the last background task in which the program may start a turn about it.

On 2.1.332 it took 6 to 60 ms.
"""

Left = Callable[[], float | None]
"""Seconds until it is so if nothing changes: 0 now, None never."""


def wait_tasks(connection: "Connection", timeout: float | Unset | None) -> None:
    """Wait until no background task runs; raises `NotSupportedError` if the program will not tell."""

    def left() -> float | None:
        tasks = connection.facts.tasks
        unknown = () if connection.program.modern else tasks.unknown
        if unknown:
            running = connection.program.version
            what = f"the end of background task {unknown[0]} is not told, so waiting for it"
            text = f"{what} needs Claude Code {CURRENT} or newer, but {running or 'an older version'} is running"
            raise NotSupportedError(text, what="wait_tasks()", needs=CURRENT, program_version=running)
        return None if tasks.listed else 0.0

    _wait(connection, left, timeout, "background tasks still run")


def wait_idle(connection: "Connection", timeout: float | Unset | None) -> None:
    """Wait until nothing runs and nothing waits."""
    _wait(connection, lambda: _until_idle(connection), timeout, "the session is not idle")


def follow(connection: "Connection", deadline: Deadline) -> Iterator[Message]:
    """Yield what the program says by itself until the session is idle, or was closed.

    Raises `ProcessExitedError` if the program dies while there is still work.
    """
    changes = connection.conversation.changes
    while True:
        seen, seconds = changes.count, _until_idle(connection)  # before the take: all that led to it is there
        try:
            batch = connection.conversation.program.take(Deadline(0.0))
            connection.conversation.program.handed = []
        except SessionClosedError as ended:
            if seconds is None and isinstance(ended, ProcessExitedError):
                raise  # of background work that was cut short nobody else would tell
            return
        for item in batch or ():
            yield read_item(item, connection.reader.late_decoder.decode)
        if seconds == 0.0 or batch is None:
            return
        if deadline.expired():
            text = f"background work has not ended within {deadline.timeout:g} seconds; raise the timeout"
            raise WaitTimeoutError(text, timeout=deadline.timeout)
        with connection.interruptible:
            changes.wait(seen, deadline.sooner(seconds).slice())


def _until_idle(connection: "Connection") -> float | None:
    """Return the seconds until the session is idle if nothing happens meanwhile; None if something must happen."""
    tasks = connection.facts.tasks
    if tasks.listed or not connection.conversation.at_rest():
        return None
    since = tasks.quiet_since
    return 0.0 if since is None else max(0.0, since + SETTLE - time.monotonic())


def _wait(connection: "Connection", left: Left, timeout: float | Unset | None, trouble: str) -> None:
    connection.forbid_waiting()
    deadline = Deadline(None if timeout is UNSET else timeout)
    changes = connection.conversation.changes
    with connection.interruptible:
        while True:
            seen = changes.count
            connection.check_alive()
            seconds = left()
            if seconds == 0.0:
                return
            if deadline.expired():
                text = f"{trouble} after {deadline.timeout:g} seconds; wait again, or stop what runs"
                raise WaitTimeoutError(text, timeout=deadline.timeout)
            changes.wait(seen, deadline.sooner(seconds).slice())
