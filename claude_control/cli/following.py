"""Following a turn to its end, and what the program does by itself behind it."""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator

from claude_control import errors
from claude_control.cli.exits import Code, Stopped
from claude_control.cli.printing import Printer
from claude_control.cli.signals import interruptible, time_limit
from claude_control.cli.status import Status
from claude_control.session.session import Session
from claude_control.session.turn import Turn
from claude_control.wire.messages import Message

__all__ = ["closing", "follow", "follow_tasks"]

WIND_UP = 2.0
"""Seconds that a turn gets to end after an interrupt: as long as the library gives it on Ctrl-C."""

CLOSE = 5.0
"""Seconds for closing when a supervisor wants the end: with the wind-up before it, less than the 10 that it waits."""

CLOSE_AT_ONCE = 0.5
"""Seconds for closing after a second Ctrl-C: a program that is well ends in less."""

_LOOK = 0.02
_ANNOUNCEMENT = "Interrupting the turn; press Ctrl-C again to end at once."


@contextlib.contextmanager
def closing(session: Session) -> Iterator[None]:
    """Close the session behind the block; sooner than usual if a signal wants the end."""
    try:
        yield
    except Stopped as stop:
        session.close(timeout=CLOSE if _is_patient(stop) else CLOSE_AT_ONCE)
        raise
    finally:
        session.close()


def follow(
    session: Session, turn: Turn, printer: Printer, status: Status, meanwhile: Callable[[Message], None] | None = None
) -> None:
    """Show a turn's messages until it has ended.

    A signal interrupts the turn, and what it still says is shown before the exception goes on. `meanwhile` is called
    with each message too.
    """
    with interruptible(lambda: status.terminal.announce(_ANNOUNCEMENT)):
        try:
            _show(turn, printer, status, meanwhile)
        except (KeyboardInterrupt, Stopped) as stop:
            if _is_patient(stop):
                _wind_up(session, turn)
            if turn.state == "done":
                # That the session ended over it is no news, and nobody may be reading what is shown.
                with contextlib.suppress(errors.ClaudeControlError, Stopped), time_limit(WIND_UP):
                    _show(turn, printer, status, meanwhile)
            raise


def _is_patient(stop: BaseException) -> bool:
    """Tell whether there is time for an end in order: after a second Ctrl-C there is none."""
    return not (isinstance(stop, Stopped) and stop.code == Code.INTERRUPTED)


def _show(turn: Turn, printer: Printer, status: Status, meanwhile: Callable[[Message], None] | None) -> None:
    for message in turn:
        status.see(message)
        printer.show(message)
        if meanwhile is not None:
            meanwhile(message)


def _wind_up(session: Session, turn: Turn) -> None:
    """Interrupt a turn and give it a moment to end; waiting in the library has done so already."""
    if turn.state == "done":
        return
    until = time.monotonic() + WIND_UP
    with contextlib.suppress(errors.ClaudeControlError):  # whatever it is: the session is closed next
        session.interrupt(timeout=WIND_UP)
    while turn.state != "done" and time.monotonic() < until:
        time.sleep(_LOOK)


def follow_tasks(session: Session, printer: Printer, status: Status) -> None:
    """Show what the program does by itself until no background task is left; then the session is closed.

    Only 2.1.332 says which tasks there are; with older programs there is nothing to wait for.
    """
    if not session.tasks:
        return
    threading.Thread(target=_close_when_idle, args=(session,), name="claude-rest", daemon=True).start()
    for message in session.messages():
        status.see(message)
        printer.show(message)


def _close_when_idle(session: Session) -> None:
    """Close a session that has come to rest, which ends its messages."""
    with contextlib.suppress(errors.ClaudeControlError):  # somebody else has closed it, or the program has ended
        session.wait_idle()
        session.close()
