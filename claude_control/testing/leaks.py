"""What a test leaves behind: threads, open descriptors, child processes, temporary files, and entries of open sessions.

    before = snapshot()
    ...
    assert_no_leaks(before)

Only the standard library is used, and nothing is imported of what is being checked.
"""

import gc
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

__all__ = ["LeakCheck", "Snapshot", "add_probe", "assert_no_leaks", "leaks", "snapshot"]

_THREAD_PREFIX = "claude"  # all threads of this package are named so
_FILE_PREFIX = "claude-control-"
_LOOK = 0.01  # seconds between two looks at what is still ending
_GRACE = 2.0  # seconds: a stopped process is reaped and its threads are gone well within that


def _open_entries() -> Iterable[object]:
    """Say what waits in sessions that are open; nothing where no session was ever opened."""
    living = sys.modules.get("claude_control.session.living")
    return [] if living is None else living.describe()


def _end_what_lingers() -> None:
    """End the watchdog if it only waits for the next session; it would end by itself a little later."""
    orphans = sys.modules.get("claude_control.process.orphans")
    if orphans is not None:
        orphans.end_idle()


def _dismiss_workers() -> None:
    """End the threads that wait for the next session: such a one would not be noticed later, where it is left in it."""
    workers = sys.modules.get("claude_control.process.workers")
    if workers is not None:
        workers.dismiss()


_probes: dict[str, Callable[[], Iterable[object]]] = {"open entries": _open_entries}


class Snapshot(NamedTuple):
    """What there was at one moment."""

    threads: frozenset[threading.Thread]
    descriptors: Mapping[int, str]
    children: Mapping[int, str]
    files: frozenset[str]
    probed: Mapping[str, frozenset[object]]


def add_probe(name: str, probe: Callable[[], Iterable[object]]) -> None:
    """Check one thing more: what the function returns later and not before is a leak.

    The values must be hashable, and say in their text what they are.
    """
    _probes[name] = probe


def snapshot() -> Snapshot:
    """Return what there is now."""
    _dismiss_workers()
    return Snapshot(
        threads=frozenset(t for t in threading.enumerate() if t.name.startswith(_THREAD_PREFIX)),
        descriptors=_descriptors(),
        children=_children(os.getpid()),
        files=frozenset(_files()),
        probed={name: frozenset(probe()) for name, probe in _probes.items()},
    )


def leaks(before: Snapshot) -> list[str]:
    """Return one line for everything that is there now and was not before, at this very moment."""
    now = snapshot()
    files = now.files - before.files
    found = [f"thread {thread.name}" for thread in now.threads - before.threads]
    found += [
        f"descriptor {number} -> {target}"
        for number, target in now.descriptors.items()
        if before.descriptors.get(number) != target
    ]
    found += [f"child {pid}: {what}" for pid, what in now.children.items() if pid not in before.children]
    found += [f"temporary file {name}" for name in files]
    for name, values in now.probed.items():
        found += [f"{name}: {value}" for value in values - before.probed.get(name, frozenset())]
    return sorted(found)


def assert_no_leaks(before: Snapshot, *, grace: float = _GRACE) -> None:
    """Raise AssertionError that names what was left behind since `before`.

    What is still ending has `grace` seconds for it.
    """
    end = time.monotonic() + grace
    found = leaks(before)
    if found:
        _end_what_lingers()
        gc.collect()  # what only a reference cycle keeps open is no leak of ours
        found = leaks(before)
    while found and time.monotonic() < end:
        time.sleep(_LOOK)
        found = leaks(before)
    if found:
        raise AssertionError("left behind:\n" + "\n".join(f"  {leak}" for leak in found))


class LeakCheck:
    """A `with` block that raises AssertionError at its end if something was left behind in it.

    An exception that leaves the block goes first. `grace` is how many seconds things have to end.
    """

    def __init__(self, *, grace: float = _GRACE) -> None:
        self.grace = grace
        self._before: Snapshot | None = None

    def __enter__(self) -> Self:
        self._before = snapshot()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if error is None and self._before is not None:
            assert_no_leaks(self._before, grace=self.grace)


# -- looking ----------------------------------------------------------------------------------------------------------


def _descriptors() -> dict[int, str]:
    """The open descriptors of this process and what they are, without the one that the listing itself takes."""
    folder = next((path for path in ("/proc/self/fd", "/dev/fd") if os.path.isdir(path)), None)
    if folder is None:
        return {}
    found = {}
    for number in map(int, os.listdir(folder)):
        try:
            found[number] = _target(folder, number)
        except OSError:
            continue  # closed since the listing, as the listing's own always is
    return found


def _target(folder: str, number: int) -> str:
    """Return what a descriptor is: its link where there is one, else the file's numbers."""
    path = f"{folder}/{number}"
    if folder.startswith("/proc"):
        return os.readlink(path)
    status = os.fstat(number)
    return f"device {status.st_dev}, inode {status.st_ino}"


def _children(parent: int) -> dict[int, str]:
    """The child processes of one, zombies included, with their command lines."""
    if not os.path.isdir("/proc/self"):
        return _children_from_ps(parent)
    if parent == os.getpid() and _childless():
        return {}
    found = {}
    for pid in (int(name) for name in os.listdir("/proc") if name.isdigit()):
        try:
            status = Path(f"/proc/{pid}/stat").read_bytes()
            state, its_parent = status[status.rindex(b")") + 2 :].split()[:2]
            if int(its_parent) == parent:
                found[pid] = _command(pid, zombie=state == b"Z")
        except OSError:
            continue  # gone since the listing
    return found


def _childless() -> bool:
    """Tell whether this process has no child for sure: most tests have none, and need not look at every process.

    The kernel's list of a thread's children may lack some while others end, but is never empty then.
    """
    folder = "/proc/self/task"
    try:
        return not any(Path(f"{folder}/{task}/children").read_bytes() for task in os.listdir(folder))
    except OSError:  # a kernel without these lists, or a thread that has just ended
        return False


def _command(pid: int, *, zombie: bool) -> str:
    if zombie:
        return "a zombie that nobody waited for"
    words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    return b" ".join(words).decode("utf-8", "replace").strip()[:200]


def _children_from_ps(parent: int) -> dict[int, str]:
    """The child processes where there is no /proc, without the `ps` that lists them."""
    with subprocess.Popen(["ps", "-A", "-ww", "-o", "pid=,ppid=,command="], stdout=subprocess.PIPE, text=True) as ps:
        lines = [line.split(None, 2) for line in ps.communicate()[0].splitlines()]
    rows = [(int(pid), int(ppid), command) for pid, ppid, command in (line for line in lines if len(line) == 3)]
    return {pid: command for pid, ppid, command in rows if ppid == parent and pid != ps.pid}


def _files() -> list[str]:
    """The temporary files and folders that bear our name."""
    folder = tempfile.gettempdir()
    return [os.path.join(folder, name) for name in os.listdir(folder) if name.startswith(_FILE_PREFIX)]
