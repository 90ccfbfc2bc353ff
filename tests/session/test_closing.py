"""Closing many sessions costs little more than closing one."""

import os
from typing import Any

import pytest

from claude_control import Session, close_all
from claude_control.testing.scripted_cli import ScriptedCLIFactory


def test_sessions_are_swept_for_together(scripted_cli: ScriptedCLIFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """When sessions are closed, the processes of the machine are looked through for all of them together."""
    listed: list[Any] = []
    listdir = os.listdir

    def count(path: Any = ".") -> list[Any]:
        listed.append(path)
        return listdir(path)

    cli = scripted_cli()
    sessions = [Session(cli_path=cli.command).open() for _ in range(8)]
    monkeypatch.setattr(os, "listdir", count)
    close_all(sessions)
    assert 1 <= listed.count("/proc") <= 3  # more than one where a process ended just then
    assert [session.state for session in sessions] == ["closed"] * 8
