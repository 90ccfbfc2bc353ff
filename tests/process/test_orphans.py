"""No process outlives its session, and none outlives the host."""

import array
import contextlib
import fcntl
import functools
import os
import shutil
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from claude_control.process import orphans
from claude_control.process.exits import Exit
from tests.process.programs import (
    PATH,
    ROOT,
    has_watch_thread,
    is_dead,
    python,
    read_until,
    running,
    sh,
    the_watchdog,
    watchdogs,
)
from tests.waiting import wait_until

HOST = """
import os, signal, sys
from claude_control.process import orphans
from claude_control.process.transport import SubprocessTransport
marker = orphans.new_marker()
assert orphans.guard(marker)
tool = "setsid sh -c 'trap \\"\\" TERM HUP; echo $$ >&3; exec 3>&-; while :; do sleep 1; done' 3>&1 & "
code = tool + "setsid sleep 600 >/dev/null & echo $!; echo $$; exec sleep 600"
transport = SubprocessTransport.spawn(
    ["/bin/sh", "-c", code], env={"PATH": os.environ["PATH"], orphans.MARKER_VARIABLE: marker}, cwd=None
)
said = b""
while said.count(b"\\n") < 3:
    said += transport.read()
print(marker, *said.decode().split(), flush=True)
if sys.argv[1] == "at once":
    os.kill(os.getpid(), signal.SIGKILL)
sys.stdin.read()
"""


@pytest.fixture
def marker() -> Iterator[str]:
    """A marker that is guarded by nobody at the end of the test."""
    marker = orphans.new_marker()
    yield marker
    orphans.release(marker)


@pytest.fixture
def other_marker() -> Iterator[str]:
    """A second one."""
    marker = orphans.new_marker()
    yield marker
    orphans.release(marker)


@contextlib.contextmanager
def bystander(**env: str) -> Iterator[int]:
    """A process that is not to be touched."""
    with subprocess.Popen(["/bin/sleep", "60"], env=env) as process:
        yield process.pid
        assert process.poll() is None
        process.kill()


def test_markers_differ() -> None:
    """A marker is 32 hexadecimal digits that nobody else has."""
    markers = {orphans.new_marker() for _ in range(100)}
    assert len(markers) == 100
    assert {len(marker) for marker in markers} == {32}
    assert all(set(marker) <= set("0123456789abcdef") for marker in markers)
    assert orphans.MARKER_VARIABLE == "CLAUDE_CONTROL_RUN"


def test_sweep_of_nothing_is_quick(marker: str) -> None:
    """A sweep that finds nothing, the usual case at close, returns at once, and marks nobody."""
    orphans.sweep(marker)
    start = time.monotonic()
    for _ in range(10):
        assert orphans.sweep(marker, grace=5) == []
    assert time.monotonic() - start < 25
    assert orphans.sweep("") == orphans.sweep([]) == []


def test_sweep_finds_what_left_the_group(marker: str) -> None:
    """A process that started a session of its own and outlived its program is found and ended gently."""
    code = "setsid sh -c 'trap \"echo bye; exit\" TERM; echo $$; while :; do sleep 0.02; done' & read x"
    with running(sh(code), marker=marker) as transport:
        tool = int(read_until(transport, b"\n"))
        transport.end_input()
        assert transport.wait(10) == Exit(0) or transport.wait(0) == Exit(1)
        assert not is_dead(tool)
        assert tool in orphans.sweep(marker, grace=10)
        assert is_dead(tool)


def test_sweep_kills_what_ignores_sigterm(marker: str) -> None:
    """A process that ignores SIGTERM is killed after the grace, and one that keeps starting others is, too."""
    code = "trap '' TERM; echo $$; while :; do setsid sleep 60 & sleep 0.05; done"
    with running(sh(code), marker=marker) as transport:
        program = int(read_until(transport, b"\n"))
        start = time.monotonic()
        ended = orphans.sweep(marker, grace=0.3)
        assert 0.3 <= time.monotonic() - start < 20
        assert program in ended
        assert all(is_dead(pid) for pid in ended)
        assert orphans.sweep(marker) == []
        assert transport.wait(10) == Exit(-signal.SIGKILL)


def test_sweep_spares_everybody_else(marker: str) -> None:
    """Only the whole entry with the exact marker counts."""
    name = orphans.MARKER_VARIABLE
    other = {f"X{name}": marker, "X": f"{name}={marker}", name: marker + "0", f"{name}_": marker}
    with bystander(**other), bystander(**{name: marker[:-1]}), bystander(**{name: ""}), bystander():
        assert orphans.sweep(marker, grace=0) == []


