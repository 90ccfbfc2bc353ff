"""The threads that run what a user gave us.

Permission callbacks, hooks, on_abort functions, taps and stderr callbacks.
"""

import contextvars
import threading
from collections import deque
from collections.abc import Callable

from claude_control import log
from claude_control.deadline import Deadline

__all__ = ["CallbackPool", "InOrder"]

MAX_THREADS = 256
"""A callback may wait for another one, so all that are due must run at once; beyond this many they queue.
The program itself asks for no more than some dozens at a time (parallel tools, subagents and their hooks)."""

IDLE = 10.0
"""Seconds that a thread without work stays."""

_log = log.get(__name__)


class CallbackPool:
    """Grows when every thread is busy, shrinks when they are idle.

    Its threads are daemons, so none ever holds up the interpreter's exit.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._context = contextvars.copy_context()  # the opener's: what a web view bound shows in its callbacks
        self._lock = threading.Lock()  # guards the six below; taken by itself, as the writer's is
        self._changed = threading.Condition(self._lock)
        self._work: deque[Callable[[], None]] = deque()
        self._idle = 0
        self._threads: set[threading.Thread] = set()
        self._closed = False
        self._may_start = True
        self._made = 0

    def submit(self, function: Callable[[], None]) -> bool:
        """Run `function` on a thread of its own as soon as one is to be had; returns False once the pool is closed."""
        with self._lock:
            if self._closed:
                return False
            self._work.append(function)
            if self._idle >= len(self._work):
                self._changed.notify()
            elif len(self._threads) < MAX_THREADS and self._may_start:
                self._add_thread()
        return True

    def owns_this_thread(self) -> bool:
        """Tell whether the caller is one of the callbacks."""
        return threading.current_thread() in self._threads

    def start_no_thread(self) -> None:
        """From now on make do with the threads that run: the interpreter is shutting down."""
        with self._lock:
            self._may_start = False

    def close(self) -> None:
        """Take no more work and let the threads end once what was taken is done. Idempotent."""
        with self._lock:
            self._closed = True
            self._changed.notify_all()

    def join(self, deadline: Deadline) -> list[str]:
        """Wait for the threads to end after `close()`.

        Returns the names of those that would not: they are abandoned.
        """
        here = threading.current_thread()
        for thread in list(self._threads):
            if thread is not here and thread.ident is not None:  # None: Ctrl-C struck while it was being started
                thread.join(deadline.remaining())
        return sorted(thread.name for thread in list(self._threads) if thread is not here and thread.is_alive())

    def _add_thread(self) -> None:
        thread = threading.Thread(target=self._run, name=f"{self._name}-{self._made}", daemon=True)
        self._made += 1
        self._threads.add(thread)
        try:
            thread.start()
        except RuntimeError:  # the interpreter is ending, or the system has no more threads: the work waits for another
            self._threads.discard(thread)

    def _run(self) -> None:
        while (function := self._next()) is not None:
            try:
                self._context.copy().run(function)  # a context is entered by one thread at a time
            except BaseException as error:  # a callback's own errors were dealt with before; this is ours
                _log.error("callback.broken", error=repr(error))
            del function  # what it holds must not live until the next one comes
        with self._lock:
            self._threads.discard(threading.current_thread())

    def _next(self) -> Callable[[], None] | None:
        with self._lock:
            if not self._work and not self._closed:
                self._idle += 1
                try:
                    self._changed.wait_for(lambda: self._work or self._closed, IDLE)
                finally:  # a time limit that a user's function has set may strike here
                    self._idle -= 1
            if not self._work:
                self._threads.discard(threading.current_thread())  # under the lock: submit must not count on this one
                return None
            return self._work.popleft()

    def __repr__(self) -> str:
        return f"<CallbackPool {len(self._threads)} threads, {len(self._work)} waiting>"


class InOrder:
    """Runs a drain function on the pool, one run at a time, whenever it is told that there is something to drain."""

    def __init__(self, pool: CallbackPool, drain: Callable[[], bool]) -> None:
        self._pool = pool
        self._drain = drain  # handles what is there; returns whether there may be more
        self._lock = threading.Lock()  # guards the two below
        self._running = False
        self._again = False

    def wake(self) -> None:
        """Say that there is something to drain."""
        with self._lock:
            if self._running:
                self._again = True
                return
            self._running = True
        if not self._pool.submit(self._run):
            self._running = False

    def _run(self) -> None:
        while True:
            try:
                more = self._drain()
            except BaseException:
                with self._lock:
                    self._running, again, self._again = False, self._again, False
                if again:
                    self.wake()
                raise
            with self._lock:
                if not more and not self._again:
                    self._running = False
                    return
                self._again = False
