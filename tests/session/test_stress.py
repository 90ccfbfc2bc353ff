"""Many threads, many strikes: what holds once must hold ten thousand times. Every random run prints its seed."""

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from claude_control import (
    AbortedError,
    Allow,
    Deny,
    HookMatcher,
    ProcessExitedError,
    Session,
    SessionClosedError,
    WaitTimeoutError,
    requests,
)
from claude_control.errors import ClaudeControlError
from claude_control.testing.leaks import LeakCheck
from claude_control.testing.scripted_cli import ScriptedCLI, ScriptedCLIFactory
from claude_control.testing.steps import (
    Step,
    ask_permission,
    call_hook,
    cancel,
    crash,
    delay,
    note,
    reply,
    say,
    stop_reading,
    turn,
    unanswered,
    wait_answers,
    wait_gate,
)
from tests.session.conftest import OpenScripted
from tests.threads import LIVELOCKS_WHEN_TRACED, strike, together
from tests.waiting import wait_until

MODERN_AND_OLD = pytest.mark.parametrize("program", ["2.0.75", "2.1.332"])


# -- frames ------------------------------------------------------------------------------------------------------------

ODD: list[Any] = [[], {}, None, 5, "", "x", True, [[]], {"a": 1}, -1.5, 10**30, ["$prompt_uuid"], "$prompt_uuid"]
WORDS = """init success error session_state_changed background_tasks_changed can_use_tool hook_callback running idle
 error_max_turns error_during_execution started completed cancelled queued aborted_tools text tool_use""".split()
TYPES: list[Any] = [
    *"""system result assistant user stream_event control_response control_request control_cancel_request
    command_lifecycle conversation_reset rate_limit_event from_the_future""".split(),
    *([], {}, None, 5, ["system"]),
]
KEYS = """subtype uuid message command_uuid state isReplay user_message_uuids user_message_uuid origin request_id
 request response session_id errors is_error result terminal_reason tasks claude_code_version parent_tool_use_id error
 content new_conversation_id sdk_host_only num_turns api_error_status type text tool_name input callback_id id
 stop_reason permission_suggestions""".split()


def odd_value(chance: random.Random, depth: int = 0) -> Any:
    """Return any JSON value."""
    kind = chance.random()
    if depth < 3 and kind < 0.2:
        return [odd_value(chance, depth + 1) for _ in range(chance.randrange(3))]
    if depth < 3 and kind < 0.5:
        return {chance.choice(KEYS): odd_value(chance, depth + 1) for _ in range(chance.randrange(5))}
    return chance.choice(ODD if kind < 0.75 else WORDS)


def odd_frame(chance: random.Random) -> dict[str, Any]:
    """Return a frame that is a little like one of the program's."""
    frame = {key: odd_value(chance) for key in chance.sample(KEYS, chance.randrange(9))}
    return {**frame, "subtype": chance.choice(WORDS), "type": chance.choice(TYPES)}


@MODERN_AND_OLD
@pytest.mark.parametrize("seed", range(3))
def test_random_frames_end_nothing(
    scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted, program: str, seed: int
) -> None:
    """Whatever the program says, however malformed, requests are still answered and callbacks still asked."""
    print("seed", seed)
    chance = random.Random(seed)
    frames = [odd_frame(chance) for _ in range(2000)]
    cli = scripted_cli(program=program, prompts=[[say(*frames), ask_permission("Last"), wait_gate("go")]])
    asked, seen = threading.Event(), list[str]()

    def allow(tool: str, *_: Any) -> Allow:
        if tool == "Last":
            asked.set()
        return Allow()

    hooks = {"PreToolUse": [HookMatcher(hooks=[lambda *_: None])]}
    session = open_scripted(cli, can_use_tool=allow, hooks=hooks, exit_grace=0.5, interrupt_grace=0.2)
    session.subscribe(lambda message: seen.append(repr(message)))
    session.ask("x")
    assert asked.wait(20)
    assert session.set_permission_mode("plan", timeout=10).mode == "plan"
    assert session.state != "failed"


# -- answers -----------------------------------------------------------------------------------------------------------


