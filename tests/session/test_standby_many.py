"""Who waits for one of many requests reads the answers to all, and writes what is kept; nothing is lost or late."""

import signal
import threading
import time
from collections import deque
from functools import partial
from typing import Any

import pytest

from claude_control import ProcessExitedError, Session, SessionClosedError, WaitTimeoutError, requests
from claude_control.deadline import Deadline
from claude_control.process.standby import Standby
from claude_control.session.reading import Reader
from claude_control.testing.scripted_cli import ScriptedCLIFactory
from claude_control.testing.steps import (
    ask_permission,
    close_stdin,
    crash,
    default,
    hang,
    on_request,
    reply,
    say,
    unanswered,
    wait_gate,
)
from tests.session.conftest import OpenScripted, counted
from tests.threads import LIVELOCKS_WHEN_TRACED, struck, together
from tests.waiting import wait_until

WIDTH = 16


def outstanding(session: Session, count: int) -> None:
    """Make requests, so many at a time, from this thread."""
    waiting = deque(session.submit(requests.MCPStatus()) for _ in range(WIDTH))
    for _ in range(count):
        assert waiting.popleft().result(20).raw
        waiting.append(session.submit(requests.MCPStatus()))
    while waiting:
        assert waiting.popleft().result(20).raw


def ticking(session: Session) -> Standby:
    """Have many requests out until the reader leaves the answers to who waits for them, and looks now and then."""
    found: list[Standby] = []

    def ticks() -> bool:
        session._live().reader._doubt = 0
        outstanding(session, WIDTH)
        waiting = [session.submit(requests.MCPStatus()) for _ in range(WIDTH)]
        waiting[0].result(20)
        standby = session._live().reader.standby
        if standby is not None and standby.ticks:
            found.append(standby)
        return bool(found)

    wait_until(ticks)
    return found[0]


def has_id(request_id: str, frame: dict[str, Any]) -> bool:
    """Tell whether a frame is this request."""
    return frame.get("request_id") == request_id


