"""Calls read their answers by themselves where nothing else is to be expected, and the session does not show it."""

import contextlib
import os
import signal
import threading
import time
from collections.abc import Iterable
from functools import partial
from typing import Any

import pytest

from claude_control import (
    ControlTimeoutError,
    HookMatcher,
    ProcessExitedError,
    Session,
    SessionClosedError,
    requests,
)
from claude_control.deadline import Deadline
from claude_control.process.standby import Standby
from claude_control.session import pool as pool_module
from claude_control.session.door import Door
from claude_control.session.pool import CallbackPool
from claude_control.session.reading import Reader
from claude_control.testing.scripted_cli import ScriptedCLIFactory
from claude_control.testing.steps import (
    answer,
    call_hook,
    crash,
    default,
    delay,
    leave_child,
    on_request,
    raw,
    reply,
    say,
    unanswered,
    wait_gate,
)
from tests.session.conftest import OpenScripted, counted
from tests.threads import LIVELOCKS_WHEN_TRACED, struck, together
from tests.waiting import wait_until


def stand_by(session: Session) -> Standby:
    """Make calls until the reader stands by."""

    def stands() -> bool:
        session._live().reader._doubt = 0
        session.get_mcp_status()
        standby = session._live().reader.standby
        return standby is not None and standby._standing

    wait_until(stands)
    standby = session._live().reader.standby
    assert standby is not None
    return standby


def is_led(standby: Standby) -> bool:
    """Tell whether somebody waits for output instead of the reader."""
    return standby._lead.locked()


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the reader stand by for longer than any machine may take from there to the call, not for a second."""
    monkeypatch.setattr("claude_control.process.standby._PATIENCE", 60.0)


def test_answer_is_read_by_the_caller(
    scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The thread that makes calls one by one reads their answers; what is counted is the same."""
    session = open_scripted(scripted_cli())
    threads = counted(monkeypatch, session)
    stand_by(session)
    before, calls = session.stats.frames, 0

    def read_some() -> bool:
        nonlocal calls
        session.get_mcp_status()
        calls += 1
        return len(threads) >= 20

    wait_until(read_some)
    assert set(threads) == {threading.current_thread().name}
    assert session.stats.frames - before == calls


