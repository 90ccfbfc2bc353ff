"""The command `claude-control`."""

import subprocess
import sys

from click.testing import CliRunner

from claude_control._version import __version__
from claude_control.cli import main


def test_version_is_printed() -> None:
    """`--version` names the program and the version of the package."""
    result = CliRunner().invoke(main, ["--version"])
    assert (result.exit_code, result.output) == (0, f"claude-control, version {__version__}\n")


def test_unknown_command_is_a_usage_error() -> None:
    """A command that does not exist ends with exit code 2 and its name."""
    result = CliRunner().invoke(main, ["no-such-command"])
    assert result.exit_code == 2
    assert "no-such-command" in result.output


def test_module_is_the_command() -> None:
    """`python -m claude_control` is the same command."""
    command = [sys.executable, "-m", "claude_control", "--version"]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=50)
    assert done.stdout == f"claude-control, version {__version__}\n"