def test_answers_to_many_are_read_by_who_waits(
    scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The thread that has many requests out reads their answers; what is counted is the same."""
    session = open_scripted(scripted_cli())
    threads = counted(monkeypatch, session)
    before, rounds = session.stats.frames, 0

    def read_some() -> bool:
        nonlocal rounds
        outstanding(session, 50)
        rounds += 1
        return len(threads) >= 20

    wait_until(read_some)
    assert set(threads) == {threading.current_thread().name}
    assert session.stats.frames - before == rounds * (50 + WIDTH)
    assert session.stats.late_replies == 0


def test_lines_are_written_although_nobody_waits(scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted) -> None:
    """Requests that are made while others are out reach the program soon, also if nobody asks for their answers."""
    cli = scripted_cli(reactions=[unanswered("get_settings")])
    session = open_scripted(cli, exit_grace=0.1)
    for _ in range(5):
        ticking(session)
        asked = session.submit(requests.GetSettings()).request_id
        cli.wait_received(partial(has_id, asked), timeout=2)


def test_reader_does_not_look_for_ever(scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted) -> None:
    """The reader looks for some milliseconds only when answers take long, whether or not somebody waits for them."""
    cli = scripted_cli(reactions=[on_request("get_settings", wait_gate("go"), default())])
    session = open_scripted(cli)
    slow = session.submit(requests.GetSettings())
    looks: list[float] = []
    standby = ticking(session)
    standby._look = lambda last: not looks.append(time.monotonic())  # type: ignore[func-returns-value]
    with pytest.raises(WaitTimeoutError):
        slow.result(0.5)
    wait_until(lambda: not standby.ticks)
    threading.Event().wait(0.5)
    assert 0 < len(looks) < 50
    cli.open_gate("go")
    assert slow.result(20).raw is not None


def test_many_threads_that_wait_for_one_each_are_all_answered(
    scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted
) -> None:
    """Threads that wait for one of several requests, or make calls beside them, are answered without a time limit."""
    session = open_scripted(scripted_cli())
    ticking(session)

    def submit() -> int:
        return sum(len(session.submit(requests.MCPStatus()).result(20).servers) for _ in range(50))

    def call() -> int:
        return sum(len(session.get_mcp_status(timeout=20).servers) for _ in range(50))

    def many() -> int:
        outstanding(session, 50)
        return 0

    together([submit, submit, call, call, many, many])
    assert not session._live().calls.pending
    assert not session._live().calls._blocked


def test_messages_and_requests_among_many_answers_are_dealt_with(
    scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted
) -> None:
    """What comes between the answers is delivered in order, and a permission that is asked for there is given."""
    frames = [{"type": "system", "subtype": name, "uuid": name} for name in ("before", "behind")]
    cli = scripted_cli(
        reactions=[on_request("get_settings", say(frames[0]), default(), say(frames[1]))],
        prompts=[[ask_permission("Bash", {"command": "make"}), reply("done")]] * 2,
    )
    session = open_scripted(cli)
    seen: list[str] = []
    session.subscribe(lambda message: seen.append(message.raw.get("subtype", "")))
    for _ in range(20):
        ticking(session)
        waiting: list[Any] = []
        for _ in range(WIDTH):
            waiting += [session.submit(requests.MCPStatus()), session.submit(requests.GetSettings())]
        for one in waiting:
            one.result(20)
    wait_until(lambda: len([name for name in seen if name in ("before", "behind")]) == 40 * WIDTH)
    assert [name for name in seen if name in ("before", "behind")] == ["before", "behind"] * 20 * WIDTH
    turn = session.ask("x")
    outstanding(session, 50)
    assert turn.result(timeout=20).result == "done"


def test_cancelled_request_is_not_waited_for(scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted) -> None:
    """A request that is given up while its line is kept, or its answer on the way, disturbs none of the others."""
    session = open_scripted(scripted_cli())
    for _ in range(20):
        ticking(session)
        waiting = [session.submit(requests.MCPStatus()) for _ in range(WIDTH)]
        given_up = [waiting.pop(at).cancel() for at in (3, 7, 1)]
        assert all(given_up)
        assert all(one.result(20).raw for one in waiting)
    assert session.get_mcp_status(timeout=20)


def test_time_limit_of_one_of_many_holds(scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted) -> None:
    """Who waits for an answer that does not come gives up in time, and not before; the request goes on."""
    cli = scripted_cli(reactions=[on_request("get_settings", wait_gate("go"), default())])
    session = open_scripted(cli)
    ticking(session)
    waiting: list[Any] = [session.submit(requests.GetSettings()), session.submit(requests.MCPStatus())]
    for seconds in (0, 0.05, 0.6):
        begun = time.monotonic()
        with pytest.raises(WaitTimeoutError):
            waiting[0].result(seconds)
        assert seconds <= time.monotonic() - begun < seconds + 5
    cli.open_gate("go")
    assert [one.result(20).raw is not None for one in waiting] == [True, True]


def test_end_of_the_program_ends_who_reads_for_all(
    scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted
) -> None:
    """When the program ends in the middle, every request that is out fails, and none is left waiting."""
    session = open_scripted(scripted_cli(reactions=[on_request("get_settings", crash(3))]))
    ticking(session)
    waiting: list[Any] = [session.submit(requests.MCPStatus()) for _ in range(5)]
    waiting += [session.submit(requests.GetSettings()), *(session.submit(requests.MCPStatus()) for _ in range(5))]
    ended = []
    for one in waiting:
        try:
            one.result(20)
        except ProcessExitedError as error:
            ended.append(error.exit_code)
    assert len(ended) >= 6
    assert set(ended) == {3}


@LIVELOCKS_WHEN_TRACED
@pytest.mark.parametrize("what", ["result", "submit"])
def test_strike_among_many_loses_no_answer(
    scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted, what: str
) -> None:
    """Wherever a thread is struck that reads for all, or leaves its line to be written: the others are answered."""
    session = open_scripted(scripted_cli(), control_timeout=20)
    number, was_struck = 0, True
    while was_struck:
        number += 1
        ticking(session)
        waiting = [session.submit(requests.MCPStatus()) for _ in range(6)]
        work = partial(waiting[0].result, 20) if what == "result" else partial(session.submit, requests.MCPStatus())
        was_struck = struck(work, number)
        begun = time.monotonic()
        assert all(one.result(20).raw for one in waiting), number
        assert time.monotonic() - begun < 5, number
    assert number > 25
    wait_until(lambda: not session._live().calls.pending)
    assert not session._live().calls._blocked
    assert session.ask("x").result(timeout=20).result == "answer to: x"


def test_signal_handler_may_wait_while_its_thread_reads_for_all(
    scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A handler that strikes the thread that has just read the answers to many may have many out itself."""
    session = open_scripted(scripted_cli(), control_timeout=20)
    ticking(session)
    reader, done = session._live().reader, list[str]()

    def handle(*_: object) -> None:
        outstanding(session, 20)
        done.append("handled")

    def answers_in(chunk: bytes) -> Any:
        if not done and threading.current_thread() is threading.main_thread():
            done.append("pressed")
            signal.raise_signal(signal.SIGUSR1)
        return Reader.answers_in(reader, chunk)

    monkeypatch.setattr(reader, "answers_in", answers_in)
    before = signal.signal(signal.SIGUSR1, handle)
    try:
        wait_until(lambda: outstanding(session, 20) or done)  # type: ignore[func-returns-value]
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert done == ["pressed", "handled"]
    outstanding(session, 20)


def kept(session: Session) -> Any:
    """Have two requests made whose lines are kept to be written with others; returns them."""
    found: list[Any] = []
    writer = session._live().writer

    def keeps() -> bool:
        ticking(session)
        found[:] = [session.submit(requests.MCPStatus()) for _ in range(2)]
        return writer._kept.count(b"\n") == 2

    wait_until(keeps)
    return found


@LIVELOCKS_WHEN_TRACED
def test_strike_writes_no_kept_request_twice(scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted) -> None:
    """Wherever a thread is struck that writes what was kept: each request has reached the program, and once."""
    cli = scripted_cli()
    session = open_scripted(cli, control_timeout=20)
    number, was_struck = 0, True
    while was_struck:
        number += 1
        waiting = kept(session)
        was_struck = struck(session._live().writer.release, number)
        assert all(one.result(20).raw for one in waiting), number
    asked = [frame["request_id"] for frame in cli.received() if frame["type"] == "control_request"]
    assert number > 10
    assert len({*asked}) == len(asked)


def test_kept_line_that_cannot_be_written_ends_its_request(
    scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted
) -> None:
    """Where the program reads no more, and the reader is the one that notices: who waits for an answer is told."""
    cli = scripted_cli(reactions=[on_request("get_settings", wait_gate("go"), close_stdin(), default(), hang())])
    late: list[Any] = []

    def is_kept() -> bool:
        (cli.directory / "gates" / "go").unlink(missing_ok=True)
        session = open_scripted(cli, exit_grace=0.1)
        ticking(session)
        slow = session.submit(requests.GetSettings())
        for _ in range(WIDTH):
            session.submit(requests.MCPStatus())
        assert session._live().writer.flush(Deadline(20))
        cli.open_gate("go")
        slow.result(20)
        try:
            late[:] = [session.submit(requests.MCPStatus())]
        except SessionClosedError:  # the reader has come back before, so that the line was not kept
            return False
        return bool(session._live().writer._kept)

    wait_until(is_kept)
    wait_until(late[0].done)  # nobody waits for it, so that the reader writes what is kept
    with pytest.raises(ProcessExitedError):
        late[0].result(20)


def test_reader_waits_for_no_writer(scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted) -> None:
    """While a thread that writes is held up, by a signal handler, say, the reader leaves its task to another."""
    session = open_scripted(scripted_cli())
    live = session._live()
    assert live.calls.look(False) and live.calls.look(True)
    while True:
        waiting = kept(session)
        with live.writer._lock:
            if live.writer._kept:
                assert not live.calls.look(False)
                assert not live.calls.look(True)
                break
    wait_until(lambda: not live.writer._kept)
    assert all(one.result(20).raw for one in waiting)


@pytest.mark.parametrize("step", ["_write_once", "_try_write"])
def test_time_limit_of_a_users_own_is_no_broken_pipe(
    scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """What a signal handler raises while a line is written is an OSError too: it is the user's, and nothing is lost."""
    session = open_scripted(scripted_cli())
    writer, raised = session._live().writer, list[str]()
    original = getattr(writer, step)

    def strike(*given: Any) -> Any:
        if not raised and threading.current_thread() is threading.main_thread():
            raised.append("struck")
            raise TimeoutError("the time is up")
        return original(*given)

    def is_struck() -> bool:
        waiting = kept(session)
        monkeypatch.setattr(writer, step, strike)
        try:
            waiting[0].result(20)
            session.get_mcp_status(timeout=20)
        except TimeoutError as error:
            assert str(error) == "the time is up"
        assert all(one.result(20).raw for one in waiting)
        return bool(raised)

    wait_until(is_struck)
    assert session.ask("x").result(timeout=20).result == "answer to: x"
