"""`claude-control doctor`: what is found, what was looked at, whether it answers, and the verdict."""

import json
import os
from pathlib import Path

import pytest

from claude_control.testing.steps import on_request, stderr, unanswered
from tests.cli.conftest import Program
from tests.cli.terminals import Terminal, piped


def test_program_that_is_well(program: Program) -> None:
    """A program that answers gets a verdict of one line, the exit code 0, and nothing on stderr."""
    cli = program()
    done = piped("doctor")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-1] == "Ready: Claude Code 2.1.332 answers."
    assert "(CLAUDE_CONTROL_CLI)\n" in done.stdout
    assert [frame["type"] for frame in cli.received()] == ["control_request"]  # no prompt: it costs nothing


@pytest.mark.parametrize(
    ("version", "knows"), [("2.1.332", (True, True)), ("2.1.7", (False, True)), ("2.0.75", (False, False))]
)
def test_document_says_everything(program: Program, version: str, knows: tuple[bool, bool]) -> None:
    """`--json` gives the program, its version, what was looked at, the handshake, and what this version supports."""
    cli = program(program=version)
    document = json.loads(piped("doctor", "--json").stdout)
    named = os.environ["CLAUDE_CONTROL_CLI"]
    assert document["program"] == {"command": [named], "origin": "CLAUDE_CONTROL_CLI"}
    assert (document["version"], document["measured_as"], document["exit_code"]) == (version, version, 0)
    assert document["handshake"]["error"] is None
    assert document["looked_at"][0] == {"origin": "CLAUDE_CONTROL_CLI", "path": named, "problem": None}
    assert {place["origin"] for place in document["looked_at"]} >= {"PATH", "claude-agent-sdk", "usual place"}
    supports = document["supports"]
    assert (supports["--effort"], supports["rewind_files(dry_run=True)"]) == knows
    assert supports["interrupt"]
    assert supports["all other control requests"] == knows[0]
    assert len(cli.sessions) == 1


def test_nothing_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without a program every place that was looked at is named with its problem, and the exit code is 3."""
    (tmp_path / "claude").write_text("not executable")
    monkeypatch.delenv("CLAUDE_CONTROL_CLI", raising=False)
    done = piped("doctor", "--json", variables={"HOME": str(tmp_path / "home"), "PATH": str(tmp_path)})
    document = json.loads(done.stdout)
    places = {place["path"]: place["problem"] for place in document["looked_at"]}
    assert "is not executable" in places[str(tmp_path / "claude")]
    assert str(tmp_path / "home/.claude/local/claude") in places
    if document["program"]:
        pytest.skip(f"this machine has a Claude Code of its own: {document['program']}")
    assert (done.returncode, document["handshake"]) == (3, None)
    assert document["verdict"].startswith("Claude Code was not found. Install it")


def test_named_program_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that is named and missing is no reason to look elsewhere: the exit code is 3."""
    monkeypatch.setenv("CLAUDE_CONTROL_CLI", "/no/such/claude")
    done = piped("doctor")
    assert done.returncode == 3
    assert "CLAUDE_CONTROL_CLI  /no/such/claude does not exist\n" in done.stdout
    assert "used            none\n" in done.stdout


def test_program_that_is_too_old(program: Program) -> None:
    """A version below the oldest that works is not even opened; the exit code is 3."""
    cli = program(program="2.0.75", version="1.0.128")
    done = piped("doctor")
    assert done.returncode == 3
    assert "Claude Code 1.0.128 is too old: 2.0.75 is the oldest that works." in done.stdout
    assert cli.sessions == []


def test_program_that_is_newer_than_tested(program: Program) -> None:
    """A newer version is fine, and said to be untested."""
    program(version="9.9.9")
    done = piped("doctor")
    assert done.returncode == 0
    assert "It is newer than 2.1.332, the newest that was tested" in done.stdout


def test_something_else(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that is not Claude Code is found out by the handshake; the exit code is 1."""
    monkeypatch.setenv("CLAUDE_CONTROL_CLI", "/bin/true")
    done = piped("doctor")
    assert done.returncode == 1
    assert "exited with code 0" in done.stdout
    assert done.stdout.splitlines()[-1] == "/bin/true does not answer as Claude Code does."


def test_handshake_that_is_never_answered(program: Program) -> None:
    """`--timeout` bounds the handshake."""
    program(reactions=[unanswered("initialize")])
    done = piped("doctor", "--timeout", "0.5")
    assert done.returncode == 1
    assert "did not finish the handshake within 0.5 seconds" in done.stdout


def test_account_that_is_missing(program: Program) -> None:
    """A program that is not logged in answers, and the verdict says that turns will fail."""
    program(initialize={"account": {"tokenSource": "none", "apiKeySource": "none"}})
    done = piped("doctor")
    assert done.returncode == 0
    assert "It does not say that it is logged in" in done.stdout


def test_secrets_and_persons_are_not_printed(program: Program) -> None:
    """What the handshake tells of a person and of keys is not printed."""
    account = {"email": "somebody@example.org", "organization": "Somebody's", "apiKeySource": "sk-ant-abcdefgh"}
    program(initialize={"account": account}, reactions=[on_request("initialize", stderr("x"), also_default=True)])
    for flags in ([], ["--json"]):
        out = piped("doctor", *flags).stdout
        assert not {word for word in ("somebody", "Somebody", "abcdefgh") if word in out}


def test_untrusted_text_is_harmless(program: Program) -> None:
    """What the program says of itself carries no code to the terminal."""
    program(version="9.9.9", initialize={"models": [{"value": "\x1b]0;title\x07opus"}], "capabilities": ["\x9b2J"]})
    with Terminal("doctor") as terminal:
        assert terminal.finish() == 0
    assert "]0;titleopus" in terminal.output
    assert not set(terminal.output) & {"\x1b", "\x07", "\x9b"}


def test_narrow_terminal(program: Program) -> None:
    """On 40 columns the second column wraps below itself."""
    program()
    with Terminal("doctor", columns=40) as terminal:
        assert terminal.finish() == 0
    assert max(len(line) for line in terminal.output.split("Looked at")[0].splitlines()) <= 40
