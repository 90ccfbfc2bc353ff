"""Steering a conversation on the real programs: prompts in mid-turn, tasks, slash commands, early interrupts."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from claude_control import (
    Allow,
    AssistantMessage,
    NotSupportedError,
    ProcessExitedError,
    ResultMessage,
    Session,
    StreamEvent,
    UserMessage,
    WaitTimeoutError,
    run,
)
from claude_control.testing import ModelServer
from claude_control.testing.model_prompt import script
from claude_control.testing.model_script import Answer, Gate, Text, ToolCall, Words
from tests.real.conftest import Opener, Program
from tests.waiting import wait_until

pytestmark = [pytest.mark.real, pytest.mark.shared]

MODERN = "2.1.332"


def allow(*_: Any) -> Allow:
    """Let everything run."""
    return Allow()


def bash(command: str, **more: Any) -> ToolCall:
    """A call of Bash."""
    return ToolCall("Bash", command=command, description="do it", **more)


def held(name: str = "go") -> str:
    """A prompt whose answer stands at a gate behind its first words."""
    return script(Answer(Words(3), Gate(name)))


def results(session: Session) -> Iterator[str]:
    """The results that belong to no turn of ours, as they come."""
    for message in session.messages():
        if isinstance(message, ResultMessage):
            yield str(message.result).strip()


def user_texts(model_server: ModelServer) -> str:
    """All that the newest request to the model has of the user."""
    return str([message for message in model_server.requests[-1].messages if message.get("role") == "user"])


def one_of_all(open_session: Opener) -> Session:
    """Open the session that most tests share."""
    return open_session(can_use_tool=allow, include_partial_messages=True)


# -- prompts in mid-turn -----------------------------------------------------------------------------------------------


@pytest.mark.alone
def test_prompts_sent_in_a_text_turn(open_session: Opener, program: Program, model_server: ModelServer) -> None:
    """2.1.332 merges what was sent meanwhile into one turn; the older ones give each its own."""
    session = open_session()
    turn = session.ask(held())
    model_server.wait_for_gate("go")
    session.send(script(Text("to the first")))
    session.send(script(Text("to the second")))
    model_server.release("go")
    assert turn.result(timeout=20).result == "w0 w1 w2"
    session.wait_idle(timeout=20)
    session.close()
    expected = ["to the second"] if program.version == MODERN else ["to the first", "to the second"]
    assert list(results(session)) == expected


@pytest.mark.parametrize("priority", [None, "next"])
def test_a_prompt_sent_while_a_tool_runs_joins_the_turn(
    open_session: Opener, program: Program, workspace: Path, priority: str | None
) -> None:
    """On every version it is answered in the turn that runs, whose result is then its; "next" says just that."""
    session = one_of_all(open_session)
    turn = session.ask(script(bash("touch begun; sleep 1.5"), Text("without it")))
    wait_until((workspace / "begun").exists, timeout=20)
    if priority and program.version != MODERN:
        with pytest.raises(NotSupportedError):
            session.send("hello", priority=priority)
        turn.interrupt()
        return
    session.send(script(Text("with it")), priority=priority)
    texts = [message.text.strip() for message in turn if isinstance(message, AssistantMessage) and message.text]
    assert texts == (["with it"] if program.version == MODERN else ["without it", "with it"])
    assert str(turn.result().result).strip() == "with it"
    session.wait_idle(timeout=10)


def test_later_waits_for_the_end_of_the_turn(open_session: Opener, program: Program, workspace: Path) -> None:
    """With priority "later" a prompt does not join the turn, and has a turn of its own (2.1.332)."""
    session = one_of_all(open_session)
    turn = session.ask(script(bash("touch begun; sleep 1.5"), Text("ours")))
    wait_until((workspace / "begun").exists, timeout=20)
    if program.version != MODERN:
        with pytest.raises(NotSupportedError):
            session.send("hello", priority="later")
        turn.interrupt()
        return
    session.send(script(Text("later")), priority="later")
    assert str(turn.result(timeout=20).result).strip() == "ours"
    assert next(results(session)) == "later"


@pytest.mark.parametrize("where", ["text", "tool"])
def test_now_ends_the_turn(
    open_session: Opener, program: Program, model_server: ModelServer, workspace: Path, where: str
) -> None:
    """With priority "now" the turn that runs ends as interrupted, and the prompt is answered next (2.1.332)."""
    session = one_of_all(open_session)
    turn = session.ask(held("now") if where == "text" else script(bash("touch begun; sleep 1.5"), Text("not said")))
    if where == "text":
        model_server.wait_for_gate("now")
    else:
        wait_until((workspace / "begun").exists, timeout=20)
    if program.version != MODERN:
        with pytest.raises(NotSupportedError):
            session.send("hello", priority="now")
        turn.interrupt()
        return
    session.send(script(Text("at once")), priority="now")
    turn.result(timeout=20, check=False)
    assert turn.outcome == "interrupted"
    assert next(results(session)) == "at once"
    session.wait_idle(timeout=10)


def test_what_is_only_noted_is_read_with_the_next_prompt(
    open_session: Opener, program: Program, model_server: ModelServer
) -> None:
    """`should_query=False` asks the model nothing; the next prompt brings it along (2.1.332)."""
    session = one_of_all(open_session)
    session.ask("hello").result(timeout=20)
    before = len(model_server.requests)
    if program.version != MODERN:
        with pytest.raises(NotSupportedError):
            session.send("remember the milk", should_query=False)
        assert len(model_server.requests) == before
        return
    session.send("remember the milk", should_query=False)
    session.wait_idle(timeout=10)
    assert len(model_server.requests) == before
    session.ask("what was it?").result(timeout=20)
    assert "remember the milk" in user_texts(model_server)


def test_a_sent_prompt_is_taken_back(open_session: Opener, program: Program, model_server: ModelServer) -> None:
    """One that still waits is never asked, and holds nothing up; what has begun or is over is not taken back."""
    session = one_of_all(open_session)
    turn = session.ask(held())
    model_server.wait_for_gate("go")
    if program.version != MODERN:
        with pytest.raises(NotSupportedError):
            session.cancel_async_message(turn.uuid)
        model_server.release("go")
        turn.result(timeout=20)
        return
    uuid = session.send("never mind this")
    assert session.cancel_async_message(uuid).cancelled
    assert not session.cancel_async_message(uuid).cancelled
    assert not session.cancel_async_message(turn.uuid).cancelled
    model_server.release("go")
    assert turn.result(timeout=20).result == "w0 w1 w2"
    assert not session.cancel_async_message(turn.uuid).cancelled
    session.wait_idle(timeout=10)
    session.ask("and now?").result(timeout=20)
    assert "never mind this" not in user_texts(model_server)


# -- background work ---------------------------------------------------------------------------------------------------


@pytest.mark.alone
def test_background_shell_is_told_and_waited_for(open_session: Opener, program: Program) -> None:
    """2.1.332 tells a shell's start and end; older ones its start only, and say that they do not know the rest."""
    session = open_session(can_use_tool=allow)
    session.ask(script(bash("sleep 1; echo over", run_in_background=True), Text("started"))).result(timeout=20)
    (task,) = session.tasks
    assert (task.kind, task.description, task.background, task.over) == ("local_bash", "do it", True, False)
    if program.version != MODERN:
        assert task.status is None
        with pytest.raises(NotSupportedError, match=r"2\.1\.332"):
            session.wait_tasks(timeout=10)
        session.wait_idle(timeout=10)
        return
    assert task.status == "running"
    with pytest.raises(WaitTimeoutError):
        session.wait_tasks(timeout=0.01)
    session.wait_tasks(timeout=20)
    session.wait_idle(timeout=20)
    (task,) = session.tasks
    assert (task.status, task.over) == ("completed", True)
    assert task.started is not None and task.ended is not None and task.started < task.ended
    assert "do it" in str(task.summary)
    assert next(results(session)) == "Hello from the model server."  # the turn that the program began about it


