"""The one thread that watches every child process of this one: last words, exits, timers.

`claude-watch` starts with the first thing to watch and ends with the last. It runs none of the user's code and never
waits for anything but its selector.
"""

import functools
import threading
import time
from collections.abc import Callable

from claude_control.deadline import Deadline, Latch, wait_event
from claude_control.process import forks
from claude_control.process.loop import Loop, guarded
from claude_control.process.timers import Timer, TimerQueue
from claude_control.process.watched import Watched

__all__ = ["Timer", "Watch", "call_later", "follow", "forget"]

THREAD_NAME = "claude-watch"

_FORGET_PATIENCE = 1.0  # seconds that `forget` waits for the watch, which needs microseconds unless it is stuck


class Watch:
    """The watch of one process: what it is told from other threads, and the life of its thread."""

    def __init__(self) -> None:
        self._hooked = False
        self._reset()

    def _reset(self) -> None:
        self._lock = threading.RLock()  # guards every field below; reentrant for signal handlers that close a session
        self._thread: threading.Thread | None = None
        self._ending: threading.Thread | None = None  # the last thread, which ends or has ended
        self._loop: Loop | None = None
        self._departures: list[tuple[Watched, Latch]] = []
        self._timers = TimerQueue()
        self._woken = False  # one byte in the wake-up pipe is enough

    def follow(self, watched: Watched) -> None:
        """Watch a child process from here on."""
        with self._lock:
            if self._thread is None:
                self._start()
            assert self._loop is not None
            # Not left to the watch thread: to wake it would make two threads vie for the interpreter, in every open().
            guarded(functools.partial(self._loop.add, watched), "arrival")
            if watched.pidfd is None:
                self._wake()  # to poll for its exit

    def forget(self, watched: Watched) -> None:
        """Close its stderr and wait until that is done; its exit is still collected.

        If it was the last thing to watch, the thread has ended when this returns.
        """
        done = None
        with self._lock:
            if self._thread is not None:  # else nothing is watched, so nothing is held of this one
                if watched.over and self._has_more():
                    return
                done = Latch()
                self._departures.append((watched, done))
                self._wake()
        if threading.current_thread() in (self._thread, self._ending):
            return
        if done is not None:
            wait_event(done, Deadline(_FORGET_PATIENCE))
        if self._ending is not None:
            self._ending.join(_FORGET_PATIENCE)

    def call_later(self, seconds: float, function: Callable[[], object]) -> Timer:
        """Call `function` in the watch thread; it must neither block nor run anything of the user's."""
        timer = Timer(time.monotonic() + seconds, function, self._cancel)
        with self._lock:
            if self._timers.push(timer) or self._thread is None:
                try:
                    self._wake()
                except BaseException:  # no thread could be started, or Ctrl-C: the caller gets no timer
                    self._timers.cancel(timer)
                    raise
        return timer

    # -- private: any thread ----------------------------------------------------------------------------------------

    def _cancel(self, timer: Timer) -> bool:
        with self._lock:
            cancelled = self._timers.cancel(timer)
            if self._thread is not None and not self._timers and not (self._loop and self._loop.watched):
                # It may have been the last thing that kept the thread; one that watches something stays. Who cancels it
                # once more may have been struck here the first time.
                self._wake()
        return cancelled

    def _wake(self) -> None:
        if self._thread is None:
            self._start()
        elif not self._woken:
            self._woken = True
            assert self._loop is not None
            self._loop.wake()

    def _start(self) -> None:
        if not self._hooked:
            self._hooked = True
            forks.on_fork_in_child(self._forget_everything)
        loop = Loop()
        thread = threading.Thread(target=self._run, args=(loop,), name=THREAD_NAME, daemon=True)
        self._loop, self._thread, self._woken = loop, thread, False
        try:
            thread.start()
        except BaseException:
            if thread.ident is None:  # refused, or Ctrl-C came before its first step: if it still comes, it goes again
                self._loop = self._thread = None
                loop.close()
            raise

    def _forget_everything(self) -> None:
        # Runs in a forked child, which has no watch thread; the descriptors close themselves.
        loop = self._loop
        self._reset()
        if loop is not None:
            loop.selector.close()

    # -- private: the watch thread ----------------------------------------------------------------------------------

    def _run(self, loop: Loop) -> None:
        with self._lock:
            over = self._loop is not loop  # disowned by `_start`
        while not over:
            departures, due = self._take()
            for watched, _ in departures:
                guarded(functools.partial(loop.drop, watched), "departure")
            for function in due:
                guarded(function, "timer")
            loop.tick()
            over, timer = self._end_if_idle(loop)
            for _, event in departures:  # after the decision: whoever waits for it knows whether the thread ends
                event.set()
            if not over:
                loop.wait(timer)

    def _take(self) -> tuple[list[tuple[Watched, Latch]], list[Callable[[], object]]]:
        """Return what there is to do: who leaves, and the functions of timers."""
        with self._lock:
            self._woken = False
            departures, self._departures = self._departures, []
            return departures, self._timers.due(time.monotonic()) if self._timers.next is not None else []

    def _has_more(self) -> bool:
        """Whether the thread has something to stay for. Under the lock."""
        assert self._loop is not None
        return bool(self._loop.watched or self._departures or self._timers)

    def _end_if_idle(self, loop: Loop) -> tuple[bool, float | None]:
        """Return whether the thread ends, and when the next timer is due."""
        with self._lock:
            if self._has_more():
                return False, self._timers.next
            # Under the lock: whoever comes next finds no thread, and starts one.
            self._ending, self._thread, self._loop = self._thread, None, None
            self._timers = TimerQueue()
            loop.close()
        return True, None


_watch = Watch()


def follow(watched: Watched) -> None:
    """Watch a child process from here on. Raises RuntimeError if the watch thread cannot be started."""
    _watch.follow(watched)


def forget(watched: Watched) -> None:
    """Close what the watch holds of a process; its exit is still collected."""
    _watch.forget(watched)


def call_later(seconds: float, function: Callable[[], object]) -> Timer:
    """Call `function` once, in `seconds`, in the watch thread; it must neither block nor run anything of the user's."""
    return _watch.call_later(seconds, function)
