"""The waits of the model server: delays and gates, all of which end when the server stops."""

import threading
from collections import Counter

from claude_control.deadline import Deadline
from claude_control.errors import WaitTimeoutError

__all__ = ["GateTimeoutError", "Gates", "StoppedError"]


class StoppedError(Exception):
    """The server stops: what waited is given up."""


class GateTimeoutError(Exception):
    """Nobody released a gate in time."""


class Gates:
    """Named gates that open once and for all, and delays; `stop` ends every wait with `StoppedError`."""

    def __init__(self, timeout: float) -> None:
        self._timeout = timeout
        self._changed = threading.Condition()  # guards the fields below
        self._open: set[str] = set()
        self._waiting: Counter[str] = Counter()
        self._stopped = False

    def release(self, name: str) -> None:
        """Open a gate for those who wait at it and all who come later."""
        with self._changed:
            self._open.add(name)
            self._changed.notify_all()

    def pass_through(self, name: str) -> None:
        """Wait until the gate is open; raises `GateTimeoutError` after the time that the server grants."""
        with self._changed:
            self._waiting[name] += 1
            self._changed.notify_all()
            try:
                opened = self._changed.wait_for(lambda: self._stopped or name in self._open, self._timeout)
            finally:
                self._waiting[name] -= 1
            if self._stopped:
                raise StoppedError
            if not opened:
                raise GateTimeoutError(f"gate {name!r} was not released within {self._timeout} s")

    def sleep(self, seconds: float) -> None:
        """Wait so many seconds."""
        with self._changed:
            if self._changed.wait_for(lambda: self._stopped, seconds):
                raise StoppedError

    def wait_until_reached(self, name: str, timeout: float | None) -> None:
        """Wait until a request stands at the closed gate; raises `WaitTimeoutError` after `timeout` seconds."""
        deadline = Deadline(timeout)
        with self._changed:
            while not self._waiting[name]:
                if deadline.expired():
                    raise WaitTimeoutError(f"no request came to gate {name!r} within {timeout} s")
                self._changed.wait(deadline.slice())

    def stop(self) -> None:
        """End all waits, now and later."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()
