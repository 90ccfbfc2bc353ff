"""Ctrl-C in a wait: it interrupts the turn that runs, and a second one closes the session."""

from types import TracebackType
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from claude_control.session.connection import Connection

__all__ = ["Interruptible"]


class Interruptible:
    """Stands around every wait for the program: Ctrl-C interrupts the turn that runs, then goes on its way.

    Entering it in a forked child raises `ForkedError`.
    """

    def __init__(self, connection: "Connection") -> None:
        self._connection = connection

    def __enter__(self) -> Self:
        self._connection.check_owner()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None and issubclass(kind, KeyboardInterrupt) and self._connection.error is None:
            self._interrupt()

    def _interrupt(self) -> None:
        """Interrupt what runs and wait a little for its end; a second Ctrl-C meanwhile closes the session."""
        from claude_control.session.closing import close_connections  # it needs the connection's module

        try:
            self._connection.prompting.interrupt_and_wait()
        except KeyboardInterrupt:
            close_connections([self._connection], timeout=None)
            raise