def asking(chance: random.Random, count: int) -> list[Step]:
    """Return steps that ask `count` times and withdraw some of it at once, or a little later."""
    steps: list[Step] = []
    for number in range(count):
        steps.append(ask_permission(request_id=f"r{number}", wait=False))
        if chance.random() < 0.4:
            steps.append(cancel(f"r{chance.randrange(max(0, number - 3), number + 1)}"))
        if chance.random() < 0.05:
            steps.append(call_hook("PreToolUse", {}, wait=False))
    return steps


def answer_somehow(chance: random.Random, later: list[Any]) -> Callable[..., Any]:
    """Return a callback that answers, raises, answers later, or twice, or waits until it is too late."""

    def callback(_tool: str, _input: dict[str, Any], context: Any) -> Any:
        way = chance.randrange(6)
        if way == 0:
            later.append(context.answer_later())
        elif way == 1:
            raise chance.choice([SystemExit, KeyboardInterrupt, GeneratorExit, ValueError])
        elif way == 2:
            pending = context.answer_later()
            pending.allow()
            pending.deny()
        elif way == 3:
            context.signal.wait(0.002)
        return Allow() if way % 2 else Deny()

    return callback


@pytest.mark.parametrize("end", ["answered", "closed", "crashed", "interrupted"])
def test_every_request_gets_one_answer_at_most(
    scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted, end: str
) -> None:
    """No request is answered twice, and all that are neither withdrawn nor ended with the session are answered."""
    seed = sum(end.encode())
    print("seed", seed)
    chance, later, over = random.Random(seed), list[Any](), threading.Event()
    finish = {"crashed": [crash(3)], "closed": [note("asked"), delay(60)]}.get(end, [note("asked"), wait_answers()])
    steps = asking(chance, 600)
    cli = scripted_cli(prompts=[[*steps, *finish]])
    hooks = {"PreToolUse": [HookMatcher(hooks=[lambda *_: over.wait(0.01) and None] * 3, timeout=0.01)]}
    callback = answer_somehow(random.Random(seed + 1), later)
    session = open_scripted(cli, can_use_tool=callback, hooks=hooks, exit_grace=0.5, interrupt_grace=0.1)

    def answer_later() -> None:
        while not over.is_set() or later:
            if later:
                later.pop().allow()
            else:
                over.wait(0.001)

    answerer = threading.Thread(target=answer_later)
    answerer.start()
    try:
        asked = session.ask("x")
        if end == "crashed":
            with pytest.raises(ProcessExitedError, match="code 3"):
                asked.result(timeout=30)
        else:
            cli.wait_event("note", 30)
        if end == "closed":
            session.close()
        if end == "interrupted":
            session.interrupt()
        if end in ("answered", "interrupted"):
            asked.result(timeout=30)
    finally:
        over.set()
        answerer.join(20)
    wait_until(lambda: len(session._live().answers) == 0)
    answers = Counter(answered(cli))
    assert max(answers.values(), default=1) == 1
    if end == "answered":
        withdrawn = {step.fields["request_id"] for step in steps if step.do == "cancel"}
        assert {event["request_id"] for event in cli.events("asked")} - withdrawn - set(answers) == set()


def answered(cli: ScriptedCLI) -> list[str]:
    """Return the ids of the requests that were answered, as often as they were."""
    return [frame["response"]["request_id"] for frame in cli.received() if frame["type"] == "control_response"]


# -- turns -------------------------------------------------------------------------------------------------------------


def use_turns(session: Session, chance: random.Random, until: Callable[[], bool]) -> Counter[str]:
    """Use turns in every way until it is over; returns how they ended."""
    seen: Counter[str] = Counter()
    ways: list[Callable[[], object]] = [
        lambda: seen.update([str(session.ask("a").result(timeout=30).result)]),
        lambda: list(session.ask("b")),
        lambda: session.ask("c").interrupt(),
        lambda: session.interrupt(cancel_queued=chance.random() < 0.5),
        lambda: session.ask("dropped"),
        lambda: next(session.ask("dropped in the middle"), None),
        lambda: _leave_early(session),
        lambda: _wait_in_steps(session, chance),
    ]
    while not until():
        try:
            chance.choice(ways)()
        except AbortedError:
            seen["aborted"] += 1
        except SessionClosedError:
            seen["closed"] += 1
            break
    return seen