def test_sweep_reads_long_environments(marker: str) -> None:
    """The marker is found behind a hundred kilobytes of other variables."""
    env = {f"V{number}": "x" * 50_000 for number in range(4)} | {orphans.MARKER_VARIABLE: marker}
    with subprocess.Popen(["/bin/sleep", "60"], env=env) as process:
        wait_until(Path(f"/proc/{process.pid}/environ").read_bytes)  # in the middle of its exec it shows none
        assert orphans.sweep(marker, grace=5) == [process.pid]
        assert process.wait(10) == -signal.SIGTERM


def test_sweep_misses_nothing_that_has_just_been_started(marker: str) -> None:
    """A process that is found in the middle of its exec, when it shows no environment yet, is waited for and ended."""
    for _ in range(20):
        with subprocess.Popen(["/bin/sleep", "60"], env={orphans.MARKER_VARIABLE: marker}) as process:
            assert orphans.sweep(marker, grace=5) == [process.pid]
            assert process.wait(10) == -signal.SIGTERM


def test_sweep_takes_several_markers(marker: str) -> None:
    """One sweep ends the leftovers of many sessions."""
    markers = [marker, orphans.new_marker(), orphans.new_marker()]
    with contextlib.ExitStack() as stack:
        transports = [stack.enter_context(running(["/bin/cat"], marker=each)) for each in markers]
        assert orphans.sweep(markers[:2], grace=5) == sorted(transport.pid for transport in transports[:2])
        assert transports[2].wait(0) is None


def test_zombie_counts_as_dead(marker: str) -> None:
    """A process that has ended and was not collected by its parent holds no sweep up."""
    with subprocess.Popen(["/bin/true"], env={orphans.MARKER_VARIABLE: marker}) as process:
        wait_until(lambda: is_dead(process.pid))
        assert orphans.sweep(marker, grace=5) == []


def test_sweep_spares_itself_and_its_ancestors(marker: str) -> None:
    """A host that runs inside of a marked program does not end itself, its parents or its brothers' bystanders."""
    code = f"from claude_control.process import orphans; print(len(orphans.sweep({marker!r}, grace=0)))"
    env = {"PATH": PATH, orphans.MARKER_VARIABLE: marker}
    argv = ["/bin/sh", "-c", f'setsid sleep 60 & {sys.executable} -c "{code}"; echo alive']
    host = subprocess.run(argv, env=env, cwd=ROOT, capture_output=True, text=True, timeout=30, check=False)
    assert host.stdout == "1\nalive\n", host.stderr


