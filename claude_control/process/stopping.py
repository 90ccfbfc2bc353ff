"""The close ladder for any number of programs: end of input, SIGTERM, SIGKILL, each step for all at once."""

import threading
from collections.abc import Callable, Sequence

from claude_control import log
from claude_control.deadline import Deadline, wait_event
from claude_control.process.transport import SubprocessTransport, Transport

__all__ = ["stop"]

_SLACK = 0.1  # seconds that a transport of the user's gets to return from `wait` after the time it was given

_log = log.get(__name__)


def stop(
    transports: Sequence[Transport],
    *,
    exit_grace: float,
    terminate_grace: float,
    kill_grace: float,
    deadline: Deadline | None = None,
    threads: bool = True,
) -> list[Transport]:
    """Stop programs and return those that still run.

    Ends every input (harmless where it has ended), waits `exit_grace` seconds for all together, sends SIGTERM to the
    rest, waits `terminate_grace`, sends SIGKILL, waits `kill_grace`. A nearer `deadline` shortens the three waits
    alike, so that the last signal is sent in any case. Somebody must go on reading the output, or a program that is
    writing cannot end.

    Calls into transports other than ours run in daemon threads, which are left alone when their step is over. At the
    interpreter's exit no thread can be started: with `threads=False` they run here, and only their own bounds hold.
    """
    running = [_Ours(each) if isinstance(each, SubprocessTransport) else _Theirs(each, threads) for each in transports]
    graces = _shortened((exit_grace, terminate_grace, kill_grace), deadline)
    for step, grace in zip(("end_input", "terminate", "kill"), graces, strict=True):
        if running:
            running = _take_step(running, step, grace)
    return [program.transport for program in running]


def _shortened(graces: tuple[float, ...], deadline: Deadline | None) -> tuple[float, ...]:
    left = None if deadline is None else deadline.remaining()
    total = sum(graces)
    if left is None or total <= left:
        return graces
    return tuple(grace * left / total for grace in graces)


def _take_step(running: "list[_Ours | _Theirs]", step: str, grace: float) -> "list[_Ours | _Theirs]":
    """Take one step with all and return those that have not ended after it."""
    for program in running:
        program.take(step)
    until = Deadline(grace)
    for program in running:
        program.start_waiting(until)
    # The last one first: by the time it has ended most others have too, and are not waited for one by one.
    left = [program for program in reversed(running) if not program.has_ended(until)]
    left.reverse()
    if left:
        _log.info("process.outlived_step", step=step, seconds=grace, programs=len(left))
    return left


class _Ours:
    """A child process: its methods never block."""

    def __init__(self, transport: SubprocessTransport) -> None:
        self.transport: Transport = transport

    def take(self, step: str) -> None:
        getattr(self.transport, step)()

    def start_waiting(self, until: Deadline) -> None:
        """Nothing: the watch waits for all child processes at once."""

    def has_ended(self, until: Deadline) -> bool:
        return self.transport.wait(until.remaining()) is not None


class _Theirs:
    """A transport of the user's: whatever it does, we go on when our time is up."""

    def __init__(self, transport: Transport, threads: bool) -> None:
        self.transport = transport
        self._threads = threads
        self._returned = threading.Event()  # of the present call of `wait`
        self._returned.set()
        self._ended = False

    def take(self, step: str) -> None:
        self._run(getattr(self.transport, step))

    def start_waiting(self, until: Deadline) -> None:
        # Unless an earlier call has outstayed its time: that one may still tell us.
        if self._returned.is_set() and not self._ended:
            self._returned.clear()
            self._run(lambda: self._wait(until.remaining()))

    def has_ended(self, until: Deadline) -> bool:
        # The slack is counted from the step's end, so it is the same for all however many there are.
        wait_event(self._returned, Deadline((until.remaining() or 0.0) + _SLACK))
        return self._ended

    def _wait(self, timeout: float | None) -> None:
        try:
            self._ended = self.transport.wait(timeout) is not None
        finally:
            self._returned.set()

    def _run(self, function: Callable[[], object]) -> None:
        if not self._threads:
            self._call(function)
            return
        threading.Thread(target=self._call, args=(function,), name="claude-stop", daemon=True).start()

    def _call(self, function: Callable[[], object]) -> None:
        try:
            function()
        except Exception as error:
            _log.warning("transport.call_failed", transport=type(self.transport).__name__, error=repr(error))