def test_request_is_read_by_a_thread_of_the_pool(
    scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hooks that are called one after the other, with nothing in between, are read by the thread that runs them."""
    # After each a pause, so that the echo of its answer and the next one do not come together, and are the reader's.
    calls = [step for number in range(20) for step in (call_hook("PreToolUse", {"n": number}), delay(0.005))]
    turn = [*calls, reply("done")]
    ran: list[tuple[int, str]] = []

    def hook(event: Any, *_: Any) -> None:
        ran.append((event["n"], threading.current_thread().name))

    cli = scripted_cli(prompts=[turn] * 50)
    session = open_scripted(cli, hooks={"PreToolUse": [HookMatcher(hooks=[hook])]})
    threads = counted(monkeypatch, session)

    def read_one() -> bool:
        ran.clear()
        session._live().reader._doubt = 0
        assert session.ask("x").result(timeout=30).result == "done"
        assert [number for number, _ in ran] == [*range(20)]
        return bool(threads)

    wait_until(read_one)
    assert set(threads) & {name for _, name in ran}


def test_echoes_do_not_put_off_a_time_limit(scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted) -> None:
    """A call gives up in time although what means nothing keeps coming."""
    echo = {"type": "control_response", "response": {"subtype": "success", "request_id": "echo", "response": {}}}
    steps = [step for _ in range(200) for step in (say(echo), delay(0.1))]
    session = open_scripted(scripted_cli(reactions=[on_request("get_settings", *steps)]), exit_grace=0.1)
    stand_by(session)
    begun = time.monotonic()
    with pytest.raises(ControlTimeoutError):
        session.get_settings(timeout=0.5)
    assert time.monotonic() - begun < 10


def test_messages_around_answers_are_all_read_in_order(
    scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted
) -> None:
    """Whoever reads what: every message is delivered, in its order, however many threads make calls."""
    before, behind = ({"type": "system", "subtype": name, "uuid": name} for name in ("before", "behind"))
    reactions = [
        on_request("mcp_status", say(before), default(), say(behind)),
        on_request("get_settings", say(before), say(behind), default()),
    ]
    session = open_scripted(scripted_cli(reactions=reactions))
    seen: list[str] = []
    session.subscribe(lambda message: seen.append(message.raw["subtype"]))

    def call(mixed: bool) -> None:
        for number in range(100):
            session.set_permission_mode("default")
            (session.get_settings if mixed and number % 3 == 0 else session.get_mcp_status)()

    call(True)
    wait_until(lambda: len(seen) >= 200)
    together([partial(call, False), partial(call, True), partial(call, True)])
    wait_until(lambda: len(seen) >= 800)
    assert seen == ["before", "behind"] * 400
    assert session.ask("x").result(timeout=20).result == "answer to: x"


def test_odd_lines_are_counted_once(scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted) -> None:
    """A line that is no JSON, or that only the tolerant decoder can read, is the reader's, whoever has read it."""
    bad = raw(b'{"type":"control_response",\n')
    flawed = raw(b'{"type":"control_response","a":"\\ud83d"}\n')
    session = open_scripted(scripted_cli(reactions=[on_request("get_settings", bad, delay(0.02), flawed, default())]))
    for _ in range(10):
        stand_by(session)
        session.get_settings()
    assert (session.stats.bad_lines, session.stats.flawed_lines) == (10, 10)


@LIVELOCKS_WHEN_TRACED
def test_call_struck_anywhere_leaves_the_session_working(
    scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted
) -> None:
    """Wherever a call is struck from outside: the next one is answered, and nothing of it is left."""
    session = open_scripted(scripted_cli(), control_timeout=20)
    number = 1
    stand_by(session)
    while struck(session.get_mcp_status, number):
        number += 1
        assert session.set_permission_mode("plan").mode == "plan"
        stand_by(session)
    assert number > 50
    wait_until(lambda: not session._live().calls.pending)
    assert session.ask("x").result(timeout=20).result == "answer to: x"


@pytest.mark.usefixtures("patient")
def test_signal_handler_may_call_while_a_call_waits(
    scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted
) -> None:
    """A signal handler that makes a call, in the thread that waits for an answer, has its own."""
    cli = scripted_cli(reactions=[on_request("get_settings", wait_gate("go"), default())])
    session = open_scripted(cli, control_timeout=20)
    standby = stand_by(session)
    modes: list[str | None] = []

    def handle(*_: object) -> None:
        cli.open_gate("go")
        modes.append(session.set_permission_mode("plan").mode)

    def press() -> None:
        wait_until(lambda: is_led(standby))
        os.kill(os.getpid(), signal.SIGUSR1)

    before = signal.signal(signal.SIGUSR1, handle)
    try:
        presser = threading.Thread(target=press)
        presser.start()
        session.get_settings()
        presser.join()
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert modes == ["plan"]


@pytest.mark.parametrize("what", ["call", "submit", "ask", "close", "thread"])
def test_signal_handler_may_wait_while_its_thread_reads(
    scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    """A handler that strikes a thread which has just read, so that nobody else may, is answered all the same."""
    session = open_scripted(scripted_cli())
    stand_by(session)
    reader, done = session._live().reader, list[object]()

    def handle(*_: object) -> None:
        if what == "call":
            done.append(session.set_permission_mode("plan", timeout=20).mode)
        elif what == "submit":
            done.append(session.submit(requests.MCPStatus()).result(20))
        elif what == "ask":
            done.append(session.ask("x").result(timeout=20))
        elif what == "thread":
            thread = threading.Thread(target=lambda: done.append(session.set_permission_mode("plan", timeout=20).mode))
            thread.start()
            thread.join()
        else:
            session.close()
            done.append(session.state)

    def control_in(chunk: bytes) -> Any:
        if not done and threading.current_thread() is threading.main_thread():
            done.append("pressed")
            signal.raise_signal(signal.SIGUSR1)
        return Reader.control_in(reader, chunk)

    monkeypatch.setattr(reader, "control_in", control_in)
    before = signal.signal(signal.SIGUSR1, handle)
    try:
        with contextlib.suppress(SessionClosedError):
            wait_until(lambda: session.get_mcp_status(timeout=20) and done)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert len(done) == 2
    if what == "close":
        assert done[1] == "closed"
    else:
        assert session.get_mcp_status(timeout=20)


@pytest.mark.usefixtures("patient")
def test_close_ends_a_call_that_reads_for_itself(
    scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted, no_leaks: None
) -> None:
    """A call whose thread waits for output is told of the close, and nothing stays open."""
    session = open_scripted(scripted_cli(reactions=[unanswered("get_settings")]), exit_grace=0.5)
    standby = stand_by(session)

    def close() -> None:
        wait_until(lambda: is_led(standby))
        session.close()

    closer = threading.Thread(target=close)
    closer.start()
    with pytest.raises(SessionClosedError):
        session.get_settings()
    closer.join()


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize("held", [False, True])
def test_exit_ends_a_call_that_reads_for_itself(
    scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted, held: bool
) -> None:
    """The program's exit is seen while a call's thread waits for output, also if a grandchild holds the pipe."""
    child = [leave_child(seconds=30)] if held else []
    cli = scripted_cli(reactions=[on_request("get_settings", *child, wait_gate("go"), crash(3))])
    session = open_scripted(cli)
    standby = stand_by(session)

    def open_gate() -> None:
        wait_until(lambda: is_led(standby))
        cli.open_gate("go")

    opener = threading.Thread(target=open_gate)
    opener.start()
    with pytest.raises(ProcessExitedError) as caught:
        session.get_settings(timeout=20)
    opener.join()
    assert caught.value.exit_code == 3


def test_exit_is_seen_by_a_reader_that_stands_by(scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted) -> None:
    """The end is noticed while nobody calls, also if a grandchild holds the pipe and writes nothing."""
    cli = scripted_cli(
        reactions=[on_request("get_settings", leave_child(seconds=30), default(), wait_gate("go"), crash())]
    )
    session = open_scripted(cli)
    stand_by(session)
    session.get_settings()
    cli.open_gate("go")
    wait_until(lambda: session.state == "failed")


def test_time_limit_holds_while_the_caller_reads(scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted) -> None:
    """A call that waits by itself gives up in time, and a late answer harms nobody."""
    cli = scripted_cli(reactions=[on_request("get_settings", wait_gate("go"), answer({}))])
    session = open_scripted(cli)
    stand_by(session)
    with pytest.raises(ControlTimeoutError):
        session.get_settings(timeout=0.4)
    cli.open_gate("go")
    assert session.set_permission_mode("plan", timeout=20).mode == "plan"


# -- the door ----------------------------------------------------------------------------------------------------------


class Doorstep:
    """A pool whose threads wait at the door of a pipe, and what they have run."""

    def __init__(self) -> None:
        self.reading, self.writing = os.pipe()
        self.standby = Standby(self.reading, lambda last: True)
        self.pool = CallbackPool("claude-test-callback")
        self.pool.door = self.door = Door(self)  # type: ignore[arg-type]  # it needs no more of a reader
        self.ran: list[bytes] = []

    def control_in(self, chunk: bytes) -> dict[str, Any]:
        """Return what stands for a frame."""
        return {"type": "control_request", "chunk": chunk}

    def count_read(self, size: int) -> None:
        """Count nothing."""

    def ask(self, frames: Iterable[dict[str, Any]]) -> None:
        """Hand requests to the pool."""
        self.pool.submit(*(partial(self.ran.append, frame["chunk"]) for frame in frames))

    def go_on_reading(self) -> None:
        """Be the reader, which gets to run at last, until the output ends."""

        def run() -> None:
            watch = self.standby._watch
            while chunk := watch() or os.read(self.reading, 100):
                self.ask([self.control_in(chunk)])
                watch = self.standby.wait

        self.reader = threading.Thread(target=run, daemon=True)
        self.reader.start()

    def close(self) -> None:
        """Close all of it."""
        self.pool.close()
        assert self.pool.join(Deadline(10)) == []
        os.close(self.writing)
        self.reader.join(10)
        self.standby.close()
        os.close(self.reading)


def has_run(step: Doorstep, chunk: bytes) -> bool:
    """Tell whether a thread of the pool has run this."""
    return chunk in step.ran


@LIVELOCKS_WHEN_TRACED
def test_thread_struck_at_the_door_loses_no_request(no_leaks: None) -> None:
    """Wherever a thread of the pool is struck that reads a request by itself, the request is run."""
    number, was_struck = 0, True
    while was_struck:
        number += 1
        step = Doorstep()
        worker = pool_module._Worker()
        step.pool._idle.append(worker)
        work = partial(step.door.wait, worker.waits, partial(step.pool._expect, worker), 10)
        step.standby._stand()
        os.write(step.writing, b"request")
        try:
            was_struck = struck(work, number)
        finally:
            with step.pool._lock:
                step.pool._dismiss(worker)  # as the thread itself does
        step.go_on_reading()
        wait_until(partial(has_run, step, b"request"))
        os.write(step.writing, b"again")
        wait_until(partial(has_run, step, b"again"))
        assert step.pool.submit(partial(step.ran.append, b"other work"))
        wait_until(partial(has_run, step, b"other work"))
        step.close()
    assert number > 30


def test_closed_pool_calls_its_thread_from_the_door(no_leaks: None) -> None:
    """A thread that waits at the door ends at once when the pool is closed, and is there for other work before."""
    step = Doorstep()
    step.standby._stand()
    step.go_on_reading()
    step.pool.submit(partial(step.ran.append, b"first"))
    wait_until(lambda: is_led(step.standby))
    step.pool.submit(partial(step.ran.append, b"second"))
    wait_until(lambda: len(step.ran) == 2)
    wait_until(lambda: is_led(step.standby))
    os.write(step.writing, b"request")
    wait_until(lambda: len(step.ran) == 3)
    assert step.ran == [b"first", b"second", b"request"]
    wait_until(lambda: is_led(step.standby))
    step.pool.close()
    assert step.pool.join(Deadline(5)) == []
    step.close()


def test_request_that_cannot_be_read_at_the_door_is_the_readers(no_leaks: None) -> None:
    """What is no request as it should be is left to the reader, with no thread of the pool in its place."""
    step, tried = Doorstep(), list[str]()
    read = step.control_in

    def fail_first(chunk: bytes) -> dict[str, Any] | None:
        tried.append(threading.current_thread().name)
        return None if len(tried) == 1 else read(chunk)

    step.control_in = fail_first  # type: ignore[method-assign, assignment]
    step.standby._stand()
    step.pool.submit(partial(step.ran.append, b"first"))
    wait_until(lambda: is_led(step.standby))
    os.write(step.writing, b"request")
    wait_until(lambda: tried)
    step.go_on_reading()
    wait_until(partial(has_run, step, b"request"))
    assert tried[0].startswith("claude-test-callback")
    step.close()
