"""Asking a program for its version: real programs, and an end in bounded time."""

import os
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from claude_control import SpawnError, Transport
from claude_control.process import _watchdog, orphans
from claude_control.process.discovery import Program, program_version
from claude_control.process.transport import SubprocessTransport
from tests.process.programs import PATH, sh
from tests.waiting import wait_until

ENV = {"PATH": PATH}


def spawn(argv: list[str], env: Mapping[str, str], cwd: str | None) -> Transport:
    """Start a program as a caller's own function would."""
    return SubprocessTransport.spawn(argv, env=env, cwd=cwd)


def program(code: str) -> Program:
    """A program of a few lines of shell."""
    return Program((*sh(code), "claude"), "test")


@pytest.mark.parametrize("own", [None, spawn], ids=["default", "spawn"])
def test_version_is_what_the_program_says(own: object) -> None:
    """The version is found in the answer to --version, through the default way and a custom spawn alike."""
    answers = program('test "$1" = --version && echo "2.1.332 (Claude Code)"')
    assert program_version(answers, ENV, spawn=own) == "2.1.332"  # type: ignore[arg-type]


@pytest.mark.parametrize("own", [None, spawn], ids=["default", "spawn"])
@pytest.mark.parametrize("code", ["exit 1", "echo hello", "head -c 1000000 /dev/zero"])
def test_program_without_version_has_none(own: object, code: str) -> None:
    """A program that says nothing usable has no version; that is no error here."""
    assert program_version(program(code), ENV, spawn=own) is None  # type: ignore[arg-type]


@pytest.mark.parametrize("own", [None, spawn], ids=["default", "spawn"])
def test_silent_program_is_ended(own: object) -> None:
    """A program that does not answer is given up after the timeout, and it and its children are gone."""
    marker = orphans.new_marker()
    start = time.monotonic()
    env = {**ENV, orphans.MARKER_VARIABLE: marker}
    assert program_version(program("sleep 60 & sleep 60"), env, spawn=own, timeout=0.3) is None  # type: ignore[arg-type]
    assert time.monotonic() - start < 20
    wait_until(lambda: not _watchdog.carriers({marker.encode()}, set()))


def test_environment_and_directory_are_the_sessions(tmp_path: Path) -> None:
    """The program is asked in the environment and directory in which the session would run."""
    code = 'test "$(pwd -P)" = "$WANTED" && echo 1.2.3'
    env = {**ENV, "WANTED": os.path.realpath(tmp_path)}
    assert program_version(program(code), env, cwd=str(tmp_path)) == "1.2.3"


def test_program_that_cannot_start_is_an_error(tmp_path: Path) -> None:
    """What the system refuses to start raises SpawnError with the command and the directory."""
    with pytest.raises(SpawnError) as caught:
        program_version(program("echo 1.2.3"), ENV, cwd=str(tmp_path / "gone"))
    assert caught.value.cwd == str(tmp_path / "gone")
    assert "--version" in str(caught.value.command)
