"""The threads for users' functions: enough of them, in order where asked, and never lost."""

import contextvars
import gc
import threading
import weakref
from collections import deque
from collections.abc import Iterator
from functools import partial

import pytest

from claude_control.deadline import Deadline
from claude_control.session import pool as pool_module
from claude_control.session.pool import MAX_THREADS, CallbackPool, InOrder
from tests.threads import LIVELOCKS_WHEN_TRACED, strike, together
from tests.waiting import wait_until

NAME = "claude-test-callback"


@pytest.fixture
def pool() -> Iterator[CallbackPool]:
    """A pool that is closed at the end, and whose threads must then end."""
    made = CallbackPool(NAME)
    yield made
    made.close()
    assert made.join(Deadline(10)) == []


class Gate:
    """Holds up functions until it is opened."""

    def __init__(self) -> None:
        self._open = threading.Event()
        self.open = self._open.set

    def wait(self) -> None:
        """Wait until it is open."""
        assert self._open.wait(20)


def running() -> list[str]:
    """Return the names of the pool's threads."""
    return sorted(thread.name for thread in threading.enumerate() if thread.name.startswith(NAME))


def run(pool: CallbackPool) -> str:
    """Run one function and return the name of its thread once that is idle again."""
    names: list[str] = []
    assert pool.submit(lambda: names.append(threading.current_thread().name))
    wait_until(lambda: names and pool._idle)
    return names[0]


# -- growing and shrinking ---------------------------------------------------------------------------------------------


def test_no_thread_before_the_first_function() -> None:
    """A pool that is not used has no threads, and ends at once."""
    pool = CallbackPool(NAME)
    assert (running(), repr(pool)) == ([], "<CallbackPool 0 threads, 0 waiting>")
    pool.close()
    assert pool.join(Deadline(0)) == []


def test_functions_that_wait_for_each_other_all_run(pool: CallbackPool) -> None:
    """256 functions that each wait for all the others finish: every one gets a thread of its own."""
    barrier, done = threading.Barrier(MAX_THREADS), threading.Semaphore(0)

    def meet() -> None:
        barrier.wait(20)
        done.release()

    for _ in range(MAX_THREADS):
        assert pool.submit(meet)
    for _ in range(MAX_THREADS):
        assert done.acquire(timeout=20)


@pytest.mark.parametrize("is_hot", [False, True])
def test_functions_that_are_handed_over_together_run_at_the_same_time(pool: CallbackPool, is_hot: bool) -> None:
    """None of them waits for another one that blocks, whether a thread is at work then or not."""
    gate, ran = Gate(), list[int]()
    if is_hot:
        pool.submit(gate.wait)
    assert pool.submit(gate.wait, gate.wait, *(partial(ran.append, number) for number in range(3)))
    wait_until(lambda: len(ran) == 3)
    gate.open()
    pool.close()
    assert not pool.submit(gate.wait, gate.wait)


def test_functions_beyond_the_limit_wait_their_turn(pool: CallbackPool) -> None:
    """With every thread taken further functions queue, and run in order as threads come free."""
    gate, order = Gate(), list[int]()
    for _ in range(MAX_THREADS):
        pool.submit(gate.wait)
    for number in range(40):
        assert pool.submit(lambda number=number: order.append(number))  # type: ignore[misc]
    wait_until(lambda: repr(pool) == f"<CallbackPool {MAX_THREADS} threads, 40 waiting>")
    assert order == []
    gate.open()
    wait_until(lambda: len(order) == 40)
    assert len(running()) <= MAX_THREADS


def test_idle_thread_is_used_again(pool: CallbackPool) -> None:
    """Functions that come one after the other share one thread."""
    assert {run(pool) for _ in range(20)} == {f"{NAME}-0"}


def test_burst_gets_a_thread_each() -> None:
    """An idle thread is not counted twice: of functions that come at once while one thread is idle all run."""
    for _ in range(10):
        pool, barrier = CallbackPool(NAME), threading.Barrier(4)
        run(pool)
        for _ in range(3):
            pool.submit(lambda: barrier.wait(10) and None)  # type: ignore[arg-type]  # noqa: B023
        barrier.wait(10)
        pool.close()
        assert pool.join(Deadline(10)) == []


