"""The threads that run what a user gave us.

Permission callbacks, hooks, tools, on_abort functions, taps and stderr callbacks.

Theory of operation. Most callbacks return within microseconds, and then one thread does more than many, which would
pass the interpreter's lock around at a switch of threads for each. But any may wait for a person. So work goes to the
hot thread, the one that took the last piece, as long as it is brisk; a piece that finds it slow gets a thread of its
own at once; and while work waits for a brisk one, a lookout sees to it that none waits for long.

A thread that has no work may wait at the door (`door.py`), where it reads the program's next request by itself: to be
woken for it takes longer than most callbacks.
"""

import contextvars
import threading
import time
from collections import deque
from collections.abc import Callable
from functools import partial

from claude_control import log
from claude_control.deadline import Deadline
from claude_control.session.door import Door

__all__ = ["CallbackPool", "InOrder"]

MAX_THREADS = 256
"""A callback may wait for another one, so all that are due must run at once; beyond this many they queue.
The program itself asks for no more than some dozens at a time (parallel tools, subagents and their hooks)."""

IDLE = 10.0
"""Seconds that a thread without work stays."""

PATIENCE = 0.004
"""Seconds for which a thread that took a piece of work is trusted to take the next one too, and between two looks of
the lookout: what waits behind a callback that blocks waits for twice that, and for another look for each doubling of
the number of threads. With less, a thread that just has to wait for its turn on a busy machine would look blocked."""

LATE = 0.02
"""Seconds after its last look up to which the lookout is believed to look again; it waits for the interpreter, too."""

BRISK = 0.0005
"""Seconds that a piece takes at the most for its thread to be brisk."""

_log = log.get(__name__)


class _Worker:
    """A thread of the pool, and the bell that wakes it."""

    __slots__ = ("bell", "since", "thread", "took")

    def __init__(self) -> None:
        self.bell = threading.Lock()
        self.bell.acquire()  # held: who acquires it once more waits for `release`
        self.since = 0.0  # when it took its piece; 0 before the first one since it was called
        self.thread = 0  # its identifier, once it runs
        self.took = False  # whether it has read a request by itself, and was not called

    def waits(self) -> bool:
        """Tell whether nothing has come yet."""
        return self.bell.locked() and not self.took


