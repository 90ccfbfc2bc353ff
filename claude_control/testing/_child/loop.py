"""Scripts that run side by side in one thread: generators that yield what they wait for."""

from __future__ import annotations

import math
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from . import Play

# Seconds between two looks at a condition that no pipe announces (a file that a test makes).
_LOOK = 0.005


class Wait:
    """What a script waits for: a condition, a time, or whichever comes first; neither is never."""

    __slots__ = ("_condition", "polled", "until")

    def __init__(
        self, condition: Callable[[], bool] | None = None, seconds: float | None = None, polled: bool = False
    ) -> None:
        self._condition = condition
        self.until = math.inf if seconds is None else time.monotonic() + seconds
        self.polled = polled

    def over(self) -> bool:
        """Tell whether the script may go on."""
        return time.monotonic() >= self.until or (self._condition is not None and self._condition())

    def left(self) -> float:
        """Seconds after which it is worth looking again, if nothing was read meanwhile."""
        return min(self.until - time.monotonic(), _LOOK if self.polled else math.inf)


class Loop:
    """All scripts that run; `advance` plays each as far as it goes."""

    __slots__ = ("_waits",)

    def __init__(self) -> None:
        self._waits: dict[Play, Wait | None] = {}

    def start(self, script: Play) -> Play:
        """Add a script; it begins with the next `advance`."""
        self._waits[script] = None
        return script

    def stop(self, script: Play) -> None:
        """End a script where it waits; one that has ended is no error."""
        self._waits.pop(script, None)
        script.close()

    def advance(self) -> None:
        """Play every script until all of them wait."""
        moved = True
        while moved:
            moved = False
            for script in list(self._waits):
                moved = self._step(script) or moved

    def _step(self, script: Play) -> bool:
        """Play one script up to its next wait; returns whether it moved."""
        if script not in self._waits:
            return False  # stopped by one that ran before it
        wait = self._waits[script]
        if wait is not None and not wait.over():
            return False
        try:
            self._waits[script] = next(script)
        except StopIteration:
            self._waits.pop(script, None)
        return True

    def pause(self) -> float | None:
        """Seconds until a script may go on by itself; None when only input can move one."""
        left = min((wait.left() for wait in self._waits.values() if wait), default=math.inf)
        return None if left == math.inf else max(0.0, left)
