"""Sessions on the scripted CLI."""

from collections.abc import Iterator
from typing import Any, Protocol

import pytest

from claude_control import Session, close_all
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
