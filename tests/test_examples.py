"""The example scripts of the documentation do what their page says, as a user starts them."""

import io
import json
import os
import runpy
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from wsgiref.util import setup_testing_defaults

import pytest

from claude_control.testing import ScriptedCLI
from claude_control.testing.scripted_cli import ScriptedCLIFactory
from claude_control.testing.steps import crash, on, reply, result, turn, use_tool, wait_gate
from tests import documents
from tests.waiting import wait_until

EXAMPLES = documents.DOCS / "examples"
Program = Callable[..., ScriptedCLI]

pytestmark = pytest.mark.usefixtures("no_leaks")


@pytest.fixture
def program(scripted_cli: ScriptedCLIFactory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Program:
    """Return a function that makes the scripted CLI which an example finds; its arguments are those of a script."""

    def make(**fields: Any) -> ScriptedCLI:
        cli = scripted_cli(**fields)
        path = tmp_path / "claude"
        path.write_text(f'#!/bin/sh\nexec {shlex.join(cli.command)} "$@"\n')
        path.chmod(0o755)
        monkeypatch.setenv("CLAUDE_CONTROL_CLI", str(path))
        return cli

    return make


def start(name: str, *arguments: str) -> "subprocess.Popen[str]":
    """Start an example in a process of its own, with pipes, as the first of a new session of the terminal."""
    pipe = subprocess.PIPE
    command = [sys.executable, str(EXAMPLES / name), *arguments]
    return subprocess.Popen(command, text=True, stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True)


def run(name: str, *arguments: str, stdin: str = "") -> tuple[int, str, str]:
    """Run an example to its end; returns its exit code and what it printed on stdout and stderr."""
    with start(name, *arguments) as process:
        out, err = process.communicate(stdin, timeout=30)
    return process.returncode, out, err


# -- review ------------------------------------------------------------------------------------------------------------


def test_review_prints_what_it_found(program: Program) -> None:
    """The review prints one line for each finding, and its exit code says that there are some."""
    finding = {"file": "a.py", "line": 3, "problem": "off by one"}
    cli = program(every_prompt=[result(structured_output={"summary": "Nearly.", "findings": [finding]})])
    assert run("review.py", "main") == (1, "a.py:3: off by one\n", "Nearly.\n")
    (prompt,) = (frame for frame in cli.received() if frame["type"] == "user")
    assert "git diff main" in str(prompt)


def test_review_changes_nothing(program: Program) -> None:
    """Where there is no terminal, the review lets nothing run that needs permission."""
    tools = [use_tool("Bash", {"command": "make"}), use_tool("Write", {"file_path": "a.py", "content": ""})]
    cli = program(every_prompt=[*tools, result(structured_output={"summary": "Good.", "findings": []})])
    assert run("review.py") == (0, "", "Good.\n")
    assert [event["outcome"] for event in cli.events("tool")] == ["denied", "denied"]


def test_review_asks_on_a_terminal(program: Program) -> None:
    """On a terminal the review asks about a command, and runs what is allowed."""
    done = result(structured_output={"summary": "Good.", "findings": []})
    cli = program(every_prompt=[use_tool("Bash", {"command": "make"}), done])
    ours, theirs = os.openpty()
    try:
        os.write(ours, b"y\n")
        command = [sys.executable, str(EXAMPLES / "review.py")]
        subprocess.run(command, stdin=theirs, check=True, timeout=30, capture_output=True)
    finally:
        os.close(ours)
        os.close(theirs)
    assert [event["outcome"] for event in cli.events("tool")] == ["ran"]


def test_review_says_why_there_is_none(program: Program) -> None:
    """A session that dies gives no verdict: exit code 2, and the reason on stderr."""
    program(every_prompt=[crash(7)])
    code, out, err = run("review.py")
    assert (code, out) == (2, "")
    assert err.startswith("no review: ")
    assert "7" in err


# -- batch -------------------------------------------------------------------------------------------------------------


def test_batch_answers_every_prompt(program: Program) -> None:
    """Each line of the input has its answer in the output, from a session of its own."""
    cli = program()
    prompts = [f"question {n}" for n in range(6)]
    code, out, err = run("batch.py", stdin="\n\n".join(prompts))
    lines = [json.loads(line) for line in out.splitlines()]
    assert (code, err) == (0, "6 answered, 0 failed\n")
    assert {line["prompt"]: line["answer"] for line in lines} == {text: f"answer to: {text}" for text in prompts}
    assert {line["outcome"] for line in lines} == {"completed"}
    assert len(cli.sessions) == 6


def test_batch_goes_on_when_one_fails(program: Program) -> None:
    """One program that dies costs one answer, and the exit code tells."""
    program(reactions=[on({"type": "user", "message": {"content": "two"}}, crash(3))])
    code, out, err = run("batch.py", stdin="one\ntwo\nthree\n")
    lines = [json.loads(line) for line in out.splitlines()]
    assert (code, err) == (1, "2 answered, 1 failed\n")
    assert {line["prompt"]: line.get("error") for line in lines} == {
        "one": None,
        "two": "ProcessExitedError",
        "three": None,
    }


def test_batch_ends_on_ctrl_c(program: Program) -> None:
    """Ctrl-C ends what runs and what waits, and leaves no process behind."""
    cli = program(every_prompt=[reply("I think."), wait_gate("never")])
    with start("batch.py") as process:
        assert process.stdin is not None
        process.stdin.write("question\n" * 9)
        process.stdin.close()
        wait_until(lambda: len(cli.events("received")) >= 8)  # four sessions, each with its handshake and its prompt
        os.killpg(process.pid, signal.SIGINT)
        assert process.wait(30) == 130
    assert len(cli.sessions) == 4
    assert all(run.exit_code is not None for run in cli.sessions)


# -- service -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def service() -> dict[str, Any]:
    """Return what the service's module has, without serving."""
    return runpy.run_path(str(EXAMPLES / "service.py"))


def post(service: dict[str, Any], body: bytes) -> tuple[str, dict[str, Any]]:
    """Send a body to the WSGI application; returns the status and the reply."""
    statuses: list[str] = []
    environ: dict[str, Any] = {"CONTENT_LENGTH": str(len(body)), "wsgi.input": io.BytesIO(body)}
    setup_testing_defaults(environ)
    reply = b"".join(service["application"](environ, lambda status, _headers: statuses.append(status)))
    return statuses[0], json.loads(reply)


def test_service_answers(program: Program, service: dict[str, Any]) -> None:
    """A question gets its answer, and the id with which the conversation goes on."""
    cli = program()
    status, first = post(service, b'{"question": "why?"}')
    assert (status, first["answer"], first["complete"]) == ("200 OK", "answer to: why?", True)
    _, second = post(service, json.dumps({"question": "and?", "conversation": first["conversation"]}).encode())
    assert second["conversation"] == first["conversation"]
    assert any(first["conversation"] in argument for argument in cli.argv)


def test_service_keeps_its_time(program: Program, service: dict[str, Any]) -> None:
    """When the time is up, the answer so far is returned, and the turn is interrupted."""
    cli = program(every_prompt=[reply("To begin with,"), wait_gate("never")])
    assert service["answer"]("why?", seconds=2.0) | {"conversation": ""} == {
        "answer": "To begin with,",
        "complete": False,
        "conversation": "",
    }
    assert [frame for frame in cli.received() if frame.get("request", {}).get("subtype") == "interrupt"]


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b'{"question": ""}', b'{"question": "x", "conversation": "-"}'])
def test_service_refuses_what_it_cannot_read(body: bytes, program: Program, service: dict[str, Any]) -> None:
    """A body that is no question is the client's mistake, and starts no turn."""
    cli = program()
    status, reply = post(service, body)
    assert status == "400 Bad Request"
    assert reply["error"]
    assert not [frame for frame in cli.received() if frame["type"] == "user"]


def test_service_says_that_claude_is_missing(service: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the program the service is unavailable, and says so."""
    monkeypatch.setenv("CLAUDE_CONTROL_CLI", "/nonexistent/claude")
    status, reply = post(service, b'{"question": "why?"}')
    assert status == "503 Service Unavailable"
    assert "/nonexistent/claude" in reply["error"]


def test_service_says_that_there_is_a_limit(program: Program, service: dict[str, Any]) -> None:
    """A rate limit of the API is told as one."""
    program(every_prompt=turn(result(is_error=True, api_error_status=429, result="API Error: 429")))
    assert post(service, b'{"question": "why?"}')[0] == "429 Too Many Requests"
