"""AbortSignal: raised once, seen by every thread."""

import threading
from collections.abc import Callable

import pytest

from claude_control.abort import AbortSignal
from claude_control.errors import AbortedError
from tests.threads import together


def test_new_signal_is_quiet() -> None:
    """A signal that was not fired has no reason, ends no wait and raises nothing."""
    signal = AbortSignal()
    assert (signal.aborted, signal.reason) == (False, None)
    assert signal.wait(0) is False
    signal.raise_if_aborted()
    assert repr(signal) == "<AbortSignal not aborted>"


def test_fire_sets_the_reason() -> None:
    """Firing raises the flag with its reason."""
    signal = AbortSignal()
    assert signal.fire("cancelled") is True
    assert (signal.aborted, signal.reason) == (True, "cancelled")
    assert repr(signal) == "<AbortSignal aborted: cancelled>"


def test_first_reason_stays() -> None:
    """A second fire changes nothing and says so."""
    signal = AbortSignal()
    signal.fire("timeout")
    assert signal.fire("closed") is False
    assert signal.reason == "timeout"


def test_only_one_of_many_threads_fires() -> None:
    """Of threads that fire at once exactly one is told that it did, and its reason is the one kept."""
    for _ in range(50):
        signal = AbortSignal()
        calls: list[str | None] = []
        signal.on_abort(lambda: calls.append(signal.reason))  # noqa: B023  # run before the next round
        names = [f"reason {index}" for index in range(4)]
        told = together([lambda name=name: signal.fire(name) for name in names])  # type: ignore[misc]  # noqa: B023
        assert told.count(True) == 1
        assert calls == [signal.reason] == [names[told.index(True)]]


def test_raise_if_aborted_carries_the_reason() -> None:
    """The exception of a fired signal says why."""
    signal = AbortSignal()
    signal.fire("exited")
    with pytest.raises(AbortedError, match="exited") as caught:
        signal.raise_if_aborted()
    assert caught.value.reason == "exited"


def test_wait_ends_when_fired() -> None:
    """A thread that waits is woken by the fire, and sees the reason."""
    signal = AbortSignal()
    seen: list[object] = []
    thread = threading.Thread(target=lambda: seen.extend((signal.wait(10), signal.reason)))
    thread.start()
    signal.fire("cancelled")
    thread.join(10)
    assert seen == [True, "cancelled"]


def test_wait_that_begins_with_the_fire_ends() -> None:
    """Threads that begin to wait just as the signal is fired, or after it, all see it."""
    for _ in range(100):
        signal = AbortSignal()
        said = together([lambda: signal.wait(10), lambda: signal.fire("closed"), lambda: signal.wait(10)])  # noqa: B023
        assert said == [True, True, True]
        assert signal.wait(0)


def test_wait_ends_at_its_timeout() -> None:
    """A wait that is not answered says False."""
    assert AbortSignal().wait(0.01) is False


def test_on_abort_runs_once_in_order() -> None:
    """Functions registered before the fire run once, in the order of their registration."""
    signal = AbortSignal()
    calls: list[int] = []
    for number in range(3):
        signal.on_abort(lambda number=number: calls.append(number))  # type: ignore[misc]
    signal.fire("cancelled")
    signal.fire("closed")
    assert calls == [0, 1, 2]


def test_on_abort_after_the_fire_runs_at_once() -> None:
    """A function registered too late is called at once, once."""
    signal = AbortSignal()
    signal.fire("cancelled")
    calls: list[str | None] = []
    signal.on_abort(lambda: calls.append(signal.reason))
    assert calls == ["cancelled"]


def test_on_abort_runs_where_it_is_told() -> None:
    """With a runner the functions are handed to it, before and after the fire, and run nowhere else."""
    handed: list[Callable[[], None]] = []
    calls: list[str] = []
    signal = AbortSignal(handed.append)
    signal.on_abort(lambda: calls.append("before"))
    signal.fire("cancelled")
    signal.on_abort(lambda: calls.append("after"))
    assert calls == []
    for function in handed:
        function()
    assert calls == ["before", "after"]


def test_registering_while_it_is_fired_loses_nothing() -> None:
    """Each of many functions registered around the fire runs exactly once."""
    for _ in range(50):
        signal = AbortSignal()
        calls: list[int] = []

        def register(number: int, signal: AbortSignal = signal, calls: list[int] = calls) -> None:
            for step in range(10):
                signal.on_abort(lambda: calls.append(number * 10 + step))  # noqa: B023  # bound late on purpose below

        def fire(signal: AbortSignal = signal) -> None:
            signal.fire("cancelled")

        together([lambda: register(0), fire, lambda: register(1)])
        assert len(calls) == 20


def test_on_abort_may_look_at_the_signal() -> None:
    """A function may use the signal that it is called for, for no lock is held meanwhile."""
    signal = AbortSignal()
    calls: list[object] = []

    def look() -> None:
        calls.extend((signal.aborted, signal.wait(0), signal.fire("again")))
        signal.on_abort(lambda: calls.append("nested"))

    signal.on_abort(look)
    signal.fire("cancelled")
    assert calls == [True, True, False, "nested"]
