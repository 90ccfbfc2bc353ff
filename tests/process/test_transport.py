"""A real program behind the default transport: bytes both ways, its end, and what others do to its pipes."""

import ctypes
import fcntl
import functools
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import pytest

from claude_control.errors import SpawnError
from claude_control.process import pipes, read_size
from claude_control.process.capacity import INPUT_BYTES
from claude_control.process.exits import Exit
from claude_control.process.launch import OwnThread
from claude_control.process.transport import SubprocessTransport, Transport
from tests.process.programs import (
    PATH,
    ROOT,
    has_watch_thread,
    hold_watch,
    is_dead,
    python,
    read_all,
    read_until,
    running,
    sh,
)
from tests.waiting import wait_until

ENV = {"PATH": PATH}
ECHO = "import os\nwhile data := os.read(0, 65536): os.write(1, data)"


class Interrupted(Exception):
    """What the signal handler of a test raises."""


@contextmanager
def interrupted(seconds: float) -> Iterator[None]:
    """Raise `Interrupted` in the main thread, from a signal handler, in a moment."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise Interrupted

    before = signal.signal(signal.SIGUSR1, interrupt)
    timer = threading.Timer(seconds, signal.pthread_kill, (threading.main_thread().ident, signal.SIGUSR1))
    timer.start()
    try:
        yield
    finally:
        timer.join()
        signal.signal(signal.SIGUSR1, before)


def fill(transport: SubprocessTransport) -> None:
    """Write until the pipe takes no more."""
    while transport.try_write(b"x" * 4096):
        pass


def write_and_end(transport: SubprocessTransport, data: bytes) -> None:
    """Write all of the program's input."""
    transport.write(data)
    transport.end_input()


def test_bytes_go_both_ways() -> None:
    """What is written arrives whole and in order, whatever its size, and comes back."""
    sent = bytes(range(256)) * 4 * 4096  # 4 MiB, far more than a pipe holds
    with running(python(ECHO)) as transport:
        writer = threading.Thread(target=write_and_end, args=(transport, sent))
        writer.start()
        assert read_all(transport) == sent
        writer.join()
        assert transport.wait(10) == Exit(0)
        assert transport.read() == b""


def test_transport_fits_the_protocol() -> None:
    """The default transport has every member that a transport of the user's must have."""
    with running(["/bin/cat"]) as transport:
        other: Transport = transport
        other.end_input()
        assert other.wait(10) == Exit(0)


def test_both_pipes_full_at_once() -> None:
    """A program that floods stderr and stdout before it reads its input is neither blocked nor cut off."""
    code = (
        "import os\n"
        "for n in range(64): os.write(2, b'e' * 65536)\n"
        "for n in range(64): os.write(1, b'o' * 65536)\n"
        "size = 0\n"
        "while data := os.read(0, 65536): size += len(data)\n"
        "os.write(1, b' %d' % size)"
    )
    with running(python(code)) as transport:
        writer = threading.Thread(target=write_and_end, args=(transport, b"i" * 2**20))
        writer.start()
        assert read_all(transport) == b"o" * 64 * 65536 + b" 1048576"
        writer.join()


def test_small_writes_need_no_wait() -> None:
    """A small write is whole or not at all, and says which; one that could be torn is refused."""
    with running(sh("read x; echo got it; cat >/dev/null")) as transport:
        assert transport.try_write(b"line\n")
        assert read_until(transport, b"\n") == b"got it\n"
        with pytest.raises(ValueError, match="4097 bytes"):
            transport.try_write(b"x" * 4097)
    with running(["/bin/sleep", "60"]) as transport:
        fill(transport)
        assert not transport.try_write(b"x" * 4096)


