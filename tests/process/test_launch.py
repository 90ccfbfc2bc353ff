"""A start that is interrupted or fails leaves nothing behind."""

import signal
import threading
from types import FrameType

import pytest

from claude_control.process.launch import OwnThread, uninterrupted


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