def _leave_early(session: Session) -> None:
    with session.ask("left") as asked:
        next(asked, None)


def _wait_in_steps(session: Session, chance: random.Random) -> None:
    asked = session.ask("waited for in steps")
    while True:
        try:
            asked.result(timeout=chance.random() * 0.01, check=False)
            return
        except WaitTimeoutError:
            continue


@MODERN_AND_OLD
@pytest.mark.parametrize("end", ["stop", "close"])
def test_fifty_threads_use_turns_in_every_way(
    scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted, program: str, end: str
) -> None:
    """Asking, iterating, dropping, interrupting and waiting at once, and a close in the middle, hang nobody."""
    seed = 7
    print("seed", seed)
    session = open_scripted(scripted_cli(program=program))
    over = time.monotonic() + 1

    def use(number: int) -> Counter[str]:
        until = (lambda: time.monotonic() > over) if end == "stop" else (lambda: False)
        return use_turns(session, random.Random(seed + number), until)

    def close() -> Counter[str]:
        wait_until(lambda: time.monotonic() > over)
        if end == "close":
            session.close()
        return Counter()

    seen = sum(together([lambda n=n: use(n) for n in range(50)] + [close], timeout=40), Counter[str]())
    assert seen["answer to: a"] > 0
    if end == "stop":
        assert session.ask("last").result(timeout=10).result == "answer to: last"
        wait_until(lambda: len(session._live().calls.pending) == 0)


@MODERN_AND_OLD
def test_interrupt_of_a_turn_never_hits_the_next(
    scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted, program: str
) -> None:
    """However close an interrupt comes to the end of its turn, the turn after it runs undisturbed."""
    session = open_scripted(scripted_cli(program=program, every_prompt=[delay(0.002), reply()]))
    over = time.monotonic() + 1.5
    outcomes: list[object] = []

    def strike() -> None:
        while time.monotonic() < over:
            asked = session.ask("struck")
            wait_until(lambda: asked.state != "queued")  # noqa: B023  # it is called at once
            asked.interrupt()

    def calm() -> None:
        while time.monotonic() < over:
            asked = session.ask("calm")
            asked.result(timeout=20, check=False)
            outcomes.append(asked.outcome)

    together([strike, strike, calm])
    assert set(outcomes) == {"completed"}


# -- strikes -----------------------------------------------------------------------------------------------------------


class Struck(Exception):
    """What a task runner's time limit raises, anywhere."""


def work(session: Session, chance: random.Random, over: threading.Event) -> None:
    """Use the session in every way, whatever strikes this thread."""
    ways: list[Callable[[], object]] = [
        lambda: session.ask("a").result(timeout=30),
        lambda: list(session.ask("b")),
        lambda: session.set_permission_mode("plan", timeout=30),
        lambda: session.submit(requests.MCPStatus()).result(30),
        lambda: session.ask("c").interrupt(),
        lambda: session.interrupt(cancel_queued=True, timeout=30),
        lambda: session.send("d" * 5000),
    ]
    while not over.is_set():
        try:
            chance.choice(ways)()
        except (Struck, AbortedError):
            continue


def work_on(session: Session, seed: int, over: threading.Event, begun: list[int]) -> None:
    """Work until it is over, also if a strike lands between two calls, and so outside of them."""
    while True:
        try:
            begun.append(seed)
            return work(session, random.Random(seed), over)
        except Struck:
            continue


@LIVELOCKS_WHEN_TRACED
# An exception that strikes while the interpreter calls back about a dead object is printed there, and lost.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@MODERN_AND_OLD
def test_asynchronous_exceptions_anywhere_leave_the_session_working(
    scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted, program: str
) -> None:
    """Thousands of exceptions that strike at any step of any call leave no lock taken, no entry and no torn line."""
    seed = 11
    print("seed", seed)
    chance, over, cli = random.Random(seed), threading.Event(), scripted_cli(program=program)
    session = open_scripted(cli, control_timeout=30)
    begun: list[int] = []
    workers = [threading.Thread(target=work_on, args=(session, n, over, begun), daemon=True) for n in range(3)]
    for worker in workers:
        worker.start()
    wait_until(lambda: len(begun) == 3)  # a thread that is struck before that never works
    pause, end = threading.Event(), time.monotonic() + 2
    while time.monotonic() < end:
        pause.wait(chance.random() * 0.003)
        hit(chance.choice(workers))
    over.set()
    for worker in workers:
        worker.join(35)
        assert not worker.is_alive(), "a call hangs"
    assert session.ask("last").result(timeout=20).result == "answer to: last"
    wait_until(lambda: len(session._live().calls.pending) == 0)
    asked = Counter(frame["request_id"] for frame in cli.received() if frame["type"] == "control_request")
    assert max(asked.values()) == 1


