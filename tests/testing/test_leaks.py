"""Leak checks find what is left behind, give it time to end, and are silent about everything else."""

import gc
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from claude_control import Session, requests
from claude_control.process import workers
from claude_control.testing import leaks
from claude_control.testing.leaks import LeakCheck, add_probe, assert_no_leaks, snapshot
from claude_control.testing.scripted_cli import ScriptedCLIFactory
from claude_control.testing.steps import unanswered
from tests.waiting import wait_until

IDLE = [sys.executable, "-I", "-S", "-c", "import sys; sys.stdin.read()"]


@pytest.fixture
def probes() -> Iterator[dict[str, object]]:
    """The registered probes, restored at the end."""
    before = dict(leaks._probes)
    yield leaks._probes  # type: ignore[misc]
    leaks._probes.clear()
    leaks._probes.update(before)


def test_nothing_left_is_silent() -> None:
    """A block that cleans up after itself passes."""
    with LeakCheck():
        with tempfile.TemporaryDirectory(prefix="claude-control-"):
            pass
        subprocess.run(IDLE, stdin=subprocess.DEVNULL, check=True)
        thread = threading.Thread(target=gc.collect, name="claude-x-reader")
        thread.start()
        thread.join()


def test_thread_is_found() -> None:
    """A thread of ours that runs is a leak, with its name; one of others is not."""
    before, end = snapshot(), threading.Event()
    threads = [threading.Thread(target=end.wait, name=name) for name in ("claude-1-reader", "other")]
    for thread in threads:
        thread.start()
    try:
        with pytest.raises(AssertionError, match=r"left behind:\n  thread claude-1-reader$"):
            assert_no_leaks(before, grace=0.02)
    finally:
        end.set()
        for thread in threads:
            thread.join()
    assert_no_leaks(before)


def test_thread_that_waited_before_is_found() -> None:
    """A thread that only waited for the next session when the block began is a leak where it is left in one."""
    end, waited, taken = threading.Event(), threading.Event(), list[object]()
    workers.start(lambda: not waited.set(), "claude-0-reader", [])  # type: ignore[func-returns-value]
    wait_until(lambda: waited.is_set() and workers._spare)
    before = snapshot()
    workers.start(end.wait, "claude-1-reader", taken)
    try:
        with pytest.raises(AssertionError, match=r"left behind:\n  thread claude-1-reader$"):
            assert_no_leaks(before, grace=0.02)
    finally:
        end.set()
    assert_no_leaks(before)


def test_descriptor_is_found() -> None:
    """An open descriptor is a leak, with its number and what it is."""
    before = snapshot()
    reader, writer = os.pipe()
    try:
        with pytest.raises(AssertionError, match=rf"descriptor {reader} -> pipe:.*\n  descriptor {writer} -> pipe:"):
            assert_no_leaks(before, grace=0.0)
    finally:
        os.close(reader)
        os.close(writer)


def test_reused_descriptor_is_found(tmp_path: Path) -> None:
    """A descriptor that is another file than before is a leak, though its number is old."""
    path = tmp_path / "file"
    number = os.open(path, os.O_CREAT | os.O_RDONLY)
    before = snapshot()
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, number)
    os.close(null)
    assert leaks.leaks(before) == [f"descriptor {number} -> /dev/null"]
    os.close(number)


def test_child_is_found_alive_and_dead() -> None:
    """A child is a leak with its command line while it runs, and as a zombie until somebody waits for it."""
    before = snapshot()
    child = subprocess.Popen(IDLE, stdin=subprocess.PIPE)
    # In the middle of its start it has no command line.
    wait_until(lambda: f"child {child.pid}: {' '.join(IDLE)}" in leaks.leaks(before))
    assert child.stdin is not None
    child.stdin.close()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    with pytest.raises(AssertionError, match=rf"child {child.pid}: a zombie that nobody waited for"):
        assert_no_leaks(before, grace=0.02)
    child.wait()
    assert_no_leaks(before)


