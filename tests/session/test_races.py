"""What goes wrong at the worst moment: odd frames, full disks, hanging transports, two who close, deaf programs."""

import gc
import os
import signal
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from claude_control import (
    Allow,
    ConcurrencyError,
    Deny,
    HookMatcher,
    ProcessExitedError,
    ResultMessage,
    Session,
    SessionClosedError,
    SpawnError,
    StreamEvent,
    close_all,
    requests,
)
from claude_control.errors import ClaudeControlError
from claude_control.process.transport import SubprocessTransport
from claude_control.testing.scripted_cli import ScriptedCLI, ScriptedCLIFactory
from claude_control.testing.steps import (
    ask_permission,
    burst,
    close_stdin,
    delay,
    ignore_signals,
    note,
    on_request,
    raw,
    reply,
    result,
    say,
    turn,
    unanswered,
    wait_gate,
)
from tests.session.conftest import OpenScripted
from tests.threads import together
from tests.waiting import wait_until

MODERN_AND_OLD = pytest.mark.parametrize("program", ["2.0.75", "2.1.332"])


def answers(cli: ScriptedCLI) -> list[dict[str, Any]]:
    """What the SDK answered, in order."""
    return [frame["response"] for frame in cli.received() if frame["type"] == "control_response"]


def timed(function: Callable[[], object]) -> float:
    """Return how many seconds the function took."""
    start = time.monotonic()
    function()
    return time.monotonic() - start


def refused(call: Callable[[], object]) -> None:
    """Make a call that ends because the session is closed."""
    with pytest.raises(SessionClosedError):
        call()


# -- odd frames --------------------------------------------------------------------------------------------------------

ODD_TYPES = [b'{"type":[]}', b'{"type":{}}', b'{"type":["system"]}', b'{"type":null}', b"{}"]
ODD_FIELDS = [
    b'{"type":"user","isReplay":true,"uuid":[1],"message":{"content":[{}]}}',
    b'{"type":"command_lifecycle","command_uuid":{},"state":[]}',
    b'{"type":"result","subtype":["x"],"terminal_reason":{},"origin":1}',
    b'{"type":"control_response","response":{"request_id":[],"response":{}}}',
    b'{"type":"control_cancel_request","request_id":{}}',
    b'{"type":"control_request","request_id":"odd","request":[]}',
]


@MODERN_AND_OLD
def test_odd_frames_end_nothing(scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted, program: str) -> None:
    """A frame whose type or fields are of the wrong kind is a message like others; the turn and the session go on."""
    odd = raw(b"\n".join([*ODD_TYPES, *ODD_FIELDS, b""]))
    session = open_scripted(scripted_cli([odd], program=program, prompts=[[raw(b"\n".join([*ODD_TYPES, b""]))]]))
    assert session.ask("x").result(timeout=10).subtype == "success"
    assert session.ask("y").result(timeout=10).result == "answer to: y"


@MODERN_AND_OLD
@pytest.mark.parametrize("depth", [990, 1010, 5000])
def test_deeply_nested_frames_end_nothing(
    scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted, program: str, depth: int
) -> None:
    """Values nested deeper than any interpreter can show or copy end neither the turn nor the session."""
    deep = "[" * depth + "]" * depth
    lines = [
        f'{{"type":"control_request","request_id":"d1","request":{{"subtype":{deep}}}}}',
        f'{{"type":"control_response","response":{{"subtype":"error","request_id":"req_9_x","error":{deep}}}}}',
        f'{{"type":"user","message":{{"content":[{{"type":"tool_result","content":{deep}}}]}}}}',
        f'{{"type":"result","subtype":{deep},"terminal_reason":{deep},"is_error":true,"errors":[{deep}],"origin":"x"}}',
    ]
    odd = raw("".join(f"{line}\n" for line in lines).encode())
    session = open_scripted(scripted_cli(program=program, prompts=[[odd], [reply("z")]]))
    session.ask("x").result(timeout=10, check=False)
    assert session.set_permission_mode("plan", timeout=5).mode == "plan"


@MODERN_AND_OLD
def test_results_that_nobody_asked_for_end_nothing(
    scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted, program: str
) -> None:
    """Results for no prompt, and second ones, go to `messages()`, and the prompts after them have their own."""
    stray = {"type": "result", "subtype": "success", "result": "stray", "is_error": False}
    twice = [result(result="one"), result(result="one again")]
    session = open_scripted(scripted_cli([say(stray)], program=program, prompts=[twice]))
    messages = (message for message in session.messages() if isinstance(message, ResultMessage))
    assert next(messages).result == "stray"
    assert session.ask("x").result(timeout=10).result == "one"
    assert next(messages).result == "one again"
    assert session.ask("y").result(timeout=10).result == "answer to: y"


