"""A program for the command to find: a scripted CLI that `CLAUDE_CONTROL_CLI` names."""

import shlex
from collections.abc import Callable
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
