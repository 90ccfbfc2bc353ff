"""Background tasks and waiting for rest: the book that is kept of frames, and waits in many threads."""

import random
import threading
from typing import Any

import pytest

from claude_control import (
    AssistantMessage,
    ConcurrencyError,
    NotSupportedError,
    ProcessExitedError,
    Session,
    SessionClosedError,
    WaitTimeoutError,
    query,
    run,
)
from claude_control.session.tasks import KEPT, Task, TaskBook
from claude_control.testing.scripted_cli import ScriptedCLI, ScriptedCLIFactory
from claude_control.testing.steps import (
    background_turn,
    crash,
    default,
    expect_prompt,
    reply,
    result,
    say,
    turn,
    wait_gate,
    wait_idle,
)
from tests.session.conftest import OpenScripted, lone_conversation
from tests.session.test_ctrl_c import pressing_ctrl_c
from tests.threads import together
from tests.waiting import wait_until

SYSTEM = {"type": "system", "session_id": "$session_id", "uuid": "$uuid"}


def listing(*ids: str, **more: Any) -> dict[str, Any]:
    """A frame that lists these background tasks."""
    tasks = [{"task_id": one, "task_type": "local_bash", "description": f"do {one}", **more} for one in ids]
    return {**SYSTEM, "subtype": "background_tasks_changed", "tasks": tasks}


def started(task_id: str, **more: Any) -> dict[str, Any]:
    """A frame that tells a start."""
    told = {"tool_use_id": "u", "task_type": "local_bash", "description": f"do {task_id}", "is_backgrounded": True}
    return {**SYSTEM, "subtype": "task_started", "task_id": task_id, **told, **more}


def updated(task_id: str, *, run_id: str | None = None, **patch: Any) -> dict[str, Any]:
    """A frame that tells a change."""
    run = {} if run_id is None else {"run_id": run_id}
    return {**SYSTEM, "subtype": "task_updated", "task_id": task_id, "patch": patch, **run}


def notified(task_id: str, status: str = "completed", **more: Any) -> dict[str, Any]:
    """A frame that tells an end."""
    told = {"status": status, "summary": "it did", "output_file": "out.txt"}
    return {**SYSTEM, "subtype": "task_notification", "task_id": task_id, **told, **more}


def book(*frames: dict[str, Any], old: bool = False) -> TaskBook:
    """What is known after these frames, at the time 1000."""
    made = TaskBook(clock=lambda: 1000.0, steady=lambda: 5.0)
    for frame in frames:
        (made.learn_old if old else made.learn)(frame)
    return made


# -- the book ----------------------------------------------------------------------------------------------------------


def test_a_task_is_told_from_start_to_end() -> None:
    """A task that was listed, started, changed and ended is one record with all that was said."""
    made = book(listing("b1"), started("b1"))
    assert made.snapshot() == (Task("b1", "local_bash", "do b1", "running", True, 1000.0, tool_use_id="u"),)
    assert made.listed == {"b1"}
    for frame in (updated("b1", status="completed", end_time=2_000_500), notified("b1"), listing()):
        made.learn(frame)
    (task,) = made.snapshot()
    assert (task.status, task.ended, task.over) == ("completed", 2000.5, True)
    assert (task.summary, task.output_file) == ("it did", "out.txt")
    assert made.listed == frozenset()
    assert made.quiet_since == 5.0


def test_frames_in_any_order_and_twice_end_the_same() -> None:
    """However the frames of a task come, late, early or repeated, it is over in the end, as it was first said."""
    frames = [
        listing("b1"),
        started("b1"),
        updated("b1", status="killed", end_time=2_000_000),
        notified("b1", "stopped"),
    ]
    for seed in range(200):
        mixed = frames * 2
        random.Random(seed).shuffle(mixed)
        made = book(*mixed, listing())
        (task,) = made.snapshot()
        assert (task.status, task.kind, task.description, task.over) == ("stopped", "local_bash", "do b1", True), seed
        assert made.listed == frozenset()


def test_a_task_that_is_no_longer_listed_is_over() -> None:
    """A background task that leaves the listing is over; how is unknown until somebody says so."""
    made = book(started("b1"), listing("b1"), listing())
    assert [(task.status, task.over) for task in made.snapshot()] == [(None, True)]
    made.learn(notified("b1", "failed"))
    assert [(task.status, task.over) for task in made.snapshot()] == [("failed", True)]


def test_a_foreground_task_is_told_but_not_listed() -> None:
    """What its turn waits for is in the snapshot, and becomes background work when it is moved there."""
    made = book(started("f1", is_backgrounded=False), listing("b1"))
    assert [(task.id, task.background, task.over) for task in made.snapshot()] == [
        ("f1", False, False),
        ("b1", True, False),
    ]
    made.learn(updated("f1", is_backgrounded=True))
    assert made.snapshot()[0].background