# -- no room for the backlog -------------------------------------------------------------------------------------------


def test_full_disk_fails_the_session_and_hangs_nobody(
    scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without room for the backlog the turn yields what was kept, then says why it ends; so does everything else."""
    cli = scripted_cli(prompts=[[wait_gate("go"), burst(2000), reply("end"), delay(20)]])
    session = open_scripted(cli, inbox_bytes=10_000, exit_grace=0.5)
    first, second = session.ask("one"), session.ask("two")
    monkeypatch.setattr(tempfile, "tempdir", "/nowhere")
    cli.open_gate("go")
    with pytest.raises(SessionClosedError, match="could not be kept"):
        for _ in first:
            pass
    for call in (second.result, first.result, session.get_mcp_status, lambda: next(session.messages())):
        with pytest.raises(SessionClosedError, match="could not be kept"):
            call()


# -- a program that does not read any longer ---------------------------------------------------------------------------


def test_deaf_program_fails_every_turn(scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted) -> None:
    """A program that closes its input and lives on fails the turn that runs and all that wait, in a few seconds."""
    cli = scripted_cli(prompts=[[close_stdin(), note("deaf"), wait_gate("go"), reply("x")]], every_prompt=[delay(30)])
    session = open_scripted(cli)
    turns = [session.ask(f"prompt {number}") for number in range(5)]
    cli.wait_event("note")
    cli.open_gate("go")  # the first turn ends, and the second prompt cannot be written
    for asked in turns[1:]:
        with pytest.raises(ProcessExitedError):
            asked.result(timeout=10)
    assert turns[0].outcome == "completed"
    with pytest.raises(ProcessExitedError):
        session.set_model("x")
    assert session.state == "failed"


@pytest.mark.parametrize("size", [10, 100_000])
def test_answer_to_a_deaf_program_ends_the_session(
    scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted, size: int
) -> None:
    """An answer that cannot be delivered, short or long, leaves nobody waiting for a turn that cannot go on."""
    cli = scripted_cli(prompts=[[close_stdin(), ask_permission(wait=False), delay(30)]])
    allowed = Allow(updated_input={"text": "x" * size})
    session = open_scripted(cli, can_use_tool=lambda *_: allowed)
    with pytest.raises(ProcessExitedError, match="closed its input"):
        session.ask("x").result(timeout=10)


# -- transports of the user's own --------------------------------------------------------------------------------------


class Elsewhere:
    """A transport of a user's: the real one, of which some methods hang, raise or return nonsense."""

    def __init__(self, inner: SubprocessTransport, trouble: Mapping[str, Callable[[], Any]]) -> None:
        self._inner = inner
        self._trouble = trouble

    def __getattr__(self, name: str) -> Any:
        trouble = self._trouble.get(name)
        return getattr(self._inner, name) if trouble is None else lambda *_: trouble()


class Hangs:
    """A method that returns when the test is over."""

    def __init__(self) -> None:
        self.over = threading.Event()

    def __call__(self) -> None:
        self.over.wait(50)


def fails() -> None:
    """A method that raises what nobody expects."""
    raise KeyError("out of order")


@pytest.fixture
def hangs() -> Iterator[Hangs]:
    """A method that hangs, and ends with the test."""
    made = Hangs()
    yield made
    made.over.set()
    wait_until(lambda: not [thread for thread in threading.enumerate() if thread.name == "claude-stop"])


def spawned(trouble: Mapping[str, Callable[[], Any]], made: list[SubprocessTransport]) -> Callable[..., Elsewhere]:
    """Return what starts a program elsewhere."""

    def spawn(argv: list[str], env: dict[str, str], cwd: str | None) -> Elsewhere:
        made.append(SubprocessTransport.spawn(argv, env=env, cwd=cwd))
        return Elsewhere(made[-1], trouble)

    return spawn


def trouble(kind: str, hangs: Hangs) -> Callable[[], Any]:
    """Return a method that hangs or fails."""
    return hangs if kind == "hangs" else fails


@pytest.mark.parametrize(
    ("step", "kind"),
    [(step, "fails") for step in ("end_input", "wait", "terminate", "kill", "close", "stderr_tail", "try_write")]
    + [(step, "hangs") for step in ("kill", "close", "try_write")],
)
def test_transport_that_hangs_or_fails_holds_up_nothing(
    scripted_cli: ScriptedCLIFactory, hangs: Hangs, step: str, kind: str
) -> None:
    """Whichever step of a user's own transport never returns, or raises, the session works and its close is bounded."""
    made: list[SubprocessTransport] = []
    spawn = spawned({step: trouble(kind, hangs)}, made)
    session = Session(cli_path=scripted_cli().command, spawn=spawn, exit_grace=0.3, terminate_grace=0.3)
    try:
        session.open()
        assert session.ask("x").result(timeout=10).subtype == "success"
        assert timed(session.close) < 20
        assert session.state == "closed"
    finally:
        made[0].kill()
        made[0].close()


@pytest.mark.parametrize(("step", "kind"), [("wait", "fails"), ("kill", "fails"), ("stderr_tail", "hangs")])
def test_transport_in_trouble_does_not_hide_the_end(
    scripted_cli: ScriptedCLIFactory, hangs: Hangs, step: str, kind: str
) -> None:
    """When the program ends, a transport that cannot say how does not keep anybody waiting."""
    made: list[SubprocessTransport] = []
    spawn = spawned({step: trouble(kind, hangs)}, made)
    cli = scripted_cli(prompts=[[wait_gate("never")]])
    session = Session(cli_path=cli.command, spawn=spawn, exit_grace=0.3, terminate_grace=0.3)
    try:
        asked = session.open().ask("x")
        cli.wait_received(lambda frame: frame["type"] == "user")
        made[0].kill()
        with pytest.raises(ProcessExitedError):
            asked.result(timeout=15)
        assert timed(session.close) < 20
    finally:
        made[0].close()


@pytest.mark.parametrize("returned", [fails, lambda: "text", lambda: None], ids=["raises", "text", "none"])
def test_transport_that_reads_nonsense_fails_typed(
    scripted_cli: ScriptedCLIFactory, returned: Callable[[], Any]
) -> None:
    """A `read` that raises, or returns something else than bytes, is an error of the transport's and says so."""
    made: list[SubprocessTransport] = []
    session = Session(cli_path=scripted_cli().command, spawn=spawned({"read": returned}, made))
    with pytest.raises(ClaudeControlError) as caught:
        session.open()
    assert "internal" not in str(caught.value)
    assert made[0].wait(5) is not None
    made[0].close()


def test_write_that_never_returns_ends_with_the_session(scripted_cli: ScriptedCLIFactory, hangs: Hangs) -> None:
    """Whoever waits for a line that a user's own transport never finishes is let go when the session is closed."""
    made: list[SubprocessTransport] = []
    methods: dict[str, Callable[[], Any]] = {}
    spawn = spawned(methods, made)
    session = Session(cli_path=scripted_cli().command, spawn=spawn, write_timeout=None, exit_grace=0.3).open()
    methods["write"] = hangs
    sender = threading.Thread(target=refused, args=(lambda: session.send("x"),))
    sender.start()
    wait_until(lambda: session._live().writer._queue)
    assert timed(session.close) < 20
    sender.join(5)
    assert not sender.is_alive()
    hangs.over.set()
    made[0].close()


@pytest.mark.parametrize("made", [None, object(), 5])
def test_spawn_that_makes_no_transport_is_told(scripted_cli: ScriptedCLIFactory, made: Any) -> None:
    """A `spawn` that returns something else than a transport fails the open, and leaves nothing."""
    session = Session(cli_path=scripted_cli().command, spawn=lambda *_: made)
    with pytest.raises(SpawnError, match="which has no read, write"):
        session.open()
    assert session.state == "closed"


# -- closing -----------------------------------------------------------------------------------------------------------


def test_two_who_close_at_once(scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted) -> None:
    """close() in many threads at once returns in all of them when everything is given back."""
    session = open_scripted(scripted_cli(prompts=[[wait_gate("never")]]))
    session.ask("x")

    def close() -> str:
        session.close()
        return session.state

    assert together([close] * 8) == ["closed"] * 8


def test_callback_that_closes_beside_another_is_not_abandoned(
    scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted
) -> None:
    """A callback's close() beside one in another thread does not wait for it, so neither waits for the other."""
    begun, both = threading.Event(), threading.Barrier(2)

    def close(*_: Any) -> Deny:
        begun.set()
        both.wait(10)
        session.close()
        return Deny()

    session = open_scripted(scripted_cli(prompts=[[ask_permission()]]), can_use_tool=close, interrupt_grace=0.1)
    session.ask("x")
    assert begun.wait(10)
    both.wait(10)
    assert timed(session.close) < 10
    assert session.stats.abandoned_callbacks == 0


def test_ctrl_c_in_close_leaves_nothing_half_closed(
    scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted
) -> None:
    """Ctrl-C ends the wait of close(), and the closing goes on: another close() waits for its end."""
    cli = scripted_cli([ignore_signals("SIGTERM")], prompts=[turn(wait_gate("never"), interruptible=False)])
    session = open_scripted(cli, interrupt_grace=0.3, exit_grace=0.3, terminate_grace=0.3)
    session.ask("x")
    main = threading.get_ident()
    presser = threading.Timer(0.2, signal.pthread_kill, (main, signal.SIGINT))
    presser.start()
    with pytest.raises(KeyboardInterrupt):
        session.close()
    presser.join()
    assert session.state == "closing"
    assert timed(session.close) < 20
    assert session.state == "closed"


def test_many_sessions_with_hung_callbacks_close_together(scripted_cli: ScriptedCLIFactory) -> None:
    """Callbacks that ignore their signals cost the patience once, not once for every session."""
    release, begun = threading.Event(), threading.Semaphore(0)

    def hang(*_: Any) -> None:
        begun.release()
        release.wait(30)

    cli = scripted_cli(every_prompt=[ask_permission()])
    sessions = [Session(cli_path=cli.command, can_use_tool=hang, interrupt_grace=0.1).open() for _ in range(12)]
    for session in sessions:
        session.ask("x")
    assert all(begun.acquire(timeout=10) for _ in sessions)
    assert timed(lambda: close_all(sessions)) < 10  # the patience is one second
    assert [session.stats.abandoned_callbacks for session in sessions] == [1] * 12
    release.set()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_dropped_session_is_closed_where_warnings_are_errors(scripted_cli: ScriptedCLIFactory) -> None:
    """A session that nobody holds is closed also if its warning is made an error."""
    session = Session(cli_path=scripted_cli().command).open()
    connection = session._live()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        del session
        gc.collect()
    wait_until(connection.released.is_set)


def test_reader_of_messages_keeps_its_session(scripted_cli: ScriptedCLIFactory) -> None:
    """Whoever iterates the messages holds the session: it is not closed under the loop."""
    cli = scripted_cli([wait_gate("go"), burst(3)])
    messages = Session(cli_path=cli.command).open().messages()
    gc.collect()
    cli.open_gate("go")
    assert isinstance(next(messages), StreamEvent)
    messages._session.close()  # type: ignore[attr-defined]  # nobody else has it


def test_requests_that_come_while_closing_are_denied(
    scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted
) -> None:
    """What the program asks after the session began to close, before its input ends, is denied all the same."""
    late = on_request("interrupt", ask_permission(request_id="late", wait=False), ask_permission(wait=False))
    begun, release = threading.Event(), threading.Event()

    def hang(*_: Any) -> None:
        begun.set()
        release.wait(10)

    cli = scripted_cli(prompts=[turn(wait_gate("never"), interruptible=False)], reactions=[late])
    session = open_scripted(cli, can_use_tool=hang, interrupt_grace=0.2, exit_grace=0.2, terminate_grace=0.2)
    session.ask("x")
    session.close()
    release.set()
    assert [answer["response"]["behavior"] for answer in answers(cli)] == ["deny", "deny"]


# -- callbacks ---------------------------------------------------------------------------------------------------------


def test_callback_may_do_all_but_wait_for_a_turn(scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted) -> None:
    """In a callback the session can be asked, told and interrupted; only waiting for a turn is refused at once."""
    seen: list[object] = []

    def busy(*_: Any) -> Allow:
        seen.append(session.submit(requests.MCPStatus()).result(5))
        seen.append(session.set_permission_mode("plan").mode)
        later.append(session.ask("asked in a callback"))
        for wait in (later[0].result, lambda: next(later[0]), lambda: next(session.messages())):
            with pytest.raises(ConcurrencyError):
                wait()
        session.interrupt()
        seen.append("interrupted")
        return Allow()

    later: list[Any] = []
    session = open_scripted(scripted_cli(prompts=[[ask_permission()]]), can_use_tool=busy)
    asked = session.ask("x")
    asked.result(timeout=10)
    assert asked.outcome == "interrupted"
    assert later[0].result(timeout=10).result == "answer to: asked in a callback"
    wait_until(lambda: seen[1:] == ["plan", "interrupted"])


def test_answer_later_outlives_the_session_harmlessly(
    scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted
) -> None:
    """An answer after the close is too late, and says so; its signal has fired."""
    later: list[Any] = []
    cli = scripted_cli(prompts=[[ask_permission()]])
    session = open_scripted(cli, can_use_tool=lambda _t, _i, context: later.append(context.answer_later()))
    session.ask("x")
    wait_until(lambda: later)
    session.close()
    assert later[0].signal.aborted
    assert later[0].allow() is False
    assert later[0].deny() is False
    assert len(answers(cli)) <= 1


# -- turns -------------------------------------------------------------------------------------------------------------


def test_two_readers_of_the_messages_never_share_them(
    scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted
) -> None:
    """Of threads that iterate the same messages at once each gets a message or `ConcurrencyError`, in one order."""
    frame = {"type": "stream_event", "event": {"n": "$n"}}
    session = open_scripted(scripted_cli([burst(3000, frame=frame)]))
    messages, seen, lock = session.messages(), list[int](), threading.Lock()

    def read() -> None:
        while len(seen) < 3000:
            with lock:
                numbers = len(seen)
            try:
                message = next(messages)
            except ConcurrencyError:
                continue
            assert isinstance(message, StreamEvent)
            with lock:
                seen.append(message.event["n"])
                assert len(seen) > numbers

    def stop() -> None:
        wait_until(lambda: len(seen) >= 3000, timeout=20)
        session.close()  # whoever waits for one more is let go

    def until_closed() -> None:
        try:
            read()
        except (StopIteration, ClaudeControlError):
            return

    together([until_closed, until_closed, until_closed, stop])
    assert sorted(seen) == list(range(3000))


def test_result_beside_a_loop_ends_neither_early(scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted) -> None:
    """result() in one thread while another iterates: both end with the turn, and neither before it."""
    cli = scripted_cli(every_prompt=[burst(50), delay(0.01), burst(50), reply("end")])
    session = open_scripted(cli, inbox_bytes=2000)
    for _ in range(20):
        asked = session.ask("x")

        def loop(asked: Any = asked) -> bool:
            for _ in asked:
                pass
            return asked.outcome is not None

        def wait(asked: Any = asked) -> bool:
            return asked.result(timeout=10) is not None

        assert together([loop, wait]) == [True, True]


# -- forks -------------------------------------------------------------------------------------------------------------


def test_every_call_in_a_forked_child_is_refused_at_once(
    scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted
) -> None:
    """Turns, replies, answers and streams of the parent raise `ForkedError` in a child instead of waiting for ever."""
    later: list[Any] = []
    cli = scripted_cli(prompts=[[ask_permission()]], reactions=[unanswered("mcp_status")])
    session = open_scripted(cli, can_use_tool=lambda _t, _i, context: later.append(context.answer_later()))
    asked, handle = session.ask("x"), session.subscribe(lambda _message: None)
    pending, messages = session.submit(requests.MCPStatus()), session.messages()
    wait_until(lambda: later)
    calls: list[Callable[[], object]] = [
        *(asked.result, lambda: next(asked), asked.interrupt, lambda: asked.__exit__(None, None, None)),
        *(pending.result, pending.cancel, lambda: next(messages), handle.close),
        *(later[0].allow, later[0].deny, session.interrupt, lambda: session.ask("y"), session.open),
        *(lambda: asked.usage, lambda: asked.cost_usd, lambda: session.usage, lambda: session.tasks),
        *(session.wait_idle, session.wait_tasks, session.reinitialize),
    ]
    read_end, write_end = os.pipe()
    pid = os.fork()
    if pid == 0:
        signal.alarm(20)
        for call in calls:
            try:
                call()
                os.write(write_end, b"nothing ")
            except BaseException as error:
                os.write(write_end, type(error).__name__.encode() + b" ")
        session.close()
        close_all([session])
        os.write(write_end, b"over")
        os._exit(0)
    os.close(write_end)
    os.waitpid(pid, 0)
    with os.fdopen(read_end, "rb") as told:
        assert told.read().decode().split() == ["ForkedError"] * len(calls) + ["over"]
    assert later[0].allow() is True
    assert asked.result(timeout=10).subtype == "success"


# -- hooks -------------------------------------------------------------------------------------------------------------


def test_timer_of_a_hook_does_not_outlive_its_session(
    scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted
) -> None:
    """A session that is closed as hooks begin leaves no timer behind, and so no watch thread."""
    from claude_control.testing.steps import call_hook

    matchers = {"PreToolUse": [HookMatcher(hooks=[lambda *_: None] * 30, timeout=50)]}
    cli = scripted_cli(every_prompt=[call_hook("PreToolUse", {}, wait=False)])
    for _ in range(5):
        session = Session(cli_path=cli.command, hooks=matchers, interrupt_grace=0.0)
        session.open().ask("x")
        session.close()
    wait_until(lambda: "claude-watch" not in [thread.name for thread in threading.enumerate()], timeout=5)
