"""Gates and delays end when they are told to, and always when the server stops."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from claude_control.errors import WaitTimeoutError
from claude_control.testing.model_gates import Gates, GateTimeoutError, StoppedError

Start = Callable[..., "Future[None]"]


@pytest.fixture
def start() -> Iterator[Start]:
    """A function that runs another one in a thread."""
    with ThreadPoolExecutor() as pool:
        yield pool.submit


def test_release_opens_a_gate_for_all(start: Start) -> None:
    """Those who wait at a gate go on when it is released, and so do all who come later."""
    gates = Gates(20)
    waiting = [start(gates.pass_through, "g") for _ in range(3)]
    gates.wait_until_reached("g", 10)
    gates.release("other")
    assert not any(future.done() for future in waiting)
    gates.release("g")
    for future in waiting:
        future.result(10)
    gates.pass_through("g")


def test_gate_that_nobody_opens_is_an_error() -> None:
    """The wait at a gate has an end, and the error names the gate."""
    with pytest.raises(GateTimeoutError, match=r"'g' was not released within 0\.01 s"):
        Gates(0.01).pass_through("g")


def test_nobody_at_the_gate_is_an_error() -> None:
    """The test that waits for a request at a gate waits no longer than it says."""
    with pytest.raises(WaitTimeoutError, match="no request came to gate 'g'"):
        Gates(1).wait_until_reached("g", 0.01)


def test_stop_ends_every_wait(start: Start) -> None:
    """Gates and delays, present and future, end at once when the server stops."""
    gates = Gates(100)
    waiting = [start(gates.pass_through, "g"), start(gates.sleep, 100)]
    gates.wait_until_reached("g", 10)
    gates.stop()
    for future in [*waiting, start(gates.sleep, 100), start(gates.pass_through, "g")]:
        assert isinstance(future.exception(10), StoppedError)


def test_delay_ends_by_itself() -> None:
    """A delay that nobody stops is over after its time."""
    Gates(1).sleep(0.01)