def test_ambient_tasks_are_not_waited_for() -> None:
    """A task that only watches is told, but is no work."""
    made = book(listing("w1", ambient=True))
    assert made.listed == frozenset()
    assert made.snapshot()[0].ambient


def test_a_resumed_task_begins_anew_and_late_frames_are_dropped() -> None:
    """A newer run of a task replaces the older one, whose late frames change nothing."""
    made = book(started("a1", run_id="1"), notified("a1", run_id="1"), started("a1", run_id="2"))
    assert [(task.status, task.run_id) for task in made.snapshot()] == [("running", "2")]
    made.learn(updated("a1", run_id="1", status="failed"))
    assert made.snapshot()[0].status == "running"


def test_only_the_newest_tasks_that_are_over_are_kept() -> None:
    """A session that starts thousands of tasks keeps all that run and the newest of those that are over."""
    made = book(started("runs"), *(notified(f"t{n}") for n in range(KEPT + 50)))
    kept = [task.id for task in made.snapshot()]
    assert kept == ["runs", *(f"t{n}" for n in range(50, KEPT + 50))]


@pytest.mark.parametrize("odd", [None, 3, "x", [], {}, [None], [{"task_id": 3}], {"status": 3}])
def test_odd_frames_are_survived(odd: Any) -> None:
    """Whatever stands where a list, a patch or an id is expected, nothing is raised and nothing is made up."""
    strange = [listing() | {"tasks": odd}, updated("b1") | {"patch": odd}, notified("b1") | {"status": odd}]
    made = book(*strange, started("b1") | {"task_id": odd}, started("b2") | {"description": odd, "run_id": odd})
    assert {task.id for task in made.snapshot()} >= {"b2"}
    for frame in ({"message": odd}, {"message": {"content": odd}}, {"message": {"content": [{"type": odd}]}}):
        made.learn_old({"type": "user", **frame})


@pytest.mark.parametrize("odd", [10**400, -(10**400), 1e300, float("inf"), float("nan"), True], ids=repr)
def test_a_time_that_is_none_is_survived(odd: Any) -> None:
    """A task whose time of end no clock shows ended when it was told."""
    (task,) = book(updated("b1", status="killed", end_time=odd)).snapshot()
    assert (task.status, task.ended) == ("stopped", 1000.0)


def test_numbers_beyond_all_bounds_end_no_session(
    scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted
) -> None:
    """Frames with integers that no float holds are read, and the session goes on."""
    spent = {"m": {"costUSD": 10**400, "inputTokens": 1}, "n": {"costUSD": 0.5, "inputTokens": 1}}
    odd = result(total_cost_usd=10**400, modelUsage=spent, model_usage_since_last_result=spent)
    killed = updated("b1", status="killed", end_time=10**400)
    session = open_scripted(scripted_cli(prompts=[[say(started("b1"), killed), odd]]))
    assert session.ask("one").result(timeout=10).subtype == "success"
    assert session.cost_usd == 0.5
    assert session.ask("two").result(timeout=10).result == "answer to: two"
    assert [task.status for task in session.tasks] == ["stopped"]


def _old(kind: str, *blocks: Any, **more: Any) -> dict[str, Any]:
    return {"type": kind, "message": {"role": kind, "content": list(blocks)}, **more}


def test_older_programs_tell_a_start_in_the_tools_result() -> None:
    """On 2.0.75 and 2.1.7 a task is known from its call and its result; its end only from a notification (2.1.7)."""
    asked = {"command": "sleep 9", "description": "wait", "run_in_background": True}
    call = _old("assistant", {"type": "tool_use", "id": "u1", "name": "Bash", "input": asked})
    text = "Command running in background with ID: b5ab70e. Output is being written to: /x"
    done = _old("user", {"type": "tool_result", "tool_use_id": "u1", "content": text})
    agent = [{"type": "text", "text": "Async agent launched successfully.\nagentId: aab2f11 (internal)"}]
    made = book(call, done, _old("user", {"type": "tool_result", "tool_use_id": "u2", "content": agent}), old=True)
    assert [(task.id, task.kind, task.description, task.status) for task in made.snapshot()] == [
        ("b5ab70e", "local_bash", "wait", None),
        ("aab2f11", "local_agent", "", None),
    ]
    assert set(made.unknown) == {"b5ab70e", "aab2f11"}
    told = "<task-notification>\n<task-id>b5ab70e</task-id>\n<status>completed</status>\n</task-notification>"
    made.learn_old(_old("user", {"type": "text", "text": told}, isReplay=True))
    assert made.snapshot()[0].status == "completed"
    assert set(made.unknown) == {"aab2f11"}