@pytest.mark.alone
def test_an_older_programs_end_is_told_with_the_next_turn(open_session: Opener, program: Program) -> None:
    """2.1.7 notifies of an end before the next prompt's turn, and the task is over then; 2.0.75 ends over it."""
    session = open_session(can_use_tool=allow)
    session.ask(script(bash("true", run_in_background=True), Text("started"))).result(timeout=20)
    for _ in range(50):
        try:
            result = session.ask("hello").result(timeout=20, check=False)
        except ProcessExitedError:  # before it had a result for the prompt
            break
        if session.tasks[0].over or result.is_error:
            break
    if program.version == "2.0.75":
        assert [(task.status, task.over) for task in session.tasks] == [(None, False)]
        return
    session.wait_tasks(timeout=10)
    assert [(task.status, task.over) for task in session.tasks] == [("completed", True)]


@pytest.mark.alone
def test_background_agent_is_told_and_waited_for(open_session: Opener, program: Program) -> None:
    """A subagent in the background is a task on every version; on 2.1.332 its turn is part of the wait."""
    session = open_session(can_use_tool=allow)
    inner = script(Text("the agent is done"))
    call = ToolCall("Task", description="sub", prompt=inner, subagent_type="general-purpose", run_in_background=True)
    session.ask(script(call, Text("launched"))).result(timeout=20)
    session.wait_idle(timeout=30)
    (task,) = session.tasks
    assert (task.kind, task.description) == ("local_agent", "sub")
    assert task.status == ("completed" if program.version == MODERN else None)


