"""The watchdog: when the host process dies, it ends every process that carries one of the host's markers.

    python -I -S _watchdog.py HOST_PID HOST_START_TIME

It runs alone, in a session of its own, so it imports next to nothing (the module signal alone would cost 3 ms) and
needs no newer Python than 3.9. Lines on stdin say which markers live: `+marker`, `-marker`. They are read when the host
has died, or rings the bell because many have come: to be woken by each would take a session's start the time in which
this process runs. The host uses `sweep` too.
"""

import _signal  # type: ignore[import-not-found]  # the C part of signal, which typeshed does not list
import os
import select
import sys
import time

KEY = b"CLAUDE_CONTROL_RUN="
"""The entry of the environment that carries a marker, up to its value."""

GRACE = 1.0
"""Seconds between SIGTERM and SIGKILL: time to write a file to its end, and little of what people wait."""

LIMIT = 3.0
"""Seconds after which a sweep gives up: what survives SIGKILL for two seconds sits in the kernel."""

BELL: int = getattr(_signal, "SIGURG", 0)  # there is none on Windows, where this is imported but never used
"""The signal with which the host asks for the lines to be read. Before this process knows it, it does nothing."""

_HOST_POLL = 0.5  # seconds between looks at the host where there is no pidfd (Linux before 5.3, some sandboxes)
_SCANS = 3  # at most so many, when processes ended while they were looked at
_EXEC_PATIENCE = 1.0  # seconds that a sweep waits for processes in mid-exec: 0.14 were seen on a busy machine
_SLICE = 0.05  # seconds after which a sweep looks for carriers that the known ones may have started
_READ_BYTES = 32768  # an environment is rarely longer, and a longer one is read in pieces
_KERNEL_THREAD = 0x00200000  # a flag in /proc/<pid>/stat
_IGNORED = ("SIGHUP", "SIGINT", "SIGQUIT", "SIGTERM")

_kernel_threads: "set[int]" = set()  # those met so far; asked only about a pid that has no environment
_stuck: "set[tuple[int, bytes]]" = set()  # pids and start times of those that did not finish their exec in time

# Places in /proc/<pid>/stat, counted from the state on.
_STATE, _PARENT, _FLAGS, _START, _ENV_END = 0, 1, 6, 19, 48


def stat(pid: int) -> "list[bytes]":
    """The fields of /proc/<pid>/stat from the state on; empty when there is no such process."""
    try:
        # The name of the program stands in parentheses before them and may contain anything.
        return _read(f"/proc/{pid}/stat").rpartition(b")")[2].split()
    except OSError:
        return []


def start_time(pid: int) -> bytes:
    """When a process started, in clock ticks since the machine did; unique with the pid. Empty when it is gone."""
    fields = stat(pid)
    return fields[_START] if fields and fields[_STATE] not in (b"Z", b"X") else b""


def lineage(pid: int) -> "set[int]":
    """A process and its ancestors."""
    found: set[int] = set()
    while pid > 0 and pid not in found:
        found.add(pid)
        fields = stat(pid)
        pid = int(fields[_PARENT]) if fields else 0
    return found


def carries(environ: bytes, markers: "set[bytes]") -> bool:
    """Tell whether an environment has a whole entry with one of the markers."""
    at = environ.find(KEY)
    while at >= 0:
        end = environ.find(b"\0", at)
        value = environ[at + len(KEY) : end if end >= 0 else len(environ)]
        if value in markers and (at == 0 or environ[at - 1] == 0):
            return True
        at = environ.find(KEY, at + 1)
    return False


def carriers(markers: "set[bytes]", skip: "set[int]") -> "list[int]":
    """The processes, except those to skip, that carry one of the markers. A zombie carries nothing."""
    until = time.monotonic() + _EXEC_PATIENCE
    found: list[int] = []
    for _ in range(_SCANS):
        found, bare = _look(markers, skip)
        ended = False
        for pid in () if found else bare:
            environ = _environ_after_exec(pid, until)
            ended = ended or environ is None
            if environ and carries(environ, markers):
                found.append(pid)
        if found or not ended:
            break
    return found


