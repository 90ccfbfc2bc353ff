"""A transport of the user's own: its calls carry the session, and none of them can hold it up."""

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest

from claude_control import Exit, InitializeError, Session, SpawnError
from claude_control.process import workers
from claude_control.process.transport import SubprocessTransport
from claude_control.testing.scripted_cli import ScriptedCLIFactory
from tests.waiting import wait_until


class Elsewhere:
    """A program that is reached in a way of its own; named methods hang until the test ends, or raise."""

    def __init__(self, inner: SubprocessTransport, hanging: Sequence[str], released: threading.Event) -> None:
        self._inner = inner
        self._hanging = hanging
        self._released = released

    def _call(self, name: str, *arguments: Any) -> Any:
        if name in self._hanging:
            self._released.wait(30)
            raise RuntimeError("too late")
        return getattr(self._inner, name)(*arguments)

    def read(self) -> bytes:
        return self._inner.read()

    def write(self, data: bytes) -> None:
        self._call("write", data)

    def end_input(self) -> None:
        self._call("end_input")

    def wait(self, timeout: float | None) -> Exit | None:
        ended: Exit | None = self._call("wait", timeout)
        return ended

    def terminate(self) -> None:
        self._call("terminate")

    def kill(self) -> None:
        self._call("kill")

    def close(self) -> None:
        self._inner.close()


@pytest.fixture
def released() -> Iterator[threading.Event]:
    """An event that lets every hanging call end with the test."""
    event = threading.Event()
    yield event
    event.set()


def spawning(hanging: Sequence[str], released: threading.Event, made: list[SubprocessTransport]) -> Any:
    """A `spawn` option that starts the program here, and makes some calls hang."""

    def spawn(argv: Sequence[str], env: Mapping[str, str], cwd: str | None) -> Elsewhere:
        made.append(SubprocessTransport.spawn(argv, env=env, cwd=cwd))
        return Elsewhere(made[-1], hanging, released)

    return spawn


def test_a_session_runs_over_a_transport_of_the_users(
    scripted_cli: ScriptedCLIFactory, released: threading.Event
) -> None:
    """Turns and control calls work over a transport that has nothing but the protocol's methods."""
    spawn = spawning((), released, [])
    with Session(cli_path=scripted_cli().command, spawn=spawn) as session:
        assert session.ask("hello").result(timeout=10).result == "answer to: hello"
        assert session.set_permission_mode("plan").mode == "plan"


@pytest.mark.parametrize("method", ["end_input", "wait", "terminate"])
def test_close_is_bounded_whatever_hangs(
    scripted_cli: ScriptedCLIFactory, released: threading.Event, method: str
) -> None:
    """A method that never returns delays close() by no more than its step, and the program is gone."""
    made: list[SubprocessTransport] = []
    spawn = spawning((method,), released, made)
    graces = {"interrupt_grace": 0.2, "exit_grace": 0.3, "terminate_grace": 0.3}
    session = Session(cli_path=scripted_cli().command, spawn=spawn, **graces).open()  # type: ignore[arg-type]
    start = time.monotonic()
    session.close()
    assert time.monotonic() - start < 12
    assert session.state == "closed"
    assert made[0].wait(5) is not None


def test_a_write_that_hangs_is_given_up(scripted_cli: ScriptedCLIFactory, released: threading.Event) -> None:
    """A transport whose writes never return fails open() within its time limit, and is ended."""
    made: list[SubprocessTransport] = []
    spawn = spawning(("write",), released, made)
    with pytest.raises(InitializeError):
        Session(cli_path=scripted_cli().command, spawn=spawn, initialize_timeout=0.3).open()
    assert made[0].wait(5) is not None
    released.set()


def test_spawn_that_raises_is_told(scripted_cli: ScriptedCLIFactory) -> None:
    """What a `spawn` function raises comes out of open(), and nothing is left."""

    def spawn(*_: Any) -> Elsewhere:
        raise SpawnError("the container is not there")

    with pytest.raises(SpawnError, match="container"):
        Session(cli_path=scripted_cli().command, spawn=spawn).open()


def test_thread_that_read_from_it_is_not_used_again(
    scripted_cli: ScriptedCLIFactory, released: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever such a transport leaves in the thread that reads ends with its session."""
    monkeypatch.setattr(workers, "KEEP_ALIVE", 60.0)
    session = Session(cli_path=scripted_cli().command, spawn=spawning([], released, [])).open()
    thread = session._live()._thread
    session.close()
    wait_until(lambda: not thread.is_alive())
