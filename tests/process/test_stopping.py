"""The close ladder: as gentle as the program allows, together for many, and bounded whatever happens."""

import contextlib
import signal
import threading
import time
from collections.abc import Iterator, Sequence

import pytest

from claude_control.deadline import Deadline
from claude_control.process.exits import Exit
from claude_control.process.stopping import stop
from claude_control.process.transport import SubprocessTransport, Transport
from tests.process.programs import PATH, python, read_until, running, sh

ON_TERM = "trap '{}' TERM; echo ready; while :; do sleep 0.02; done"


class Elsewhere:
    """A transport of a user's, around a real one, each of whose methods may hang or fail."""

    def __init__(self, inner: SubprocessTransport, *, hanging: Sequence[str] = (), failing: Sequence[str] = ()) -> None:
        self.inner = inner
        self.hanging = hanging
        self.failing = failing
        self.let_go = threading.Event()
        self.threads: set[str] = set()

    def _enter(self, method: str) -> None:
        self.threads.add(threading.current_thread().name)
        if method in self.failing:
            raise RuntimeError(f"{method} fails")
        if method in self.hanging:
            self.let_go.wait(30)

    def read(self) -> bytes:
        return self.inner.read()

    def write(self, data: bytes) -> None:
        self.inner.write(data)

    def end_input(self) -> None:
        self._enter("end_input")
        self.inner.end_input()

    def wait(self, timeout: float | None) -> Exit | None:
        self._enter("wait")
        return self.inner.wait(timeout)

    def terminate(self) -> None:
        self._enter("terminate")
        self.inner.terminate()

    def kill(self) -> None:
        self._enter("kill")
        self.inner.kill()


@contextlib.contextmanager
def took(least: float, most: float) -> Iterator[None]:
    """Check how many seconds something takes."""
    start = time.monotonic()
    yield
    assert least <= time.monotonic() - start <= most


def stop_within(
    transports: Sequence[Transport], exit_grace: float = 5, terminate_grace: float = 5, kill_grace: float = 5
) -> list[Transport]:
    """Stop with generous graces where nothing else is said."""
    return stop(transports, exit_grace=exit_grace, terminate_grace=terminate_grace, kill_grace=kill_grace)


def test_program_that_ends_with_its_input_gets_no_signal() -> None:
    """A program that ends at the end of its input is given the time for it and ends by itself."""
    with running(sh("cat; sleep 0.3; exit 3")) as transport:
        assert stop_within([transport]) == []
        assert transport.wait(0) == Exit(3)


def test_program_that_ignores_the_end_is_terminated() -> None:
    """A program that goes on after the end of its input gets SIGTERM after the grace."""
    with running(sh(ON_TERM.format("exit 9"))) as transport:
        assert read_until(transport, b"\n") == b"ready\n"
        with took(0.3, 20):
            assert stop_within([transport], exit_grace=0.3) == []
        assert transport.wait(0) == Exit(9)


def test_program_that_ignores_sigterm_is_killed() -> None:
    """A program that ignores SIGTERM as well gets SIGKILL after both graces."""
    with running(sh(ON_TERM.format(""))) as transport:
        assert read_until(transport, b"\n") == b"ready\n"
        with took(0.4, 20):
            assert stop_within([transport], exit_grace=0.2, terminate_grace=0.2) == []
        assert transport.wait(0) == Exit(-signal.SIGKILL)


def test_stopped_programs_are_stopped_again() -> None:
    """Stopping nothing, and stopping what has ended, takes no time."""
    with running(["/bin/true"]) as transport:
        assert transport.wait(10) == Exit(0)
        with took(0, 20):
            assert stop_within([transport, transport], exit_grace=60) == []
            assert stop_within([]) == []


def test_many_programs_take_the_time_of_one() -> None:
    """Fifty programs that each need half a second after the end of their input are stopped together."""
    code = "import os, time\nos.read(0, 1)\ntime.sleep(0.5)"
    with contextlib.ExitStack() as stack:
        transports = [stack.enter_context(running(python(code))) for _ in range(50)]
        with took(0.4, 15):
            assert stop_within(transports) == []
        assert {transport.wait(0) for transport in transports} == {Exit(0)}


