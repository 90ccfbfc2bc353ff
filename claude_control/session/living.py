"""The connections that are open in this process, for the interpreter's exit."""

import atexit
import os
import threading
from typing import TYPE_CHECKING

from claude_control.process import forks

if TYPE_CHECKING:
    from claude_control.session.connection import Connection

__all__ = ["add", "describe", "remove"]

EXIT_LIMIT = 5.0
"""Seconds that the interpreter's exit waits for open sessions to end, all together."""


class _Living:
    def __init__(self) -> None:
        self._lock = threading.Lock()  # guards the two below
        self._connections: set[Connection] = set()
        self._registered = False
        self._owner = os.getpid()

    def add(self, connection: "Connection") -> None:
        with self._lock:
            self._connections.add(connection)
            if not self._registered:
                self._registered = True
                atexit.register(self.close)
                forks.on_fork_in_child(self.forget)

    def remove(self, connection: "Connection") -> None:
        with self._lock:
            self._connections.discard(connection)

    def describe(self) -> list[str]:
        with self._lock:
            connections = list(self._connections)
        return [f"session {each.name}: {each.calls.pending!r}, {each.answers!r}" for each in connections]

    def close(self) -> None:
        """Close what is open when the interpreter exits; in a forked child there is nothing of ours."""
        if os.getpid() != self._owner or not self._connections:
            return
        from claude_control.session.closing import close_connections

        close_connections(list(self._connections), timeout=EXIT_LIMIT, exiting=True)

    def forget(self) -> None:
        self._lock = threading.Lock()
        self._connections = set()
        self._owner = os.getpid()


_living = _Living()


def add(connection: "Connection") -> None:
    """Note a connection whose program runs."""
    _living.add(connection)


def remove(connection: "Connection") -> None:
    """Forget a connection that was closed."""
    _living.remove(connection)


def describe() -> list[str]:
    """Say of each open session what waits in it: our requests and the program's."""
    return _living.describe()
