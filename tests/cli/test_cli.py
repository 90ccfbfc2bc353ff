"""The command `claude-control` as a whole: help, version, usage, and what it loads."""

import importlib
import subprocess
import sys

import click
import pytest

from claude_control._version import __version__
from claude_control.cli import call, group
from claude_control.cli.choosing import MODES
from claude_control.wire.requests import PERMISSION_MODES
from tests.cli.terminals import Terminal, environment, piped

COMMANDS = ("run", "chat", "doctor", "demo", "completion")


def test_module_is_the_command() -> None:
    """`python -m claude_control` is the same command, and says the version of the package."""
    done = piped("--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"claude-control, version {__version__}\n", "")


@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_help_lists_the_commands(flag: str) -> None:
    """The help names every command."""
    done = piped(flag)
    assert (done.returncode, done.stderr) == (0, "")
    assert all(f"\n  {name} " in done.stdout for name in COMMANDS)


def test_no_command_is_a_usage_error() -> None:
    """Without a command the help goes to stderr, and the exit code is 2."""
    done = piped()
    assert (done.returncode, done.stdout) == (2, "")
    assert "Commands:" in done.stderr


@pytest.mark.parametrize("name", COMMANDS)
def test_command_has_help(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Each command's help is about it, names every flag, and fits on 80 columns."""
    assert call([name, "-h"]) == 0
    text = capsys.readouterr().out
    assert text.startswith(f"Usage: claude-control {name} ")
    command = group.commands.get(name) or group.get_command(click.Context(group), name)
    assert command is not None
    flags = [flag for parameter in command.params for flag in parameter.opts if flag.startswith("-")]
    assert all(flag in text for flag in flags)
    assert [line for line in text.splitlines() if len(line) > 80] == []


@pytest.mark.parametrize("name", COMMANDS)
def test_list_of_commands_says_what_each_says_itself(name: str) -> None:
    """What the list says of a command, without loading it, is the first sentence of its own help."""
    listed = " ".join(piped("-h", variables={"COLUMNS": "300"}).stdout.split())
    own = (importlib.import_module(f"claude_control.cli.{name}").command.help or "").split("\n\n")[0]
    assert f"{name} {' '.join(own.split())}" in listed


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["no-such-command"], "No such command 'no-such-command'"),
        (["run"], "Missing argument 'PROMPT'"),
        (["run", "hi", "--no-such-flag"], "No such option"),
        (["run", "hi", "--max-turns", "0"], "--max-turns"),
        (["run", "hi", "--timeout", "0"], "--timeout"),
        (["run", "hi", "--permission-mode", "never"], "--permission-mode"),
        (["run", "hi", "--permission-mode", "bypassPermissions"], "--allow-bypass"),
        (["run", "hi", "--resume", "x", "--continue"], "--continue"),
        (["run", "hi", "--cwd", "/no/such/place"], "/no/such/place"),
        (["run", "hi", "--partial"], "--ndjson"),
        (["run", "hi", "--allow", "Bash("], "--allow"),
        (["run", " "], "the prompt is empty"),
        (["completion", "tcsh"], "tcsh"),
        (["run", "hi", "--x\x1b[2J"], "No such option"),
    ],
)
def test_wrong_usage_is_explained(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wrong usage ends with 2 and one line on stderr that says what is wrong, without escape codes."""
    monkeypatch.setenv("CLAUDE_CONTROL_CLI", sys.executable)  # found, and never started
    assert call(arguments) == 2
    written = capsys.readouterr()
    assert written.out == ""
    assert written.err.startswith("claude-control: ")
    assert said in written.err
    assert written.err.count("\n") == 1
    assert "\x1b" not in written.err


def test_modes_are_those_of_the_library() -> None:
    """The permission modes that can be chosen are those that the library takes."""
    assert MODES == PERMISSION_MODES


def test_help_loads_nothing_of_the_library() -> None:
    """Help and version answer without loading the session, attrs or a command."""
    code = (
        "import sys; from claude_control.cli import call; call(['-h']); call(['--version']);"
        "heavy = {'attrs', 'attr', 'orjson', 'claude_control.session', 'claude_control.cli.run', 'rich'};"
        "found = heavy & set(sys.modules); sys.exit(str(found) if found else 0)"
    )
    hidden = {name: value for name, value in environment().items() if not name.startswith("COVERAGE")}
    done = subprocess.run([sys.executable, "-c", code], env=hidden, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", [None, *COMMANDS])
def test_help_on_a_terminal(name: str | None) -> None:
    """In a terminal of 40 columns the help fits, and carries no codes."""
    with Terminal(*([name] if name else []), "-h", columns=40) as terminal:
        assert terminal.finish() == 0
    assert "\x1b" not in terminal.output
    words = [line for line in terminal.output.splitlines() if len(line) > 50]
    assert words == []
