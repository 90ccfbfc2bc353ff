"""No more than the limit run at once, and none that waits is forgotten."""

import itertools
import pickle
import queue
import threading
from collections.abc import Callable
from typing import TypeVar

from claude_control.tools.gate import Gate
from tests.threads import together

T = TypeVar("T")


def beginning(begun: list[T], name: T) -> Callable[[], bool]:
    """Return a start that notes its name."""

    def start() -> bool:
        begun.append(name)
        return True

    return start


def test_no_limit_starts_all() -> None:
    """Without a limit everything begins at once."""
    begun: list[int] = []
    gate = Gate(None)
    for number in range(5):
        gate.enter(beginning(begun, number))
    assert begun == [0, 1, 2, 3, 4]


def test_those_beyond_the_limit_wait_in_order() -> None:
    """The third waits until one of two has left, then the fourth."""
    begun: list[int] = []
    gate = Gate(2)
    for number in range(4):
        gate.enter(beginning(begun, number))
    assert begun == [0, 1]
    gate.leave()
    assert begun == [0, 1, 2]
    gate.leave()
    assert begun == [0, 1, 2, 3]
    assert repr(gate) == "<Gate 2 of 2 run, 0 wait>"


def test_one_that_does_not_begin_frees_its_place() -> None:
    """A start that has nothing to begin takes no place, at once or after waiting."""
    begun: list[str] = []
    gate = Gate(1)
    gate.enter(lambda: False)
    gate.enter(beginning(begun, "a"))
    gate.enter(lambda: False)
    gate.enter(beginning(begun, "b"))
    assert begun == ["a"]
    gate.leave()
    assert begun == ["a", "b"]


def test_many_threads_keep_the_limit() -> None:
    """Of calls that threads begin and end at the same time each begins once, and no more run than may."""
    gate, begun = Gate(3), queue.SimpleQueue[int]()
    running, most = itertools.count(), []
    lock = threading.Lock()
    inside = 0

    def start() -> bool:
        begun.put(next(running))
        return True

    def work() -> None:
        nonlocal inside
        for _ in range(100):
            gate.enter(start)
        for _ in range(100):
            begun.get(timeout=10)
            with lock:
                inside += 1
                most.append(inside)
            with lock:
                inside -= 1
            gate.leave()

    together([work] * 4)
    assert begun.empty()
    assert next(running) == 400
    assert max(most) <= 3
    assert repr(gate) == "<Gate 0 of 3 run, 0 wait>"


def test_gate_pickles_as_its_limit() -> None:
    """In another process nobody runs and nobody waits."""
    gate = Gate(2)
    gate.enter(lambda: True)
    assert repr(pickle.loads(pickle.dumps(gate))) == "<Gate 0 of 2 run, 0 wait>"