def test_deadline_shortens_every_step() -> None:
    """A deadline nearer than the graces still leaves time for each signal, and the program is gone in time."""
    with running(sh(ON_TERM.format(""))) as stubborn, running(sh(ON_TERM.format("exit 9"))) as polite:
        for transport in (stubborn, polite):
            assert read_until(transport, b"\n") == b"ready\n"
        with took(1.0, 20):
            left = stop([stubborn, polite], exit_grace=60, terminate_grace=60, kill_grace=60, deadline=Deadline(2.0))
        assert left == []
        assert polite.wait(0) == Exit(9)
        assert stubborn.wait(0) == Exit(-signal.SIGKILL)


def test_deadline_that_is_over_kills() -> None:
    """With no time left every step is taken at once, and what still runs is returned."""
    with running(sh(ON_TERM.format(""))) as transport:
        assert read_until(transport, b"\n") == b"ready\n"
        left = stop([transport], exit_grace=5, terminate_grace=5, kill_grace=5, deadline=Deadline(0))
        assert left in ([], [transport])
        assert transport.wait(10) == Exit(-signal.SIGKILL)


def test_transport_of_a_user_is_stopped_like_ours() -> None:
    """A transport of a user's is taken through the same steps, its methods called outside of our thread."""
    with running(["/bin/cat"]) as inner:
        theirs = Elsewhere(inner)
        assert stop_within([theirs]) == []
        assert inner.wait(0) == Exit(0)
        assert theirs.threads == {"claude-stop"}


@pytest.mark.parametrize("hanging", [("end_input",), ("terminate",), ("end_input", "terminate")])
def test_hanging_method_is_left_alone(hanging: tuple[str, ...]) -> None:
    """A method that does not return does not keep the next step from being taken."""
    with running(sh(ON_TERM.format(""))) as inner:
        assert read_until(inner, b"\n") == b"ready\n"
        theirs = Elsewhere(inner, hanging=hanging)
        with took(0.2, 20):
            assert stop_within([theirs], exit_grace=0.2, terminate_grace=0.2) == []
        assert inner.wait(0) == Exit(-signal.SIGKILL)
        theirs.let_go.set()


def test_wait_that_outstays_its_time_is_believed_later() -> None:
    """A `wait` that ignores its timeout holds nobody up, and its late answer still counts."""
    with running(["/bin/cat"]) as inner, running(["/bin/cat"]) as other:
        theirs = Elsewhere(inner, hanging=("wait",))
        with took(2.2, 20):  # two seconds are enough for the other one, also on a busy machine
            left = stop_within([theirs, other], exit_grace=2, terminate_grace=0.1, kill_grace=0.1)
        assert left == [theirs]
        assert other.wait(0) == Exit(0)
        theirs.let_go.set()


def test_failing_methods_are_survived() -> None:
    """A transport whose methods raise is returned as still running, and the others are stopped."""
    with running(["/bin/cat"]) as inner, running(["/bin/cat"]) as other:
        theirs = Elsewhere(inner, failing=("end_input", "wait", "terminate", "kill"))
        assert stop_within([theirs, other], exit_grace=0.1, terminate_grace=0.1, kill_grace=0.1) == [theirs]
        assert other.wait(0) == Exit(0)


def test_without_threads_everything_runs_here() -> None:
    """At the interpreter's exit the methods are called in this thread, and failures are survived as well."""
    with running(["/bin/cat"]) as inner, running(["/bin/cat"]) as second:
        theirs, failing = Elsewhere(inner), Elsewhere(second, failing=("end_input", "wait", "terminate"))
        left = stop([theirs, failing], exit_grace=0.2, terminate_grace=0.2, kill_grace=0.2, threads=False)
        assert left == [failing]
        assert theirs.threads == failing.threads == {"MainThread"}
        assert second.wait(10) == Exit(-signal.SIGKILL)


def test_environment_reaches_the_program() -> None:
    """The program gets the environment that it was given and nothing else."""
    transport = SubprocessTransport.spawn(sh("env"), env={"PATH": PATH, "ONLY": "this"}, cwd="/")
    assert b"ONLY=this" in transport.read()
    assert stop_within([transport]) == []
    transport.close()
