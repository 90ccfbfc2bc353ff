"""The orphan guard: nothing that a session started outlives the session, and nothing outlives the host process.

Every program is started with a random marker in its environment, which all that it starts inherit. After the program
is gone, `sweep` ends whatever still carries the marker; if the host dies, its watchdog (one process per host) does so
instead. Processes are found in /proc: where there is none (macOS), nothing is guarded and nothing swept. What empties
its environment or writes a title over it is not found.
"""

import atexit
import contextlib
import functools
import os
import signal
import sys
import threading
import time
from collections.abc import Collection, Iterator

from claude_control import log
from claude_control.deadline import Deadline, wait_event
from claude_control.process import _watchdog, forks, watch
from claude_control.process.descriptors import Descriptor, pipe
from claude_control.process.exits import Exit
from claude_control.process.launch import launch, uninterrupted
from claude_control.process.pipes import write_quietly
from claude_control.process.watched import Watched, open_pidfd

__all__ = ["MARKER_VARIABLE", "end_idle", "guard", "new_marker", "release", "sweep"]

MARKER_VARIABLE = _watchdog.KEY.decode().removesuffix("=")
"""The environment variable that carries a session's marker: CLAUDE_CONTROL_RUN."""

SWEEP_GRACE = 1.0
"""Seconds between SIGTERM and SIGKILL for a tool that outlived its program."""

LINGER = 0.2
"""Seconds that the watchdog stays after the last session, for the next one: its start takes 10 ms of a processor."""

_BELL_BYTES = 16 * 1024  # that the watchdog is sent before it is to read them: a quarter of what the pipe holds
_KILL_PATIENCE = 2.0  # seconds that a sweep goes on with SIGKILL: what survives that long sits in the kernel
_END_PATIENCE = 1.0  # seconds that the system gets to end the watchdog, which takes less than one millisecond
_KEPT_VARIABLES = ("LD_LIBRARY_PATH",)  # an interpreter may need it to start at all; nothing else is passed on

_log = log.get(__name__)


def new_marker() -> str:
    """Return a marker that nobody else has: 32 hexadecimal digits."""
    return os.urandom(16).hex()


def guard(marker: str) -> bool:
    """Let the watchdog end whatever carries the marker if this process dies.

    Never raises for a failure: it is logged, False is returned, and the session goes on unguarded.
    """
    return _guard.add(marker)


def release(markers: str | Collection[str]) -> None:
    """Undo `guard` for a marker, or several; idempotent.

    Some time after the last one the watchdog ends, or with the interpreter if that is sooner.
    """
    _guard.remove([markers] if isinstance(markers, str) else markers)


def end_idle() -> None:
    """End the watchdog now if it only waits for the next session; it is gone when this returns."""
    _guard.end_idle()


def sweep(markers: str | Collection[str], *, grace: float = SWEEP_GRACE) -> list[int]:
    """End every process that carries the marker (or one of several): SIGTERM, and SIGKILL after `grace` seconds.

    Returns the pids that were signalled; takes at most 2 seconds more. Spares this process and its ancestors.
    """
    wanted = {os.fsencode(marker) for marker in ([markers] if isinstance(markers, str) else markers) if marker}
    # The ancestors are looked up only where something is left, which is rare.
    if not wanted or not _has_proc() or not _watchdog.carriers(wanted, _guard.pids):
        return []
    ended, left = _watchdog.sweep(wanted, _watchdog.lineage(os.getpid()), grace, grace + _KILL_PATIENCE)
    if left:
        _log.warning("orphans.survived", pids=left)
    return ended


class _Watchdog:
    """One running watchdog process and the pipe on which it is told the markers."""

    def __init__(self, interpreter: str) -> None:
        self.interpreter = interpreter
        self._wanted = True
        self._unread = 0  # bytes that it has been sent since the bell rang
        self._watched, self._stdin = uninterrupted(lambda: self._start(interpreter), self._undo)

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._watched.pid

    @property
    def exit(self) -> Exit | None:
        """How it ended, None while it runs."""
        return self._watched.exit

    def send(self, lines: str) -> bool:
        """Tell it something, without waiting; False when it is gone or does not listen."""
        data = lines.encode()
        try:
            told = write_quietly(self._stdin.fd, data) == len(data)
        except OSError:  # gone, or stopped for so long that the pipe is full: either way it needs a successor
            return False
        self._unread += len(data)
        if self._unread > _BELL_BYTES:
            self._unread = 0
            self._watched.signal(_watchdog.BELL)
        return told

    def end(self) -> None:
        """End it, without waiting."""
        self._wanted = False
        self._stdin.close()
        # It keeps nothing, so it need not notice by itself, which takes 15 ms when it has only just been started.
        self._watched.signal(signal.SIGKILL)

    def wait(self) -> None:
        """Wait until it is gone."""
        wait_event(self._watched.exited, Deadline(_END_PATIENCE))
        watch.forget(self._watched)

    def _start(self, interpreter: str) -> tuple[Watched, Descriptor]:
        own_pid = os.getpid()
        start_time = os.fsdecode(_watchdog.start_time(own_pid))
        argv = [interpreter, "-I", "-S", _watchdog.__file__, str(own_pid), start_time]
        env = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
        with contextlib.ExitStack() as stack:
            reading, writing = pipe()
            with contextlib.closing(reading):
                stack.callback(writing.close)
                os.set_blocking(writing.fd, False)
                pid = launch(argv, env=env, cwd="/", stdin=reading, stdout=None, stderr=None)
            stack.pop_all()
        watched = Watched(pid, pidfd=open_pidfd(pid), on_exit=self._ended)
        watch.follow(watched)
        return watched, writing

    def _ended(self, how: Exit) -> None:
        # In the watch thread.
        if self._wanted:
            _log.warning("orphans.watchdog_ended", how=str(how))

    @staticmethod
    def _undo(made: tuple[Watched, Descriptor]) -> None:
        made[0].signal(signal.SIGKILL)
        made[1].close()


