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

_SWEEP_FROM = 256  # requests from which on it is worth looking which of them are over


class TimeLimit:
    """Tells of each request that is still open so many seconds after it came.

    `expire` is called in the watch thread with the request; it must not block. A request that is over is kept by nobody
    here.
    """

    def __init__(
        self,
        seconds: float,
        is_open: Callable[[OpenRequest], bool],
        expire: Callable[[OpenRequest], None],
    ) -> None:
        self._seconds = seconds
        self._is_open = is_open  # takes no lock
        self._expire = expire
        # Guards all below. The reader appends without it, and looks then whether a timer runs.
        self._lock = threading.Lock()
        self._asked: deque[weakref.ref[OpenRequest]] = deque()  # oldest first; some are over
        self._most = _SWEEP_FROM
        self._timer: Timer | None = None
        self._ended = False

    def start(self, request: OpenRequest) -> None:
        """Begin to count for a request that came since the last one. Called by the reader."""
        self._asked.append(weakref.ref(request))
        if self._timer is not None and len(self._asked) <= self._most:
            return
        with self._lock:
            if self._ended:
                self._asked.clear()
                return
            if len(self._asked) > self._most:
                is_open = self._is_open
                self._asked = deque([each for each in self._asked if (kept := each()) is not None and is_open(kept)])
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
                request = self._open(self._asked[0])
                if request is not None:
                    if request.since + self._seconds > now:
                        self._timer = call_later(request.since + self._seconds - now, self._look)
                        break
                    late.append(request)
                self._asked.popleft()
        for each in late:
            guarded(partial(self._expire, each), "timer")
