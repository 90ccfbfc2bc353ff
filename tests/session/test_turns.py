"""Turns on the scripted CLI: iterating, waiting, queueing, interrupting, and whose each message is."""

import threading
import time
from typing import Any

import pytest

from claude_control import (
    AbortedError,
    AssistantMessage,
    ConcurrencyError,
    ExecutionError,
    HookMatcher,
    MaxTurnsError,
    MessagesDropped,
    OptionsError,
    ResultMessage,
    Session,
    StreamEvent,
    WaitTimeoutError,
    query,
    run,
)
from claude_control.session.permissions import PendingAnswer
from claude_control.testing.scripted_cli import ScriptedCLI, ScriptedCLIFactory
from claude_control.testing.steps import (
    ask_permission,
    burst,
    call_hook,
    expect_prompt,
    on,
    reply,
    result,
    say,
    turn,
    use_tool,
    wait_gate,
)
from tests.session.conftest import OpenScripted, lone_conversation
from tests.waiting import wait_until

ALL = pytest.mark.parametrize("program", ["2.0.75", "2.1.7", "2.1.332"])


def texts(messages: list[Any]) -> list[str]:
    """The texts of the assistant's messages."""
    return [message.text for message in messages if isinstance(message, AssistantMessage)]


@ALL
def test_iterating_ends_with_the_turns_own_result(
    scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted, program: str
) -> None:
    """A turn's messages come in order, its result last, and nothing of the SDK's own bookkeeping among them."""
    session = open_scripted(scripted_cli(program=program, prompts=[[reply("one"), reply("two")]]))
    messages = list(session.ask("hello"))
    assert texts(messages) == ["one", "two"]
    assert isinstance(messages[-1], ResultMessage)
    assert not [message for message in messages if message.raw.get("isReplay") or message.raw.get("sdk_host_only")]


@ALL
def test_prompts_queue_and_each_gets_its_own_answer(
    scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted, program: str
) -> None:
    """Prompts asked at once are written one after the other, when the turn before has ended."""
    cli = scripted_cli(program=program, prompts=[[wait_gate("go"), reply("answer to: prompt 0")]])
    session = open_scripted(cli)
    turns = [session.ask(f"prompt {n}") for n in range(5)]
    assert [turn.state for turn in turns] == ["running", *["queued"] * 4]
    cli.open_gate("go")
    for n, asked in enumerate(turns):
        assert asked.result().result == f"answer to: prompt {n}"


def test_a_loop_left_early_can_be_taken_up_again(scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted) -> None:
    """Breaking out of the loop loses nothing and leaves the turn running."""
    session = open_scripted(scripted_cli(prompts=[[reply("one"), wait_gate("go"), reply("two")]]))
    asked = session.ask("hello")
    first = next(message for message in asked if isinstance(message, AssistantMessage))
    assert (first.text, asked.state) == ("one", "running")
    with pytest.raises(WaitTimeoutError):
        asked.result(timeout=0.05)
    assert asked.state == "running"


def test_result_drops_what_was_not_iterated(scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted) -> None:
    """After `result()` there is nothing left to iterate, and the result can be had again."""
    session = open_scripted(scripted_cli(prompts=[[burst(1000), reply("x")]]))
    asked = session.ask("hello")
    assert asked.result() == asked.result()
    assert list(asked) == []


def test_text_is_there_while_the_turn_runs(scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted) -> None:
    """`turn.text` is the newest message's text, at any time."""
    cli = scripted_cli(prompts=[[reply("thinking about it"), wait_gate("go"), reply("the answer")]])
    session = open_scripted(cli)
    asked = session.ask("hello")
    wait_until(lambda: asked.text == "thinking about it")
    cli.open_gate("go")
    asked.result()
    assert asked.text == "the answer"


def test_a_second_consumer_is_refused(scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted) -> None:
    """Two threads that iterate one turn at once: the second gets `ConcurrencyError`."""
    cli = scripted_cli(prompts=[[wait_gate("go"), reply("x")]])
    session = open_scripted(cli)
    asked = session.ask("hello")
    seen: list[Any] = []
    reader = threading.Thread(target=lambda: seen.extend(asked))
    wait_until(lambda: asked.state == "running")
    reader.start()

    def refused() -> bool:
        try:
            next(asked)
        except ConcurrencyError:
            return True
        return False

    wait_until(refused)
    cli.open_gate("go")
    reader.join(10)
    assert not reader.is_alive()


