"""What tests with the real program stand on: the programs, a scratch home, and a scratch repository.

The programs are fetched by `tests/real/provision.py` before pytest starts, for a test's timeout counts its fixtures.
"""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

import attrs
import pytest

from claude_control import Session, close_all
from claude_control.testing import ModelServer
from tests.real import provision


@attrs.frozen
class Program:
    """One version of the real program and the command that runs it."""

    version: str
    command: list[str]

    def __str__(self) -> str:
        return self.version


@pytest.fixture(params=provision.VERSIONS)
def program(request: pytest.FixtureRequest) -> Program:
    """Each version of the real program; one that is missing fails under CI and is skipped elsewhere."""
    command = provision.installed().get(request.param)
    if command is None:
        told = f"Claude Code {request.param} is not in {provision.cache_directory()}: run tests/real/provision.py"
        if os.environ.get("CI") == "true":
            pytest.fail(told)
        pytest.skip(told)
    return Program(request.param, command)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A scratch home directory, in which the program keeps its configuration and its transcripts."""
    path = tmp_path / "home"
    path.mkdir()
    return path


@pytest.fixture
def real_environment(model_server: ModelServer, home: Path) -> dict[str, str]:
    """The variables that point the real program at the scripted model and the scratch home, to merge over the present.

    As root a test that wants bypassPermissions adds IS_SANDBOX=1; no other one needs it.
    """
    return model_server.environment(home)


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A scratch repository with one committed file, `a.txt`, for the program to work in."""
    path = tmp_path / "workspace"
    path.mkdir()
    (path / "a.txt").write_text("one\ntwo\n")
    nobody = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    author = ["-c", "user.name=Tester", "-c", "user.email=tester@localhost"]
    for command in (["init", "--quiet"], ["add", "."], [*author, "commit", "--quiet", "--message", "first"]):
        subprocess.run(["git", *command], cwd=path, env=os.environ | nobody, check=True, timeout=30)
    return path


class Opener(Protocol):
    """Opens a session on the real program, in the scratch repository; it is closed at the end of the test."""

    def __call__(self, **options: Any) -> Session: ...


@pytest.fixture
def open_session(program: Program, real_environment: dict[str, str], workspace: Path) -> Iterator[Opener]:
    """Open sessions on the real program with the scripted model behind it."""
    sessions: list[Session] = []

    def open_(**options: Any) -> Session:
        environment = {**real_environment, **options.pop("env", {})}
        options = {"cli_path": program.command, "cwd": workspace, **options}
        session = Session(env=environment, **options)
        sessions.append(session)
        return session.open()

    yield open_
    close_all(sessions, timeout=20)