def test_temporary_file_is_found() -> None:
    """A temporary file or folder of ours is a leak, one of others is not."""
    before = snapshot()
    with tempfile.TemporaryDirectory(prefix="claude-control-") as ours, tempfile.TemporaryDirectory(prefix="other-"):
        assert leaks.leaks(before) == [f"temporary file {ours}"]
    assert_no_leaks(before)


def test_what_was_there_before_is_no_leak() -> None:
    """Only what came after the snapshot counts."""
    reader, writer = os.pipe()
    assert_no_leaks(snapshot(), grace=0.0)
    os.close(reader)
    os.close(writer)


def test_what_is_ending_has_time() -> None:
    """A thread that ends within the grace is no leak."""
    before, started, end = snapshot(), threading.Event(), threading.Event()

    def lingering() -> None:
        started.set()
        end.wait(10)

    threading.Thread(target=lingering, name="claude-1-writer").start()
    started.wait(10)
    timer = threading.Timer(0.05, end.set)
    timer.start()
    assert leaks.leaks(before) == ["thread claude-1-writer"]
    assert_no_leaks(before, grace=10.0)
    timer.join()


def test_reference_cycles_are_collected_first() -> None:
    """A descriptor that only a cycle keeps open is closed before it is called a leak."""
    before = snapshot()

    class Loop:
        def __init__(self) -> None:
            self.itself = self
            self.descriptors = os.pipe()

        def __del__(self) -> None:
            for number in self.descriptors:
                os.close(number)

    Loop()
    assert_no_leaks(before, grace=0.0)


def test_exception_of_the_block_goes_first() -> None:
    """An exception that leaves the block is not hidden by what the block left behind."""
    descriptors: list[int] = []
    with pytest.raises(ValueError, match="first"), LeakCheck(grace=0.0):
        descriptors += os.pipe()
        raise ValueError("first")
    for number in descriptors:
        os.close(number)


def test_probe_adds_what_is_checked(probes: dict[str, object]) -> None:
    """What a probe returns later and not before is a leak, under the probe's name."""
    pending = ["old"]
    add_probe("pending request", lambda: pending)
    before = snapshot()
    pending.append("r1")
    assert leaks.leaks(before) == ["pending request: r1"]


def test_children_of_any_thread_are_found() -> None:
    """A child counts whichever thread started it, also one that has ended; without one nobody looks for any."""
    started: list[subprocess.Popen[bytes]] = []
    thread = threading.Thread(target=lambda: started.append(subprocess.Popen(IDLE, stdin=subprocess.PIPE)))
    thread.start()
    thread.join()
    try:
        assert not leaks._childless()
        # In the middle of its exec a process has no command line yet.
        wait_until(lambda: leaks._children(os.getpid())[started[0].pid] == " ".join(IDLE))
    finally:
        started[0].communicate()


def test_children_are_found_without_proc() -> None:
    """Where there is no /proc, `ps` tells the children, itself excepted."""
    child = subprocess.Popen(IDLE, stdin=subprocess.PIPE)
    try:
        assert set(leaks._children_from_ps(os.getpid())) == set(leaks._children(os.getpid()))
        assert leaks._children_from_ps(os.getpid())[child.pid] == " ".join(IDLE)
    finally:
        child.communicate()


def test_descriptors_are_told_apart_without_proc(tmp_path: Path) -> None:
    """Where descriptors are no links, the file's numbers tell them apart."""
    with (tmp_path / "a").open("w") as one, (tmp_path / "b").open("w") as other:
        targets = {leaks._target("/dev/fd", file.fileno()) for file in (one, other)}
        assert len(targets) == 2
        assert all(target.startswith("device ") for target in targets)


def test_a_session_left_open_is_a_leak_with_what_waits_in_it(scripted_cli: ScriptedCLIFactory) -> None:
    """An open session is named with its pending requests, and is gone from the list once it is closed."""
    before = snapshot()
    session = Session(cli_path=scripted_cli(reactions=[unanswered("mcp_status")]).command).open()
    session.submit(requests.MCPStatus())
    assert any("<PendingReplies 1 waiting" in leak for leak in leaks.leaks(before))
    session.close()
    assert_no_leaks(before)
