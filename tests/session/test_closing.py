"""Closing many sessions costs little more than closing one, and the next one begins where it left off."""

import gc
import os
import threading
import weakref
from typing import Any

import pytest

from claude_control import Session, close_all
from claude_control.process import workers
from claude_control.testing.scripted_cli import ScriptedCLIFactory
from tests.waiting import wait_until


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


def test_next_session_has_the_thread_of_the_one_before(
    scripted_cli: ScriptedCLIFactory, monkeypatch: pytest.MonkeyPatch, no_leaks: None
) -> None:
    """Sessions that are opened one after the other are read by one thread, which keeps nothing of those before."""
    monkeypatch.setattr(workers, "KEEP_ALIVE", 60.0)
    workers.dismiss()
    cli, threads, sessions = scripted_cli(), set[threading.Thread](), list[weakref.ref[Session]]()
    for _ in range(3):
        session = Session(cli_path=cli.command).open()
        threads.add(session._live()._thread)
        sessions.append(weakref.ref(session))
        session.close()
        wait_until(lambda: workers._spare)
        del session
    gc.collect()
    assert len(threads) == 1
    assert [session() for session in sessions] == [None] * 3
