"""Ctrl-C in the waits of the main thread, and asynchronous exceptions in those of others."""

import ctypes
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from claude_control import AssistantMessage, Session
from claude_control.testing.scripted_cli import ScriptedCLIFactory
from claude_control.testing.steps import on, reply, resume_reading, stop_reading, turn, unanswered, wait_gate
from tests.session.conftest import OpenScripted
from tests.waiting import wait_until

_WAITS = {"wait_event", "wait_future", "wait_lock", "take", "wait_idle"}
_LOOK = threading.Event()  # never set: its wait is a pause between two looks


def _wait_of_main_thread() -> int | None:
    """Return which of the SDK's waits the main thread is in, None if in none."""
    frame = sys._current_frames().get(threading.main_thread().ident or 0)
    while frame is not None and frame.f_code.co_name not in _WAITS:
        frame = frame.f_back
    return None if frame is None else id(frame)


def _main_thread_rests() -> bool:
    """Tell whether the main thread stays in one wait: Ctrl-C is to land in there, not a step earlier or later."""
    first = _wait_of_main_thread()
    for _ in range(20):
        _LOOK.wait(0.005)
        if first is None or _wait_of_main_thread() != first:
            return False
    return True


@contextmanager
def pressing_ctrl_c(*when: Callable[[], object]) -> Iterator[None]:
    """Send SIGINT to the main thread each time the next condition has become true while it waits."""

    def press() -> None:
        for condition in when:
            wait_until(condition, timeout=20)
            wait_until(_main_thread_rests, timeout=20)
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    presser = threading.Thread(target=press)
    presser.start()
    try:
        yield
    finally:
        presser.join(30)


def test_ctrl_c_interrupts_the_turn_and_the_session_goes_on(
    scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted
) -> None:
    """Ctrl-C in a wait for a turn interrupts that turn and is raised; the next turn works."""
    session = open_scripted(scripted_cli(prompts=[[reply("x"), wait_gate("never")]]))
    asked = session.ask("one")
    with pressing_ctrl_c(lambda: asked.text == "x"), pytest.raises(KeyboardInterrupt):
        asked.result()
    assert asked.outcome == "interrupted"
    assert session.ask("two").result(timeout=10).result == "answer to: two"


def test_ctrl_c_while_iterating_loses_nothing(scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted) -> None:
    """After Ctrl-C in the loop the turn's remaining messages can still be iterated, its result last."""
    session = open_scripted(scripted_cli(prompts=[[reply("x"), wait_gate("never")]]))
    asked = session.ask("one")
    seen: list[Any] = []
    with pressing_ctrl_c(lambda: seen), pytest.raises(KeyboardInterrupt):
        for message in asked:
            if isinstance(message, AssistantMessage):
                seen.append(message)
    rest = list(asked)
    assert rest[-1].raw["type"] == "result"


def test_a_second_ctrl_c_closes(scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted) -> None:
    """A second Ctrl-C, while the first one waits for the turn's end, closes the session and is raised."""
    cli = scripted_cli(prompts=[turn(reply("x"), wait_gate("never"), interruptible=False)])
    session = open_scripted(cli, interrupt_grace=5, exit_grace=0.3, terminate_grace=0.5)
    asked = session.ask("one")
    interrupted = {"type": "control_request", "request": {"subtype": "interrupt"}}

    def has_interrupt() -> bool:
        return any(frame.get("request") == interrupted["request"] for frame in cli.received())

    with pressing_ctrl_c(lambda: asked.text == "x", has_interrupt), pytest.raises(KeyboardInterrupt):
        asked.result()
    wait_until(lambda: session.state == "closed")


def test_ctrl_c_in_a_control_call(scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted) -> None:
    """Ctrl-C in a control call gives the request up; the session goes on."""
    cli = scripted_cli(reactions=[unanswered("mcp_status")])
    session = open_scripted(cli)

    def is_asked() -> bool:
        return any(frame.get("request", {}).get("subtype") == "mcp_status" for frame in cli.received())

    with pressing_ctrl_c(is_asked), pytest.raises(KeyboardInterrupt):
        session.get_mcp_status()
    assert len(session._live().calls.pending) == 0
    assert session.set_permission_mode("plan").mode == "plan"


@pytest.mark.parametrize("way", ["ask", "send"])
def test_ctrl_c_in_the_middle_of_a_long_line_tears_nothing(
    scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted, way: str
) -> None:
    """Ctrl-C while 4 MiB are half written leaves the line whole, and the next turn works."""
    half_read = on(
        {"type": "control_request", "request": {"subtype": "mcp_status"}},
        stop_reading(),
        wait_gate("go"),
        resume_reading(),
    )
    cli = scripted_cli(reactions=[half_read])
    session = open_scripted(cli, interrupt_grace=0.3)
    pending = session.submit(_status())
    cli.wait_received(lambda frame: frame.get("request", {}).get("subtype") == "mcp_status")
    long = "x" * (4 << 20)
    before = session.stats.bytes_written
    with pressing_ctrl_c(lambda: _is_writing(session)), pytest.raises(KeyboardInterrupt):
        if way == "ask":
            session.ask(long).result()
        else:
            session.send(long)
    assert session.stats.bytes_written == before  # it is in the middle of the line
    cli.open_gate("go")
    pending.cancel()
    assert session.ask("next").result(timeout=20).result == "answer to: next"
    assert long in [frame["message"]["content"] for frame in cli.received() if frame["type"] == "user"]


def _status() -> Any:
    from claude_control import requests

    return requests.MCPStatus()


def _is_writing(session: Session) -> bool:
    queue = session._live().writer._queue
    return bool(queue) and queue[0].begun


def test_asynchronous_exceptions_land_in_other_threads(
    scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted
) -> None:
    """A task runner's time limit, raised into a worker thread, ends its wait within a second."""

    class Limit(Exception):
        pass

    session = open_scripted(scripted_cli(prompts=[[wait_gate("never")]]))
    asked = session.ask("one")
    caught = threading.Event()

    def work() -> None:
        try:
            asked.result()
        except Limit:
            caught.set()

    worker = threading.Thread(target=work)
    worker.start()
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(worker.ident or 0), ctypes.py_object(Limit))
    assert caught.wait(10)
    worker.join(5)