def test_functions_that_return_at_once_share_a_thread(pool: CallbackPool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Thousands of functions that come at once and return at once run on one thread; a second one looks on."""
    monkeypatch.setattr(pool_module, "PATIENCE", 1.0)  # on a busy machine less may pass without a step
    monkeypatch.setattr(pool_module, "BRISK", 1.0)
    names: list[str] = []
    for _ in range(3000):
        pool.submit(lambda: names.append(threading.current_thread().name))
    wait_until(lambda: len(names) == 3000)
    assert len(set(names)) == 1
    assert len(running()) <= 2


def test_lookout_is_counted_on_from_when_it_is_called(pool: CallbackPool, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a brisk function says is kept for the next one's before the lookout has had its turn to run."""
    gate, over, said = threading.Event(), threading.Event(), list[bool]()
    look_out = pool._look_out
    monkeypatch.setattr(pool_module, "LATE", 60.0)
    monkeypatch.setattr(pool_module, "BRISK", 60.0)
    monkeypatch.setattr(pool, "_look_out", lambda worker: gate.wait(10) and look_out(worker))
    try:
        pool.submit(lambda: said.append(pool.follows()), *[lambda: None] * 5, over.set)
        assert over.wait(10)
    finally:
        gate.set()
    assert said == [True]


def test_blocked_function_holds_up_nobody(pool: CallbackPool) -> None:
    """What was left to a brisk thread gets another one soon, if that thread then blocks, however often it happens."""
    gate, ran = Gate(), threading.Semaphore(0)
    for _ in range(20):
        for _ in range(10):
            pool.submit(ran.release)
        pool.submit(gate.wait)
    assert all(ran.acquire(timeout=20) for _ in range(200))
    gate.open()


def test_function_finds_a_blocked_thread_out_at_once(pool: CallbackPool, monkeypatch: pytest.MonkeyPatch) -> None:
    """While a function blocks, whatever comes later does not wait for anybody to look."""
    begun, gate = threading.Event(), Gate()

    def block() -> None:
        begun.set()
        gate.wait()

    pool.submit(block)
    assert begun.wait(10)
    monkeypatch.setattr(pool_module, "PATIENCE", 0.0)
    assert run(pool) == f"{NAME}-1"
    assert run(pool) == f"{NAME}-1"
    gate.open()


def test_slow_functions_get_more_threads(pool: CallbackPool) -> None:
    """Functions that each wait a little run side by side, not in a row: those that follow are called at every look."""
    inside, most, done = 0, 0, threading.Semaphore(0)
    lock = threading.Lock()

    def wait() -> None:
        nonlocal inside, most
        with lock:
            inside += 1
            most = max(most, inside)
        threading.Event().wait(0.02)
        with lock:
            inside -= 1
        done.release()

    for _ in range(40):
        pool.submit(wait)
    assert all(done.acquire(timeout=20) for _ in range(40))
    assert most >= 4


@LIVELOCKS_WHEN_TRACED
@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_struck_thread_loses_nothing(pool: CallbackPool) -> None:
    """An exception that strikes a thread at rest, as a time limit that comes too late, costs no function its turn."""
    for _ in range(20):
        name = run(pool)
        (thread,) = [each for each in threading.enumerate() if each.name == name]
        strike(thread, KeyError)
        done = threading.Semaphore(0)
        for _ in range(5):
            pool.submit(done.release)
        assert all(done.acquire(timeout=10) for _ in range(5))
        wait_until(lambda: pool._idle)


def test_idle_threads_end_after_a_while(pool: CallbackPool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads without work leave, and the next function gets a new one."""
    monkeypatch.setattr(pool_module, "IDLE", 0.01)
    pool.submit(lambda: None)
    wait_until(lambda: not running())
    ran = threading.Event()
    pool.submit(ran.set)
    assert ran.wait(10)
    wait_until(lambda: repr(pool) == "<CallbackPool 0 threads, 0 waiting>")


def test_function_that_comes_as_a_thread_leaves_is_not_lost(
    pool: CallbackPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A function handed over at the moment at which an idle thread gives up still runs."""
    monkeypatch.setattr(pool_module, "IDLE", 0.00005)
    done = threading.Semaphore(0)
    for number in range(1500):
        assert pool.submit(done.release)
        assert done.acquire(timeout=10), f"function {number} was lost"


# -- functions ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("error", [ValueError, SystemExit, KeyboardInterrupt, GeneratorExit])
def test_exception_does_not_end_the_thread(pool: CallbackPool, error: type[BaseException]) -> None:
    """Whatever a function raises, its thread goes on to the next."""
    taken = threading.Event()

    def fail() -> None:
        taken.set()
        raise error("theirs")

    first = run(pool)
    pool.submit(fail)
    assert taken.wait(10)
    wait_until(lambda: pool._idle)
    assert run(pool) == first


def test_context_of_the_opener_is_seen(pool: CallbackPool) -> None:
    """Functions see the context variables of whoever made the pool, each in a copy of its own."""
    variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="none")
    variable.set("opener")
    own = CallbackPool(NAME)
    variable.set("later")
    seen: list[str] = []

    def look() -> None:
        seen.append(variable.get())
        variable.set("function")

    for _ in range(3):
        own.submit(look)
    wait_until(lambda: len(seen) == 3)
    own.close()
    assert own.join(Deadline(10)) == []
    assert seen == ["opener"] * 3


def test_function_is_forgotten_when_it_has_run(pool: CallbackPool) -> None:
    """An idle thread holds nothing of the function that it ran last."""

    class Held:
        pass

    held = Held()
    seen = weakref.ref(held)
    ran = threading.Event()
    pool.submit(lambda held=held: ran.set())  # type: ignore[misc]
    assert ran.wait(10)
    del held
    wait_until(lambda: gc.collect() is not None and seen() is None)


def test_pool_knows_its_threads(pool: CallbackPool) -> None:
    """A function can be told that it runs on the pool; others are told that they do not."""
    answers: list[bool] = []
    pool.submit(lambda: answers.append(pool.owns_this_thread()))
    wait_until(lambda: answers)
    assert answers == [True]
    assert pool.owns_this_thread() is False
    assert together([pool.owns_this_thread]) == [False]


# -- closing -----------------------------------------------------------------------------------------------------------


def test_close_refuses_and_ends() -> None:
    """A closed pool takes nothing more, says so, and its idle threads end at once."""
    pool = CallbackPool(NAME)
    run(pool)
    pool.close()
    pool.close()
    assert pool.submit(lambda: None) is False
    assert pool.join(Deadline(10)) == []
    assert running() == []


def test_what_was_taken_before_close_still_runs() -> None:
    """Functions that waited for a thread when the pool was closed run all the same."""
    pool, gate, ran = CallbackPool(NAME), Gate(), threading.Semaphore(0)
    for _ in range(MAX_THREADS):
        pool.submit(gate.wait)
    for _ in range(10):
        pool.submit(ran.release)
    pool.close()
    gate.open()
    assert all(ran.acquire(timeout=10) for _ in range(10))
    assert pool.join(Deadline(10)) == []


def test_join_names_what_does_not_end() -> None:
    """A function that never returns is named, and not waited for beyond the time; joining again sees it end."""
    pool, gate = CallbackPool(NAME), Gate()
    pool.submit(gate.wait)
    wait_until(running)
    pool.close()
    assert pool.join(Deadline(0.02)) == [f"{NAME}-0"]
    gate.open()
    assert pool.join(Deadline(10)) == []


def test_pool_can_be_closed_and_joined_by_its_own_function() -> None:
    """A function that closes the pool it runs on does not wait for itself."""
    pool, seen = CallbackPool(NAME), list[list[str]]()

    def end() -> None:
        pool.close()
        seen.append(pool.join(Deadline(10)))

    pool.submit(end)
    wait_until(lambda: seen)
    assert seen == [[]]
    assert pool.join(Deadline(10)) == []


def test_submitting_while_it_is_closed_runs_what_was_accepted() -> None:
    """Of functions handed over around the close exactly those that were accepted run."""
    for _ in range(20):
        pool, ran = CallbackPool(NAME), list[int]()

        def submit(pool: CallbackPool = pool, ran: list[int] = ran) -> int:
            return sum(pool.submit(lambda: ran.append(1)) for _ in range(30))

        def close(pool: CallbackPool = pool) -> int:
            pool.close()
            return 0

        accepted = sum(together([submit, close, submit]))
        assert pool.join(Deadline(10)) == []
        assert len(ran) == accepted


def test_system_without_threads_keeps_the_work(pool: CallbackPool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no thread can be started just now, the function runs as soon as there is one."""
    ran = threading.Semaphore(0)

    def refuse(_thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        assert pool.submit(ran.release)
    assert repr(pool) == "<CallbackPool 0 threads, 1 waiting>"
    pool.submit(ran.release)
    assert all(ran.acquire(timeout=10) for _ in range(2))


def test_ctrl_c_while_a_thread_starts_is_no_error_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread that Ctrl-C kept from being started is not waited for."""
    pool = CallbackPool(NAME)

    def interrupted(_thread: threading.Thread) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", interrupted)
        with pytest.raises(KeyboardInterrupt):
            pool.submit(lambda: None)
    pool.close()
    assert pool.join(Deadline(1)) == []


# -- in order ----------------------------------------------------------------------------------------------------------


class Drained:
    """A queue whose items are handled one by one; notes when two runs meet."""

    def __init__(self, pool: CallbackPool) -> None:
        self.items: deque[int] = deque()
        self.seen: list[int] = []
        self.met = 0
        self.handled = threading.Semaphore(0)
        self._busy = threading.Lock()
        self.runner = InOrder(pool, self.drain)

    def add(self, number: int) -> None:
        """Add an item and say so."""
        self.items.append(number)
        self.runner.wake()

    def drain(self) -> bool:
        """Handle one item."""
        if not self._busy.acquire(blocking=False):
            self.met += 1
            return False
        try:
            if not self.items:
                return False
            self.seen.append(self.items.popleft())
            self.handled.release()
            if self.seen[-1] < 0:
                raise ValueError("theirs")
            return True
        finally:
            self._busy.release()


def test_items_are_handled_in_order(pool: CallbackPool) -> None:
    """Everything is handled, in the order in which it came."""
    drained = Drained(pool)
    for number in range(2000):
        drained.add(number)
    wait_until(lambda: len(drained.seen) == 2000)
    assert drained.seen == list(range(2000))
    assert drained.met == 0


def test_two_runs_never_meet(pool: CallbackPool) -> None:
    """With many threads that wake it, one run goes on at a time, and no item is left lying."""
    drained = Drained(pool)

    def add(base: int) -> None:
        for number in range(300):
            drained.add(base + number)

    together([lambda base=base: add(base) for base in range(0, 8000, 1000)])  # type: ignore[misc]
    wait_until(lambda: len(drained.seen) == 2400)
    assert drained.met == 0
    for base in range(0, 8000, 1000):
        own = [number for number in drained.seen if base <= number < base + 1000]
        assert own == sorted(own)


def test_wake_is_never_missed(pool: CallbackPool) -> None:
    """An item that comes just as a run ends is handled without another wake."""
    drained = Drained(pool)
    for number in range(1000):
        drained.add(number)
        assert drained.handled.acquire(timeout=10), f"item {number} was left lying"


def test_wake_during_the_last_look_counts(pool: CallbackPool) -> None:
    """A wake that comes while a run finds nothing more starts that run over."""
    runs: list[int] = []

    def drain() -> bool:
        runs.append(1)
        if len(runs) == 1:
            runner.wake()
        return False

    runner = InOrder(pool, drain)
    runner.wake()
    wait_until(lambda: len(runs) == 2)


def test_failed_run_does_not_end_it(pool: CallbackPool) -> None:
    """After a run that raised, the next wake starts another."""
    drained = Drained(pool)
    drained.items += [-1, 1] * 20
    for _ in range(40):
        drained.runner.wake()
        wait_until(lambda: not drained.runner._running)
    assert drained.seen == [-1, 1] * 20
    assert drained.met == 0


def test_wake_during_a_failed_run_counts(pool: CallbackPool) -> None:
    """A wake that came while a run was about to fail is not lost with it."""
    begun, gate, runs = threading.Event(), threading.Event(), list[int]()

    def drain() -> bool:
        runs.append(1)
        if len(runs) == 1:
            begun.set()
            gate.wait(10)
            raise ValueError("theirs")
        return False

    runner = InOrder(pool, drain)
    runner.wake()
    assert begun.wait(10)
    runner.wake()
    gate.set()
    wait_until(lambda: len(runs) == 2)


def test_closed_pool_is_no_error() -> None:
    """Waking what has no threads any more does nothing."""
    pool = CallbackPool(NAME)
    drained = Drained(pool)
    pool.close()
    drained.add(1)
    drained.add(2)
    assert drained.seen == []
