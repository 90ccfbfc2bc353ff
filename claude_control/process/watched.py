"""One child process as the watch sees it: its last words, its exit, and signals that never hit a stranger."""

import os
import threading
from collections.abc import Callable

from claude_control import log
from claude_control.deadline import Latch
from claude_control.process import forks
from claude_control.process.descriptors import Descriptor
from claude_control.process.exits import Exit
from claude_control.process.pipes import OutputPipe

__all__ = ["Watched", "open_pidfd"]

TAIL_BYTES = 16 * 1024
"""Bytes of stderr that are kept: a stack trace takes a few KiB, and 200 sessions hold 3 MiB at most."""

_CHUNK_BYTES = 64 * 1024  # what a pipe holds by default, so one read empties it
_LAST_READS = 16  # reads of stderr after the exit before the exit is told: a grandchild may write without end

_log = log.get(__name__)


class Watched:
    """One child process that the watch follows.

    `exited` is set when it has ended, was collected and its stderr was read as far as it had come; `exit` says how.
    `over` says that the watch has told its exit, closed its stderr and holds nothing of it any more.
    """

    __slots__ = (
        "_on_exit",
        "_on_stderr",
        "_owner",
        "_pid_lock",
        "_stdout",
        "_tail",
        "_truncated",
        "exit",
        "exited",
        "over",
        "pid",
        "pidfd",
        "stderr",
    )

    def __init__(
        self,
        pid: int,
        *,
        pidfd: Descriptor | None,
        stderr: Descriptor | None = None,
        stdout: OutputPipe | None = None,
        on_stderr: Callable[[bytes], None] | None = None,
        on_exit: Callable[[Exit], None] | None = None,
    ) -> None:
        self.pid = pid
        self.pidfd = pidfd
        self.stderr = stderr
        self.exit: Exit | None = None
        self.exited = Latch()
        self.over = False
        # Held while the pid is signalled or collected: after that it may be a stranger's. Reentrant for signal
        # handlers that close a session.
        self._pid_lock = threading.RLock()
        self._owner = os.getpid()
        self._stdout = stdout
        self._on_stderr = on_stderr
        self._on_exit = on_exit
        self._tail = b""
        self._truncated = False
        if stderr is not None:
            os.set_blocking(stderr.fd, False)

    def signal(self, number: int) -> None:
        """Send a signal to the process group that it leads; nothing when the process is gone."""
        forks.require_owner(self._owner, f"process {self.pid}")
        with self._pid_lock:
            if self.exit is not None or not self._is_still_ours():
                return
            try:
                os.killpg(self.pid, number)
            except ProcessLookupError:
                return  # gone between the look and the signal
            except PermissionError:
                # Nobody in the group may be signalled: it is a zombie (macOS), or it became another user's program.
                _log.warning("process.signal_refused", pid=self.pid, signal=number)

    def tail(self) -> str:
        """The last 16 KiB of what it wrote to stderr, undecodable bytes replaced."""
        tail = self._tail
        if self._truncated:
            # The cut may have gone through a character: its remaining bytes are not shown as rubbish.
            start = next((at for at in range(min(4, len(tail))) if tail[at] & 0xC0 != 0x80), 0)
            tail = tail[start:]
        return tail.decode("utf-8", "replace")

    # -- called by the watch thread ---------------------------------------------------------------------------------

    def read_stderr(self) -> bool:
        """Take in what is in the stderr pipe; False at its end."""
        assert self.stderr is not None
        try:
            chunk = os.read(self.stderr.fd, _CHUNK_BYTES)
        except BlockingIOError:
            return True
        except OSError as error:
            _log.error("watch.stderr_failed", pid=self.pid, error=repr(error))
            return False
        if not chunk:
            return False
        self._truncated = self._truncated or len(self._tail) + len(chunk) > TAIL_BYTES
        self._tail = (self._tail + chunk)[-TAIL_BYTES:]  # one immutable value: readers in other threads need no lock
        self._tell_stderr(chunk)
        return True

    def read_last_words(self) -> bool:
        """Take in all that is in the stderr pipe after the exit; False if that was its end."""
        for _ in range(_LAST_READS):
            before = self._tail
            if not self.read_stderr():
                return False
            if self._tail is before:
                break
        return True

    def collect(self) -> bool:
        """Collect the exit status if the process has ended; True if it has."""
        with self._pid_lock:
            try:
                self.exit = self._find_exit()
            except ChildProcessError:
                self.exit = Exit(None)  # somebody else in this process was faster, or SIGCHLD is ignored
            return self.exit is not None

    def tell_reader(self) -> bool:
        """Let whoever reads its stdout know that it has ended; returns False if that is to be tried again."""
        return self._stdout is None or self._stdout.note_exit()

    def tell_exit(self) -> None:
        """Let everybody know that the process has ended."""
        assert self.exit is not None
        self.exited.set()
        _log.debug("process.exited", pid=self.pid, how=str(self.exit))
        if self._on_exit is not None:
            try:
                self._on_exit(self.exit)
            except Exception as error:
                _log.error("watch.callback_failed", callback="on_exit", pid=self.pid, error=repr(error))

    # -- private ----------------------------------------------------------------------------------------------------

    def _is_still_ours(self) -> bool:
        """Whether the pid is a child of ours that nobody has collected, so that nobody else can have it."""
        if not hasattr(os, "waitid"):
            return True  # macOS before Python 3.13 cannot be asked; the lock still guards what we collect ourselves
        try:
            self._wait_id(os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return False
        return True

    def _find_exit(self) -> Exit | None:
        if not hasattr(os, "waitid"):
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            return Exit(os.waitstatus_to_exitcode(status)) if pid else None
        ended = self._wait_id(os.WEXITED | os.WNOHANG)
        if ended is None:
            return None
        return Exit(ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status)

    def _wait_id(self, options: int) -> "os.waitid_result | None":
        pidfd = self.pidfd  # the watch thread may give it up meanwhile
        if pidfd is not None:
            try:
                # By pidfd, because the pid could be another child of this process if somebody had collected ours.
                return os.waitid(os.P_PIDFD, pidfd.fd, options)
            except ChildProcessError:
                raise
            except OSError:
                pass  # Linux 5.3 has pidfds, but cannot wait by them
        return os.waitid(os.P_PID, self.pid, options)

    def _tell_stderr(self, chunk: bytes) -> None:
        if self._on_stderr is None:
            return
        try:
            self._on_stderr(chunk)
        except Exception as error:
            self._on_stderr = None  # once is enough: it would fail again with every chunk
            _log.error("watch.callback_failed", callback="on_stderr", pid=self.pid, error=repr(error))

    def __repr__(self) -> str:
        return f"<Watched {self.pid} {self.exit or 'running'}>"


def open_pidfd(pid: int) -> Descriptor | None:
    """Return a pidfd of a child; None where there is none (macOS, Linux before 5.3)."""
    if not hasattr(os, "pidfd_open"):
        return None
    try:
        with forks.steady():
            return Descriptor(os.pidfd_open(pid))
    except OSError:
        # Refused by the kernel or a sandbox, or the child was collected behind our back: polling finds out.
        return None
