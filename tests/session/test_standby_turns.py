"""Who iterates a turn reads its deltas by himself where nothing else comes, and the turn does not show it."""

import contextlib
import os
import signal
import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from claude_control import (
    ControlTimeoutError,
    Message,
    ProcessExitedError,
    Session,
    SessionClosedError,
    StreamEvent,
    Turn,
)
from claude_control.process.spill import overflow_file
from claude_control.process.standby import Standby
from claude_control.session.inbox import Inbox, Run
from claude_control.session.turn import TurnRecord
from claude_control.testing.scripted_cli import ScriptedCLI, ScriptedCLIFactory
from claude_control.testing.steps import (
    Step,
    ask_permission,
    crash,
    delay,
    leave_child,
    raw,
    reply,
    wait_gate,
)
from claude_control.wire.framing import DELTA, Decoder
from claude_control.wire.messages import BadLine
from tests.session.conftest import OpenScripted, counted
from tests.threads import LIVELOCKS_WHEN_TRACED, struck, together
from tests.waiting import wait_until

GAP = 0.005  # seconds between deltas, so that they come one by one


def delta(text: str) -> bytes:
    """Return the line of a text delta, as the program writes it."""
    rest = b'"index":0,"delta":{"type":"text_delta","text":"%b"}},"session_id":"s","parent_tool_use_id":null}\n'
    return DELTA + rest % text.encode()


def texts(messages: list[Message]) -> list[str]:
    """Return the texts of the deltas among messages."""
    return [message.text for message in messages if isinstance(message, StreamEvent)]


def numbers(count: int) -> list[str]:
    """Return the texts of so many deltas."""
    return [f"{number}," for number in range(count)]


def streaming(count: int, *between: Step) -> list[Step]:
    """Return the steps that write so many deltas, with steps behind each."""
    return [step for text in numbers(count) for step in (raw(delta(text)), delay(GAP), *between)]