def test_small_writes_need_no_foreign_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the interpreter has no foreign function interface, a small write is whole or not at all as well."""

    def refuse(name: object) -> None:
        raise OSError("not here")

    monkeypatch.setattr(ctypes, "PyDLL", refuse)
    monkeypatch.setattr(pipes, "_held_write", pipes._load_held_write())
    with running(python(ECHO)) as transport:
        assert transport.try_write(b"line\n")
        assert read_until(transport, b"\n") == b"line\n"
    with running(["/bin/sleep", "60"]) as transport:
        fill(transport)
        assert not transport.try_write(b"x" * 4096)


def test_write_to_a_dead_program_fails() -> None:
    """Every kind of write to a program that has ended raises BrokenPipeError."""
    with running(["/bin/true"]) as transport:
        assert transport.wait(10) == Exit(0)
        with pytest.raises(BrokenPipeError):
            transport.write(b"x")
        with pytest.raises(BrokenPipeError):
            transport.try_write(b"x")


def test_write_does_not_wait_for_a_dead_program() -> None:
    """A writer whose program ends is not blocked by a grandchild that holds the other end of the pipe."""
    with running(sh("sleep 60 <&0 & read x; exit 0")) as transport:
        with pytest.raises(BrokenPipeError):
            transport.write(b"line\n" + b"x" * 2**20)
        assert transport.wait(10) == Exit(0)


def test_blocked_writer_is_woken_by_the_end_of_input() -> None:
    """Ending the input wakes a writer that waits for room with an error, and the program sees the end."""
    errors: list[BaseException] = []
    with running(sh("read x; echo ready; read y; cat | wc -c")) as transport:
        transport.write(b"go\n")
        assert read_until(transport, b"\n") == b"ready\n"
        fill(transport)

        def write() -> None:
            try:
                transport.write(b"x" * 2**20)
            except BrokenPipeError as error:
                errors.append(error)

        threads = [threading.Thread(target=write)] + [threading.Thread(target=transport.end_input) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(5)
        assert [str(error) for error in errors] == ["[Errno 32] the input was ended"]
        assert transport.wait(10) == Exit(0)
        transport.end_input()
        with pytest.raises(BrokenPipeError):
            transport.try_write(b"x")


def test_sigpipe_does_not_kill_the_host() -> None:
    """A host that gave SIGPIPE its default back survives a write to a dead program, and keeps its signal mask."""
    code = (
        "import signal\n"
        "from claude_control.process.transport import SubprocessTransport\n"
        "signal.signal(signal.SIGPIPE, signal.SIG_DFL)\n"
        "t = SubprocessTransport.spawn(['/bin/sh', '-c', 'exec 0</dev/null; echo; sleep 60'], env={}, cwd=None)\n"
        "t.read()\n"
        "for write in (t.write, t.try_write):\n"
        "    try: write(b'x')\n"
        "    except BrokenPipeError: print('broken')\n"
        "print(signal.pthread_sigmask(signal.SIG_BLOCK, []), signal.sigpending())\n"
        "t.kill(); t.wait(10); t.close()\n"
    )
    host = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=30, check=False
    )
    assert (host.returncode, host.stdout) == (0, "broken\nbroken\nset() set()\n"), host.stderr


def test_output_held_by_a_grandchild_ends() -> None:
    """Output ends soon after the exit although a grandchild holds it in silence."""
    with running(sh("echo hi; sleep 60 & exit 2")) as transport:
        start = time.monotonic()
        assert read_all(transport) == b"hi\n"
        assert time.monotonic() - start < 20
        assert transport.wait(10) == Exit(2)


@pytest.mark.parametrize(
    "grandchild", ["yes flood", "while true; do echo drip; sleep 0.05; done"], ids=["flood", "drip"]
)
def test_output_written_by_a_grandchild_ends(grandchild: str) -> None:
    """Output ends about a second after the exit although a grandchild goes on writing, much or little."""
    with running(sh(f"echo hi; ({grandchild}) & exit 2")) as transport:
        start = time.monotonic()
        assert read_until(transport, b"hi\n")
        while transport.read():
            pass
        assert time.monotonic() - start < 20


def test_late_reader_gets_everything() -> None:
    """What the program wrote before it ended is read in full, however late and whoever else holds the pipe."""
    with running(sh("head -c 60000 /dev/zero; sleep 60 & exit 0")) as transport:
        assert transport.wait(10) == Exit(0)
        assert read_all(transport) == bytes(60000)


def test_what_the_program_left_is_read_after_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """The time limit after the exit does not cut what was in the pipe already."""
    monkeypatch.setattr(pipes, "DRAIN_LIMIT", 0.0)
    monkeypatch.setattr(read_size, "READ_BYTES", 1000)
    with running(sh("head -c 60000 /dev/zero; sleep 60 & exit 0")) as transport:
        assert transport.wait(10) == Exit(0)
        assert read_all(transport) == bytes(60000)


@pytest.mark.parametrize(
    ("text", "capacity", "sizes"),
    [("yy\\ny", 64, [64]), ("yyyy", 1024, [256] * 4)],
    ids=["short lines", "a long line"],
)
def test_pipe_grows_in_a_long_line(text: str, capacity: int, sizes: list[int]) -> None:
    """In a long line a program need not wait for us at every 64 KiB; for short ones the pipe stays small."""
    code = (
        "import fcntl, os\n"
        f"for _ in range(2): os.write(1, b'{text}' * 16384); os.write(2, b'.'); os.read(0, 1)\n"
        "held = fcntl.fcntl(1, 1032)\n"
        f"os.write(1, b'{text}' * (held // 4)); os.write(2, b'%d.' % (held // 1024)); os.read(0, 1)"
    )
    told: list[bytes] = []

    def has_written(times: int) -> bool:
        return b"".join(told).count(b".") == times

    with running(python(code), on_stderr=told.append) as transport:
        for number, expected in enumerate([[16, 48], [64], sizes], 1):
            wait_until(functools.partial(has_written, number))
            assert [len(transport.read()) // 1024 for _ in expected] == expected
            transport.write(b".")
    assert b"".join(told) == b"..%d." % capacity


def may_grow() -> bool:
    """Tell whether the system lets a pipe hold more: some do not, and all pipes of a user together are limited."""
    reading, writing = os.pipe()
    try:
        return fcntl.fcntl(reading, 1031, INPUT_BYTES) == INPUT_BYTES
    except OSError:
        return False
    finally:
        os.close(reading)
        os.close(writing)


def test_input_grows_when_it_is_full() -> None:
    """A program that does not read for a while takes 256 KiB of lines before a write has to wait for it."""
    if not may_grow():
        pytest.skip("the system does not let this user's pipes grow")
    line = b"x" * 1023 + b"\n"
    with running(sh("sleep 60")) as transport:
        taken = 0
        while transport.try_write(line):
            taken += len(line)
    assert taken == INPUT_BYTES


def test_first_read_takes_the_whole_answer() -> None:
    """What the program answers first comes in one read; after that a read that may wait asks for little."""
    told: list[bytes] = []
    code = "import os; x = b'x' * 12288; os.write(1, x); os.read(0, 1); os.write(1, x + x); os.write(2, b'.')"
    with running(python(code), on_stderr=told.append) as transport:
        assert len(transport.read()) == 12288
        transport.write(b".")
        wait_until(lambda: told)
        assert len(transport.read()) == read_size.WAITING_BYTES
        assert len(read_all(transport)) == 24576 - read_size.WAITING_BYTES


def test_readable_tells_whether_a_read_would_wait() -> None:
    """It says so for what is there now, and not for a program that is silent, has ended, or whose pipe is closed."""
    with running(["/bin/cat"]) as transport:
        assert not transport.readable()
        transport.write(b"a")
        wait_until(transport.readable)
        assert transport.read() == b"a"
        assert not transport.readable()
        transport.end_input()
        assert read_all(transport) == b""
        assert not transport.readable()
    assert not transport.readable()


def test_wait_says_when_the_program_still_runs() -> None:
    """A wait that is not for ever returns None in time, and the program is untouched."""
    with running(["/bin/cat"]) as transport:
        start = time.monotonic()
        assert transport.wait(0.2) is None
        assert 0.2 <= time.monotonic() - start < 20
        assert transport.wait(0) is None
        assert repr(transport) == f"<SubprocessTransport pid {transport.pid} running>"


def test_wait_in_the_main_thread_is_interrupted_by_signals() -> None:
    """A signal handler that raises ends a wait that is for ever."""
    with running(["/bin/cat"]) as transport, pytest.raises(Interrupted), interrupted(0.2):
        transport.wait(None)


def test_interrupted_spawn_leaves_nothing(tmp_path: Path) -> None:
    """A start that is interrupted by a signal ends the program that it had no time to hand over."""
    release = hold_watch()
    touched = tmp_path / "touched"
    with pytest.raises(Interrupted), interrupted(0.2):
        SubprocessTransport.spawn(sh(f"echo $$ > {touched}.new; mv {touched}.new {touched}; read x"), env=ENV, cwd=None)
    release()
    wait_until(lambda: not has_watch_thread())
    assert not touched.exists() or is_dead(int(touched.read_text()))


@pytest.mark.parametrize("thread", [threading.Thread, OwnThread])
def test_thread_that_cannot_be_started_is_a_spawn_error(thread: type[threading.Thread]) -> None:
    """Where no thread can be started the error says so, nothing is left running, and the next start works again."""
    errors: list[str] = []

    def spawn() -> None:
        before = threading.stack_size(2**46)  # more than there are addresses
        try:
            SubprocessTransport.spawn(["/bin/cat"], env={}, cwd=None)
        except SpawnError as error:
            errors.append(str(error))
        finally:
            threading.stack_size(before)

    opening = thread(target=spawn)
    opening.start()
    opening.join(20)
    assert len(errors) == 1 and "can't start new thread" in errors[0]
    assert not has_watch_thread()
    with running(["/bin/cat"]) as transport:
        transport.write(b"works")
        assert transport.read() == b"works"


def test_signal_handler_may_close_what_is_in_use() -> None:
    """A signal handler in the thread that writes or waits can end the program without a deadlock."""
    with running(["/bin/cat"]) as transport:

        def end(number: int, frame: FrameType | None) -> None:
            transport.end_input()
            transport.kill()
            transport.close()

        before = signal.signal(signal.SIGUSR1, end)
        timer = threading.Timer(0.1, signal.pthread_kill, (threading.get_ident(), signal.SIGUSR1))
        timer.start()
        try:
            with pytest.raises(OSError, match=r"ended|Bad file descriptor"):
                while True:
                    transport.write(b"x" * 100_000)
        finally:
            timer.join()
            signal.signal(signal.SIGUSR1, before)
        assert transport.wait(10) is not None


def test_wait_in_another_thread_is_interrupted_by_asynchronous_exceptions() -> None:
    """An exception that is raised into another thread ends its wait for ever within a slice."""
    ended: list[str] = []

    def wait(transport: SubprocessTransport) -> None:
        try:
            transport.wait(None)
        except Interrupted:
            ended.append("interrupted")

    with running(["/bin/cat"]) as transport:
        thread = threading.Thread(target=wait, args=(transport,))
        thread.start()
        assert thread.ident is not None
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident), ctypes.py_object(Interrupted))
        thread.join(5)
        assert ended == ["interrupted"]


def test_signals_reach_the_whole_group() -> None:
    """SIGTERM and SIGKILL reach what the program started in its group, and nothing is sent once it is gone."""
    for send, number in (("terminate", signal.SIGTERM), ("kill", signal.SIGKILL)):
        with running(sh("sleep 60 & echo $!; wait")) as transport:
            grandchild = int(read_until(transport, b"\n"))
            getattr(transport, send)()
            assert transport.wait(10) == Exit(-number)
            wait_until(functools.partial(is_dead, grandchild))
            transport.terminate()
            transport.kill()


def test_program_has_a_session_of_its_own() -> None:
    """The program leads its own session and group, so a Ctrl-C in the terminal does not reach it."""
    with running(["/bin/cat"]) as transport:
        assert os.getsid(transport.pid) == os.getpgid(transport.pid) == transport.pid


def test_program_inherits_nothing_else() -> None:
    """The program has its three pipes and no other descriptor of this process."""
    reading, writing = os.pipe()
    os.set_inheritable(writing, True)
    try:
        with running(sh("ls /proc/self/fd")) as transport:
            assert set(read_all(transport).split()) == {b"0", b"1", b"2", b"3"}  # 3: of the listing itself
    finally:
        os.close(reading)
        os.close(writing)


def test_close_while_a_thread_reads() -> None:
    """A reader that is inside of a read keeps the descriptor until the program ends, and closes it then."""
    read: list[bytes] = []
    with running(["/bin/sleep", "60"]) as transport:
        reader = threading.Thread(target=lambda: read.append(transport.read()))
        reader.start()
        transport.close()
        transport.close()
        transport.kill()
        assert transport.wait(10) == Exit(-signal.SIGKILL)
        reader.join(5)
        assert read == [b""]
        assert transport.read() == b""
        assert repr(transport).endswith("was killed by SIGKILL, closed>")


def test_close_of_a_running_program_ends_its_input() -> None:
    """A program that is closed while it runs sees the end of its input, and is still collected when it ends."""
    with running(["/bin/cat"]) as transport:
        transport.close()
        assert transport.wait(10) == Exit(0)


def test_hundred_programs_leave_no_descriptor() -> None:
    """Programs started and closed one after another leave no descriptor, thread or child."""
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(100):
        with running(sh("read x; echo $x; echo err >&2")) as transport:
            transport.write(b"hi\n")
            assert read_all(transport) == b"hi\n"
    assert len(os.listdir("/proc/self/fd")) == before
