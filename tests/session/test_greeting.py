"""The answer to the handshake is kept small and exactly."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from claude_control import HookMatcher, OptionsError, Session
from claude_control.process._watchdog import start_time
from claude_control.process.pipes import InputPipe
from claude_control.session import opening
from claude_control.session.connection import Connection
from claude_control.session.greeting import Greeting
from claude_control.testing.scripted_cli import ScriptedCLIFactory
from claude_control.testing.steps import call_hook, default, on_request
from claude_control.wire import envelope
from claude_control.wire.framing import Decoder, encode
from claude_control.wire.requests import Initialize
from claude_control.wire.requests.steering import SetPermissionMode
from tests.session.conftest import OpenScripted
from tests.waiting import wait_until

ANSWER = {
    "commands": [{"name": "compact", "description": "a cut emoji: \ud83d", "argumentHint": ""}],
    "capabilities": ["one", "two"],
    "account": {"tokenSource": "none"},
    "unknown": [1 << 60, 1.5, True, None, {"deep": [{}]}],
}


def line_of(**fields: Any) -> bytes:
    """Return the line of a success that carries these fields."""
    body = {"subtype": "success", "request_id": "req_0_x", **fields}
    return json.dumps({"type": "control_response", "response": body}).encode()


def test_greeting_is_what_the_program_said() -> None:
    """What is read of it later is the whole answer, odd texts and numbers too, and the same object each time."""
    line = line_of(response=ANSWER)
    frame = Decoder().decode(line)
    assert frame is not None
    reply = Initialize().reply(frame["response"]["response"])
    greeting = Greeting(line)
    assert greeting.read() == reply and reply.capabilities == ("one", "two")
    assert greeting.read().raw["unknown"] == ANSWER["unknown"]
    assert greeting.read() is greeting.read()


def test_greeting_may_say_nothing() -> None:
    """A success without a payload, as programs write it that have nothing to say, is an answer without fields."""
    assert Greeting(line_of()).read().raw == {}


def test_greeting_is_the_answer_to_initialize_whatever_else_is_asked_meanwhile(
    scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted
) -> None:
    """A callback may ask things of the program during the handshake, one by one or many: those answers come first."""
    modes: list[str] = []

    def hook(_input: object, _id: object, context: Any) -> None:
        for _ in range(60):
            modes.append(context.session.submit(SetPermissionMode("plan")).result(timeout=10).mode)

    call = call_hook("InstructionsLoaded", {"hook_event_name": "InstructionsLoaded"})
    cli = scripted_cli(reactions=[on_request("initialize", call, default(), times=1)])
    session = open_scripted(cli, hooks={"InstructionsLoaded": [HookMatcher(hooks=[hook])]}, initialize_timeout=20)
    assert modes == ["plan"] * 60
    assert session.server_info.commands
    assert session.capabilities.names


@pytest.mark.parametrize("size", [1, 5_000, 200_000], ids=["one write", "the writer's", "more than a pipe holds"])
def test_hello_is_said_once_and_whole(scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted, size: int) -> None:
    """The handshake's request reaches the program once, whatever its size, and each of its bytes is counted once."""
    cli = scripted_cli()
    session = open_scripted(cli, system_prompt="x" * size)
    (hello,) = [frame for frame in cli.received() if frame.get("request", {}).get("subtype") == "initialize"]
    assert hello["request"]["systemPrompt"] == "x" * size
    line = envelope.request(hello["request_id"], envelope.rest_of_request(encode(hello["request"])))
    wait_until(lambda: session.stats.bytes_written == len(line))


def test_hello_is_out_before_there_is_a_connection(
    scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The program has the handshake's request while all that waits for the answer is still to be made."""
    cli, seen = scripted_cli(), list[Any]()

    def connect(*arguments: Any, **more: Any) -> Connection:
        seen.append(cli.wait_received(lambda frame: frame.get("request", {}).get("subtype") == "initialize"))
        return Connection(*arguments, **more)

    monkeypatch.setattr(opening, "Connection", connect)
    open_scripted(cli)
    assert len(seen) == 1


@pytest.mark.parametrize("error", [None, BrokenPipeError()], ids=["no room", "broken"])
def test_hello_that_cannot_be_said_at_once_is_said_by_the_writer(
    scripted_cli: ScriptedCLIFactory,
    open_scripted: OpenScripted,
    monkeypatch: pytest.MonkeyPatch,
    error: OSError | None,
) -> None:
    """It is written once all the same."""
    write, calls = InputPipe.try_write, list[bytes]()

    def try_write(pipe: InputPipe, data: bytes) -> bool:
        calls.append(data)
        if len(calls) > 1:
            return write(pipe, data)
        if error is not None:
            raise error
        return False

    monkeypatch.setattr(InputPipe, "try_write", try_write)
    cli = scripted_cli()
    open_scripted(cli)
    assert [frame["request"]["subtype"] for frame in cli.received()] == ["initialize"]
    assert len(calls) == 2 and calls[0] == calls[1]


def test_start_that_comes_to_no_connection_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a program whose handshake has no form in JSON nothing is left: no process that it has started, no pipe."""
    program, told = tmp_path / "program", tmp_path / "pid"
    program.write_text(f"#!/bin/sh\nsetsid sleep 600 &\necho $! > {told}.new\nmv {told}.new {told}\nexec cat\n")
    program.chmod(0o755)

    def refuse(_: object) -> bytes:
        wait_until(told.exists)
        raise OptionsError("it has no form")

    monkeypatch.setattr(opening, "encode_body", refuse)
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(OptionsError, match="it has no form"):
        Session(cli_path=program).open()
    wait_until(lambda: not start_time(int(told.read_text())))
    wait_until(lambda: len(os.listdir("/proc/self/fd")) <= before)
