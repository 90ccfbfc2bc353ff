"""Real child processes for the tests of processes, and what the system says about them."""

import contextlib
import os
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

from claude_control.process import orphans, watch
from claude_control.process.exits import Exit
from claude_control.process.transport import SubprocessTransport
from tests.waiting import wait_until

PATH = os.environ.get("PATH", os.defpath)
ROOT = Path(__file__).resolve().parents[2]


def python(code: str, *arguments: str) -> list[str]:
    """The command that runs a few lines of Python, with nothing imported that they do not import."""
    return [sys.executable, "-I", "-S", "-c", code, *arguments]


def sh(code: str) -> list[str]:
    """The command that runs a few lines of shell."""
    return ["/bin/sh", "-c", code]


@contextlib.contextmanager
def running(
    argv: list[str],
    *,
    marker: str | None = None,
    cwd: str | None = None,
    on_stderr: Callable[[bytes], None] | None = None,
    on_exit: Callable[[Exit], None] | None = None,
) -> Iterator[SubprocessTransport]:
    """Run a program; at the end it and everything that it started are killed and its transport is closed."""
    marker = marker or orphans.new_marker()
    env = {"PATH": PATH, orphans.MARKER_VARIABLE: marker}
    transport = SubprocessTransport.spawn(argv, env=env, cwd=cwd, on_stderr=on_stderr, on_exit=on_exit)
    try:
        yield transport
    finally:
        transport.kill()
        orphans.sweep(marker, grace=0)
        assert transport.wait(10) is not None
        transport.close()


def read_until(transport: SubprocessTransport, end: bytes) -> bytes:
    """Read up to and with `end`, or to the end of the output."""
    data = b""
    while end not in data and (chunk := transport.read()):
        data += chunk
    return data


def read_all(transport: SubprocessTransport) -> bytes:
    """Read to the end of the output."""
    data = bytearray()
    while chunk := transport.read():
        data += chunk
    return bytes(data)


def is_dead(pid: int) -> bool:
    """Whether there is no such process, or only a zombie of it."""
    try:
        state = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0]
    except OSError:
        return True
    return state in (b"Z", b"X")


def watchdogs(parent: int) -> list[int]:
    """The watchdog processes that a process has started, or whose command line names it as their host."""
    found = []
    for pid in (int(name) for name in os.listdir("/proc") if name.isdigit()):
        with contextlib.suppress(OSError):
            words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
            if len(words) > 5 and words[3].endswith(b"_watchdog.py") and words[4] == str(parent).encode():
                found.append(pid)
    return found


def the_watchdog(parent: int) -> int:
    """The one watchdog of a process, as soon as it can be seen: in the middle of its start it has no command line."""
    wait_until(lambda: watchdogs(parent))
    (pid,) = watchdogs(parent)
    return pid


def has_watch_thread() -> bool:
    """Whether the watch thread runs."""
    return any(thread.name == "claude-watch" for thread in threading.enumerate())


def hold_watch() -> Callable[[], None]:
    """Keep the watch thread from doing anything until the returned function is called."""
    held, let_go = threading.Event(), threading.Event()

    def hold() -> None:
        held.set()
        let_go.wait(30)

    watch.call_later(0, hold)
    assert held.wait(10)
    return let_go.set
