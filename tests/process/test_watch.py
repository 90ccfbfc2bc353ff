"""The watch thread: there while there is something to watch, and never in the way."""

import os
import signal
import threading
import time
from typing import Any

import pytest

from claude_control.process import pipes, watch
from claude_control.process.exits import Exit
from claude_control.process.transport import SubprocessTransport
from tests.process.programs import has_watch_thread, hold_watch, python, read_all, read_until, running, sh
from tests.waiting import wait_until


def test_thread_ends_with_the_last_program() -> None:
    """The thread runs while a program is watched, and is gone when the last one is closed."""
    with running(["/bin/cat"]) as first:
        with running(["/bin/cat"]):
            assert has_watch_thread()
        assert has_watch_thread()
        first.end_input()
        assert first.wait(10) == Exit(0)
        first.close()
        assert not has_watch_thread()


def test_thread_starts_again() -> None:
    """Whatever comes just as the thread ends is not lost."""
    for _ in range(300):
        fired = threading.Event()
        watch.call_later(0, fired.set)
        assert fired.wait(10)


def test_concurrent_timers_are_all_fired() -> None:
    """Timers set by many threads at once, while the thread ends and starts again, all fire exactly once."""
    fired: list[int] = []

    def set_timers(number: int) -> None:
        for _ in range(100):
            watch.call_later(0.0001, lambda: fired.append(number))

    threads = [threading.Thread(target=set_timers, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    wait_until(lambda: len(fired) == 800)
    wait_until(lambda: not has_watch_thread())
    assert sorted(set(fired)) == list(range(8))


def test_timer_fires_in_time() -> None:
    """A timer fires when its time has come, not before, and an earlier one is not held up by a later."""
    fired: list[str] = []
    done = threading.Event()
    late = watch.call_later(60, lambda: fired.append("late"))
    start = time.monotonic()
    watch.call_later(0.2, done.set)
    watch.call_later(0.1, lambda: fired.append("early"))
    assert done.wait(10)
    assert time.monotonic() - start >= 0.2
    assert fired == ["early"]
    assert late.cancel()


def test_cancelling_the_last_timer_ends_the_thread() -> None:
    """A cancelled timer does not keep the thread alive until its time."""
    timer = watch.call_later(60, bool)
    assert has_watch_thread()
    assert timer.cancel()
    wait_until(lambda: not has_watch_thread())


def test_failing_timer_does_not_end_the_thread() -> None:
    """A function that raises is logged, and the next one still runs."""
    fired = threading.Event()
    watch.call_later(0, lambda: 1 // 0)
    watch.call_later(0.01, fired.set)
    assert fired.wait(10)


def test_timers_are_cheap() -> None:
    """Ten thousand hooks' time-outs cost next to no processor time."""
    start = time.thread_time()
    for timer in [watch.call_later(60 + number, bool) for number in range(10_000)]:
        timer.cancel()
    assert time.thread_time() - start < 2


def test_timers_that_come_and_go_wake_nobody() -> None:
    """Hooks that are answered long before their time has come leave the watch thread asleep."""
    with running(["/bin/cat"]):
        (thread,) = [each for each in threading.enumerate() if each.name == watch.THREAD_NAME]
        before = _times_woken(thread)
        for _ in range(300):
            assert watch.call_later(60, bool).cancel()
            threading.Event().wait(0.0005)  # lets the thread run, if it was woken
        assert _times_woken(thread) - before < 100


def _times_woken(thread: threading.Thread) -> int:
    with open(f"/proc/self/task/{thread.native_id}/status", encoding="ascii") as file:
        (switches,) = [line.split()[1] for line in file if line.startswith("voluntary_ctxt_switches")]
    return int(switches)


def test_stderr_is_handed_over_in_order() -> None:
    """Each chunk of stderr is told as it comes, complete and in order."""
    chunks: list[bytes] = []
    code = "import sys\nfor n in range(2000): sys.stderr.write(f'{n}\\n')"
    with running(python(code), on_stderr=chunks.append) as transport:
        assert transport.wait(10) == Exit(0)
        assert b"".join(chunks).split() == [str(number).encode() for number in range(2000)]


def test_failing_stderr_function_is_dropped() -> None:
    """A function that raises is not called again, and stderr is still drained and kept."""
    calls: list[bytes] = []

    def fail(chunk: bytes) -> None:
        calls.append(chunk)
        raise ValueError("no")

    code = "import sys, os\nfor n in range(100): os.write(2, b'x' * 65536)"
    with running(python(code), on_stderr=fail) as transport:
        assert transport.wait(10) == Exit(0)
        assert len(calls) == 1
        assert len(transport.stderr_tail()) == 16 * 1024


def test_exit_is_told_once() -> None:
    """The exit function is called once, after the exit can be seen by everybody, and may fail."""
    told: list[Exit] = []

    def fail(how: Exit) -> None:
        told.append(how)
        raise ValueError("no")

    with running(sh("exit 7"), on_exit=fail) as transport:
        assert transport.wait(10) == Exit(7)
        transport.close()
        assert told == [Exit(7)]


def test_stderr_flood_does_not_stop_the_program() -> None:
    """Ten megabytes on stderr are drained although nobody reads stdout; 16 KiB of them are kept."""
    code = "import os\nfor n in range(160): os.write(2, b'%03d' % n * 21845 + b'\\n')\nos.write(1, b'done')"
    with running(python(code)) as transport:
        assert transport.wait(20) == Exit(0)
        assert transport.read() == b"done"
        assert transport.stderr_tail() == ("159" * 21845 + "\n")[-16 * 1024 :]


def test_stderr_held_by_a_grandchild_is_dropped() -> None:
    """A grandchild that keeps stderr open keeps the watch thread for no longer than the grace."""
    with running(sh("echo last words >&2; sleep 30 >/dev/null </dev/null & exit 3")) as transport:
        assert transport.wait(10) == Exit(3)
        assert transport.stderr_tail() == "last words\n"
        wait_until(lambda: not has_watch_thread())


def test_stderr_flooded_by_a_grandchild_does_not_hide_the_exit() -> None:
    """The exit is told although a grandchild writes to stderr without end."""
    with running(sh("yes flood >&2 </dev/null >/dev/null & exit 4")) as transport:
        assert transport.wait(10) == Exit(4)
        wait_until(lambda: not has_watch_thread())


def test_last_words_are_read_before_the_exit_is_told() -> None:
    """Whoever sees the exit sees all that the program wrote to stderr before it."""
    for number in range(50):
        with running(sh(f"echo word {number} >&2; exit 1")) as transport:
            assert transport.wait(10) == Exit(1)
            assert transport.stderr_tail() == f"word {number}\n"


def test_tail_does_not_begin_inside_a_character() -> None:
    """Where the tail was cut through a character, what is left of it is not shown; other rubbish is replaced."""
    code = "import os\nos.write(2, '€'.encode() * 20000)\nos.write(2, b'\\xff')"
    with running(python(code)) as transport:
        assert transport.wait(10) == Exit(0)
        tail = transport.stderr_tail()
        assert set(tail) == {"€", "\N{REPLACEMENT CHARACTER}"}
        assert tail.count("\N{REPLACEMENT CHARACTER}") == 1


def test_exit_collected_by_somebody_else_is_unknown() -> None:
    """A program that somebody else in this process waited for has ended, and its exit is unknown, never a success."""
    with running(sh("read x; exit 7")) as transport:
        release = hold_watch()
        transport.end_input()
        assert os.waitpid(transport.pid, 0)[0] == transport.pid
        transport.kill()  # nothing: the pid may be anybody's by now
        release()
        assert transport.wait(10) == Exit(None)
        assert repr(transport) == f"<SubprocessTransport pid {transport.pid} ended, exit status unknown>"


def test_exit_is_unknown_where_children_are_not_waited_for() -> None:
    """With SIGCHLD ignored the system keeps no exit status, and that is said."""
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        with running(sh("exit 0")) as transport:
            assert transport.wait(10) == Exit(None)
    finally:
        signal.signal(signal.SIGCHLD, before)


@pytest.mark.parametrize("missing", [("pidfd_open",), ("pidfd_open", "waitid")])
def test_exit_is_seen_without_pidfd(missing: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """On systems without pidfds the exit is found by polling, with its code or signal, and signals still work."""
    for name in missing:
        monkeypatch.delattr(os, name)
    with running(sh("echo hi; read x; exit 5")) as transport:
        assert read_until(transport, b"\n") == b"hi\n"
        assert transport.wait(0.1) is None
        transport.write(b"\n")
        assert transport.wait(10) == Exit(5)
    with running(["/bin/cat"]) as transport:
        transport.terminate()
        assert transport.wait(10) == Exit(-signal.SIGTERM)


def test_output_ends_without_pidfd(monkeypatch: pytest.MonkeyPatch) -> None:
    """On systems without pidfds output that a grandchild holds ends soon after the exit as well."""
    monkeypatch.delattr(os, "pidfd_open")
    with running(sh("echo hi; sleep 60 & exit 0")) as transport:
        start = time.monotonic()
        assert read_all(transport) == b"hi\n"
        assert time.monotonic() - start < 20


def test_output_ends_where_the_reader_cannot_be_woken(monkeypatch: pytest.MonkeyPatch) -> None:
    """On systems without /proc output that a grandchild holds ends soon after the exit as well."""
    monkeypatch.setattr(pipes, "_can_wake", lambda: False)
    with running(sh("echo hi; sleep 60 & exit 0")) as transport:
        start = time.monotonic()
        assert read_all(transport) == b"hi\n"
        assert time.monotonic() - start < 20


def test_output_ends_when_descriptors_are_scarce(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader that cannot be told of the exit at once, because all descriptors are in use, is told later."""
    tries: list[int] = []
    put_byte = pipes._put_byte

    def put_some(fd: int) -> bool | None:
        tries.append(fd)
        return put_byte(fd) if len(tries) > 2 else None

    assert pipes._can_wake()
    monkeypatch.setattr(pipes, "_put_byte", put_some)
    with running(sh("echo hi; read line; sleep 60 & exit 0")) as transport:
        assert transport.read() == b"hi\n"  # so that nothing is in the pipe at the exit
        start = time.monotonic()
        transport.write(b"\n")
        assert read_all(transport) == b""
        assert time.monotonic() - start < 20
    assert len(tries) == 3


def test_many_programs_are_watched_at_once() -> None:
    """A hundred programs that end together each tell their own exit code."""
    spawned: list[Any] = [
        SubprocessTransport.spawn(sh(f"read x; exit {number}"), env={}, cwd=None) for number in range(100)
    ]
    for transport in spawned:
        transport.end_input()
    assert [transport.wait(20).code for transport in spawned] == list(range(100))
    for transport in spawned:
        transport.close()
    assert not has_watch_thread()