@ALL
def test_interrupt_ends_the_turn_and_keeps_the_queue(
    scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted, program: str
) -> None:
    """A plain interrupt stops what runs; the queued prompt then runs as usual."""
    session = open_scripted(scripted_cli(program=program, prompts=[[reply("x"), wait_gate("never")]]))
    first, second = session.ask("one"), session.ask("two")
    next(message for message in first if isinstance(message, AssistantMessage))
    session.interrupt()
    first.result(timeout=10)
    assert first.outcome == "interrupted"
    assert second.result(timeout=10).result == "answer to: two"


def test_interrupt_can_drop_the_queue(scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted) -> None:
    """`cancel_queued` ends the queued prompts as cancelled: nothing to iterate, and waiting raises."""
    session = open_scripted(scripted_cli(prompts=[[wait_gate("never")]]))
    first, second = session.ask("one"), session.ask("two")
    wait_until(lambda: first.state == "running")
    session.interrupt(cancel_queued=True)
    assert list(second) == []
    assert second.outcome == "cancelled"
    with pytest.raises(AbortedError):
        second.result()


def test_a_queued_turn_is_dropped_by_its_own_interrupt(
    scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted
) -> None:
    """`turn.interrupt()` of a queued turn drops it, and does nothing to the one that runs."""
    cli = scripted_cli(prompts=[[wait_gate("go")]])
    session = open_scripted(cli)
    first, second = session.ask("one"), session.ask("two")
    second.interrupt()
    assert second.outcome == "cancelled"
    cli.open_gate("go")
    first.result(timeout=10)
    assert first.outcome == "completed"
    assert "two" not in str(cli.received())


def test_leaving_a_with_block_interrupts(scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted) -> None:
    """`with session.ask(…) as turn:` interrupts a turn that still runs at its end."""
    session = open_scripted(scripted_cli(prompts=[[reply("x"), wait_gate("never")]]))
    with session.ask("one") as asked:
        next(message for message in asked if isinstance(message, AssistantMessage))
    asked.result(timeout=10)
    assert asked.outcome == "interrupted"


def test_error_results_are_yielded_and_raised(scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted) -> None:
    """Iterating yields an error result; `result()` raises it as its kind, and `check=False` returns it."""
    failed = [
        result(subtype="error_max_turns", is_error=True, errors=["Reached maximum number of turns (1)"]),
        result(subtype="error_during_execution", is_error=True, errors=["boom"]),
    ]
    session = open_scripted(scripted_cli(prompts=[[failed[0]], [failed[1]]]))
    asked = session.ask("one")
    assert isinstance(list(asked)[-1], ResultMessage)
    with pytest.raises(MaxTurnsError, match="Reached maximum") as caught:
        asked.result()
    assert caught.value.result.subtype == "error_max_turns"
    second = session.ask("two")
    with pytest.raises(ExecutionError, match="boom"):
        second.result()
    assert second.result(check=False).is_error


@pytest.mark.parametrize("prompt", ["", "  ", [], [{}], None, 5, {"type": "text"}])
def test_prompts_that_would_hang_a_program_are_refused(
    scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted, prompt: Any
) -> None:
    """An empty or malformed prompt is refused before anything is written."""
    cli = scripted_cli()
    session = open_scripted(cli)
    for ask in (session.ask, session.send):
        with pytest.raises(OptionsError):
            ask(prompt)
    assert not [frame for frame in cli.received() if frame["type"] == "user"]


def test_content_blocks_are_sent_as_they_are(scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted) -> None:
    """A prompt of blocks reaches the program unchanged, halves of emoji replaced."""
    cli = scripted_cli()
    session = open_scripted(cli)
    blocks: list[dict[str, Any]] = [
        {"type": "text", "text": "look \ud83d"},
        {"type": "image", "source": {"type": "base64", "data": "aGk="}},
    ]
    session.ask(blocks).result()
    sent = cli.wait_received(lambda frame: frame["type"] == "user")["message"]["content"]
    assert sent == [{"type": "text", "text": "look �"}, blocks[1]]


@ALL
def test_sent_prompts_go_to_messages(
    scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted, program: str
) -> None:
    """What `send()` leads to goes to `messages()`, and a turn asked meanwhile has only its own."""
    session = open_scripted(scripted_cli(program=program, prompts=[[reply("sent answer")], [reply("asked answer")]]))
    session.send("sent")
    asked = session.ask("asked")
    assert texts(list(asked)) == ["asked answer"]
    found = (message for message in session.messages() if isinstance(message, AssistantMessage))
    assert next(found).text == "sent answer"


