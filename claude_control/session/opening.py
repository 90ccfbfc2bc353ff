"""From options to a connection that has shaken hands, or to nothing at all."""

import contextlib
import os
from collections.abc import Callable, Mapping
from typing import Any

from claude_control.deadline import Deadline
from claude_control.errors import (
    ClaudeControlError,
    ControlRequestError,
    ControlTimeoutError,
    InitializeError,
    ProcessExitedError,
    SessionClosedError,
    SpawnError,
    StartError,
)
from claude_control.options import Options
from claude_control.process import orphans
from claude_control.process.command import (
    build_command,
    check_supported,
    flags_needing_version,
    initialize_fields,
    redact_command,
)
from claude_control.process.discovery import find_program
from claude_control.process.environ import build_environment, initialize_timeout
from claude_control.process.spill import SpillFiles, overflow_file
from claude_control.process.stopping import stop
from claude_control.process.transport import SubprocessTransport, Transport
from claude_control.process.version import program_version
from claude_control.session import living
from claude_control.session.apart import Apart, ask, finish
from claude_control.session.connection import Connection
from claude_control.session.routing import Router
from claude_control.session.stderr import StderrLines
from claude_control.wire.hooks import Hook, register_hooks
from claude_control.wire.messages import preload
from claude_control.wire.requests import Initialize, InitializeReply

__all__ = ["Opening"]

CANCEL_PATIENCE = 10.0
"""Seconds that a cancelled open() gets to give everything back: as long as ending a program that hangs takes."""

CLOSE_PATIENCE = 1.0
"""Seconds that a transport of the user's gets to release what it holds."""

ABANDON_PATIENCE = 0.5
"""Seconds that callbacks get to end when the handshake has failed."""

_METHODS = ("read", "write", "end_input", "wait", "terminate", "kill")


class Opening:
    """An open() at work, in a thread of its own: nothing that strikes its caller leaves half a session behind."""

    def __init__(self, options: Options, session_id: str | None, session: Callable[[], Any]) -> None:
        self.starting: Connection | None = None
        """The connection from when it is started, for callbacks that the handshake waits for."""
        self.opened: Connection | None = None
        """The connection once it has shaken hands."""
        self.reply: InitializeReply | None = None
        """The answer to the handshake."""
        self._options = options
        self._session_id = session_id
        self._session = session
        self._cancelled = False
        self._work = Apart(self._open, "claude-open")

    def run(self) -> None:
        """Begin and wait. Raises a `StartError`, and then nothing is left running; `SessionClosedError` if cancelled.

        An exception from outside ends the wait only.
        """
        try:
            self._work.start()
        except RuntimeError as error:
            raise SpawnError(f"cannot start the program: no thread can be started: {error}") from error
        self._work.result()

    def wait(self) -> None:
        """Wait for its end, in another thread than the one that runs it."""
        self._work.wait(Deadline(None))

    def cancel(self) -> None:
        """Make it fail, which gives everything back, and wait for that; too late once `opened` is set."""
        self._cancelled = True
        if self._work.drop(SessionClosedError("the session was closed before it was opened")):
            return
        connection = self.starting
        if connection is not None and self.opened is None:
            finish(connection.end_closed, "claude-close")
        if connection is None or not connection.pool.owns_this_thread():  # else the handshake may wait for this thread
            self._work.wait(Deadline(CANCEL_PATIENCE))

    def _open(self) -> None:
        with contextlib.ExitStack() as undo:
            try:
                config, hooks = register_hooks(self._options.hooks, self._options.hook_timeout)
                self.starting = connection = self._start(hooks, undo)
                self._go_on()
                connection.start()
                self.reply = _initialize(connection, self._options, config)
                self._go_on()
            except StartError as error:
                self._go_on(error)
                raise
            self.opened = connection
            undo.pop_all()  # from here on close() gives everything back

    def _go_on(self, cause: Exception | None = None) -> None:
        if self._cancelled:
            raise SessionClosedError("the session was closed while it was being opened") from cause

    def _start(self, hooks: Mapping[str, Hook], undo: contextlib.ExitStack) -> Connection:
        options = self._options
        program = find_program(options.cli_path, os.environ)
        files = SpillFiles()
        undo.callback(files.close)
        marker = orphans.new_marker()
        environment = build_environment(options, os.environ, marker=marker)
        cwd = os.fspath(options.cwd) if options.cwd is not None else None

        def find_version() -> str | None:
            return program_version(program, environment, cwd=cwd, spawn=options.spawn)

        if flags_needing_version(options):
            check_supported(options, find_version())
        argv = build_command(options, program, files, session_id=_chosen_id(options, self._session_id))
        command = redact_command(argv)
        stderr = StderrLines(options.stderr)
        guarded = options.orphan_guard and options.spawn is None
        if guarded:
            orphans.guard(marker)
            undo.callback(orphans.release, marker)
        transport = _spawn(options, argv, environment, cwd, stderr)
        undo.callback(_end, transport)
        connection = Connection(
            transport,
            options,
            name=marker[:8],
            marker=marker,
            router=Router(keep_echoes="replay-user-messages" in options.extra_args),
            hooks=hooks,
            command=command,
            open_file=overflow_file,
            find_version=find_version,
            give_back=lambda: _give_back(transport, files, marker if guarded else None),
            session_id=self._session_id,
            session=self._session,
        )
        living.add(connection)
        undo.callback(_abandon, connection)
        stderr.attach(connection.pool)
        return connection