class _Guard:
    """The markers that are guarded and the watchdog that knows them."""

    def __init__(self) -> None:
        self._hooked = False
        self._reset()

    def _reset(self) -> None:
        # Guards every field below, and the start and end of the watchdog. Reentrant for signal handlers.
        self._lock = threading.RLock()
        self._markers: dict[str, None] = {}  # ordered
        self._watchdog: _Watchdog | None = None
        self._unusable: set[str] = set()  # interpreters that cannot run the watchdog
        self._idle_since = 0.0
        self._timer: watch.Timer | None = None  # will look whether the watchdog is idle

    @property
    def pids(self) -> set[int]:
        """The watchdog's pid, which carries nothing, and may just be starting, when it is slow to look at."""
        watchdog = self._watchdog
        return {watchdog.pid} if watchdog is not None and watchdog.exit is None else set()

    def add(self, marker: str) -> bool:
        """Guard a marker; False if there is no watchdog to do it."""
        if not _has_proc():
            return False
        with self._lock:
            if not self._hooked:
                self._hooked = True
                forks.on_fork_in_child(self._reset)
                atexit.register(self.end_idle)
            self._markers[marker] = None
            if self._watchdog is not None and self._watchdog.send(f"+{marker}\n"):
                return True
            return self._restart()

    def remove(self, markers: Collection[str]) -> None:
        """Guard these markers no more."""
        if not self._hooked or not any(marker in self._markers for marker in markers):
            return
        with self._lock:
            self._idle_since = time.monotonic()
            if self._timer is None and self._watchdog is not None:
                self._look_later(LINGER)  # first: Ctrl-C may land anywhere
            for marker in markers:
                self._markers.pop(marker, None)
            if self._watchdog is not None:
                # At once, for tools may be meant to live on.
                self._watchdog.send("".join(f"-{marker}\n" for marker in markers))

    def _look_later(self, seconds: float) -> None:
        try:
            self._timer = watch.call_later(seconds, self._end_if_idle)
        except RuntimeError:  # no thread can be started: the interpreter is ending, and the watchdog will do so with it
            return

    def _end_if_idle(self) -> None:
        # In the watch thread, for which whoever holds the lock may wait.
        if not self._lock.acquire(blocking=False):
            self._look_later(LINGER)
            return
        try:
            self._timer = None
            if self._markers or self._watchdog is None:
                return
            left = self._idle_since + LINGER - time.monotonic()
            if left > 0:
                self._look_later(left)
            else:
                self._watchdog.end()
                self._watchdog = None
        finally:
            self._lock.release()

    def end_idle(self) -> None:
        """End a watchdog that has nothing to guard; it is gone when this returns."""
        with self._lock:
            if self._markers:
                return
            timer, self._timer = self._timer, None
            if timer is not None:
                timer.cancel()
            self._end()

    def _end(self) -> None:
        watchdog, self._watchdog = self._watchdog, None
        if watchdog is None:
            return
        watchdog.end()
        watchdog.wait()
        if watchdog.exit is not None and (watchdog.exit.code or 0) > 0:
            self._unusable.add(watchdog.interpreter)  # it did not die of a signal, so it would fail again

    def _restart(self) -> bool:
        """Start a watchdog in place of none or of a broken one, and tell it every marker."""
        self._end()
        for interpreter in _interpreters():
            if interpreter not in self._unusable and self._start(interpreter):
                return True
        _log.warning("orphans.unguarded", reason="no python that can run the watchdog", tried=list(_interpreters()))
        return False

    def _start(self, interpreter: str) -> bool:
        try:
            self._watchdog = _Watchdog(interpreter)
        except (OSError, ValueError, RuntimeError) as error:
            _log.warning("orphans.watchdog_refused", interpreter=interpreter, error=repr(error))
            return False
        # A pipe holds 64 KiB, the markers of 1900 sessions: told in one write, or not at all.
        if self._watchdog.send("".join(f"+{marker}\n" for marker in self._markers)):
            return True
        self._end()
        return False


@functools.cache
def _has_proc() -> bool:
    return os.path.exists("/proc/self/environ")


def _interpreters() -> Iterator[str]:
    """Yield what may be a Python, best first; a program that embeds one is none, although sys.executable names it."""
    beside = os.path.join(sys.base_prefix, "bin", "python3")
    yield from filter(_is_python, dict.fromkeys((sys.executable, beside)))
    import shutil  # slow to import, and hardly ever needed

    found = shutil.which("python3")
    if found and found not in (sys.executable, beside) and _is_python(found):
        yield found


def _is_python(path: str) -> bool:
    return bool(path) and os.path.basename(path).startswith(("python", "pypy")) and os.access(path, os.X_OK)


_guard = _Guard()