def sweep(
    markers: "set[bytes]", skip: "set[int]", grace: float = GRACE, limit: float = LIMIT
) -> "tuple[list[int], list[int]]":
    """End everything that carries one of the markers: SIGTERM, after `grace` seconds SIGKILL, until `limit` seconds.

    Returns the pids that were signalled and those of them that are left.
    """
    start = time.monotonic()
    told: set[int] = set()
    left: list[int] = []
    for number, end in ((_signal.SIGTERM, start + grace), (_signal.SIGKILL, start + limit)):
        if grace > 0 or number == _signal.SIGKILL:
            left = _chase(number, end, markers, skip, told)
            if not left:
                break
    return sorted(told), left


class Target:
    """A carrier that is being ended, held by a pidfd where there are some, so that its pid cannot become another's."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.fd = _pidfd(pid)
        self.start = start_time(pid)

    def send(self, number: int) -> None:
        """Send it a signal."""
        try:
            if self.fd >= 0:
                _signal.pidfd_send_signal(self.fd, number)
            else:
                os.kill(self.pid, number)
        except OSError:
            pass  # it has ended, or it belongs to somebody else by now (a set-uid program)

    def wait(self, until: float) -> None:
        """Wait for its end, until a time on the monotonic clock at the latest."""
        while time.monotonic() < until and start_time(self.pid) == self.start != b"":
            if self.fd >= 0:
                _wait_readable(self.fd, until - time.monotonic())
            else:
                time.sleep(0.005)

    def close(self) -> None:
        """Let go of it."""
        if self.fd >= 0:
            os.close(self.fd)


class Host:
    """The process whose death is waited for."""

    def __init__(self, pid: int, start: bytes) -> None:
        self.pid = pid
        self.start = start
        self.fd = _pidfd(pid)  # taken before the look at the start time: if that fits, it is the right one
        self.lost = start_time(pid) != start

    def is_dead(self) -> bool:
        """Tell whether it has died."""
        if not self.lost:
            self.lost = _wait_readable(self.fd, 0) if self.fd >= 0 else start_time(self.pid) != self.start
        return self.lost


class Markers:
    """The markers that live, as the lines on stdin tell them."""

    def __init__(self, fd: int) -> None:
        os.set_blocking(fd, False)
        self.fd = fd
        self.live: set[bytes] = set()
        self.at_end = False
        self._rest = b""
        self._reading = False

    def read(self, *_: object) -> None:
        """Take in what has come. Also called by the bell, at any place: what is being read already is read on."""
        if self._reading:
            return
        self._reading = True
        self._read()
        self._reading = False

    def _read(self) -> None:
        while not self.at_end:
            try:
                data = os.read(self.fd, _READ_BYTES)
            except BlockingIOError:
                return
            self.at_end = not data
            *lines, self._rest = (self._rest + data).split(b"\n")
            for line in lines:
                (self.live.add if line[:1] == b"+" else self.live.discard)(line[1:])


def guard(host: Host, markers: Markers) -> None:
    """Wait for the host's death and sweep then; return early when it has no more markers and closed its end."""
    poll = select.poll()
    poll.register(markers.fd, 0)  # its end is told all the same
    if host.fd >= 0:
        poll.register(host.fd, select.POLLIN)
    listening = True
    markers.read()
    while not host.is_dead():
        if markers.at_end and not markers.live:
            return
        if markers.at_end and listening:
            listening = False
            poll.unregister(markers.fd)  # its end would be an event for ever
        poll.poll(None if host.fd >= 0 else _HOST_POLL * 1000)
        markers.read()
    markers.read()  # what the host still wrote
    if markers.live:
        sweep(markers.live, lineage(os.getpid()))


def main() -> None:
    """Run as a program."""
    # No signal to everybody, from a terminal or a service manager, may take it: it ends with its host, soon after it.
    for name in _IGNORED:
        _signal.signal(getattr(_signal, name), _signal.SIG_IGN)
    markers = Markers(0)
    _signal.signal(BELL, markers.read)
    guard(Host(int(sys.argv[1]), os.fsencode(sys.argv[2])), markers)
    os._exit(0)