def _chosen_id(options: Options, session_id: str | None) -> str | None:
    """Return the id to start a new conversation with; one that goes on keeps its own."""
    return session_id if options.fork_session or not (options.resume or options.continue_conversation) else None


def _spawn(
    options: Options, argv: list[str], environment: dict[str, str], cwd: str | None, stderr: StderrLines
) -> Transport:
    if options.spawn is not None:
        return _spawned(options.spawn, argv, environment, cwd)
    return SubprocessTransport.spawn(argv, env=environment, cwd=cwd, on_stderr=stderr.feed if stderr.wanted else None)


def _spawned(spawn: Callable[..., Any], argv: list[str], environment: dict[str, str], cwd: str | None) -> Transport:
    """Start the program by the user's own function, which may raise or return anything."""
    try:
        transport: Transport = spawn(argv, environment, cwd)
    except ClaudeControlError:
        raise
    except Exception as error:
        raise SpawnError(f"options.spawn failed: {error!r}", command=redact_command(argv), cwd=cwd) from error
    missing = [name for name in _METHODS if not callable(getattr(transport, name, None))]
    if missing:
        text = f"options.spawn returned a {type(transport).__name__}, which has no {', '.join(missing)}"
        raise SpawnError(text, command=redact_command(argv), cwd=cwd)
    return transport


def _initialize(connection: Connection, options: Options, hooks: dict[str, Any]) -> InitializeReply:
    fields = initialize_fields(options)
    if hooks:
        fields["hooks"] = hooks
    preload()  # while the program starts
    seconds = initialize_timeout(options, os.environ)
    try:
        reply: InitializeReply = connection.initialize(Initialize(fields), seconds)
    except ProcessExitedError as error:
        raise _initialize_error(f"{error}", error, connection) from error
    except ControlTimeoutError as error:
        text = f"the program did not finish the handshake within {seconds:g} seconds ({connection.command})"
        raise _initialize_error(text, None, connection) from error
    except ControlRequestError as error:
        raise _initialize_error(f"the program refused the handshake: {error.text}", None, connection) from error
    except ClaudeControlError as error:
        raise _initialize_error(f"the handshake failed: {error}", None, connection) from error
    return reply


def _initialize_error(text: str, exited: ProcessExitedError | None, connection: Connection) -> InitializeError:
    tail = exited.stderr_tail if exited else connection.stderr_tail()
    if tail.strip() and tail.strip()[-200:] not in text:
        text = f"{text}; it said: {tail.strip()[-1000:]}"
    return InitializeError(
        text,
        exit_code=exited.exit_code if exited else None,
        signal=exited.signal if exited else None,
        phase="initialize",
        stderr_tail=tail,
        command=connection.command,
        program_version=connection.program.version,
    )


def _end(transport: Transport) -> None:
    """Stop a program that did not become a session."""
    stop([transport], exit_grace=0.0, terminate_grace=1.0, kill_grace=2.0)
    ask(transport, "close", patience=CLOSE_PATIENCE)


def _abandon(connection: Connection) -> None:
    """Undo a connection whose handshake failed, without patience."""
    connection.begin_close()
    connection.answers.end("closed", deny=False)
    connection.writer.close()
    stop([connection.transport], exit_grace=0.0, terminate_grace=1.0, kill_grace=2.0)
    orphans.sweep(connection.marker)
    connection.end_threads(Deadline(3.0))
    connection.settle(Deadline(ABANDON_PATIENCE))


def _give_back(transport: Transport, files: SpillFiles, guarded: str | None) -> None:
    if guarded is not None:
        orphans.release(guarded)
    files.close()
    ask(transport, "close", patience=CLOSE_PATIENCE)
