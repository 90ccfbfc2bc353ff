"""`claude-control completion`: the scripts, and what the shells get from them."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.terminals import environment, piped

SHELLS = ("bash", "zsh", "fish")


@pytest.mark.parametrize("shell", SHELLS)
def test_script_is_printed(shell: str) -> None:
    """Each script asks the command itself for words."""
    done = piped("completion", shell)
    assert done.returncode == 0
    assert f"_CLAUDE_CONTROL_COMPLETE={shell}_complete" in done.stdout
    assert "claude-control" in done.stdout


def asked(shell: str, *words: str) -> str:
    """Return what the command answers to a completion script."""
    variables = {
        "bash": {"COMP_WORDS": " ".join(words), "COMP_CWORD": str(len(words) - 1)},
        "zsh": {"COMP_WORDS": " ".join(words), "COMP_CWORD": str(len(words) - 1)},
        "fish": {"COMP_WORDS": " ".join(words), "COMP_CWORD": words[-1]},
    }[shell]
    done = piped(variables={"_CLAUDE_CONTROL_COMPLETE": f"{shell}_complete", **variables})
    assert done.stderr == ""
    return done.stdout


@pytest.mark.parametrize("shell", SHELLS)
def test_commands_and_flags_are_completed(shell: str) -> None:
    """Commands, flags and the values of flags are completed."""
    assert "completion" in asked(shell, "claude-control", "co")
    assert "--permission-mode" in asked(shell, "claude-control", "run", "--per")
    assert "acceptEdits" in asked(shell, "claude-control", "run", "--permission-mode", "acc")


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash here")
def test_bash_takes_the_script(tmp_path: Path) -> None:
    """A real bash loads the script and completes a command with it."""
    command = tmp_path / "claude-control"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m claude_control "$@"\n')
    command.chmod(0o755)
    script = """
        set -e
        eval "$(claude-control completion bash)"
        COMP_WORDS=(claude-control doc) COMP_CWORD=1
        _claude_control_completion claude-control doc claude-control
        echo "${COMPREPLY[@]}"
    """
    variables = environment()
    variables["PATH"] = f"{tmp_path}:{variables['PATH']}"
    done = subprocess.run(
        ["bash", "--norc", "-c", script], env=variables, capture_output=True, text=True, timeout=30, check=False
    )
    assert (done.returncode, done.stdout.strip()) == (0, "doctor"), done.stderr
