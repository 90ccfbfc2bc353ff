"""The watchdog program, run inside of this process against a host that is a child."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest

from claude_control.process import _watchdog, orphans
from claude_control.process._watchdog import Host, Markers, guard, sweep
from tests.process.programs import is_dead
from tests.waiting import wait_until


@contextlib.contextmanager
def sleeper(marker: str = "") -> Iterator["subprocess.Popen[bytes]"]:
    """A process that carries a marker, or none."""
    env = {orphans.MARKER_VARIABLE: marker} if marker else {}
    with subprocess.Popen(["/bin/sleep", "60"], env=env) as process:
        yield process
        process.kill()


@pytest.fixture(params=["pidfd", "polling"])
def either(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """With pidfds and without."""
    if request.param == "polling":
        monkeypatch.delattr(os, "pidfd_open")


@contextlib.contextmanager
def watching(host: int) -> Iterator[tuple[threading.Thread, int]]:
    """A watchdog that waits for the death of a process; yields its thread and the pipe on which it is told markers."""
    reading, writing = os.pipe()
    watched = Host(host, _watchdog.start_time(host))
    thread = threading.Thread(target=guard, args=(watched, Markers(reading)))
    thread.start()
    try:
        yield thread, writing
    finally:
        thread.join(10)
        os.close(reading)
        with contextlib.suppress(OSError):
            os.close(writing)
        if watched.fd >= 0:
            os.close(watched.fd)
    assert not thread.is_alive()


@pytest.mark.usefixtures("either")
def test_death_of_the_host_ends_the_carriers() -> None:
    """When the host dies, what carries a marker that lives is ended, and what carries a dropped one is not."""
    live, dropped = orphans.new_marker(), orphans.new_marker()
    with sleeper() as host, sleeper(live) as carrier, sleeper(dropped) as other:
        with watching(host.pid) as (thread, stdin):
            os.write(stdin, f"+{live}\n+{dropped}\n-{dropped[:5]}".encode())  # in pieces, as a pipe may cut them
            os.write(stdin, f"{dropped[5:]}\n".encode())
            host.kill()
            thread.join(10)
        assert carrier.wait(10) == -signal.SIGTERM
        assert other.poll() is None


@pytest.mark.usefixtures("either")
def test_end_of_stdin_without_markers_ends_the_watchdog() -> None:
    """With no marker left, the end of stdin ends the watchdog although the host lives."""
    marker = orphans.new_marker()
    with sleeper() as host, watching(host.pid) as (thread, stdin):
        os.write(stdin, f"+{marker}\n-{marker}\n".encode())
        os.close(stdin)
        thread.join(10)
        assert not thread.is_alive()
        assert host.poll() is None


@pytest.mark.usefixtures("either")
def test_end_of_stdin_with_markers_is_not_the_end() -> None:
    """With a marker left, the end of stdin changes nothing: the watchdog waits on for the host's death."""
    marker = orphans.new_marker()
    with sleeper() as host, sleeper(marker) as carrier, watching(host.pid) as (thread, stdin):
        os.write(stdin, f"+{marker}\n".encode())
        os.close(stdin)
        thread.join(0.3)
        assert thread.is_alive()
        assert carrier.poll() is None
        host.kill()
        assert carrier.wait(10) == -signal.SIGTERM


@pytest.mark.usefixtures("either")
def test_host_that_died_before_is_noticed() -> None:
    """A host that is dead when the watchdog starts, or whose pid is another's by now, is dead at once."""
    with sleeper() as host:
        start = _watchdog.start_time(host.pid)
        host.kill()
        wait_until(lambda: is_dead(host.pid))
        hosts = [Host(host.pid, start), Host(os.getpid(), b"12345")]
        assert [each.is_dead() for each in hosts] == [True, True]
    for each in hosts:
        if each.fd >= 0:
            os.close(each.fd)


@pytest.mark.usefixtures("either")
def test_stubborn_carrier_is_killed() -> None:
    """A carrier that ignores SIGTERM is killed after the grace, with pidfds and without."""
    marker = orphans.new_marker()
    argv = [
        sys.executable,
        "-I",
        "-S",
        "-c",
        "import _signal; _signal.signal(15, _signal.SIG_IGN); print(flush=True); input()",
    ]
    with subprocess.Popen(
        argv, env={orphans.MARKER_VARIABLE: marker}, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        ended, left = sweep({marker.encode()}, set(), grace=0.2)
        assert (ended, left) == ([process.pid], [])
        assert process.wait(10) == -signal.SIGKILL


def test_sweep_gives_up_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A carrier that cannot be ended is returned as left when the time is up."""
    marker = orphans.new_marker()
    with sleeper(marker) as process:
        # Signal 0 asks and does nothing: no process can really be made immune to SIGKILL.
        monkeypatch.setattr("_signal.SIGTERM", 0)
        monkeypatch.setattr("_signal.SIGKILL", 0)
        assert sweep({marker.encode()}, set(), grace=0.1, limit=0.2) == ([process.pid], [process.pid])
    monkeypatch.undo()


def test_carries_wants_a_whole_entry() -> None:
    """Only an entry of the exact name and value counts, wherever in the environment it stands."""
    markers = {b"abc"}
    for environ in (b"CLAUDE_CONTROL_RUN=abc\0", b"A=1\0CLAUDE_CONTROL_RUN=abc\0B=2\0", b"A=1\0CLAUDE_CONTROL_RUN=abc"):
        assert _watchdog.carries(environ, markers)
    for environ in (b"", b"XCLAUDE_CONTROL_RUN=abc\0", b"CLAUDE_CONTROL_RUN=abcd\0", b"A=CLAUDE_CONTROL_RUN=abc\0"):
        assert not _watchdog.carries(environ, markers)
    assert _watchdog.carries(b"A=CLAUDE_CONTROL_RUN=x\0CLAUDE_CONTROL_RUN=abc\0", markers)


def test_lineage_goes_up_to_the_first_process() -> None:
    """The ancestors of this process are its parent and so on up."""
    lineage = _watchdog.lineage(os.getpid())
    assert {os.getpid(), os.getppid()} <= lineage
    assert _watchdog.lineage(2**30) == {2**30}


def test_program_leaves_at_the_end_of_stdin() -> None:
    """Run as a program it ends with exit code 0 when its host lives and has nothing left to guard."""
    argv = [
        sys.executable,
        "-I",
        "-S",
        _watchdog.__file__,
        str(os.getpid()),
        _watchdog.start_time(os.getpid()).decode(),
    ]
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, env={}, timeout=30, check=False, capture_output=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