def test_deltas_are_read_by_who_iterates(
    scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The thread that iterates reads by itself; every delta comes once, in order, and what is counted is the same."""
    session = open_scripted(scripted_cli(prompts=[[*streaming(100), reply("done")]] * 50))
    threads = counted(monkeypatch, session)

    def read_some() -> bool:
        before = session.stats
        messages = list(session.ask("x"))
        assert texts(messages) == numbers(100)
        assert session.stats.frames - before.frames >= len(messages)
        assert session.stats.bytes_read - before.bytes_read > 100 * len(delta("1,"))
        return len(threads) >= 20

    wait_until(read_some)
    assert set(threads) == {threading.current_thread().name}


@pytest.mark.parametrize("between", [reply("between"), ask_permission("Bash", {"command": "x"})], ids=["reply", "ask"])
def test_what_comes_between_deltas_keeps_its_place(
    scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted, monkeypatch: pytest.MonkeyPatch, between: Step
) -> None:
    """Messages and requests between deltas are dealt with by whom they are for, and the deltas stay in order."""
    asked: list[str] = []

    def decide(tool: str, *_: Any) -> bool:
        asked.append(tool)
        return True

    cli = scripted_cli(prompts=[[*streaming(40, between, delay(GAP)), reply("done")]])
    session = open_scripted(cli, can_use_tool=decide)
    counted(monkeypatch, session)
    messages = list(session.ask("x"))
    assert texts(messages) == numbers(40)
    assert len(asked) == 40 or sum(getattr(message, "text", "") == "between" for message in messages) == 40


def test_calls_of_another_thread_are_answered_between_deltas(
    scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever reads the answers: the calls have theirs, and the turn has its deltas, in order."""
    session = open_scripted(scripted_cli(prompts=[[*streaming(150), reply("done")]]))
    counted(monkeypatch, session)
    turn, calls = session.ask("x"), list[object]()

    def call() -> None:
        while turn.state != "done":
            calls.append(session.get_mcp_status())

    caller = threading.Thread(target=call)
    caller.start()
    assert texts(list(turn)) == numbers(150)
    caller.join()
    assert calls and session.get_mcp_status() == calls[0]


def up_to(turn: Turn, text: str) -> None:
    """Iterate a turn up to the delta with this text."""
    for message in turn:
        if texts([message]) == [text]:
            return
    raise AssertionError("the turn has ended")


def gated(
    scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted, *behind: Step, **options: Any
) -> tuple[ScriptedCLI, Session, Turn]:
    """Return a turn that was read up to a gate called "go", with a reader that stands by for a second at least."""
    cli = scripted_cli(prompts=[[*streaming(40), wait_gate("go"), *behind, reply("done")]])
    session = open_scripted(cli, **options)
    session._live().reader._doubt = 0
    turn = session.ask("x")
    up_to(turn, "39,")
    return cli, session, turn


def once_led(session: Session, function: Callable[[], object]) -> threading.Thread:
    """Call a function in another thread as soon as a thread reads for itself; return that thread.

    Or after a second: on a busy machine deltas come in twos, and then it is the reader that reads.
    """

    def run() -> None:
        reader = session._live().reader
        with contextlib.suppress(AssertionError):
            wait_until(lambda: reader.standby is not None and reader.standby._lead.locked(), 1)
        function()

    thread = threading.Thread(target=run)
    thread.start()
    return thread


def test_subscriber_misses_no_delta(scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted) -> None:
    """Who subscribes while a thread reads for itself has every message that comes then."""
    cli, session, turn = gated(scripted_cli, open_scripted, *streaming(20))
    seen: list[Message] = []

    def subscribe() -> None:
        session.subscribe(seen.append)
        cli.open_gate("go")

    thread = once_led(session, subscribe)
    rest = list(turn)
    thread.join()
    wait_until(lambda: len(seen) >= len(rest))
    assert texts(rest) == texts(seen) == numbers(20)


def test_result_ends_the_wait_of_who_iterates(scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted) -> None:
    """Another thread that waits for the result takes the messages away, and the one that iterates comes to the end."""
    cli, session, turn = gated(scripted_cli, open_scripted, *streaming(20))
    results: list[object] = []

    def wait() -> None:
        cli.open_gate("go")
        results.append(turn.result(timeout=20).result)

    thread = once_led(session, wait)
    rest = texts(list(turn))
    thread.join()
    assert results == ["done"]
    assert rest == numbers(20)[: len(rest)]


def test_close_ends_the_wait_of_who_iterates(
    scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted, no_leaks: None
) -> None:
    """A thread that reads for itself is told of the close, and nothing stays open."""
    _, session, turn = gated(scripted_cli, open_scripted, exit_grace=0.5)
    closer = once_led(session, session.close)
    with contextlib.suppress(SessionClosedError):  # it may have had its result, for the close has interrupted it
        list(turn)
    closer.join()
    assert turn.state == "done"


@pytest.mark.parametrize("held", [False, True])
def test_exit_ends_the_wait_of_who_iterates(
    scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted, held: bool
) -> None:
    """The program's exit is seen while a thread reads for itself, also if a grandchild holds the pipe."""
    child = [leave_child(seconds=30)] if held else []
    cli, session, turn = gated(scripted_cli, open_scripted, *child, crash(3))
    opener = once_led(session, lambda: cli.open_gate("go"))
    with pytest.raises(ProcessExitedError) as caught:
        list(turn)
    opener.join()
    assert caught.value.exit_code == 3


def test_deltas_that_come_together_are_read_together(
    scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who iterates reads several deltas at once, odd ones too; each is shown and counted once, in its place."""
    together = [delta("a"), delta("b"), DELTA + b"\n", delta("\\ud83d"), delta("c")]
    steps = [step for _ in range(20) for step in (raw(b"".join(together)), delay(GAP))]
    session = open_scripted(scripted_cli(prompts=[[*streaming(40), *steps, reply("done")]] * 40))
    reader, counts, turns = session._live().reader, list[tuple[int, int]](), 0
    original = reader.count_read

    def count_read(size: int, lines: int = 1) -> None:
        counts.append((size, lines))
        original(size, lines)

    monkeypatch.setattr(reader, "count_read", count_read)
    reader._doubt = 0

    def read_some() -> bool:
        nonlocal turns
        turns, before = turns + 1, session.stats
        messages = list(session.ask("x"))
        assert texts(messages) == numbers(40) + ["a", "b", "\ufffd", "c"] * 20
        assert (session.stats.bad_lines, session.stats.flawed_lines) == (20 * turns, 20 * turns)
        assert session.stats.frames - before.frames >= len(messages) - 20
        return (len(b"".join(together)), len(together)) in counts

    wait_until(read_some)


def test_odd_deltas_are_the_same_whoever_reads_them(
    scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A delta that is no JSON, or that only the tolerant decoder reads, is shown and counted once."""
    steps = [step for _ in range(20) for line in (DELTA + b"\n", delta("\\ud83d")) for step in (raw(line), delay(GAP))]
    session = open_scripted(scripted_cli(prompts=[[*streaming(40), *steps, reply("done")]] * 40))
    threads, turns = counted(monkeypatch, session), 0

    def read_some() -> bool:
        nonlocal turns
        turns += 1
        messages = list(session.ask("x"))
        lines = [message.line for message in messages if isinstance(message, BadLine)]
        assert lines == [DELTA.decode()] * 20
        assert texts(messages) == numbers(40) + ["\ufffd"] * 20
        assert (session.stats.bad_lines, session.stats.flawed_lines) == (20 * turns, 20 * turns)
        return bool(threads)

    wait_until(read_some)


@pytest.mark.parametrize("place", ["deltas_in", "count_read"])
@pytest.mark.parametrize("what", ["call", "interrupt", "text", "usage", "thread", "late", "close"])
def test_signal_handler_may_ask_while_its_thread_reads(
    scripted_cli: ScriptedCLIFactory,
    open_scripted: OpenScripted,
    monkeypatch: pytest.MonkeyPatch,
    what: str,
    place: str,
) -> None:
    """A handler that strikes a thread which has just read a delta is answered; the delta comes once, in its place."""
    session = open_scripted(scripted_cli(prompts=[[*streaming(60), reply("done")]] * 40), exit_grace=0.5)
    done, turns, messages = list[object](), list[Turn](), list[Message]()
    session._live().reader._doubt = 0

    def close() -> None:
        session.close()
        done.append(session.state)

    asks: dict[str, Callable[[], object]] = {
        "call": lambda: done.append(session.set_permission_mode("plan", timeout=20).mode),
        "interrupt": lambda: done.append(session.interrupt()),
        "text": lambda: done.append(turns[-1].text),
        "usage": lambda: done.append(turns[-1].usage),
        "thread": lambda: done.append(asked_apart(session)),
        "late": lambda: done.append(asked_apart(session, first=0.3)),
        "close": close,
    }
    before = signal.signal(signal.SIGUSR1, lambda *_: asks[what]())
    try:
        once_at(monkeypatch, session, place, lambda: signal.raise_signal(signal.SIGUSR1))
        while not done:  # on a busy machine the reader may read a whole turn
            turns.append(session.ask("x"))
            messages.clear()
            with contextlib.suppress(SessionClosedError):
                for message in turns[-1]:
                    messages.append(message)
    finally:
        signal.signal(signal.SIGUSR1, before)
    found = texts(messages)
    assert len(done) == 1
    assert done[0] == "plan" or what not in ("call", "thread", "late")
    assert found == numbers(60)[: len(found)]
    assert len(found) == 60 or what in ("interrupt", "close")


@pytest.mark.parametrize("what", ["call", "close"])
def test_signal_handler_may_wait_where_its_thread_waits_for_output(
    scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted, what: str
) -> None:
    """A handler that strikes a thread which waits to read may wait for what another thread asks of the session."""
    cli, session, turn = gated(scripted_cli, open_scripted, *streaming(5), exit_grace=0.5)
    main, done, ask = threading.get_ident(), list[object](), {"call": asked_apart, "close": closed_apart}[what]

    def open_then() -> None:
        wait_until(lambda: done)
        cli.open_gate("go")

    before = signal.signal(signal.SIGUSR1, lambda *_: done.append(ask(session)))
    presser = once_led(session, lambda: signal.pthread_kill(main, signal.SIGUSR1))
    try:
        opener = threading.Thread(target=open_then)
        opener.start()
        with contextlib.suppress(SessionClosedError):
            list(turn)
        presser.join()
        opener.join()
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert done == ["plan" if what == "call" else "closed"]


@pytest.mark.parametrize("place", ["deltas_in", "count_read"])
def test_finalizer_may_wait_in_a_thread_that_reads(
    scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    """What the garbage collector runs in a user's thread may wait for another thread's call, and nothing is lost."""
    session = open_scripted(scripted_cli(prompts=[[*streaming(60), reply("done")]] * 40))
    session._live().reader._doubt = 0
    done: list[object] = []
    once_at(monkeypatch, session, place, lambda: done.append(asked_apart(session)))

    def read_some() -> bool:
        (found,) = together([lambda: texts(list(session.ask("x")))], timeout=40)
        assert found == numbers(60)
        return bool(done)

    wait_until(read_some)
    assert done == ["plan"]


def asked_apart(session: Session, first: float | None = None) -> object:
    """Have another thread make a call, and wait for that; before it one that gives up after `first` seconds."""
    modes: list[object] = []

    def call() -> None:
        if first is not None:
            with pytest.raises(ControlTimeoutError):
                session.set_permission_mode("plan", timeout=first)
        modes.append(session.set_permission_mode("plan", timeout=20).mode)

    thread = threading.Thread(target=call)
    thread.start()
    thread.join()
    return modes[0] if modes else None


def closed_apart(session: Session) -> object:
    """Have another thread close the session, and wait for that."""
    thread = threading.Thread(target=session.close)
    thread.start()
    thread.join(10)
    return "closed" if not thread.is_alive() and session.state == "closed" else session.state


def once_at(monkeypatch: pytest.MonkeyPatch, session: Session, place: str, function: Callable[[], object]) -> None:
    """Call a function once, where somebody who reads instead of the reader asks that for `place`."""
    reader, struck_once = session._live().reader, list[str]()
    original = getattr(reader, place)

    def strike(*given: object) -> object:
        if not struck_once:
            struck_once.append(place)
            function()
        return original(*given)

    monkeypatch.setattr(reader, place, strike)


class Stage:
    """A turn that runs, the pipe it comes from, and its reader, which comes when it is called."""

    def __init__(self) -> None:
        self.reading, self.writing = os.pipe()
        self.standby = Standby(self.reading, lambda last: True)
        self.inbox = Inbox(1 << 20, overflow_file)
        reader = SimpleNamespace(
            standby=self.standby,
            deltas_in=lambda chunk: chunk.count(b"\n"),
            count_read=lambda size, lines: None,
            late_decoder=Decoder(),
        )
        connection: Any = SimpleNamespace(
            reader=reader,
            subscriptions=SimpleNamespace(wanted=False),
            conversation=SimpleNamespace(runs=lambda record: True),
            interruptible=contextlib.nullcontext(),
            forbid_waiting=lambda: None,
            check_owner=lambda: None,
        )
        self.turn = Turn(TurnRecord("uuid", None, self.inbox), connection, None)

    def go_on_reading(self) -> None:
        """Be the reader, until the output ends."""

        def run() -> None:
            wait = self.standby._watch
            while chunk := wait() or os.read(self.reading, 1000):
                self.inbox.put([Run([block], 1) for block in chunk.splitlines()])
                wait = self.standby.wait
            self.inbox.finish()

        self.reader = threading.Thread(target=run, daemon=True)
        self.reader.start()

    def close(self) -> None:
        """Close all of it."""
        self.reader.join(10)
        self.standby.close()
        os.close(self.reading)


@LIVELOCKS_WHEN_TRACED
@pytest.mark.parametrize("first", [["first"], ["first", "too"]])
def test_thread_struck_while_it_reads_loses_no_delta(no_leaks: None, first: list[str]) -> None:
    """Wherever a thread is struck that iterates and reads by itself, every delta comes once, and in order."""
    number, was_struck = 0, True
    while was_struck:
        number += 1
        stage = Stage()
        stage.standby._stand()
        os.write(stage.writing, b"".join(map(delta, first)))

        was_struck = struck(stage.turn._take, number)
        stage.go_on_reading()
        os.write(stage.writing, delta("second"))
        os.close(stage.writing)
        assert texts(list(stage.turn)) == [*first, "second"], number
        stage.close()
    assert number > 30
