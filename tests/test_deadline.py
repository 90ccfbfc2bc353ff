"""Deadlines, and waits that can be struck from outside."""

import contextlib
import math
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import pytest

from claude_control.deadline import SLICE, Deadline, Latch, wait_event, wait_future, wait_lock
from tests.threads import strike, together
from tests.waiting import wait_until


def test_none_never_ends() -> None:
    """Without a timeout nothing remains to be counted, and nothing expires."""
    deadline = Deadline(None)
    assert (deadline.remaining(), deadline.expired(), deadline.timeout) == (None, False, None)


def test_infinity_never_ends() -> None:
    """An infinite timeout is none."""
    assert Deadline(math.inf).remaining() is None
    assert Deadline(math.inf).expired() is False


def test_remaining_counts_down_to_zero() -> None:
    """What remains is at most the timeout, shrinks, and is never below 0."""
    deadline = Deadline(5.0)
    first, second = deadline.remaining(), deadline.remaining()
    assert first is not None and second is not None
    assert 4.0 < second <= first <= 5.0
    assert Deadline(-3.0).remaining() == 0.0


@pytest.mark.parametrize("timeout", [0, -1, -math.inf])
def test_no_time_is_expired(timeout: float) -> None:
    """A timeout of 0 or less is up at once."""
    assert Deadline(timeout).expired() is True


def test_sooner_is_never_later() -> None:
    """A step gets its own limit, or what is left of the operation if that is less."""
    short = Deadline(100.0).sooner(1.0).remaining()
    kept = Deadline(1.0).sooner(100.0).remaining()
    both = Deadline(1.0).sooner(None).remaining()
    assert short is not None and kept is not None and both is not None
    assert max(short, kept, both) <= 1.0
    assert Deadline(None).sooner(None).remaining() is None
    only = Deadline(None).sooner(1.0).remaining()
    assert only is not None and only <= 1.0


def test_sooner_leaves_the_operation_alone() -> None:
    """Making a step's deadline does not shorten the operation's."""
    deadline = Deadline(100.0)
    deadline.sooner(0.0)
    assert not deadline.expired()


def test_main_thread_waits_in_one_piece() -> None:
    """Signals interrupt the main thread's waits, so they are not cut."""
    assert Deadline(None).slice() is None
    left = Deadline(50.0).slice()
    assert left is not None and left > 49.0


def test_other_threads_wait_in_slices() -> None:
    """A thread that is not the main one never waits longer than a slice at a stretch."""
    seen: list[float | None] = []
    thread = threading.Thread(
        target=lambda: seen.extend((Deadline(None).slice(), Deadline(50).slice(), Deadline(0).slice()))
    )
    thread.start()
    thread.join(10)
    assert seen == [SLICE, SLICE, 0.0]


def test_repr_says_what_is_left() -> None:
    """A deadline shows its rest."""
    assert repr(Deadline(None)) == "<Deadline None s left>"


def test_wait_event_sees_the_event() -> None:
    """An event ends the wait, whether it was set before or is set meanwhile."""
    event = threading.Event()
    assert wait_event(event, Deadline(0.01)) is False
    timer = threading.Timer(0.02, event.set)
    timer.start()
    assert wait_event(event, Deadline(10)) is True
    assert wait_event(event, Deadline(0)) is True
    timer.join()


def test_wait_future_sees_every_end() -> None:
    """A value, an error and a cancellation all end the wait, and none is raised."""
    value: Future[int] = Future()
    value.set_result(1)
    failed: Future[int] = Future()
    failed.set_exception(TimeoutError("its own"))
    cancelled: Future[int] = Future()
    cancelled.cancel()
    for future in (value, failed, cancelled):
        assert wait_future(future, Deadline(0)) is True
    assert wait_future(Future(), Deadline(0.01)) is False


@pytest.mark.parametrize(
    "end",
    [
        lambda future: future.set_result(1),
        lambda future: future.set_exception(TimeoutError("its own")),
        lambda future: future.cancel(),
    ],
    ids=["result", "timeout error", "cancel"],
)
def test_wait_future_is_woken(end: Callable[[Any], Any]) -> None:
    """A future that ends while somebody waits for it ends the wait, and raises nothing there."""
    future: Future[int] = Future()
    timer = threading.Timer(0.02, lambda: end(future))
    timer.start()
    assert wait_future(future, Deadline(10)) is True
    timer.join()