@pytest.mark.alone
def test_a_stopped_task_is_over(open_session: Opener, program: Program) -> None:
    """`stop_task()` ends a task, and the wait with it, though no turn follows (2.1.332)."""
    session = open_session(can_use_tool=allow)
    session.ask(script(bash("sleep 60", run_in_background=True), Text("started"))).result(timeout=20)
    if program.version != MODERN:
        with pytest.raises(NotSupportedError):
            session.stop_task(session.tasks[0].id)
        return
    session.stop_task(session.tasks[0].id)
    session.wait_tasks(timeout=10)
    session.wait_idle(timeout=10)
    assert [(task.status, task.over) for task in session.tasks] == [("stopped", True)]


@pytest.mark.alone
def test_a_long_foreground_command_that_is_interrupted_is_over(
    open_session: Opener, program: Program, workspace: Path
) -> None:
    """What its turn waits for becomes a task after some seconds, and is over when the turn is (2.1.332)."""
    session = open_session(can_use_tool=allow)
    turn = session.ask(script(bash("touch begun; sleep 60"), Text("not said")))
    wait_until((workspace / "begun").exists, timeout=20)
    if program.version == MODERN:
        wait_until(lambda: session.tasks, timeout=20)
        assert [task.background for task in session.tasks] == [False]
    turn.interrupt()
    turn.result(timeout=20)
    session.wait_idle(timeout=10)
    session.wait_tasks(timeout=10)
    wait_until(lambda: all(task.over for task in session.tasks))


def test_one_shot_waits_for_background_work(
    program: Program, real_environment: dict[str, str], workspace: Path
) -> None:
    """`run()` returns when the background task is over (2.1.332); older programs do not tell it."""
    prompt = script(bash("sleep 1; touch made", run_in_background=True), Text("started"))
    options: dict[str, Any] = {"cli_path": program.command, "cwd": workspace, "env": real_environment}
    assert str(run(prompt, can_use_tool=allow, timeout=40, **options).result).strip() == "started"
    assert (workspace / "made").exists() or program.version != MODERN


# -- slash commands ----------------------------------------------------------------------------------------------------


def test_slash_commands_end_their_turn(open_session: Opener, program: Program, model_server: ModelServer) -> None:
    """Each is a turn that completes without the model, and its output is among the turn's messages."""
    session = one_of_all(open_session)
    session.ask("hello").result(timeout=20)
    turn = session.ask("/cost")
    messages = list(turn)
    assert turn.outcome == "completed"
    said = [message for message in messages if isinstance(message, AssistantMessage | UserMessage)]
    assert "code changes" in str([message.raw for message in said])
    assert isinstance(messages[-1], ResultMessage)
    if program.version == MODERN:
        assert "code changes" in str(messages[-1].result)
    compacted = session.ask("/compact")
    kinds = [message.raw.get("subtype") for message in compacted]
    assert compacted.outcome == "completed"
    assert "compact_boundary" in kinds
    assert str(session.ask(script(Text("still here"))).result(timeout=20).result).strip() == "still here"


