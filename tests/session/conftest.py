"""Sessions on the scripted CLI."""

import threading
from collections.abc import Iterator
from typing import Any, Protocol

import pytest

from claude_control import Session, close_all
from claude_control.process.spill import overflow_file
from claude_control.session.conversation import Conversation
from claude_control.session.reading import Reader
from claude_control.session.routing import Router
from claude_control.testing.scripted_cli import ScriptedCLI


class OpenScripted(Protocol):
    """Opens a session on a scripted CLI; it is closed at the end of the test."""

    def __call__(self, cli: ScriptedCLI, **options: Any) -> Session: ...


@pytest.fixture
def open_scripted() -> Iterator[OpenScripted]:
    """Open sessions on scripted CLIs."""
    sessions: list[Session] = []

    def open_(cli: ScriptedCLI, **options: Any) -> Session:
        session = Session(cli_path=cli.command, **options)
        sessions.append(session)
        return session.open()

    yield open_
    close_all(sessions, timeout=20)


def counted(monkeypatch: pytest.MonkeyPatch, session: Session) -> list[str]:
    """Return a list that grows by the name of each thread that has read a line instead of the reader.

    The reader leaves that to others as soon as it may.
    """
    reader, threads = session._live().reader, list[str]()

    def count_read(size: int, lines: int = 1) -> None:
        threads.append(threading.current_thread().name)
        Reader.count_read(reader, size, lines)

    monkeypatch.setattr(reader, "count_read", count_read)
    reader._doubt = 0
    return threads


def lone_conversation() -> Conversation:
    """Return a conversation with no program, whose frames a test delivers itself, decoded."""
    return Conversation(
        Router(),
        inbox_bytes=1000,
        open_file=overflow_file,
        decoded=lambda line: [],
        decode_message=lambda line: None,
        tap=lambda items: None,
    )