def test_nothing_is_swept_without_proc(marker: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there is no /proc nothing is guarded and nothing swept, and neither fails."""
    monkeypatch.setattr(orphans, "_has_proc", lambda: False)
    with running(["/bin/cat"]) as transport:
        assert not orphans.guard(marker)
        assert orphans.sweep(marker) == []
        orphans.release(marker)
        assert transport.wait(0) is None


def test_watchdog_is_one_for_all_and_ends_with_the_last(marker: str) -> None:
    """All markers share one watchdog, which ends soon after the last is released; releasing twice does nothing."""
    markers = [marker, *(orphans.new_marker() for _ in range(20))]
    for each in markers:
        assert orphans.guard(each)
    assert the_watchdog(os.getpid())
    orphans.release(markers[1:10])
    for each in markers[1:] * 2:
        orphans.release(each)
    assert the_watchdog(os.getpid())
    orphans.release(marker)
    wait_until(lambda: not watchdogs(os.getpid()))
    wait_until(lambda: not has_watch_thread())


def test_watchdog_stays_for_the_next_session(marker: str) -> None:
    """Sessions one after another share one watchdog, which stays for as long as the pauses are short."""
    assert orphans.guard(marker)
    pid = the_watchdog(os.getpid())
    until = time.monotonic() + 3 * orphans.LINGER
    while time.monotonic() < until:
        orphans.release(marker)
        assert orphans.guard(marker)
        assert watchdogs(os.getpid()) == [pid]
    orphans.end_idle()  # it is in use
    assert watchdogs(os.getpid()) == [pid]
    orphans.release(marker)
    assert watchdogs(os.getpid()) == [pid]
    orphans.end_idle()
    assert not watchdogs(os.getpid())
    assert not has_watch_thread()


def test_watchdog_ends_with_the_interpreter() -> None:
    """A host that ends just after its last session leaves no watchdog behind, not even for a moment."""
    code = (
        "from claude_control.process import orphans\n"
        "marker = orphans.new_marker()\n"
        "assert orphans.guard(marker)\n"
        "orphans.release(marker)\n"
        "print(orphans._guard._watchdog.pid)"
    )
    argv = [sys.executable, "-c", code]
    host = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, timeout=30, check=False)
    assert is_dead(int(host.stdout)), host.stderr


def test_watchdog_knows_no_secret_and_holds_nothing(marker: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The watchdog has no environment of ours, no directory, no terminal, no descriptor, and is not big."""
    monkeypatch.setenv("SECRET", "value")
    assert orphans.guard(marker)
    pid = the_watchdog(os.getpid())
    wait_until(lambda: ignored_signals(pid) >= {signal.SIGINT, signal.SIGTERM, signal.SIGHUP})
    wait_until(lambda: sorted(os.listdir(f"/proc/{pid}/fd")) == ["0", "1", "2", "3"])  # 3: the pidfd of this process
    assert set(Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")) <= {b"", b"LC_CTYPE=C.UTF-8"}
    assert Path(f"/proc/{pid}/cwd").readlink() == Path("/")
    assert os.getsid(pid) == pid
    targets = {int(each.name): str(each.readlink()) for each in Path(f"/proc/{pid}/fd").iterdir()}
    assert (targets[1], targets[2]) == ("/dev/null", "/dev/null")
    assert targets[0].startswith("pipe:")
    assert int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * 4096 < 16 * 2**20


def ignored_signals(pid: int) -> set[int]:
    """The signals that a process ignores."""
    line = next(line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("SigIgn:"))
    mask = int(line.split()[1], 16)
    return {number for number in range(1, 65) if mask >> (number - 1) & 1}


def test_killed_watchdog_is_replaced(marker: str, other_marker: str) -> None:
    """A watchdog that was killed is replaced at the next start."""
    assert orphans.guard(marker)
    pid = the_watchdog(os.getpid())
    os.kill(pid, signal.SIGKILL)
    # Not when it has left /proc: until its files are closed, a moment later, it can still be told something.
    wait_until(lambda: not orphans._guard.pids)
    assert orphans.guard(other_marker)
    successor = the_watchdog(os.getpid())
    assert successor != pid
    orphans.release(other_marker)
    assert the_watchdog(os.getpid()) == successor


def test_successor_is_told_every_marker() -> None:
    """What was guarded by a watchdog that was killed is ended by its successor when the host dies."""
    code = HOST.replace(
        "print(marker,",
        "old = orphans._guard._watchdog._watched\n"
        "os.kill(old.pid, signal.SIGKILL)\n"
        "old.exited.wait(10)\n"
        "assert orphans.guard(orphans.new_marker())\n"
        "print(marker,",
    )
    check_death(start_host("wait", code))


@pytest.mark.parametrize("moment", ["wait", "at once"])
def test_killed_host_leaves_nothing(moment: str) -> None:
    """When the host is killed its program, what that started in other sessions, and the watchdog die soon after it."""
    check_death(start_host(moment))


def start_host(moment: str, code: str = HOST) -> "subprocess.Popen[str]":
    """Start a host that guards a program with two tools; it prints the marker and their pids."""
    return subprocess.Popen(
        [sys.executable, "-c", code, moment],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def check_death(host: "subprocess.Popen[str]") -> None:
    """Kill the host and check that all it started dies."""
    assert host.stdout is not None
    marker, *pids = host.stdout.readline().split()
    assert len(pids) == 3
    host.kill()
    host.communicate()
    wait_until(lambda: all(is_dead(int(pid)) for pid in pids), timeout=20)  # two seconds, if the machine is not busy
    wait_until(lambda: not watchdogs(host.pid), timeout=20)
    assert orphans.sweep(marker) == []


@pytest.mark.parametrize("others", [True, False])
def test_what_was_released_survives_the_host(others: bool) -> None:
    """What a closed session was to leave running lives on when the host is killed later, with sessions open or none."""
    code = "assert orphans.guard(orphans.new_marker())\n" if others else ""
    host = start_host("wait", HOST.replace("print(marker,", f"{code}orphans.release(marker)\nprint(marker,"))
    assert host.stdout is not None
    marker, *pids = host.stdout.readline().split()
    try:
        host.kill()
        host.communicate()
        wait_until(lambda: not watchdogs(host.pid), timeout=20)
        assert not any(is_dead(int(pid)) for pid in pids)
    finally:
        orphans.sweep(marker, grace=0)


def test_host_that_ends_without_closing_leaves_nothing() -> None:
    """When the host simply exits with a session open, its program and tools die as well."""
    host = start_host("wait")
    assert host.stdout is not None
    assert host.stdin is not None
    _, *pids = host.stdout.readline().split()
    host.stdin.close()
    assert host.wait(10) == 0
    host.stdout.close()
    for pid in pids:
        wait_until(functools.partial(is_dead, int(pid)), timeout=20)
    wait_until(lambda: not watchdogs(host.pid), timeout=20)


def test_embedded_interpreter_is_not_run(marker: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where sys.executable names no Python, one beside it or in PATH runs the watchdog."""
    monkeypatch.setattr(sys, "executable", "/usr/bin/uwsgi")
    assert orphans.guard(marker)
    pid = the_watchdog(os.getpid())
    assert Path(f"/proc/{pid}/exe").readlink().name.startswith("python")


def test_missing_interpreter_is_survived(marker: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without any Python to run the watchdog the guard says so and does not fail."""
    monkeypatch.setattr(sys, "executable", "")
    monkeypatch.setattr(sys, "base_prefix", "/nonexistent")
    monkeypatch.setenv("PATH", "/nonexistent")
    assert not orphans.guard(marker)
    orphans.release(marker)


def test_broken_interpreter_is_passed_over(marker: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An interpreter that cannot run the watchdog is given up for the next one."""
    broken = tmp_path / "python-broken"
    broken.write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
    broken.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(broken))

    def is_guarded() -> bool:
        assert orphans.guard(marker)
        return bool(watchdogs(os.getpid()))

    wait_until(is_guarded)
    assert orphans.guard(marker)
    pid = the_watchdog(os.getpid())
    assert Path(f"/proc/{pid}/exe").readlink().name.startswith("python3")


def test_unreadable_interpreter_is_passed_over(marker: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An interpreter that the system refuses to start is given up at once."""
    refused = tmp_path / "python-refused"
    shutil.copy("/dev/null", refused)
    refused.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(refused))
    assert orphans.guard(marker)
    assert the_watchdog(os.getpid())


def test_stopped_watchdog_is_replaced(marker: str) -> None:
    """A watchdog that does not listen blocks nobody: it is replaced as soon as its pipe is full."""
    assert orphans.guard(marker)
    pid = the_watchdog(os.getpid())
    os.kill(pid, signal.SIGSTOP)
    start = time.monotonic()
    for _ in range(2500):
        other = orphans.new_marker()
        assert orphans.guard(other)
        orphans.release(other)
    assert time.monotonic() - start < 10
    successor = the_watchdog(os.getpid())
    assert successor != pid


def test_watchdog_reads_what_it_is_told_before_its_pipe_is_full(marker: str) -> None:
    """A host with thousands of sessions keeps its watchdog, which reads from time to time although nothing dies."""
    assert orphans.guard(marker)
    pid = the_watchdog(os.getpid())
    for _ in range(10):
        for _ in range(300):  # 20 KiB, a third of what the pipe holds
            other = orphans.new_marker()
            assert orphans.guard(other)
            orphans.release(other)
        wait_until(lambda: unread() < 16 * 1024)
    assert the_watchdog(os.getpid()) == pid


def unread() -> int:
    """Return how many bytes wait for the watchdog of this process."""
    watchdog = orphans._guard._watchdog
    assert watchdog is not None
    count = array.array("i", [0])
    fcntl.ioctl(watchdog._stdin.fd, termios.FIONREAD, count)
    return count[0]


def test_tools_are_found_while_they_change_programs(marker: str) -> None:
    """Processes that start others and become others without pause are all found."""
    code = (
        "import os, sys\n"
        "os.fork() or os.setsid()\n"
        "n = int(sys.argv[1])\n"
        "if n: os.execv(sys.executable, [sys.executable, '-I', '-S', '-c', sys.orig_argv[4], str(n - 1)])\n"
        "os.pause() if hasattr(os, 'pause') else os.read(0, 1)"
    )
    with running(python(code, "3"), marker=marker) as transport:
        ended = orphans.sweep(marker, grace=0)
        assert orphans.sweep(marker, grace=0) == []
        assert all(map(is_dead, ended))
        assert transport.wait(10) == Exit(-signal.SIGKILL)