def hit(thread: threading.Thread) -> None:
    """Strike a thread, unless it is just starting another: the interpreter may then hit the newborn instead."""
    frame = sys._current_frames().get(thread.ident or 0)
    while frame is not None:
        if frame.f_code is threading.Thread.start.__code__:
            return
        frame = frame.f_back
    strike(thread, Struck)


def test_ctrl_c_anywhere_in_open_leaves_nothing(scripted_cli: ScriptedCLIFactory) -> None:
    """However far an open has come when Ctrl-C strikes, no thread, process, descriptor or file is left of it."""
    seed = 5
    print("seed", seed)
    chance, cli, main, states = random.Random(seed), scripted_cli(), threading.get_ident(), Counter[str]()
    servers = {"x": {"command": "true", "env": {"A": "1"}}}  # so that there is a file
    for _ in range(40):
        with LeakCheck(grace=10):
            session = Session(cli_path=cli.command, mcp_servers=servers)
            presser = threading.Timer(chance.random() * 0.05, signal.pthread_kill, (main, signal.SIGINT))
            try:
                presser.start()
                session.open()
                threading.Event().wait(5)  # it strikes here at the latest
            except KeyboardInterrupt:
                states[session.state] += 1
            presser.join()
            session.close()
            assert session.state == "closed"
            del session
    assert states["closed"] > 5, states


# -- the interpreter's exit --------------------------------------------------------------------------------------------

HOST = """
import atexit, contextlib, json, sys, threading, time
from claude_control import Session, SessionClosedError

kind, command = sys.argv[1], json.loads(sys.argv[2])
begun = threading.Event()

def hang(*_):
    begun.set()
    threading.Event().wait()

session = Session(cli_path=command, can_use_tool=hang, interrupt_grace=0.3, exit_grace=0.5).open()
session.ask("x")
if kind == "callback":
    assert begun.wait(10)
if kind == "full":
    sys.stdin.readline()
    def send():
        with contextlib.suppress(SessionClosedError):
            session.send("y" * 500_000)
    threading.Thread(target=send, daemon=True).start()
    while not session._live().writer._queue:
        time.sleep(0.01)
if kind == "brim":
    sys.stdin.readline()
    # Short lines fill the pipe, and the writer's thread has ended when the last one waits.
    while session._live().transport.try_write(b" " * 4095 + b"\\n"):
        pass

def watch_threads():
    start = threading.Thread.start
    def told(thread):
        print("started", thread.name)
        start(thread)
    threading.Thread.start = told

atexit.register(watch_threads)
print("ready", flush=True)
"""


@pytest.mark.parametrize(
    ("kind", "steps"),
    [
        ("turn", [wait_gate("never")]),
        ("callback", [ask_permission(request_id="asked")]),
        ("full", [stop_reading(), note("deaf"), delay(60)]),
        ("brim", [stop_reading(), note("deaf"), delay(60)]),
    ],
)
def test_interpreter_exit_is_quiet_and_bounded(scripted_cli: ScriptedCLIFactory, kind: str, steps: list[Step]) -> None:
    """A script that ends amid anything exits soon, silently and without new threads, and denies what is asked."""
    # Without the interrupt's own cancels there is something left to deny.
    cli = scripted_cli(prompts=[turn(*steps)], reactions=[unanswered("interrupt")])
    command = [sys.executable, "-X", "dev", "-c", HOST, kind, json.dumps(cli.command)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, text=True
    ) as host:
        if kind in ("full", "brim"):
            wait_until(lambda: cli.sessions and cli.events("note"), timeout=20)
            assert host.stdin is not None
            host.stdin.write("\n")
            host.stdin.flush()
        assert host.stdout is not None
        try:
            assert host.stdout.readline() == "ready\n"
            start = time.monotonic()
            said, complained = host.communicate(timeout=30)
        finally:
            host.kill()  # one that hangs would hang the end of this block, too
    assert time.monotonic() - start < 15
    assert (said, complained, host.returncode) == ("", "", 0)
    wait_until(lambda: not os.path.exists(f"/proc/{cli.run.pid}"))
    if kind == "callback":
        assert answered(cli) == ["asked"]
        assert '"behavior": "deny"' in json.dumps(cli.received())


