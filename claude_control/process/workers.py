"""Threads of ours that stay for a moment when they are done, in case that the next session needs one.

To start a thread, and above all to end it with its stack, takes a quarter of the time of closing many sessions.
"""

import contextlib
import contextvars
import os
import threading
from collections import deque
from collections.abc import Callable
from operator import attrgetter
from queue import Empty, SimpleQueue

from claude_control.deadline import Deadline
from claude_control.process.launch import OwnThread

__all__ = ["KEEP_ALIVE", "dismiss", "start"]

KEEP_ALIVE = 0.2
"""Seconds for which a thread waits for something else to do; as long as the watchdog waits for the next session."""

_NAME = "claude-spare"
_DISMISS_PATIENCE = 1.0  # seconds that `dismiss` waits for threads that end in microseconds unless they are starved
_LOOK = 0.01  # seconds between two looks whether such a one has been given something to do after all

_Task = tuple[Callable[[], bool], str, list[object]]  # what to do, the thread's name for it, and `taken` of `start`


class _Worker(OwnThread):
    """A thread that does one thing after the other."""

    def __init__(self, task: _Task) -> None:
        super().__init__(name=task[1], daemon=True)
        self.tasks: SimpleQueue[_Task | None] = SimpleQueue()  # one at a time; None tells it to end
        self.tasks.put(task)

    def run(self) -> None:
        task = self.tasks.get()
        while task is not None:
            function, self.name, taken = task
            taken.append(self)
            del task, taken  # what was a session's is kept by nobody when it is over
            may_stay = contextvars.Context().run(function)
            del function
            if not may_stay:
                return
            self.name = _NAME
            task = self._next()

    def _next(self) -> _Task | None:
        """Wait a moment for something else to do."""
        with contextlib.suppress(Empty):
            _spare.append(self)
            return self.tasks.get(timeout=KEEP_ALIVE)
        try:
            _spare.remove(self)
        except ValueError:  # somebody has taken it out just now, and given it something in the same step
            return self.tasks.get()
        return None


_spare: deque[_Worker] = deque()  # that wait; the one that came last, whose stack is in the cache, is taken first


def start(function: Callable[[], bool], name: str, taken: list[object]) -> None:
    """Have a thread of this name do something, which must not raise; it puts something into `taken` when it begins.

    The function returns whether its thread may be used once more. Raises RuntimeError as `threading.Thread.start`. Who
    is struck from outside in here does not know whether it was begun unless that list says so; it may still be.
    """
    task = (function, name, taken)
    # Not when the interpreter ends: such a thread could not start the others that a session needs. And not from one of
    # them, where a finalizer may run that would have to wait for itself.
    may_hire = threading.main_thread().is_alive() and not isinstance(threading.current_thread(), _Worker)
    if not (may_hire and _hire(task)):
        _Worker(task).start()


def _hire(task: _Task | None) -> bool:
    """Give a task to a thread that waits for one, in one step, in C: a strike finds this undone or done."""
    done: list[None] = []
    if not _spare:
        return False
    with contextlib.suppress(IndexError):
        done.extend(map(SimpleQueue.put, map(attrgetter("tasks"), map(deque.pop, (_spare,))), (task,)))
    return bool(done)


def dismiss() -> None:
    """End the threads that only wait; they would end by themselves a little later."""
    ending, deadline = tuple(_spare), Deadline(_DISMISS_PATIENCE)
    while _hire(None):
        pass
    for thread in ending:
        while thread.is_alive() and thread.name == _NAME and not deadline.expired():
            thread.join(_LOOK)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_spare.clear)  # the child has none of them
