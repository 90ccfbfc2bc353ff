"""A time limit that many requests share: one timer for all of them, for most are answered long before it is up."""

import threading
import time
import weakref
from collections import deque
from collections.abc import Callable
from functools import partial

from claude_control.process.loop import guarded
from claude_control.process.watch import Timer, call_later
from claude_control.session.answers import OpenRequest

__all__ = ["TimeLimit"]

_SWEEP_FROM = 64  # requests from which on it is worth looking which of them are over


class TimeLimit:
    """Tells of each request that is still open so many seconds after it came.

    `expire` is called in the watch thread with the request and the instant at which it came; it must not block. A
    request that is over is kept by nobody here.
    """

    def __init__(
        self,
        seconds: float,
        is_open: Callable[[OpenRequest], bool],
        expire: Callable[[OpenRequest, float], None],
    ) -> None:
        self._seconds = seconds
        self._is_open = is_open  # takes no lock
        self._expire = expire
        self._lock = threading.Lock()  # guards all below
        self._asked: deque[tuple[float, weakref.ref[OpenRequest]]] = deque()  # oldest first; some are over
        self._most = _SWEEP_FROM
        self._timer: Timer | None = None
        self._ended = False

    def start(self, request: OpenRequest, asked: float) -> None:
        """Begin to count for a request that came at this instant on the monotonic clock, not before the last one."""
        with self._lock:
            if self._ended:
                return
            self._asked.append((asked, weakref.ref(request)))
            if len(self._asked) > self._most:
                self._asked = deque(each for each in self._asked if self._open(each[1]) is not None)
                self._most = max(2 * len(self._asked), _SWEEP_FROM)
            if self._timer is None:
                self._timer = call_later(self._seconds, self._look)

    def end(self) -> None:
        """Count no more: every request is over. Idempotent."""
        with self._lock:
            self._ended = True
            self._asked.clear()
        timer = self._timer  # the last one
        if timer is not None:
            timer.cancel()  # before it is forgotten: who is struck in here leaves it to the next end
            self._timer = None

    def _open(self, reference: "weakref.ref[OpenRequest]") -> OpenRequest | None:
        request = reference()
        return request if request is not None and self._is_open(request) else None

    def _look(self) -> None:
        """Take out those that are late or over, and come again for the next one; on the watch thread."""
        late = []
        with self._lock:
            self._timer = None
            now = time.monotonic()
            while self._asked:
                asked, reference = self._asked[0]
                request = self._open(reference)
                if request is not None:
                    if asked + self._seconds > now:
                        self._timer = call_later(asked + self._seconds - now, self._look)
                        break
                    late.append((request, asked))
                self._asked.popleft()
        for each in late:
            guarded(partial(self._expire, *each), "timer")
