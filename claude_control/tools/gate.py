"""A limit on how many calls run at once, without a thread for those that wait."""

import threading
from collections import deque
from collections.abc import Callable

from claude_control.process import forks

__all__ = ["Gate"]


class Gate:
    """Starts what is handed to it, first come first served, at most `limit` at a time; None is no limit.

    A start is a function that begins a call elsewhere and returns at once, False if there is nothing to begin. Every
    one that began must `leave()`.
    """

    def __init__(self, limit: int | None) -> None:
        self.limit = limit
        self._reset()
        if limit is not None:
            forks.on_fork_in_child(self._reset)  # the calls of the parent, which run there, must not count here

    def _reset(self) -> None:
        self._lock = threading.Lock()  # guards the two below
        self._running = 0
        self._waiting: deque[Callable[[], bool]] = deque()

    def enter(self, start: Callable[[], bool]) -> None:
        """Start now, or as soon as another has left."""
        if self.limit is None:
            start()
            return
        with self._lock:
            if self._running >= self.limit:
                self._waiting.append(start)
                return
            self._running += 1
        if not start():
            self.leave()

    def leave(self) -> None:
        """Hand the place on to the next that begins, or give it up."""
        while self.limit is not None:
            with self._lock:
                if not self._waiting:
                    self._running -= 1
                    return
                start = self._waiting.popleft()
            if start():
                return

    def __reduce__(self) -> tuple[type["Gate"], tuple[int | None]]:
        return Gate, (self.limit,)  # who runs and who waits belongs to this process

    def __repr__(self) -> str:
        return f"<Gate {self._running} of {self.limit} run, {len(self._waiting)} wait>"
