"""A thread that is done waits a moment for something else to do, and what is begun is done by one of them, once."""

import gc
import os
import signal
import sys
import threading
import warnings
import weakref
from collections import deque
from collections.abc import Iterator
from typing import Any

import pytest

from claude_control.process import workers
from tests.threads import LIVELOCKS_WHEN_TRACED, struck
from tests.waiting import wait_until


@pytest.fixture(autouse=True)
def _only_its_own(no_leaks: None) -> Iterator[None]:
    """Each test begins and ends without such threads."""
    workers.dismiss()
    yield
    workers.dismiss()


def spares() -> list[threading.Thread]:
    """Return the threads that wait."""
    return [thread for thread in threading.enumerate() if thread.name == "claude-spare"]


def all_have_ended() -> bool:
    """Dismiss those that wait; returns whether none is left."""
    workers.dismiss()
    return not [thread for thread in threading.enumerate() if thread.name.startswith("claude-")]


def done_in(name: str) -> tuple[threading.Thread, str]:
    """Have a thread do something; return it, and the name that it had then."""
    found: list[tuple[threading.Thread, str]] = []
    over = threading.Event()

    def task() -> None:
        found.append((threading.current_thread(), threading.current_thread().name))
        over.set()

    workers.start(task, name, [])
    assert over.wait(10)
    return found[0]


def test_thread_that_waits_does_the_next_thing() -> None:
    """Things that are done one after the other are done by one thread, under the name of each."""
    first = done_in("claude-a")
    wait_until(spares)
    assert (first[1], done_in("claude-b")) == ("claude-a", (first[0], "claude-b"))


def test_things_at_the_same_time_have_a_thread_each() -> None:
    """What cannot be given to a thread that waits is done at once all the same."""
    threads: list[threading.Thread] = []
    gate = threading.Barrier(4)

    def task() -> None:
        threads.append(threading.current_thread())
        gate.wait(10)

    for number in range(3):
        workers.start(task, f"claude-{number}", [])
    gate.wait(10)
    assert len({*threads}) == 3


def test_thread_ends_by_itself() -> None:
    """A thread that nobody wants any more ends within moments."""
    thread, _ = done_in("claude-a")
    wait_until(lambda: not thread.is_alive())
    assert spares() == []


def test_dismissed_threads_have_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that wait are gone when they were dismissed, and one at work goes on with that."""
    monkeypatch.setattr(workers, "KEEP_ALIVE", 60.0)
    gate, over, busy = threading.Event(), threading.Event(), list[object]()

    def task() -> None:
        gate.wait(10)
        over.set()

    workers.start(task, "claude-a", busy)
    idle, _ = done_in("claude-b")
    wait_until(lambda: busy and spares())
    workers.dismiss()
    assert (idle.is_alive(), spares()) == (False, [])
    gate.set()
    assert over.wait(10)
    wait_until(all_have_ended)


def test_thread_keeps_nothing_of_what_it_did(monkeypatch: pytest.MonkeyPatch) -> None:
    """While it waits, what it was given before is nobody's, so that a session can go."""
    monkeypatch.setattr(workers, "KEEP_ALIVE", 60.0)

    class Thing:
        def __call__(self) -> None:
            pass

    thing = Thing()
    gone = weakref.ref(thing)
    workers.start(thing, "claude-a", [thing])
    del thing
    wait_until(spares)
    gc.collect()
    assert gone() is None


def test_thread_that_is_wanted_when_its_time_is_up_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread that was taken in the moment in which it was about to end does what it was given."""
    over = threading.Event()

    class Late(deque[Any]):
        def remove(self, worker: Any) -> None:
            super().remove(worker)
            if not over.is_set():
                worker.tasks.put((over.set, "claude-b", []))
                raise ValueError

    monkeypatch.setattr(workers, "KEEP_ALIVE", 0.0)
    monkeypatch.setattr(workers, "_spare", Late())
    thread, _ = done_in("claude-a")
    assert over.wait(10)
    wait_until(lambda: not thread.is_alive())


def test_start_begins_nothing_at_shutdown_that_would_not_be_done(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the interpreter ends, a thread that waits is given nothing: it would not come to it."""
    monkeypatch.setattr(workers, "KEEP_ALIVE", 60.0)
    thread, _ = done_in("claude-a")
    wait_until(spares)
    monkeypatch.setattr(sys, "is_finalizing", lambda: True)
    other, _ = done_in("claude-b")
    monkeypatch.undo()
    assert other is not thread


@LIVELOCKS_WHEN_TRACED
@pytest.mark.parametrize("waiting", [False, True])
def test_struck_start_begins_it_once_or_not_at_all(monkeypatch: pytest.MonkeyPatch, waiting: bool) -> None:
    """Wherever who starts something is struck, it is done at most once, and `taken` says so as soon as it is begun."""
    monkeypatch.setattr(workers, "KEEP_ALIVE", 60.0)
    number, was_struck = 0, True
    while was_struck:
        number += 1
        if waiting:
            done_in("claude-a")
            wait_until(spares)
        taken: list[object] = []
        seen: list[bool] = []
        was_struck = struck(lambda t=taken, s=seen: workers.start(lambda: s.append(bool(t)), "claude-b", t), number)  # type: ignore[misc]
        done_in("claude-c")
        wait_until(all_have_ended)
        assert seen == [True] * len(taken)
        assert len(taken) <= 1
        assert taken or was_struck
    assert number > 5


def test_forked_child_gives_nothing_to_threads_that_it_does_not_have(monkeypatch: pytest.MonkeyPatch) -> None:
    """The parent forks without threads that wait, and in the child a new thread does what is to be done."""
    monkeypatch.setattr(workers, "KEEP_ALIVE", 60.0)
    done_in("claude-a")
    wait_until(spares)
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)  # from 3.12 on: of a fork beside other threads
        pid = os.fork()
    if pid == 0:
        signal.alarm(20)
        done_in("claude-b")
        os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
    assert spares() == []
