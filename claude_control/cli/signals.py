"""What the signals of a terminal and of a supervisor do: each becomes an exception in the main thread.

So they take the same way out as everything else, through the `with` blocks that close the session.
"""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from claude_control.cli.exits import Code, Stopped

__all__ = ["announcing", "time_limit", "watching"]

AGAIN = 5.0
"""Seconds after which a time limit strikes again: what is done to end in order has its own, shorter limits."""

_ENDING = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))

_announcement: tuple[bytes, Callable[[], None]] | None = None


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
    if _announcement is not None:
        # Not through the streams: the main thread may be in the middle of a write to them.
        text, written = _announcement
        os.write(2, text)
        written()
    raise KeyboardInterrupt


@contextmanager
def announcing(text: str, written: Callable[[], None]) -> Iterator[None]:
    """Have Ctrl-C say this on stderr at once, before what it interrupts has come to its end.

    `written` is called behind it, in the handler of the signal.
    """
    global _announcement
    before, _announcement = _announcement, (text.encode(), written)
    try:
        yield
    finally:
        _announcement = before


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
