"""What the watch thread turns: one selector over all stderr pipes and process exits."""

import contextlib
import functools
import os
import selectors
import time
from collections.abc import Callable

from claude_control import log
from claude_control.process.descriptors import pipe
from claude_control.process.watched import Watched

__all__ = ["Loop", "guarded"]

GRACE = 0.2
"""Seconds after the exit for which stderr is still read if a grandchild holds it: a last line may be on its way."""

_EXIT_POLL = 0.05  # seconds between looks at processes without a pidfd: costs nothing, and nobody notices the delay

_log = log.get(__name__)


def guarded(function: Callable[[], object], what: str) -> None:
    """Call something in the watch thread, which outlives whatever it raises."""
    try:
        function()
    except Exception as error:
        _log.error("watch.callback_failed", callback=what, error=repr(error))


class Loop:
    """Selector, wake-up pipe and the processes that are followed.

    Everything but `wake` and `add` belongs to the watch thread.
    """

    def __init__(self) -> None:
        self.watched: set[Watched] = set()
        self.selector = selectors.DefaultSelector()
        try:
            self._wake_reading, self._wake_writing = pipe()
        except BaseException:
            self.selector.close()
            raise
        os.set_blocking(self._wake_reading.fd, False)
        os.set_blocking(self._wake_writing.fd, False)
        self.selector.register(self._wake_reading.fd, selectors.EVENT_READ, self._woken)
        self._polled: set[Watched] = set()  # those without a pidfd
        self._untold: set[Watched] = set()  # ended, and the reader of the output does not know yet
        self._lingering: dict[Watched, float] = {}  # ended, stderr still open: when it is dropped

    def wake(self) -> None:
        """End the present wait, or the next one at once."""
        with contextlib.suppress(BlockingIOError):  # a full pipe wakes as well
            os.write(self._wake_writing.fd, b"\0")

    def wait(self, timer: float | None) -> None:
        """Wait for events and serve them; until `timer` on the monotonic clock at the latest."""
        for key, _ in self.selector.select(self._timeout(timer)):
            guarded(key.data, "event")

    def tick(self) -> None:
        """Do what is due by the clock."""
        if not (self._polled or self._untold or self._lingering):
            return  # nearly always
        for watched in list(self._polled):
            self._look_for_exit(watched)
        for watched in [each for each in self._untold if each.tell_reader()]:
            self._untold.discard(watched)
            self._forget_if_over(watched)
        if self._lingering:
            now = time.monotonic()
            for watched in [each for each, until in self._lingering.items() if until <= now]:
                self._close_stderr(watched)

    def add(self, watched: Watched) -> None:
        """Follow a process. Called in any thread, under the watch's lock: a selector may get more while it waits."""
        self.watched.add(watched)
        if watched.stderr is not None:
            serve = functools.partial(self._read_stderr, watched)
            self.selector.register(watched.stderr.fd, selectors.EVENT_READ, serve)
        if watched.pidfd is not None:
            serve = functools.partial(self._look_for_exit, watched)
            self.selector.register(watched.pidfd.fd, selectors.EVENT_READ, serve)  # last: from here on it may be over
        else:
            self._polled.add(watched)

    def drop(self, watched: Watched) -> None:
        """Read no more of its stderr; a process that still runs is followed to its end."""
        self._close_stderr(watched)

    def close(self) -> None:
        """Close the loop's own descriptors."""
        self.selector.close()
        self._wake_reading.close()
        self._wake_writing.close()

    # -- private ----------------------------------------------------------------------------------------------------

    def _timeout(self, timer: float | None) -> float | None:
        if timer is None and not (self._polled or self._untold or self._lingering):
            return None
        times = list(self._lingering.values())
        if timer is not None:
            times.append(timer)
        now = time.monotonic()
        if self._polled or self._untold:
            times.append(now + _EXIT_POLL)
        return max(0.0, min(times) - now) if times else None

    def _woken(self) -> None:
        with contextlib.suppress(BlockingIOError):
            os.read(self._wake_reading.fd, 4096)

    def _read_stderr(self, watched: Watched) -> None:
        # An event of this round may be about a pipe that an earlier event of the round has closed.
        if watched.stderr is not None and watched.stderr.fd >= 0 and not watched.read_stderr():
            self._close_stderr(watched)

    def _look_for_exit(self, watched: Watched) -> None:
        if watched.exit is not None:
            return
        is_open = watched.stderr is not None and watched.stderr.fd >= 0
        if not watched.collect():
            self._keep_polling(watched)
            return
        if is_open and not watched.read_last_words():
            self._close_stderr(watched)
            is_open = False
        self._let_go_of_pid(watched)
        if is_open:
            self._lingering[watched] = time.monotonic() + GRACE
        watched.tell_exit()
        if not watched.tell_reader():
            self._untold.add(watched)
        self._forget_if_over(watched)

    def _keep_polling(self, watched: Watched) -> None:
        """Turn to polling when the pidfd said that it ended and the exit cannot be collected (a debugger holds it)."""
        if watched not in self._polled:
            self._let_go_of_pid(watched)
            self._polled.add(watched)

    def _let_go_of_pid(self, watched: Watched) -> None:
        self._polled.discard(watched)
        pidfd, watched.pidfd = watched.pidfd, None
        if pidfd is not None:
            self.selector.unregister(pidfd.fd)
            pidfd.close()

    def _close_stderr(self, watched: Watched) -> None:
        self._lingering.pop(watched, None)
        if watched.stderr is not None and watched.stderr.fd >= 0:
            self.selector.unregister(watched.stderr.fd)
            watched.stderr.close()
        self._forget_if_over(watched)

    def _forget_if_over(self, watched: Watched) -> None:
        is_open = watched.stderr is not None and watched.stderr.fd >= 0
        if watched.exit is not None and not is_open and watched not in self._untold:
            self.watched.discard(watched)
            watched.over = True