def test_the_programs_own_turns_go_to_messages(scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted) -> None:
    """A result with a foreign origin between written prompt and begin is not the prompt's."""
    own = {"type": "result", "subtype": "success", "result": "own", "origin": {"kind": "task-notification"}}
    session = open_scripted(
        scripted_cli(prompts=[turn(say({"type": "assistant", "message": {"content": []}}), reply("mine"))])
    )
    session.ask("first").result()
    cli = scripted_cli(reactions=[on({"type": "user"}, say(own), also_default=True, times=1)])
    session = open_scripted(cli)
    assert session.ask("mine").result().result == "answer to: mine"
    results = (message for message in session.messages() if isinstance(message, ResultMessage))
    assert next(results).result == "own"


def test_messages_nobody_reads_are_counted(scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted) -> None:
    """The newest 10,000 are kept, and how many were dropped is said first."""
    frame = {"type": "stream_event", "event": {"type": "ping", "n": "$n"}}
    session = open_scripted(scripted_cli([burst(12_000, frame=frame)]))
    wait_until(lambda: session.stats.frames >= 12_000)
    messages = session.messages()
    first = next(messages)
    assert isinstance(first, MessagesDropped)
    assert first.count == 2_000
    assert isinstance(next(messages), StreamEvent)


def test_control_calls_pass_an_unread_backlog(scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted) -> None:
    """With 100,000 unread messages, most of them in a file, calls are answered, and nothing is lost or out of order."""
    frame = {"type": "stream_event", "event": {"type": "ping", "n": "$n"}, "pad": "x" * 200}
    cli = scripted_cli(prompts=[[burst(100_000, frame=frame), wait_gate("go"), reply("end")]])
    session = open_scripted(cli, inbox_bytes=1 << 20)
    asked = session.ask("hello")
    wait_until(lambda: session.stats.frames > 100_000, timeout=30)
    assert session.set_permission_mode("plan", timeout=5).mode == "plan"
    cli.open_gate("go")
    numbers = [message.event["n"] for message in asked if isinstance(message, StreamEvent)]
    assert numbers == list(range(100_000))


def test_subscribers_see_everything_in_order(scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted) -> None:
    """A tap sees every message in order, whoever else reads; one that fails is called again, and closing ends it."""
    seen: list[int] = []

    def tap(message: Any) -> None:
        if isinstance(message, StreamEvent):
            seen.append(message.event["n"])
            if len(seen) == 1:
                raise RuntimeError("once")

    frame = {"type": "stream_event", "event": {"n": "$n"}}
    session = open_scripted(scripted_cli(prompts=[[burst(3000, frame=frame)], [burst(3000, frame=frame)]]))
    handle = session.subscribe(tap)
    session.ask("one").result()
    wait_until(lambda: len(seen) == 3000)
    assert seen == list(range(3000))
    handle.close()
    session.ask("two").result()
    assert len(seen) == 3000


def test_a_dropped_queued_turn_is_still_sent(scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted) -> None:
    """A prompt whose Turn nobody holds is sent all the same."""
    cli = scripted_cli(prompts=[[wait_gate("go")]])
    session = open_scripted(cli)
    session.ask("one")
    session.ask("two")
    cli.open_gate("go")
    cli.wait_received(lambda frame: frame["type"] == "user" and frame["message"]["content"] == "two")


def test_waiting_in_a_callback_is_refused(scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted) -> None:
    """A callback that waits for a turn of its session gets `ConcurrencyError` at once, and the turn goes on."""
    errors: list[str] = []

    def ask(*_: Any) -> Any:
        from claude_control import Allow

        try:
            asked.result()
        except ConcurrencyError as error:
            errors.append(str(error))
        return Allow()

    session = open_scripted(scripted_cli(prompts=[[use_tool("Bash", {"command": "ls"}), reply("x")]]), can_use_tool=ask)
    asked = session.ask("hello")
    asked.result(timeout=10)
    assert len(errors) == 1


