"""What carries bytes to and from the program: the Transport protocol and the one that runs it as a child process."""

import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, Self

from claude_control import log
from claude_control.deadline import Deadline, wait_event
from claude_control.errors import SpawnError
from claude_control.process import forks, watch
from claude_control.process.descriptors import Descriptor, pipe
from claude_control.process.exits import Exit
from claude_control.process.launch import launch, uninterrupted
from claude_control.process.pipes import InputPipe, OutputPipe
from claude_control.process.standby import Standby
from claude_control.process.watched import Watched, open_pidfd

__all__ = ["Exit", "SubprocessTransport", "Transport"]

_log = log.get(__name__)


class Transport(Protocol):
    """The two pipes and the life of one running program, wherever it runs; what `Options.spawn` returns.

    Further members are used where they exist: `try_write(data) -> bool` (one atomic write of at most PIPE_BUF bytes
    that does not wait; False if there is no room), `pid`, `stderr_tail() -> str`, `close()` (release what is held).
    """

    def read(self) -> bytes:
        """Wait for output and return some of it; b"" at its end. One thread only."""

    def write(self, data: bytes) -> None:
        """Write all of it, waiting for room; one thread at a time. Raises OSError when the other side is gone."""

    def end_input(self) -> None:
        """Close the program's stdin; idempotent, must not wait."""

    def wait(self, timeout: float | None) -> Exit | None:
        """Wait for the program's end, `timeout` seconds (None: for ever); None if it still runs."""

    def terminate(self) -> None:
        """Ask the program to end (SIGTERM); nothing when it is gone, must not wait."""

    def kill(self) -> None:
        """End the program at once (SIGKILL); nothing when it is gone, must not wait."""