def test_a_tool_that_merely_prints_the_words_starts_nothing() -> None:
    """Only a result that begins with the program's own words is a start."""
    text = "grep: Command running in background with ID: b1"
    assert book(_old("user", {"type": "tool_result", "tool_use_id": "u", "content": text}), old=True).snapshot() == ()


# -- waiting -----------------------------------------------------------------------------------------------------------


def _with_task(scripted_cli: ScriptedCLIFactory, *end: Any) -> ScriptedCLI:
    """A program whose every turn starts the task b1; `end` follows behind the first turn and an open gate "end"."""
    working = turn(say(listing("b1"), started("b1")), reply("started"))
    return scripted_cli([expect_prompt(), default(), wait_idle(), wait_gate("end"), *end], every_prompt=working)


ENDS = (say(updated("b1", status="completed"), notified("b1"), listing()), background_turn(reply("it has ended")))


def test_waits_end_with_the_last_task_and_its_turn(
    scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted
) -> None:
    """`wait_tasks()` ends with the task, `wait_idle()` with the turn that the program then begins."""
    cli = _with_task(scripted_cli, *ENDS)
    session = open_scripted(cli)
    session.ask("hello").result()
    for wait in (session.wait_tasks, session.wait_idle):
        with pytest.raises(WaitTimeoutError):
            wait(timeout=0.05)
    assert [task.id for task in session.tasks if not task.over] == ["b1"]
    cli.open_gate("end")
    session.wait_tasks(timeout=10)
    session.wait_idle(timeout=10)
    session.close()
    assert "it has ended" in [message.text for message in session.messages() if isinstance(message, AssistantMessage)]


def test_an_idle_session_does_not_wait(scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted) -> None:
    """Both waits return at once where nothing ever ran."""
    session = open_scripted(scripted_cli())
    session.wait_idle(timeout=0)
    session.wait_tasks(timeout=0)
    assert session.tasks == ()


@pytest.mark.parametrize("program", ["2.0.75", "2.1.7", "2.1.332"])
def test_waiting_for_idle_covers_queued_prompts(
    scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted, program: str
) -> None:
    """`wait_idle()` returns when every prompt that was asked or sent has its result, on every version."""
    session = open_scripted(scripted_cli(program=program))
    turns = [session.ask(f"prompt {n}") for n in range(5)]
    session.wait_idle(timeout=20)
    assert [one.state for one in turns] == ["done"] * 5
    session.send("one more")
    session.wait_idle(timeout=20)
    assert not session._live().conversation.busy


def test_nothing_is_at_rest_before_its_messages_are_handed_over() -> None:
    """As long as a chunk's messages and the end of its turn are on their way, the session is not at rest."""
    conversation = lone_conversation()
    record, _ = conversation.ask("hello", "u1", {})
    looks: list[bool] = []
    conversation.on_begin = lambda begun: looks.append(conversation.at_rest())
    frames: list[dict[str, Any]] = [
        {"type": "command_lifecycle", "command_uuid": "u1", "state": "started"},
        {"type": "result", "subtype": "success", "user_message_uuids": ["u1"]},
        {**SYSTEM, "subtype": "session_state_changed", "state": "idle"},
    ]
    conversation.deliver([(10, frame, b"") for frame in frames])
    assert looks == [False]
    assert (conversation.at_rest(), record.state) == (True, "done")


def test_waiting_in_a_callback_is_refused(scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted) -> None:
    """A callback cannot wait for what waits for it."""
    errors: list[Exception] = []
    session = open_scripted(scripted_cli())

    def tap(_message: Any) -> None:
        for wait in (session.wait_idle, session.wait_tasks):
            try:
                wait(timeout=5)
            except Exception as error:
                errors.append(error)

    session.subscribe(tap)
    session.ask("hello").result()
    wait_until(lambda: len(errors) >= 2)
    assert {type(error) for error in errors} == {ConcurrencyError}


def test_older_programs_do_not_tell_the_end(scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted) -> None:
    """With a task whose end is not told, `wait_tasks()` says so at once, and `wait_idle()` does not wait for it."""
    text = "Command running in background with ID: b1. Output is being written to: /x"
    done = {**_old("user", {"type": "tool_result", "tool_use_id": "u", "content": text}), "session_id": "$session_id"}
    session = open_scripted(scripted_cli(program="2.1.7", every_prompt=turn(say(done), reply("started"))))
    session.wait_tasks(timeout=0)
    session.ask("hello").result()
    assert [(task.id, task.status) for task in session.tasks] == [("b1", None)]
    with pytest.raises(NotSupportedError, match=r"2\.1\.332") as caught:
        session.wait_tasks()
    assert caught.value.needs == "2.1.332"
    session.wait_idle(timeout=10)


