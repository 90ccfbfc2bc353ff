"""Timers in a heap: cheap to set, cheap to cancel, thousands at once. Only the watch uses them."""

import heapq
import itertools
from collections.abc import Callable

__all__ = ["Timer", "TimerQueue"]

_SWEEP_FROM = 64  # cancelled timers that may lie in the heap before it is worth rebuilding


class Timer:
    """A function that will be called once, unless `cancel` is first."""

    __slots__ = ("_cancel", "function", "queue", "when")

    def __init__(self, when: float, function: Callable[[], object], cancel: "Callable[[Timer], bool]") -> None:
        self.when = when
        self.function: Callable[[], object] | None = function  # None: fired or cancelled
        self.queue: TimerQueue | None = None
        self._cancel = cancel

    def cancel(self) -> bool:
        """Keep the function from being called; False if it was too late (fired, firing or cancelled already)."""
        return self._cancel(self)

    def __repr__(self) -> str:
        return f"<Timer {'over' if self.function is None else self.when}>"


class TimerQueue:
    """Pending timers by time, on the monotonic clock. Not locked: its owner calls it under a lock of its own."""

    __slots__ = ("_cancelled", "_heap", "_numbers")

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, Timer]] = []
        self._numbers = itertools.count()  # timers of one instant fire in the order in which they were set
        self._cancelled = 0

    def __len__(self) -> int:
        return len(self._heap) - self._cancelled

    @property
    def next(self) -> float | None:
        """The earliest instant at which there may be something to do, or None."""
        return self._heap[0][0] if self._heap else None

    def push(self, timer: Timer) -> bool:
        """Add a timer; True if it is the earliest now."""
        timer.queue = self
        heapq.heappush(self._heap, (timer.when, next(self._numbers), timer))
        return self._heap[0][2] is timer

    def cancel(self, timer: Timer) -> bool:
        """Take a timer out; False if it was out already. Its function is let go of at once."""
        if timer.function is None:
            return False
        timer.function = None
        if timer.queue is not self:
            return False  # set before this process was forked: it never fires here
        self._cancelled += 1
        # Most timers are cancelled: they are swept out in bulk, or the heap would hold every hook of the last minute.
        if self._cancelled > _SWEEP_FROM and self._cancelled * 2 > len(self._heap):
            self._heap = [entry for entry in self._heap if entry[2].function is not None]
            heapq.heapify(self._heap)
            self._cancelled = 0
        return True

    def due(self, now: float) -> list[Callable[[], object]]:
        """Take out the functions whose time has come, earliest first."""
        functions = []
        while self._heap and self._heap[0][0] <= now:
            timer = heapq.heappop(self._heap)[2]
            function, timer.function = timer.function, None
            if function is None:
                self._cancelled -= 1
            else:
                functions.append(function)
        return functions
