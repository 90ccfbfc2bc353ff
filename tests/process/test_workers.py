"""A thread that is done waits a moment for something else to do, and what is begun is done by one of them, once."""

import contextvars
import gc
import os
import signal
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
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
    return [*workers._spare]


def all_have_ended() -> bool:
    """Dismiss those that wait; returns whether none is left."""
    workers.dismiss()
    return not [thread for thread in threading.enumerate() if thread.name.startswith("claude-")]


def setting(event: threading.Event) -> Callable[[], bool]:
    """Return something to do that sets an event."""

    def task() -> bool:
        event.set()
        return True

    return task


def done_in(name: str) -> tuple[threading.Thread, str]:
    """Have a thread do something; return it, and the name that it had then."""
    found: list[tuple[threading.Thread, str]] = []
    over = threading.Event()

    def task() -> bool:
        found.append((threading.current_thread(), threading.current_thread().name))
        over.set()
        return True

    workers.start(task, name, [])
    assert over.wait(10)
    return found[0]


def test_thread_that_waits_does_the_next_thing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Things that are done one after the other are done by one thread, under the name of each."""
    monkeypatch.setattr(workers, "KEEP_ALIVE", 60.0)
    first = done_in("claude-a")
    wait_until(spares)
    assert (first[1], done_in("claude-b")) == ("claude-a", (first[0], "claude-b"))


def test_things_at_the_same_time_have_a_thread_each() -> None:
    """What cannot be given to a thread that waits is done at once all the same."""
    threads: list[threading.Thread] = []
    gate = threading.Barrier(4)

    def task() -> bool:
        threads.append(threading.current_thread())
        gate.wait(10)
        return True

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

    def task() -> bool:
        gate.wait(10)
        over.set()
        return True

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
        def __call__(self) -> bool:
            return True

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
                worker.tasks.put((setting(over), "claude-b", []))
                raise ValueError

    monkeypatch.setattr(workers, "KEEP_ALIVE", 0.0)
    monkeypatch.setattr(workers, "_spare", Late())
    thread, _ = done_in("claude-a")
    assert over.wait(10)
    wait_until(lambda: not thread.is_alive())


def test_thread_that_waits_is_given_nothing_at_shutdown(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the interpreter ends, that could start no other thread that is needed for it, and wait for ever."""
    monkeypatch.setattr(workers, "KEEP_ALIVE", 60.0)
    thread, _ = done_in("claude-a")
    wait_until(spares)
    monkeypatch.setattr(threading, "main_thread", lambda: thread)
    monkeypatch.setattr(thread, "is_alive", lambda: False)
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

        def task(taken: list[object] = taken, seen: list[bool] = seen) -> bool:
            seen.append(bool(taken))
            return True

        was_struck = struck(partial(workers.start, task, "claude-b", taken), number)
        done_in("claude-c")
        wait_until(all_have_ended)
        assert seen == [True] * len(taken)
        assert len(taken) <= 1
        assert taken or was_struck
    assert number > 5


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_forked_child_gives_nothing_to_threads_that_it_does_not_have(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the child a new thread does what is to be done, and in the parent the one that waits."""
    monkeypatch.setattr(workers, "KEEP_ALIVE", 60.0)
    thread, _ = done_in("claude-a")
    wait_until(spares)
    pid = os.fork()
    if pid == 0:
        try:
            signal.alarm(20)
            done_in("claude-b")
            os._exit(7)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
    assert done_in("claude-c")[0] is thread


def test_thread_does_no_more_if_it_must_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """A function may say that its thread is not to be used again, which then ends."""
    monkeypatch.setattr(workers, "KEEP_ALIVE", 60.0)
    threads: list[threading.Thread] = []

    def task() -> bool:
        threads.append(threading.current_thread())
        return False

    workers.start(task, "claude-a", [])
    wait_until(lambda: threads and not threads[0].is_alive())
    assert done_in("claude-b")[0] is not threads[0]


def test_each_thing_has_a_context_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is bound to a context variable while a thread does one thing is not seen when it does the next."""
    monkeypatch.setattr(workers, "KEEP_ALIVE", 60.0)
    variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="unset")
    seen: list[str] = []

    def task() -> bool:
        seen.append(variable.get())
        variable.set("set")
        return True

    for number in range(1, 3):
        workers.start(task, "claude-a", [])
        wait_until(lambda number=number: len(seen) == number and spares())  # type: ignore[misc]
    assert seen == ["unset", "unset"]


def test_thread_that_starts_something_in_its_own_wait_starts_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a finalizer starts in a thread that is about to wait is done by another one: it would wait for itself."""
    over = threading.Event()

    class Interrupted(deque[Any]):
        def append(self, worker: Any) -> None:
            super().append(worker)
            if not over.is_set():
                workers.start(setting(over), "claude-b", [])
                assert over.wait(10)

    monkeypatch.setattr(workers, "_spare", Interrupted())
    done_in("claude-a")
    wait_until(lambda: over.is_set() and all_have_ended())