def test_waits_end_with_the_close(scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted) -> None:
    """A wait raises `SessionClosedError` when the session is closed in the middle of it."""
    session = open_scripted(_with_task(scripted_cli))
    session.ask("hello").result()
    threads = _waiters(session, 4)
    session.close()
    assert {type(error) for error in _ends(threads)} == {SessionClosedError}


def test_waits_end_with_the_programs_exit(scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted) -> None:
    """A wait raises `ProcessExitedError` when the program ends in the middle of it."""
    cli = _with_task(scripted_cli, crash(3))
    session = open_scripted(cli)
    session.ask("hello").result()
    threads = _waiters(session, 4)
    cli.open_gate("end")
    assert {type(error) for error in _ends(threads)} == {ProcessExitedError}


@pytest.mark.parametrize("end", [crash(3), crash(0)], ids=["crash", "exit"])
def test_one_shots_tell_that_background_work_was_cut_short(scripted_cli: ScriptedCLIFactory, end: Any) -> None:
    """`query()` and `run()` raise when the program ends while its background task runs, however it exits."""
    for ask in (run, lambda *prompt, **fields: list(query(*prompt, **fields))):
        cli = _with_task(scripted_cli, end)
        cli.open_gate("end")
        with pytest.raises(ProcessExitedError):
            ask("hello", cli_path=cli.command)


class _Waiter(threading.Thread):
    """Waits, and keeps how that ended."""

    def __init__(self, wait: Any) -> None:
        super().__init__(daemon=True)
        self._wait = wait
        self.ended_by: BaseException | None = None

    def run(self) -> None:
        try:
            self._wait()
        except BaseException as error:
            self.ended_by = error


def _waiters(session: Session, count: int) -> list[_Waiter]:
    threads = [_Waiter(wait) for wait in (session.wait_idle, session.wait_tasks) * (count // 2)]
    for thread in threads:
        thread.start()
    return threads


def _ends(threads: list[_Waiter]) -> list[BaseException | None]:
    for thread in threads:
        thread.join(20)
        assert not thread.is_alive(), "a wait has not ended"
    return [thread.ended_by for thread in threads]


def test_fifty_waiters_all_wake(scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted) -> None:
    """Every one of many threads that wait is told, however many there are, and none before its time."""
    cli = _with_task(scripted_cli, *ENDS)
    session = open_scripted(cli)
    session.ask("hello").result()
    threads = _waiters(session, 50)
    assert all(thread.is_alive() for thread in threads)
    cli.open_gate("end")
    assert set(_ends(threads)) == {None}


@pytest.mark.parametrize("frames", [0, 5, 10, 20, 30])
def test_close_in_the_middle_ends_every_waiter(
    scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted, frames: int
) -> None:
    """However a close falls among prompts and waits in many threads, everything ends, and nothing else is raised."""
    session = open_scripted(_with_task(scripted_cli))
    asked = [_Waiter(lambda: session.ask("hello").result()) for _ in range(5)]
    for thread in asked:
        thread.start()
    threads = _waiters(session, 20)
    wait_until(lambda: session.stats.frames >= frames)
    together([session.close, session.close])
    kinds = {type(error) for error in (*_ends(threads), *_ends(asked)) if error is not None}
    assert kinds <= {SessionClosedError}


def test_a_flood_of_task_frames_holds_up_nothing(scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted) -> None:
    """Thousands of starts and ends while threads look and wait leave the book right and the reader free."""
    frames: list[dict[str, Any]] = []
    for n in range(1000):
        frames += [listing(f"t{n}"), started(f"t{n}"), notified(f"t{n}"), listing()]
    session = open_scripted(scripted_cli(every_prompt=turn(say(*frames), reply("done"))))
    threads, stop = _waiters(session, 10), threading.Event()
    looker = _Waiter(lambda: [session.tasks for _ in iter(stop.is_set, True)])
    looker.start()
    session.ask("hello").result(timeout=30)
    session.wait_idle(timeout=10)
    stop.set()
    assert set(_ends([*threads, looker])) == {None}
    assert [task.id for task in session.tasks] == [f"t{n}" for n in range(900, 1000)]
    assert all(task.over for task in session.tasks)


def test_ctrl_c_ends_a_wait_and_the_session_goes_on(
    scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted
) -> None:
    """Ctrl-C in the main thread's wait is raised there, interrupts the turn that runs, and closes nothing."""
    session = open_scripted(scripted_cli(prompts=[[reply("x"), wait_gate("never")]]))
    asked = session.ask("one")
    with pressing_ctrl_c(lambda: asked.text == "x"), pytest.raises(KeyboardInterrupt):
        session.wait_idle()
    assert asked.outcome == "interrupted"
    session.wait_idle(timeout=10)
    assert session.ask("two").result(timeout=10).result == "answer to: two"
