"""A program for the command to find: a scripted CLI that `CLAUDE_CONTROL_CLI` names."""

import shlex
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from claude_control.testing import ScriptedCLI
from claude_control.testing.scripted_cli import ScriptedCLIFactory

Program = Callable[..., ScriptedCLI]


@pytest.fixture
def program(scripted_cli: ScriptedCLIFactory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Program:
    """Return a function that makes the scripted CLI which the command finds; its arguments are those of a script."""

    def make(*arguments: Any, **fields: Any) -> ScriptedCLI:
        cli = scripted_cli(*arguments, **fields)
        path = tmp_path / "claude"
        path.write_text(f'#!/bin/sh\nexec {shlex.join(cli.command)} "$@"\n')
        path.chmod(0o755)
        monkeypatch.setenv("CLAUDE_CONTROL_CLI", str(path))
        return cli

    return make


@pytest.fixture(autouse=True)
def _signals_as_in_a_terminal() -> Iterator[None]:
    """Undo what `nohup` does to whoever runs the tests: a child would inherit that SIGHUP is ignored."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)
