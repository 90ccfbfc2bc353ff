"""A start that is interrupted or fails leaves nothing behind."""

import os
import signal
import threading
import time
from collections.abc import Callable
from types import FrameType

import pytest

from claude_control.process.launch import TURN_PATIENCE, OwnThread, uninterrupted


class Interrupted(Exception):
    """What the signal handler of a test raises."""


def test_result_is_handed_over() -> None:
    """What is made is made in the watch thread, returned once and not undone."""
    undone: list[str] = []
    assert uninterrupted(lambda: threading.current_thread().name, undone.append) == "claude-watch"
    assert undone == []


def test_own_threads_make_it_themselves() -> None:
    """In a thread of ours, which nothing strikes, it is made right there."""
    made: list[str] = []
    thread = OwnThread(target=lambda: made.append(uninterrupted(lambda: threading.current_thread().name, made.append)))
    thread.name = "ours"
    thread.start()
    thread.join(10)
    assert made == ["ours"]


def own(function: Callable[[], object]) -> OwnThread:
    """Run `uninterrupted(function)` in a thread of ours."""
    thread = OwnThread(target=lambda: uninterrupted(function, lambda made: None), daemon=True)
    thread.start()
    return thread


def test_own_threads_start_one_program_at_a_time() -> None:
    """However many threads of ours start programs, each waits for the one before."""
    at_work, together = threading.Lock(), list[bool]()

    def make() -> None:
        alone = at_work.acquire(blocking=False)
        together.append(not alone)
        for _ in range(100):
            os.stat(os.curdir)  # lets go of the interpreter, so that another one would begin
        if alone:
            at_work.release()

    for thread in [own(make) for _ in range(32)]:
        thread.join(10)
    assert together == [False] * 32


def test_start_that_hangs_holds_nobody_up() -> None:
    """Who comes behind a start that hangs waits for a moment, and those who come later do not."""
    hangs, go = threading.Event(), threading.Event()

    def hang() -> None:
        hangs.set()
        assert go.wait(20)

    hanging = own(hang)
    try:
        assert hangs.wait(10)
        began = time.monotonic()
        own(lambda: None).join(10)
        assert time.monotonic() - began >= TURN_PATIENCE
        began = time.monotonic()
        for _ in range(20):
            own(lambda: None).join(10)
        assert time.monotonic() - began < 10 * TURN_PATIENCE
    finally:
        go.set()
        hanging.join(10)
    assert not hanging.is_alive()


def test_error_is_handed_over() -> None:
    """What is raised while it is made is raised where it was asked for."""
    with pytest.raises(ZeroDivisionError):
        uninterrupted(lambda: 1 // 0, lambda made: None)


def test_interrupted_start_is_undone() -> None:
    """What is made for a caller who was interrupted meanwhile is undone as soon as it is made."""
    making, raised, interrupted, undone = (threading.Event() for _ in range(4))
    kept: list[str] = []

    def make() -> str:
        making.set()
        assert interrupted.wait(10)
        return "made"

    def undo(made: str) -> None:
        kept.append(made)
        undone.set()

    def interrupt() -> None:
        assert making.wait(10)
        while not raised.wait(0.05):  # Python may take a first signal for one that comes before the wait
            signal.pthread_kill(main, signal.SIGUSR1)

    def handle(number: int, frame: FrameType | None) -> None:
        if not raised.is_set():
            raised.set()
            raise Interrupted

    main = threading.get_ident()
    before = signal.signal(signal.SIGUSR1, handle)
    thread = threading.Thread(target=interrupt)
    thread.start()
    try:
        with pytest.raises(Interrupted):
            uninterrupted(make, undo)
    finally:
        thread.join()
        signal.signal(signal.SIGUSR1, before)
    interrupted.set()
    assert undone.wait(10)
    assert kept == ["made"]