@pytest.mark.alone
def test_clear_begins_a_new_conversation(open_session: Opener, program: Program, model_server: ModelServer) -> None:
    """On 2.1.332 `/clear` forgets and changes the session's id; the older ones have no such command."""
    session = open_session()
    session.ask("the first prompt").result(timeout=20)
    before = session.session_id
    turn = session.ask("/clear")
    result = turn.result(timeout=20)
    assert turn.outcome == "completed"
    assert (session.session_id != before) is (program.version == MODERN)
    assert session.session_id == result.session_id
    assert result.result == ("Unknown skill: clear" if program.version == "2.1.7" else "")
    session.ask("the second prompt").result(timeout=20)
    assert ("the first prompt" in user_texts(model_server)) is (program.version != MODERN)


def test_unknown_commands_end_their_turn(open_session: Opener, program: Program, model_server: ModelServer) -> None:
    """2.1.332 asks the model about it; the older ones end at once, 2.1.7 with a word."""
    session = one_of_all(open_session)
    turn = session.ask("/nosuch thing")
    result = turn.result(timeout=20)
    assert turn.outcome == "completed"
    answers = {MODERN: "Hello from the model server.", "2.1.7": "Unknown skill: nosuch", "2.0.75": ""}
    assert result.result == answers[program.version]
    session.wait_idle(timeout=10)


def test_verbatim_prompts_reach_the_model_as_they_are(
    open_session: Opener, program: Program, model_server: ModelServer, workspace: Path
) -> None:
    """No command runs and no file is read for them on 2.1.332; older programs do not get them."""
    (workspace / "secret.txt").write_text("the content of it\n")
    session = open_session(verbatim_prompts=True)
    for prompt in ("/cost", "look at @secret.txt please"):
        if program.version != MODERN:
            with pytest.raises(NotSupportedError):
                session.ask(prompt)
            continue
        session.ask(prompt).result(timeout=20)
        assert prompt in user_texts(model_server)
    session.ask("and/or").result(timeout=20)
    assert "the content of it" not in user_texts(model_server)
    session.ask("look at @secret.txt please", verbatim=False).result(timeout=20)
    assert "the content of it" in user_texts(model_server)


# -- interrupts --------------------------------------------------------------------------------------------------------


@pytest.mark.alone
def test_interrupt_before_anything(open_session: Opener) -> None:
    """An interrupt of a session that never had a prompt is answered and changes nothing."""
    session = open_session()
    for _ in range(2):
        session.interrupt(timeout=20)
    assert str(session.ask(script(Text("hello"))).result(timeout=20).result).strip() == "hello"


@pytest.mark.alone
@pytest.mark.parametrize("frames", [0, 1, 2, 4])
def test_interrupt_at_any_moment_of_the_first_prompt(open_session: Opener, frames: int) -> None:
    """However far the first turn is, before its begin too, an interrupt ends it, and the session goes on."""
    session = open_session(include_partial_messages=True)
    seen = session.stats.frames + frames
    turn = session.ask(script(Words(400, pause=0.05)))
    wait_until(lambda: session.stats.frames >= seen, timeout=20)
    session.interrupt(timeout=20)
    turn.result(timeout=20)
    assert turn.outcome == "interrupted"
    assert str(session.ask(script(Text("hello"))).result(timeout=20).result).strip() == "hello"
    session.wait_idle(timeout=10)


def test_two_interrupts_end_one_turn(open_session: Opener) -> None:
    """A second interrupt finds nothing more to stop, and the next turn is not hit by it."""
    session = one_of_all(open_session)
    turn = session.ask(script(Words(400, pause=0.05)))
    next(message for message in turn if isinstance(message, StreamEvent))
    session.interrupt(timeout=20)
    session.interrupt(timeout=20)
    turn.result(timeout=20)
    assert turn.outcome == "interrupted"
    assert str(session.ask(script(Text("hello"))).result(timeout=20).result).strip() == "hello"


@pytest.mark.alone
def test_interrupt_when_idle_keeps_a_background_shell(open_session: Opener, workspace: Path) -> None:
    """An interrupt between two turns stops no shell in the background."""
    session = open_session(can_use_tool=allow)
    command = "while test ! -e go; do sleep 0.1; done; touch survived"
    session.ask(script(bash(command, run_in_background=True), Text("started"))).result(timeout=20)
    wait_until(lambda: session.state == "idle")
    session.interrupt(timeout=20)
    assert [task.over for task in session.tasks] == [False]
    (workspace / "go").touch()
    wait_until((workspace / "survived").exists, timeout=20)