# -- memory ------------------------------------------------------------------------------------------------------------

UNREAD = """
import json, re, sys, threading
from claude_control import Session, StreamEvent

def resident():
    return int(re.search(r"VmRSS:\\s+(\\d+)", open("/proc/self/status").read())[1]) // 1024

with Session(cli_path=json.loads(sys.argv[1]), inbox_bytes=4 << 20) as session:
    asked = session.ask("x")
    before = resident()
    while session.stats.frames < 20_000:
        threading.Event().wait(0.05)
    unread = resident() - before
    seen = sum(isinstance(message, StreamEvent) for message in asked)
    print(json.dumps([unread, resident() - before, seen]))
"""


def test_memory_is_flat_however_much_is_unread(scripted_cli: ScriptedCLIFactory) -> None:
    """200 MB that nobody reads cost a tenth of that, unread and while they are read back, and nothing is lost."""
    from claude_control.testing.steps import burst

    frame = {"type": "stream_event", "event": {"n": "$n"}, "pad": "x" * 10_000}
    cli = scripted_cli(prompts=[[burst(20_000, frame=frame), reply()]])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", UNREAD, json.dumps(cli.command)]
    done = subprocess.run(command, capture_output=True, env=environment, text=True, timeout=50, check=False)
    assert done.returncode == 0, done.stderr
    unread, read, seen = json.loads(done.stdout)
    assert seen == 20_000
    assert unread < 24, f"{unread} MiB"
    assert read < 40, f"{read} MiB"


def test_close_in_the_middle_of_everything(scripted_cli: ScriptedCLIFactory) -> None:
    """Sessions that are closed while threads ask, wait, send, subscribe and answer leave nothing and hang nobody."""
    seed = 3
    print("seed", seed)
    chance, cli = random.Random(seed), scripted_cli(every_prompt=[ask_permission(), reply("x")])
    for _ in range(12):
        session = Session(cli_path=cli.command, can_use_tool=lambda *_: Allow(), interrupt_grace=0.2)

        def use(seed: int, session: Session = session) -> None:
            try:
                work(session, random.Random(seed), threading.Event())
            except ClaudeControlError as error:
                assert isinstance(error, SessionClosedError)

        def close(session: Session = session, seconds: float = chance.random() * 0.15) -> None:
            threading.Event().wait(seconds)
            session.close()

        session.open()
        together([lambda n=n: use(n) for n in range(6)] + [close])
        assert session.state == "closed"


def refused(call: Callable[[], object]) -> None:
    """Make a call that ends because the session is closed."""
    with pytest.raises(SessionClosedError):
        call()


def test_close_with_full_pipes(scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted) -> None:
    """A program that reads nothing, with lines of every kind waiting for it, does not hold up the close."""
    cli = scripted_cli(prompts=[[stop_reading(), ask_permission(wait=False), note("deaf"), delay(60)]])
    session = open_scripted(cli, can_use_tool=lambda *_: Allow(), exit_grace=0.3, interrupt_grace=0.2)
    asked = session.ask("x")
    cli.wait_event("note")
    calls: list[Callable[[], object]] = [lambda: session.send("y" * 300_000), lambda: session.set_model("z")]
    senders = [threading.Thread(target=refused, args=(call,)) for call in calls]
    senders[0].start()
    wait_until(lambda: session._live().writer._queue)  # behind it the short line waits too, which could go right out
    senders[1].start()
    wait_until(lambda: len(session._live().writer._queue) >= 2)
    start = time.monotonic()
    session.close()
    assert time.monotonic() - start < 20
    for sender in senders:
        sender.join(5)
        assert not sender.is_alive()
    with pytest.raises(SessionClosedError):
        asked.result(timeout=1)
