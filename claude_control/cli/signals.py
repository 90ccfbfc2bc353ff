"""What the signals of a terminal and of a supervisor do: each becomes an exception in the main thread.

So they take the same way out as everything else, through the `with` blocks that close the session.
"""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from claude_control.cli.exits import Code, Stopped

__all__ = ["interruptible", "time_limit", "watching"]

AGAIN = 3.0
"""Seconds after which a time limit strikes again: what is done to end in order has its own, shorter limits."""

_ENDING = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))

_first: Callable[[], None] | None = None
_in_turn = False


@contextmanager
def watching() -> Iterator[None]:
    """Turn SIGTERM and SIGHUP into `Stopped`, the first time; a second one ends the process at once.

    What the parent had the process ignore (`nohup`) stays ignored. Ctrl-C stays KeyboardInterrupt.
    """
    before: dict[Any, Any] = {}
    try:
        for number in _ENDING:
            if signal.getsignal(number) is not signal.SIG_IGN:
                before[number] = signal.signal(number, _stop)
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            before[signal.SIGINT] = signal.signal(signal.SIGINT, _interrupt)
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _stop(number: int, _frame: FrameType | None) -> None:
    signal.signal(number, signal.SIG_DFL)
    raise Stopped(128 + number)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    global _first
    first, _first = _first, None
    if first is not None:
        first()
    elif _in_turn:
        raise Stopped(Code.INTERRUPTED)
    raise KeyboardInterrupt


@contextmanager
def interruptible(first: Callable[[], None]) -> Iterator[None]:
    """Have the first Ctrl-C in the block call `first` at once, in the handler, and a second one end the command.

    What the first one interrupts may take its time to end; the second one is `Stopped`, and is not waited for.
    """
    global _first, _in_turn
    _first, _in_turn = first, True
    try:
        yield
    finally:
        _first, _in_turn = None, False


@contextmanager
def time_limit(seconds: float | None) -> Iterator[Callable[[], None]]:
    """Raise `Stopped` in the block when the time is up; yields a function that takes the limit back.

    A signal, and not a thread, because it also ends a write to a pipe that nobody reads; so it strikes again if the
    block is still there after a while.
    """

    def lift() -> None:
        if seconds is not None:
            signal.setitimer(signal.ITIMER_REAL, 0)

    def expire(_number: int, _frame: FrameType | None) -> None:
        raise Stopped(Code.TIMED_OUT)

    if seconds is None:
        yield lift
        return
    before = signal.signal(signal.SIGALRM, expire)
    signal.setitimer(signal.ITIMER_REAL, seconds, AGAIN)
    try:
        yield lift
    finally:
        lift()
        signal.signal(signal.SIGALRM, before)