@pytest.mark.parametrize("timeout", [1e10, 1e300])
def test_huge_timeouts_are_waited_for(timeout: float) -> None:
    """A timeout beyond what the system can count is a long one, and no error."""
    event = threading.Event()
    timer = threading.Timer(0.02, event.set)
    timer.start()
    assert wait_event(event, Deadline(timeout)) is True
    timer.join()


class Struck(Exception):
    """What strikes a thread from outside."""


def taken() -> Any:
    """Return a lock that is taken."""
    lock = threading.Lock()
    lock.acquire()
    return lock


def test_wait_lock_takes_the_lock() -> None:
    """The wait ends when another thread lets go of the lock, or at its time."""
    lock = taken()
    assert wait_lock(lock, Deadline(0.01)) is False
    timer = threading.Timer(0.02, lock.release)
    timer.start()
    assert wait_lock(lock, Deadline(10)) is True
    assert lock.locked()
    timer.join()


WAITS: dict[str, Callable[[Deadline], Any]] = {
    "event": lambda deadline: wait_event(threading.Event(), deadline),
    "future": lambda deadline: wait_future(Future(), deadline),
    "lock": lambda deadline: wait_lock(taken(), deadline),
}


@pytest.mark.parametrize("wait", WAITS.values(), ids=WAITS)
@pytest.mark.parametrize("timeout", [None, 30.0])
@pytest.mark.parametrize("error", [KeyboardInterrupt, Struck, SystemExit])
def test_worker_is_struck_soon(
    wait: Callable[[Deadline], Any], timeout: float | None, error: type[BaseException]
) -> None:
    """An exception raised in a waiting worker lands within a slice, whatever kind it is."""
    caught: list[tuple[type[BaseException], float]] = []
    waiting = threading.Event()

    def work() -> None:
        try:
            waiting.set()
            wait(Deadline(timeout))
        except BaseException as landed:
            caught.append((type(landed), time.monotonic()))

    thread = threading.Thread(target=work)
    thread.start()
    assert waiting.wait(10)
    before = time.monotonic()
    strike(thread, error)
    thread.join(10)
    assert [kind for kind, _ in caught] == [error]
    assert caught[0][1] - before < SLICE + 5  # the slice, and what a busy machine adds


@pytest.mark.parametrize("wait", WAITS.values(), ids=WAITS)
def test_ctrl_c_ends_a_wait_of_the_main_thread(wait: Callable[[Deadline], Any]) -> None:
    """Ctrl-C ends an endless wait in the main thread at once."""
    ident = threading.main_thread().ident
    assert ident is not None
    timer = threading.Timer(0.05, signal.pthread_kill, (ident, signal.SIGINT))
    timer.start()
    before = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        wait(Deadline(None))
    assert time.monotonic() - before < 5
    wait_until(lambda: not timer.is_alive())


def test_latch_wakes_everybody_who_waits() -> None:
    """All threads that wait for a latch go on when it is set, and whoever comes later does not wait; once is enough."""
    latch = Latch()
    gate = threading.Barrier(9)

    def wait() -> bool:
        gate.wait(10)
        return latch.wait(20)

    def set_() -> bool:
        gate.wait(10)
        latch.set()
        latch.set()
        return latch.wait(0)

    assert not latch.is_set()
    assert not latch.wait(0)
    assert together([*[wait] * 6, *[set_] * 3]) == [True] * 9
    assert latch.is_set()
    assert latch.wait()


def test_struck_waiter_harms_no_other() -> None:
    """A thread that is struck while it waits for a latch keeps no other one from waking."""
    latch, woken = Latch(), []

    def wait_and_die() -> None:
        with contextlib.suppress(ValueError):
            wait_event(latch, Deadline(None))

    struck = threading.Thread(target=wait_and_die)
    other = threading.Thread(target=lambda: woken.append(latch.wait(20)))
    struck.start()
    other.start()
    wait_until(lambda: len(latch._waiters) == 2)
    strike(struck, ValueError)
    struck.join(10)
    latch.set()
    other.join(10)
    assert woken == [True]
