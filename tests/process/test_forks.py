"""A forked child neither uses nor disturbs what its parent has open."""

import contextlib
import os
import threading
from collections.abc import Callable, Iterator

import pytest

from claude_control.errors import ForkedError
from claude_control.process import forks, orphans, watch
from claude_control.process.exits import Exit
from tests.process.programs import has_watch_thread, hold_watch, running, sh, the_watchdog, watchdogs
from tests.waiting import wait_until

pytestmark = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")


def in_child(function: Callable[[], object]) -> str:
    """Return what `function` returns or raises in a forked child, as text."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            said = repr(function())
        except BaseException as error:
            said = type(error).__name__
        os.write(writing, said.encode())
        os._exit(0)
    os.close(writing)
    with open(reading, encoding="utf-8") as file:
        said = file.read()
    os.waitpid(pid, 0)
    return said


class Thing:
    """Something that has to do with forks."""

    def __init__(self) -> None:
        self.pids: list[int] = []

    def note(self) -> None:
        self.pids.append(os.getpid())

    def fail(self) -> None:
        raise ValueError("no")


@contextlib.contextmanager
def guarded() -> Iterator[str]:
    """A marker that is guarded meanwhile."""
    marker = orphans.new_marker()
    assert orphans.guard(marker)
    try:
        yield marker
    finally:
        orphans.release(marker)


def descriptors() -> set[tuple[str, str]]:
    """The open descriptors of this process: number and what it is."""
    found = set()
    for number in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            found.add((number, os.readlink(f"/proc/self/fd/{number}")))
    return found


@pytest.mark.parametrize("method", ["read", "end_input", "terminate", "kill", "close", "wait", "write", "try_write"])
def test_transport_is_refused_in_a_child(method: str) -> None:
    """Every method of a transport raises ForkedError in a forked child, and the program does not notice."""
    arguments = {"wait": (None,), "write": (b"x",), "try_write": (b"x",)}.get(method, ())
    with running(["/bin/cat"]) as transport:
        assert in_child(lambda: getattr(transport, method)(*arguments)) == "ForkedError"
        transport.write(b"still here\n")
        assert transport.read() == b"still here\n"


def test_transport_is_refused_in_a_child_of_a_busy_parent() -> None:
    """The child is refused at once although another thread of the parent was inside of every lock."""
    with running(sh("sleep 60")) as transport:
        while transport.try_write(b"x" * 4096):
            pass

        def write() -> None:
            with pytest.raises(BrokenPipeError):
                transport.write(b"x" * 100_000)

        blocked = [threading.Thread(target=write), threading.Thread(target=transport.read)]
        for thread in blocked:
            thread.start()
        for method in (transport.read, transport.end_input, transport.close, transport.kill):
            assert in_child(method) == "ForkedError"
        transport.kill()
        for thread in blocked:
            thread.join(10)


def test_child_does_not_hold_the_pipes() -> None:
    """The program sees the end of its input when the parent closes it, although a forked child lives on."""
    reading, writing = os.pipe()
    with running(["/bin/cat"]) as transport:
        pid = os.fork()
        if pid == 0:
            os.close(writing)
            os.read(reading, 1)
            os._exit(0)
        transport.end_input()
        assert transport.wait(10) == Exit(0)
        os.close(writing)
        os.close(reading)
        os.waitpid(pid, 0)


def test_child_closes_what_it_inherited() -> None:
    """A forked child has none of the descriptors of programs, watch and watchdog."""
    before = descriptors()
    with guarded(), running(["/bin/cat"]):
        ours = descriptors() - before
        assert len(ours) >= 8  # three pipes, two pidfds, selector and wake-up of the watch, the watchdog's stdin
        assert in_child(lambda: ours & descriptors()) == "set()"


def test_child_can_run_programs_of_its_own() -> None:
    """A forked child starts its own watch thread and programs, whatever the parent's watch was doing."""

    def run() -> object:
        with running(sh("echo hi; read x")) as transport:
            return transport.read(), has_watch_thread()

    with running(["/bin/cat"]):
        let_go = hold_watch()
        assert in_child(run) == "(b'hi\\n', True)"
        let_go()


def test_child_leaves_the_watchdog_alone() -> None:
    """Releasing a marker of the parent's in a forked child does nothing; a child's own guard is its own."""

    def guard() -> object:
        with guarded():
            own = the_watchdog(os.getpid())
        wait_until(lambda: not watchdogs(os.getpid()))
        return own > 0

    with guarded() as marker:
        before = the_watchdog(os.getpid())
        assert in_child(lambda: orphans.release(marker)) == "None"
        assert in_child(guard) == "True"
        assert watchdogs(os.getpid()) == [before]
    wait_until(lambda: not watchdogs(os.getpid()))


def test_timer_of_the_parent_cannot_be_cancelled_in_a_child() -> None:
    """Cancelling an inherited timer in a forked child says that it was too late, without waiting."""
    timer = watch.call_later(60, bool)
    assert in_child(timer.cancel) == "False"
    assert timer.cancel()


def test_methods_are_called_as_long_as_their_object_lives() -> None:
    """A method is called in each forked child, the rest still runs if one fails, and it keeps no object alive."""
    known = len(forks._methods)
    things = [Thing()]
    forks.on_fork_in_child(things[0].fail)
    forks.on_fork_in_child(things[0].note)
    assert in_child(lambda: things[0].pids == [os.getpid()]) == "True"
    assert things[0].pids == []
    things.clear()
    assert len(forks._methods) == known


def test_no_fork_while_a_descriptor_changes_hands() -> None:
    """A fork waits until no other thread is between opening a descriptor and noting whose it is."""
    inside, forked = threading.Event(), threading.Event()
    order: list[str] = []

    def hold() -> None:
        with forks.steady():
            inside.set()
            forked.wait(0.3)  # it cannot be set: the fork waits for us
            order.append("handed over")

    thing = Thing()
    forks.on_fork_in_child(thing.note)
    thread = threading.Thread(target=hold)
    thread.start()
    assert inside.wait(10)
    assert in_child(lambda: "alive") == "'alive'"
    order.append("forked")
    forked.set()
    thread.join()
    assert order == ["handed over", "forked"]


@pytest.mark.skipif(forks._page is None, reason="this system has no memory that a fork wipes")
def test_pid_is_noted_until_the_next_fork() -> None:
    """What owns something is noted; every child finds nothing, and can be noted."""

    def noted() -> list[int]:
        found = [forks.NOTED_PID[0]]
        assert forks.own_pid() == os.getpid()
        return [*found, forks.NOTED_PID[0] - os.getpid()]

    noted()
    assert noted() == [os.getpid(), 0]
    assert in_child(noted) == "[0, 0]"
    assert in_child(lambda: (noted(), in_child(noted))[1]) == "'[0, 0]'"
    assert noted() == [os.getpid(), 0]


def test_owner_is_compared() -> None:
    """The error says whose process it is."""
    forks.require_owner(os.getpid(), "this pipe")
    with pytest.raises(ForkedError, match="this pipe belongs to process 1,"):
        forks.require_owner(1, "this pipe")
