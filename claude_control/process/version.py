"""The program's version, by asking the program itself."""

import os
import re
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from claude_control import log
from claude_control.deadline import Deadline, wait_event
from claude_control.errors import ClaudeControlError
from claude_control.process.diagnosis import spawn_error, spawn_function_error

if TYPE_CHECKING:
    from claude_control.process.discovery import Program

__all__ = ["VERSION_SECONDS", "program_version"]

VERSION_SECONDS = 30.0
"""Seconds for `--version`: node takes one, and ten on a machine that is starting many."""

_ANSWER_BYTES = 64 * 1024  # the answer is one line; a program that writes more is something else
_VERSION = re.compile(r"\d+\.\d+\.\d+\S*")

_log = log.get(__name__)


def program_version(
    program: "Program",
    env: Mapping[str, str],
    *,
    cwd: str | None = None,
    spawn: Callable[..., Any] | None = None,
    timeout: float = VERSION_SECONDS,
) -> str | None:
    """Run the program with `--version` and return what it says ("2.1.332"); None if it says nothing in time.

    It is started as the session's program would be, by `spawn` where there is one; `timeout` is in seconds. Raises
    `SpawnError` if it cannot be started.
    """
    argv = [*program.command, "--version"]
    try:
        said = _run(argv, env, cwd, timeout) if spawn is None else _spawned(spawn, argv, env, cwd, timeout)
    except subprocess.TimeoutExpired:
        said = b""
    except ClaudeControlError:
        raise  # the caller's own function may know better
    except Exception as error:
        made = spawn_error(error, argv, env, cwd) if spawn is None else spawn_function_error(error, argv, cwd)
        raise made from error
    found = _VERSION.search(said.decode(errors="replace"))
    if found is None:
        _log.warning("version.unknown", command=argv, said=said[:200].decode(errors="replace"))
    return found.group() if found else None


def _run(argv: Sequence[str], env: Mapping[str, str], cwd: str | None, timeout: float) -> bytes:
    with subprocess.Popen(
        argv,
        env=dict(env),
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as process:
        try:
            return process.communicate(timeout=timeout)[0][:_ANSWER_BYTES]
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)  # not reaped yet, so the group is still its own
            raise


def _spawned(
    spawn: Callable[..., Any], argv: list[str], env: Mapping[str, str], cwd: str | None, timeout: float
) -> bytes:
    """Read what a program says that the caller's own function started."""
    transport = spawn(argv, dict(env), cwd)
    said = bytearray()
    ended = threading.Event()

    def read() -> None:
        try:
            while len(said) < _ANSWER_BYTES and (data := transport.read()):
                said.extend(data)
        except OSError as error:
            _log.debug("version.unreadable", error=repr(error))
        finally:
            ended.set()

    # A thread, for a transport's read() has no time limit; daemon, for a broken one may never return.
    threading.Thread(target=read, name="claude-version", daemon=True).start()
    try:
        wait_event(ended, Deadline(timeout))
        return bytes(said)
    finally:
        transport.kill()
        transport.wait(1.0)
        close = getattr(transport, "close", None)
        if close is not None:
            close()
