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
from claude_control.testing.leaks import LeakCheck
from tests.real import provision
from tests.real.sharing import Stage


@attrs.frozen
class Program:
    """One version of the real program and the command that runs it."""

    version: str
    command: list[str]

    def __str__(self) -> str:
        return self.version


# One after the other in each module, so that tests can share what runs on one.
@pytest.fixture(scope="module", params=provision.VERSIONS)
def program(request: pytest.FixtureRequest) -> Program:
    """Each version of the real program; one that is missing fails under CI and is skipped elsewhere."""
    command = provision.installed().get(request.param)
    if command is None:
        told = f"Claude Code {request.param} is not in {provision.cache_directory()}: run tests/real/provision.py"
        if os.environ.get("CI") == "true":
            pytest.fail(told)
        pytest.skip(told)
    return Program(request.param, command)


class Opener(Protocol):
    """Opens a session on the real program, in the scratch repository."""

    def __call__(self, **options: Any) -> Session: ...


# -- what tests share --------------------------------------------------------------------------------------------------


def _shares(item: pytest.Item) -> bool:
    return item.get_closest_marker("shared") is not None and item.get_closest_marker("alone") is None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Look for leaks when what tests share is closed, not after each of them."""
    for item in items:
        if _shares(item):
            item.add_marker(pytest.mark.leaks_allowed("a shared session goes on"))


@pytest.fixture(scope="module")
def shared_stage(program: Program, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """What the tests of a module share on one program; nothing of it is left behind."""
    with LeakCheck(), ModelServer() as server:
        folder = tmp_path_factory.mktemp("shared")
        home, workspace = make_home(folder), make_workspace(folder)

        def open_(**options: Any) -> Session:
            return _new(program, server.environment(home) | provision.environment(), workspace, options).open()

        shared = Stage(server, home, workspace, open_)
        yield shared
        shared.close()


@pytest.fixture
def part(request: pytest.FixtureRequest) -> Iterator[Stage | None]:
    """What this test shares with others, if it does."""
    if not _shares(request.node):
        yield None
        return
    shared: Stage = request.getfixturevalue("shared_stage")
    failed = request.session.testsfailed
    yield shared
    shared.tidy(failed=request.session.testsfailed > failed)


# -- what a test stands on, its own or shared --------------------------------------------------------------------------


@pytest.fixture
def model_server(part: Stage | None) -> Iterator[ModelServer]:
    """A scripted model server that listens; its end fails if it failed."""
    if part is not None:
        yield part.server
        return
    with ModelServer() as server:
        yield server


@pytest.fixture
def home(part: Stage | None, tmp_path: Path) -> Path:
    """A scratch home directory, in which the program keeps its configuration and its transcripts."""
    return part.home if part is not None else make_home(tmp_path)


@pytest.fixture
def real_environment(model_server: ModelServer, home: Path) -> dict[str, str]:
    """The variables that point the real program at the scripted model and the scratch home, to merge over the present.

    As root a test that wants bypassPermissions adds IS_SANDBOX=1; no other one needs it.
    """
    return model_server.environment(home) | provision.environment()


@pytest.fixture
def workspace(part: Stage | None, tmp_path: Path) -> Path:
    """A scratch repository with one committed file, `a.txt`, for the program to work in."""
    return part.workspace if part is not None else make_workspace(tmp_path)


@pytest.fixture
def open_session(
    part: Stage | None, program: Program, real_environment: dict[str, str], workspace: Path
) -> Iterator[Opener]:
    """Open sessions on the real program with the scripted model behind it; they are closed at the end of the test.

    A test that shares gets one that may have been used before.
    """
    if part is not None:
        yield part.session
        return
    sessions: list[Session] = []

    def open_(**options: Any) -> Session:
        sessions.append(_new(program, real_environment, workspace, options))
        return sessions[-1].open()

    yield open_
    close_all(sessions, timeout=20)


def _new(program: Program, environment: dict[str, str], workspace: Path, options: dict[str, Any]) -> Session:
    environment = {**environment, **options.pop("env", {})}
    return Session(env=environment, **{"cli_path": program.command, "cwd": workspace, **options})


def make_home(folder: Path) -> Path:
    """Make an empty home directory."""
    path = folder / "home"
    path.mkdir()
    return path


def make_workspace(folder: Path) -> Path:
    """Make a repository with one committed file."""
    path = folder / "workspace"
    path.mkdir()
    (path / "a.txt").write_text("one\ntwo\n")
    nobody = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    author = ["-c", "user.name=Tester", "-c", "user.email=tester@localhost"]
    for command in (["init", "--quiet"], ["add", "."], [*author, "commit", "--quiet", "--message", "first"]):
        subprocess.run(["git", *command], cwd=path, env=os.environ | nobody, check=True, timeout=30)
    return path