class CallbackPool:
    """Grows when its threads are slow to take what waits, shrinks when they are idle.

    Its threads are daemons, so none ever holds up the interpreter's exit.
    """

    def __init__(self, name: str, release: Callable[[], None] = lambda: None) -> None:
        self._name = name
        self._release = release  # writes what was kept because more `follows`
        self._context = contextvars.copy_context()  # the opener's: what a web view bound shows in its callbacks
        self._lock = threading.Lock()  # guards all below, but for what the hot thread does when it takes a piece
        self._work: deque[Callable[[], None]] = deque()
        self._idle: list[_Worker] = []  # the last that came is woken first, so that the others can end
        self._threads: set[threading.Thread] = set()
        self._hot: _Worker | None = None  # who took the last piece, or was woken for it; None once it is idle
        self._hot_since = 0.0
        self._lookout: _Worker | None = None
        self._looked = 0.0  # when the lookout has looked last, or was called; 0 when it leaves
        self._expected: threading.Thread | None = None  # who has read a request by itself
        self.door: Door | None = None
        """Where a thread without work may wait for the program's requests."""
        self._taken = 0
        self._closed = False
        self._may_start = True
        self._made = 0

    def submit(self, *functions: Callable[[], None]) -> bool:
        """Run each on a thread of the pool as soon as one is to be had; returns False once the pool is closed.

        That is within some milliseconds, however long the others take, while fewer than `MAX_THREADS` run.
        """
        with self._lock:
            if self._closed:
                return False
            waits = len(functions) > 1  # behind another one
            self._work.extend(functions)
            if self._expected is not None and self._expected is threading.current_thread():
                self._expected = None  # it has read the request, and takes what comes of it
            elif self._hot is None or time.monotonic() - self._hot_since > PATIENCE:
                self._call_one()
            else:
                waits = True
            if waits and self._lookout is None:
                self._post_lookout()
        return True

    def follows(self) -> bool:
        """Tell whether more comes at once from this thread, so that what it has to say may be kept for that.

        It is then a brisk one of the pool, with work before it, and the lookout looks, or was called just now: that one
        has what was kept written within `PATIENCE`, if the next piece is held up after all, and does so too when it
        leaves. Only a callback that computes, without letting go of the interpreter, holds it up as well. Takes no
        lock.
        """
        hot = self._hot
        if hot is None or not self._work or hot.thread != threading.get_ident():
            return False
        now = time.monotonic()
        return now - self._hot_since < BRISK and now - self._looked < LATE

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
            while self._idle:
                self._wake(self._idle.pop())

    def join(self, deadline: Deadline) -> list[str]:
        """Wait for the threads to end after `close()`.

        Returns the names of those that would not: they are abandoned.
        """
        if not self._threads:
            return []
        here = threading.current_thread()
        while True:  # what waits at the end may still get threads of its own
            others = [thread for thread in list(self._threads) if thread is not here and thread.is_alive()]
            if not others or deadline.expired():
                return sorted(thread.name for thread in others)
            others[0].join(deadline.remaining())

    # -- private: under the lock ---------------------------------------------------------------------------------------

    def _call_one(self) -> bool:
        """Have one more thread take work; False if none is to be had."""
        if self._idle:
            worker = self._idle.pop()
            worker.since = 0.0
            self._wake(worker)
        else:
            worker = _Worker()
            if not self._start(worker):
                return False
        self._hot, self._hot_since = worker, time.monotonic()
        return True

    def _wake(self, worker: _Worker) -> None:
        worker.bell.release()
        if self.door is not None:
            self.door.ring()

    def _post_lookout(self) -> None:
        if self._idle:
            self._lookout = self._idle.pop()
            self._wake(self._lookout)
            self._looked = time.monotonic()  # then only is it sure to look
            return
        self._lookout = worker = _Worker()  # first, because the thread looks whether it is this
        posted = False
        try:
            posted = self._start(worker)
            self._looked = time.monotonic() if posted else 0.0
        finally:  # Ctrl-C may strike in there
            if not posted:
                self._lookout = None

    def _start(self, worker: _Worker) -> bool:
        if len(self._threads) >= MAX_THREADS or not self._may_start:
            return False
        thread = threading.Thread(target=self._run, args=(worker,), name=f"{self._name}-{self._made}", daemon=True)
        self._made += 1
        self._threads.add(thread)
        try:
            thread.start()
        except RuntimeError:  # the interpreter is ending, or the system has no more threads: the work waits for another
            self._threads.discard(thread)
            return False
        return True

    # -- private: the pool's threads -----------------------------------------------------------------------------------

    def _run(self, worker: _Worker) -> None:
        try:
            worker.thread = threading.get_ident()
            while (function := self._next(worker)) is not None:
                try:
                    self._context.copy().run(function)  # a context is entered by one thread at a time
                except BaseException as error:  # a callback's own errors were dealt with before; this is ours
                    _log.error("callback.broken", error=repr(error))
                del function  # what it holds must not live until the next one comes
        finally:  # a time limit that a user's function has set may strike outside of it
            with self._lock:
                self._dismiss(worker)
            self._release()

    def _next(self, worker: _Worker) -> Callable[[], None] | None:
        # Most pieces are the hot thread's, with more behind them. To take one is one step without the lock, too,
        # and others only estimate by what is noted before it.
        if self._hot is worker and self._work and self._lookout is not worker and not worker.took:
            self._hot_since = worker.since = time.monotonic()
            self._taken += 1
            try:
                return self._work.popleft()
            except IndexError:  # another thread has, just now
                pass
        while True:
            if self._lookout is worker:
                self._look_out(worker)
                self._release()
            elif not self._work:
                self._release()
            with self._lock:
                if worker.took:
                    worker.took = False
                    if self._expected is threading.current_thread():
                        self._expected = None  # nothing came of it
                if self._work:
                    now = time.monotonic()
                    if self._hot is worker or self._closed or self._wants(worker, now):
                        self._hot, self._hot_since, worker.since = worker, now, now
                        self._taken += 1
                        return self._work.popleft()
                    if self._lookout is None:
                        self._lookout = worker
                        continue
                if self._hot is worker:
                    self._hot = None
                if self._closed:
                    self._dismiss(worker)
                    return None
                self._idle.append(worker)
            until = time.monotonic() + IDLE
            if self.door is not None:
                self.door.wait(worker.waits, partial(self._expect, worker), IDLE)
                if worker.took:
                    continue
            if not worker.bell.acquire(timeout=max(0.0, until - time.monotonic())):
                with self._lock:
                    if worker in self._idle:
                        self._dismiss(worker)  # in one step: nobody must count on this one any more
                        return None
                    worker.bell.acquire(blocking=False)  # it was rung just now

    def _expect(self, worker: _Worker) -> None:
        """Note that a thread has read a request, which it is going to take."""
        with self._lock:
            if worker in self._idle:
                self._idle.remove(worker)
                self._hot, self._hot_since, worker.since = worker, time.monotonic(), 0.0
                self._expected, worker.took = threading.current_thread(), True

    def _wants(self, worker: _Worker, now: float) -> bool:
        """Tell whether a thread is to take the next piece, or can leave it to a brisk one."""
        is_brisk = now - worker.since < BRISK and now - self._hot_since < BRISK
        return self._hot is None or not is_brisk

    def _look_out(self, worker: _Worker) -> None:
        """See to it that work is taken, until there is none; returns to help, where no other thread is to be had."""
        more, before, used = 1, self._taken, time.process_time()
        self._looked = since = time.monotonic()
        while True:
            worker.bell.acquire(timeout=PATIENCE)  # nobody rings it: this is a pause
            self._release()
            now, using = time.monotonic(), time.process_time()
            self._looked = now
            # More threads do nothing for callbacks that compute: these have the processor to themselves already.
            waiting = using - used < (now - since) / 2
            with self._lock:
                taken = self._taken - before
                slow = taken == 0 or (waiting and taken * BRISK < now - since)
                if not self._work or (slow and not self._call(more)):
                    self._lookout, self._looked = None, 0.0
                    return
                more = 2 * more if slow else 1
                before, since, used = self._taken, now, using

    def _call(self, count: int) -> bool:
        """Have so many more threads take work, as far as there is any; False if they are not to be had."""
        return all(self._call_one() for _ in range(min(len(self._work), count)))

    def _dismiss(self, worker: _Worker) -> None:
        self._threads.discard(threading.current_thread())
        if worker in self._idle:
            self._idle.remove(worker)
        if self._lookout is worker:
            self._lookout, self._looked = None, 0.0
        if worker.took:
            self._expected = None
        if self._hot is worker:
            self._hot = None
        if self._work:  # it was struck
            self._call_one()

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