def test_query_yields_one_conversation(scripted_cli: ScriptedCLIFactory) -> None:
    """`query()` yields the turn's messages and closes the program."""
    cli = scripted_cli(prompts=[[reply("hi")]])
    messages = list(query("hello", cli_path=cli.command))
    assert texts(messages) == ["hi"]
    assert any(isinstance(message, ResultMessage) for message in messages)


def test_query_left_early_closes(scripted_cli: ScriptedCLIFactory) -> None:
    """Closing the generator interrupts the turn and ends the program."""
    cli = scripted_cli(prompts=[[reply("hi"), wait_gate("never")]])
    generator = query("hello", cli_path=cli.command)
    next(generator)
    generator.close()  # type: ignore[attr-defined]  # it is a generator
    cli.wait_received(lambda frame: frame.get("request", {}).get("subtype") == "interrupt")


def test_run_returns_the_result(scripted_cli: ScriptedCLIFactory) -> None:
    """`run()` returns the result of its one turn."""
    assert run("hello", cli_path=scripted_cli().command).result == "answer to: hello"


def test_run_bounds_the_whole(scripted_cli: ScriptedCLIFactory) -> None:
    """`run(timeout=…)` raises when the time is up, and leaves nothing behind."""
    cli = scripted_cli(prompts=[[wait_gate("never")]])
    start = time.monotonic()
    with pytest.raises(WaitTimeoutError):
        run("hello", cli_path=cli.command, timeout=0.5)
    assert time.monotonic() - start < 30  # the gate would never open


def test_run_parses_structured_output(scripted_cli: ScriptedCLIFactory) -> None:
    """`run(output_type=…)` asks for the type's schema and returns a value of it."""
    cli = scripted_cli(prompts=[[result(structured_output=[1, 2, 3], result="[1,2,3]")]])
    assert run("numbers", cli_path=cli.command, output_type=list[int]) == [1, 2, 3]


def test_a_prompt_expected_by_the_script(scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted) -> None:
    """The prompt has the shape of the wire: role, content, a fresh uuid."""
    cli: ScriptedCLI = scripted_cli([expect_prompt("hello")])
    session: Session = open_scripted(cli, interrupt_grace=0.1)
    asked = session.ask("hello")
    frame = cli.wait_received(lambda received: received["type"] == "user")
    assert frame == {
        "type": "user",
        "message": {"role": "user", "content": "hello"},
        "parent_tool_use_id": None,
        "session_id": "",
        "uuid": asked.uuid,
    }


@pytest.mark.parametrize("asked", ["a permission", "a hook"])
def test_a_late_answer_stops_no_later_turn(
    scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted, asked: str
) -> None:
    """An answer that comes too late to end its own turn is no excuse for a later one that breaks off (2.1.7)."""
    later: list[PendingAnswer] = []
    begun, go, over = threading.Event(), threading.Event(), threading.Event()

    def hook(*_: object) -> dict[str, Any]:
        begun.set()
        go.wait(30)
        over.set()
        return {"decision": "block", "reason": "late"}

    call = ask_permission() if asked == "a permission" else call_hook("UserPromptSubmit", {})
    broken = [wait_gate("go"), result(subtype="error_during_execution")]
    session = open_scripted(
        cli := scripted_cli(program="2.1.7", prompts=[[call, reply()], broken]),
        can_use_tool=lambda _tool, _input, context: later.append(context.answer_later()),
        hooks={"UserPromptSubmit": [HookMatcher(hooks=[hook])]},
    )
    first = session.ask("one")
    wait_until(lambda: later or begun.is_set())  # an interrupt that comes before spares the callback its call
    session.interrupt()
    assert first.result().subtype == "error_during_execution"
    second = session.ask("two")
    go.set()
    if later:
        assert later[0].deny("no", interrupt=True) is False
    else:
        wait_until(lambda: over.is_set() and session.stats.late_answers)
    cli.open_gate("go")
    second.result(check=False)
    assert second._record.evidence.hooks == set()
    assert second.outcome == "execution_error"


def test_a_stop_hook_of_the_programs_own_turn_ends_none_of_ours() -> None:
    """What a Stop hook answers is about the turn that runs, not about a prompt that waits behind it."""
    conversation = lone_conversation()
    record, _ = conversation.ask("hello", "u1", {})
    conversation.note_stop("Stop")
    assert record.evidence.hooks == set()
    conversation.deliver([(10, {"type": "command_lifecycle", "command_uuid": "u1", "state": "started"}, b"")])
    conversation.note_stop("Stop")
    assert record.evidence.hooks == {"Stop"}