def _look(markers: "set[bytes]", skip: "set[int]") -> "tuple[list[int], list[int]]":
    """Look at every process once; returns the carriers, and those that show no environment."""
    found, bare = [], []
    buffer = bytearray(_READ_BYTES)  # one for all: a fresh one for each would double the time
    running = set(map(int, filter(str.isdigit, os.listdir("/proc"))))
    for pid in sorted(running - skip - _children_of_the_kernel(buffer)):
        try:
            environ = _read(f"/proc/{pid}/environ", buffer)
        except (FileNotFoundError, ProcessLookupError):
            environ = b""  # it has ended, or is a zombie
        except OSError:
            continue  # another user's
        if not environ:
            bare.append(pid)
        elif carries(environ, markers):
            found.append(pid)
    return found, bare


def _children_of_the_kernel(buffer: bytearray) -> "set[int]":
    """The kernel's threads, most of what a small machine runs: one read instead of a vain one for each.

    All are children of its thread 2. Where there is none (a container) or it does not tell, none are returned.
    """
    if 2 not in _kernel_threads:
        _bareness(2)
    try:
        return set(map(int, _read("/proc/2/task/2/children", buffer).split())) if 2 in _kernel_threads else set()
    except OSError:
        return set()


def _environ_after_exec(pid: int, until: float) -> "bytes | None":
    """Return the environment of a process that showed none, waiting for the end of its exec.

    From when an exec has closed the descriptors, so that whoever started the process goes on, until its stack is
    filled, it shows an empty environment, and on a busy machine it may lose its processor in between. Returns None for
    a process that has ended: it may have left a child that was not in the list yet.
    """
    while True:
        state = _bareness(pid)  # looked at first: what is read after the end of the exec is the whole of it
        if state == "ended":
            return None
        if state == "for good":
            return b""
        try:
            environ = _read(f"/proc/{pid}/environ")
        except OSError:
            environ = b""
        if environ or state == "settled":
            return environ
        if time.monotonic() >= until:
            _stuck.add((pid, start_time(pid)))
            return b""
        time.sleep(0.001)


def _bareness(pid: int) -> str:
    """Why a process shows no environment: it has ended, has none for good, is in mid-exec, or has settled."""
    if pid in _kernel_threads:
        return "for good"
    fields = stat(pid)
    if not fields:
        return "ended"
    if int(fields[_FLAGS]) & _KERNEL_THREAD:
        _kernel_threads.add(pid)
        return "for good"
    if fields[_STATE] in (b"Z", b"X") or (pid, fields[_START]) in _stuck:
        return "for good"
    return "mid-exec" if fields[_ENV_END] == b"0" else "settled"


def _chase(number: int, end: float, markers: "set[bytes]", skip: "set[int]", told: "set[int]") -> "list[int]":
    """Send a signal to every carrier, once, until there is none or the time is up; returns those that are left."""
    signalled: set[tuple[int, bytes]] = set()
    while True:
        found = carriers(markers, skip)
        if not found or time.monotonic() >= end:
            return found
        targets = [Target(pid) for pid in found]
        for target in targets:
            # Looked at again now that it is held: the pid may have changed its owner since.
            if (target.pid, target.start) not in signalled and _is_carrier(target.pid, markers):
                signalled.add((target.pid, target.start))
                told.add(target.pid)
                target.send(number)
        until = min(end, time.monotonic() + _SLICE)
        for target in targets:
            target.wait(until)
            target.close()


def _is_carrier(pid: int, markers: "set[bytes]") -> bool:
    try:
        return carries(_read(f"/proc/{pid}/environ"), markers)
    except OSError:
        return False


def _read(path: str, buffer: "bytearray | None" = None) -> bytes:
    """The whole of a small file of /proc."""
    buffer = bytearray(_READ_BYTES) if buffer is None else buffer
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        data = b""
        while (size := os.readv(fd, [buffer])) == len(buffer):
            data += buffer
        return data + memoryview(buffer)[:size]
    finally:
        os.close(fd)


def _pidfd(pid: int) -> int:
    """A pidfd, or -1 where there is none to be had."""
    try:
        return os.pidfd_open(pid) if hasattr(os, "pidfd_open") else -1
    except OSError:
        return -1


def _wait_readable(fd: int, seconds: float) -> bool:
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    return bool(poll.poll(max(0.0, seconds) * 1000))


if __name__ == "__main__":
    main()