class SubprocessTransport:
    """A program that runs as a child process, in a session and process group of its own.

    After a fork every method raises `ForkedError` in the child, where the pipe ends are closed.
    """

    __slots__ = ("__weakref__", "_closed", "_input", "_output", "_owner", "_watched", "pid")

    def __init__(self, watched: Watched, stdin: InputPipe, stdout: OutputPipe, owner: int) -> None:
        self.pid = watched.pid
        self._watched = watched
        self._input = stdin
        self._output = stdout
        self._owner = owner
        self._closed = False

    @classmethod
    def spawn(
        cls,
        argv: Sequence[str],
        *,
        env: Mapping[str, str],
        cwd: str | None,
        on_stderr: Callable[[bytes], None] | None = None,
        on_exit: Callable[[Exit], None] | None = None,
    ) -> Self:
        """Start the program. Raises `SpawnError`, and then nothing is left of the attempt.

        `on_stderr` gets each chunk of its stderr, `on_exit` how it ended; both are called in the watch thread and must
        not block.
        """
        if sys.platform == "win32":
            raise SpawnError("cannot start the program: Windows is not supported; use WSL", cwd=cwd)
        if not argv:
            raise SpawnError("cannot start the program: the command is empty; change `cli_path`", cwd=cwd)
        try:
            transport = uninterrupted(lambda: cls._start(argv, env, cwd, on_stderr, on_exit), _undo)
        except (OSError, ValueError, RuntimeError) as error:
            from claude_control.process.diagnosis import spawn_error

            raise spawn_error(error, argv, env, cwd) from error
        _log.debug("process.started", pid=transport.pid, program=argv[0], cwd=cwd)
        return transport

    def read(self) -> bytes:
        """Wait for output and return some; b"" at its end, which is soon after the exit whoever still holds the pipe.

        One thread only.
        """
        return self._output.read()

    def readable(self) -> bool:
        """Tell whether `read` would return something at once."""
        return self._output.readable()

    def stand_by(self, look: Callable[[bool], bool]) -> Standby | None:
        """Let others read what comes next, where that can be; what they leave is what `read` returns. Of the reader.

        Returns where they may. `look` is called now and then meanwhile, and at the end.
        """
        return self._output.stand_by(look)

    def write(self, data: bytes) -> None:
        """Write all of it, waiting for room; one thread at a time.

        Raises `BrokenPipeError` when the program is gone or its input is ended meanwhile; a part may have been written.
        """
        self._input.write(data)

    @property
    def try_write(self) -> Callable[[bytes], bool]:
        """Write at most PIPE_BUF bytes, all or nothing, without waiting; returns False if there is no room.

        Raises `BrokenPipeError` when the program is gone or its input is ended, `ValueError` for more bytes.
        """
        return self._input.try_write  # itself, for whoever keeps it: it is called for every short line

    @property
    def write_once(self) -> Callable[[bytes, list[object]], bool]:
        """Do as `try_write`, and note the number of bytes in the same step; returns False where that cannot be."""
        return self._input.write_once

    def end_input(self) -> None:
        """Close the program's stdin; idempotent. A writer that waits for room gets `BrokenPipeError`."""
        self._input.close()

    def wait(self, timeout: float | None) -> Exit | None:
        """Wait for the program's end, `timeout` seconds (None: for ever); None if it still runs.

        Its stderr has been read by then as far as it had come.
        """
        forks.require_owner(self._owner, "this program")
        exited = self._watched.exited
        return self._watched.exit if exited.is_set() or wait_event(exited, Deadline(timeout)) else None

    def terminate(self) -> None:
        """Send SIGTERM to the program's process group; nothing when the program is gone."""
        self._watched.signal(signal.SIGTERM)

    def kill(self) -> None:
        """Send SIGKILL to the program's process group; nothing when the program is gone."""
        self._watched.signal(signal.SIGKILL)

    def stderr_tail(self) -> str:
        """The last 16 KiB of what the program wrote to stderr, undecodable bytes replaced."""
        return self._watched.tail()

    def close(self) -> None:
        """Release every descriptor; idempotent. It stops nothing: a program that still runs sees the end of its input.

        A thread inside of `read` then keeps its descriptor until the program ends.
        """
        forks.require_owner(self._owner, "this program")
        self._closed = True
        self._input.close()
        self._output.close()
        watch.forget(self._watched)

    # -- private ----------------------------------------------------------------------------------------------------

    @classmethod
    def _start(
        cls,
        argv: Sequence[str],
        env: Mapping[str, str],
        cwd: str | None,
        on_stderr: Callable[[bytes], None] | None,
        on_exit: Callable[[Exit], None] | None,
    ) -> Self:
        ours: list[Descriptor] = []
        theirs: list[Descriptor] = []
        try:
            for mine, other in ((1, 0), (0, 1), (0, 1)):  # we write into stdin and read from stdout and stderr
                ends = pipe()
                ours.append(ends[mine])
                theirs.append(ends[other])
            pid = launch(argv, env=env, cwd=cwd, stdin=theirs[0], stdout=theirs[1], stderr=theirs[2])
        except BaseException:
            _close(ours)
            raise
        finally:
            _close(theirs)  # so that the pipes end with the program
        stdin, stdout, stderr = ours
        output, input_ = OutputPipe(stdout), InputPipe(stdin)
        watched = Watched(
            pid, pidfd=open_pidfd(pid), stderr=stderr, stdout=output, on_stderr=on_stderr, on_exit=on_exit
        )
        input_.attach(watched.exited)
        transport = cls(watched, input_, output, os.getpid())
        try:
            watch.follow(watched)
        except RuntimeError:  # there is no thread to be had that would collect it
            transport._end_unwatched()
            raise
        return transport

    def _end_unwatched(self) -> None:
        self.kill()
        os.waitpid(self.pid, 0)
        self.close()
        assert self._watched.stderr is not None
        self._watched.stderr.close()
        if self._watched.pidfd is not None:
            self._watched.pidfd.close()

    def __repr__(self) -> str:
        state = self._watched.exit or "running"
        return f"<SubprocessTransport pid {self.pid} {state}{', closed' if self._closed else ''}>"


def _close(descriptors: list[Descriptor]) -> None:
    for descriptor in descriptors:
        descriptor.close()


def _undo(transport: SubprocessTransport) -> None:
    """End a program that was started for somebody who no longer waits; the watch collects it."""
    transport.kill()
    transport.close()
