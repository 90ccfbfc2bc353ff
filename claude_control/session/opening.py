"""From options to a connection that has shaken hands, or to nothing at all."""

import contextlib
import contextvars
import os
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

from claude_control.deadline import Deadline, Latch, wait_event
from claude_control.errors import (
    ClaudeControlError,
    CLIVersionError,
    ControlRequestError,
    ControlTimeoutError,
    InitializeError,
    ProcessExitedError,
    SpawnError,
)
from claude_control.options import Options
from claude_control.process import orphans, workers
from claude_control.process.bounded import call_bounded
from claude_control.process.command import (
    build_command,
    check_supported,
    flags_needing_version,
    initialize_fields,
    redact_command,
)
from claude_control.process.diagnosis import spawn_function_error
from claude_control.process.discovery import find_program
from claude_control.process.environ import build_environment, initialize_timeout
from claude_control.process.launch import OwnThread
from claude_control.process.spill import SpillFiles, overflow_file
from claude_control.process.stopping import stop
from claude_control.process.transport import SubprocessTransport, Transport
from claude_control.process.version import program_version
from claude_control.session import living
from claude_control.session.belongings import Belongings, give_back
from claude_control.session.calls import PendingReply
from claude_control.session.connection import Connection
from claude_control.session.exited import SHOWN_WORDS
from claude_control.session.greeting import Greeting
from claude_control.session.pending import First, PendingReplies
from claude_control.session.routing import Router
from claude_control.session.stderr import StderrLines
from claude_control.session.writer import PIPE_BUF
from claude_control.wire import envelope
from claude_control.wire.hooks import register_hooks
from claude_control.wire.requests import Initialize, InitializeReply
from claude_control.wire.requests.base import encode_body

__all__ = ["Opening"]

ABANDON_PATIENCE = 0.5
"""Seconds that callbacks get to end when the handshake has failed."""

FIRST_WAIT = 0.1
"""Seconds that the opener waits for the whole handshake before it waits for each of its steps, with their limits."""

_METHODS = ("read", "write", "end_input", "wait", "terminate", "kill")  # what every transport has

_ = Initialize().reply({}).program  # makes what reads it here, and not while the first open() waits


class Opening:
    """The start of a program, in a thread of its own that then reads what the program says.

    In a user's thread Ctrl-C and asynchronous exceptions would land between any two of the steps, such as the start of
    the program and the note of how to undo it.
    """

    __slots__ = ("_answered", "_error", "_handshake", "_may_stay", "_work", "begun", "connection")

    def __init__(self) -> None:
        self.begun = Latch()
        """Set when the program has been started, or could not be."""
        self.connection: Connection | None = None
        """Known from then on, unless it failed."""
        # Let go of when the handshake is over, or has not begun: who waits for it first is mostly woken only once.
        self._answered = threading.Lock()
        self._answered.acquire()
        self._error: BaseException | None = None
        self._may_stay = False
        self._work: Callable[[], tuple[Connection, PendingReply[InitializeReply]]] | None = None
        self._handshake: PendingReply[InitializeReply] | None = None

    def start(
        self,
        options: Options,
        session_id: str | None,
        session: Callable[[], Any],
        on_start: Callable[[Connection], None],
    ) -> None:
        """Begin; `on_start` gets the connection as soon as there is one."""
        taken: list[object] = []
        self._may_stay = options.spawn is None  # else that may leave something of the user's in the thread
        try:
            marker = orphans.new_marker()
            context = contextvars.copy_context()  # callbacks see the opener's context variables
            start = partial(_start, options, marker, session_id, session, on_start, answered=self._answered)
            self._work = partial(context.run, start)
            workers.start(self._run, f"claude-{marker[:8]}-reader", taken)
        except RuntimeError as error:  # the interpreter is shutting down, or the system has no more threads
            text = f"cannot start the program: no thread can be started ({error}); raise `ulimit -u`, or end some"
            self._error = SpawnError(text)
            self.begun.set()
            self._answered.release()
        except BaseException:  # struck from outside
            self._work = None  # a thread that has not taken it by now finds nothing to do
            if not taken:
                self.begun.set()
            raise

    def finish(self) -> tuple[Connection, Greeting]:
        """Wait for the end of the handshake; returns the connection and what the program said.

        Raises a `StartError`, and then nothing is left running.
        """
        self._answered.acquire(timeout=FIRST_WAIT)
        if not self.begun.is_set():
            wait_event(self.begun, Deadline(None))
        error, self._error = self._error, None
        try:
            if error is not None:
                raise error
        finally:
            del error  # its traceback holds this frame: the two would keep each other alive
        handshake, self._handshake = self._handshake, None  # the answer is large
        assert self.connection is not None and handshake is not None
        try:
            _shake_hands(self.connection, handshake)
            line = self.connection.reader.kept_answer
            assert line is not None  # or the handshake would have failed
            return self.connection, Greeting(line)
        except Exception:
            _abandon_apart(self.connection)
            raise

    def _run(self) -> bool:
        """Start the program and read; returns whether this thread may be used for another one."""
        self._begin()  # keeps nothing of the user's while the thread reads
        connection = self.connection
        if connection is not None:
            try:
                try:
                    _guard(connection)
                finally:
                    connection.read()
            finally:
                connection.left.set()
        return self._may_stay

    def _begin(self) -> None:
        work, self._work = self._work, None
        try:
            if work is not None:  # else whoever wanted it was struck
                self.connection, self._handshake = work()
        except BaseException as error:  # raised again by whoever waits
            self._error = error
        self.begun.set()
        if self._error is not None:
            with contextlib.suppress(RuntimeError):  # it was sent, and failed with the rest
                self._answered.release()


def _guard(connection: Connection) -> None:
    """Have the session's processes ended if this one dies. Before the first read, so before open() is through.

    It is done while the program starts. If we die before that, it sees the end of its input when it has begun, with no
    turn at work, and all measured versions end by themselves then.
    """
    belongings = connection.belongings
    if belongings.guarded:
        orphans.guard(belongings.marker)
        if connection.released.is_set():  # by somebody who did not wait for this
            orphans.release([belongings.marker])


def _abandon_apart(connection: Connection) -> None:
    """Undo a connection in a thread that no exception strikes."""
    done = Latch()

    def run() -> None:
        try:
            _abandon(connection)
        finally:
            done.set()

    try:
        OwnThread(target=run, name="claude-open", daemon=True).start()
    except RuntimeError:  # no more threads, or the interpreter is shutting down
        run()
    wait_event(done, Deadline(None))


def _start(
    options: Options,
    marker: str,
    session_id: str | None,
    session: Callable[[], Any],
    on_start: Callable[[Connection], None],
    *,
    answered: threading.Lock,
) -> tuple[Connection, PendingReply[InitializeReply]]:
    """Start the program and send initialize."""
    with contextlib.ExitStack() as undo:
        connection, first = _connect(options, marker, session_id, session, undo)
        undo.pop_all()  # it gives back all of that itself
        undo.callback(_abandon, connection)
        undo.callback(connection.left.set)  # for who closes it meanwhile
        living.add(connection)
        on_start(connection)
        handshake = connection.calls.send_first(first, answered, connection.line_lost)
        undo.pop_all()  # from here on close() gives everything back
    return connection, handshake


def _connect(
    options: Options,
    marker: str,
    session_id: str | None,
    session: Callable[[], Any],
    undo: contextlib.ExitStack,
) -> tuple[Connection, First]:
    program = find_program(options.cli_path, os.environ)
    files = SpillFiles()
    undo.callback(files.close)
    cwd = os.fspath(options.cwd) if options.cwd is not None else None

    def find_version() -> str | None:
        # The environment is made anew, which is seldom: to keep it would cost each session 5 KiB.
        environment = build_environment(options, os.environ, marker=marker)
        return program_version(program, environment, cwd=cwd, spawn=options.spawn)

    if flags_needing_version(options):
        _check_supported(options, find_version(), redact_command(program.command))
    argv = build_command(options, program, files, session_id=_chosen_id(options, session_id))
    stderr = StderrLines(options.stderr)
    transport = _spawn(options, argv, build_environment(options, os.environ, marker=marker), cwd, stderr)
    undo.callback(_drop, transport, marker)
    pending = PendingReplies()
    first = _say_hello(options, transport, pending.new_id())
    _, hooks = register_hooks(options.hooks, options.hook_timeout)
    connection = Connection(
        transport,
        options,
        pending,
        name=marker[:8],
        router=Router(keep_echoes="replay-user-messages" in options.extra_args),
        hooks=hooks,
        argv=argv,
        open_file=overflow_file,
        find_version=find_version,
        belongings=Belongings(marker, options.orphan_guard and options.spawn is None, files),
        session_id=session_id,
        session=session,
    )
    stderr.attach(connection.pool)
    return connection, first


def _check_supported(options: Options, version: str | None, command: str) -> None:
    try:
        check_supported(options, version)
    except CLIVersionError as error:
        text = f"{error} (the program is {command})"
        raise CLIVersionError(text, phase="start", command=command) from None


def _chosen_id(options: Options, session_id: str | None) -> str | None:
    """Return the id to start a new conversation with; one that goes on keeps its own."""
    return session_id if options.fork_session or not (options.resume or options.continue_conversation) else None


def _spawn(
    options: Options, argv: list[str], environment: dict[str, str], cwd: str | None, stderr: StderrLines
) -> Transport:
    if options.spawn is not None:
        try:
            transport: Transport = options.spawn(argv, environment, cwd)
        except ClaudeControlError:
            raise
        except Exception as error:
            raise spawn_function_error(error, argv, cwd) from error
        missing = [name for name in _METHODS if not callable(getattr(transport, name, None))]
        if missing:
            text = f"the `spawn` option returned a {type(transport).__name__}, which has no {', '.join(missing)}"
            raise SpawnError(text, command=redact_command(argv), cwd=cwd)
        return transport
    return SubprocessTransport.spawn(argv, env=environment, cwd=cwd, on_stderr=stderr.feed if stderr.wanted else None)


def _say_hello(options: Options, transport: Transport, request_id: str) -> First:
    """Write initialize before all else that can be done while the program starts.

    It finds it then when it looks for input: to wake a sleeping one would take longer. A line that one write may not
    take whole is left to the writer, and so is one for a transport of the user's own, which may wait.
    """
    request = _initialize(options)
    line = envelope.request(request_id, envelope.rest_of_request(encode_body(request)))
    written = False
    if isinstance(transport, SubprocessTransport) and len(line) <= PIPE_BUF:
        with contextlib.suppress(OSError):  # the writer meets it, too, and tells it
            written = transport.try_write(line)
    return First(request, request_id, line, written)


def _initialize(options: Options) -> Initialize:
    config, _ = register_hooks(options.hooks, options.hook_timeout)
    fields = initialize_fields(options)
    if config:
        fields["hooks"] = config
    return Initialize(fields)


def _shake_hands(connection: Connection, handshake: PendingReply[InitializeReply]) -> None:
    seconds = initialize_timeout(connection.options, os.environ)
    try:
        reply = connection.calls.finish(handshake, seconds)
    except ProcessExitedError as error:
        raise _initialize_error(f"{error}", connection, error) from error
    except ControlTimeoutError as error:
        text = f"the program did not finish the handshake within {seconds:g} seconds"
        advice = "`initialize_timeout` lets it take longer, `claude-control doctor` looks at the program alone"
        raise _initialize_error(text, connection, advice=advice) from error
    except ControlRequestError as error:
        raise _initialize_error(f"the program refused the handshake: {error.text}", connection) from error
    except ClaudeControlError as error:
        raise _initialize_error(f"the handshake failed: {error}", connection) from error
    program = reply.program
    connection.conversation.router.modern = program.modern
    if program.modern:
        connection.reader.hand_messages_over()
    connection.gate.open(program)


def _initialize_error(
    text: str, connection: Connection, exited: ProcessExitedError | None = None, *, advice: str = ""
) -> InitializeError:
    tail = exited.stderr_tail if exited else connection.stderr_tail()
    if tail.strip() and tail.strip()[-200:] not in text:
        text += f"; it said: {tail.strip()[-SHOWN_WORDS:]}"
    text += f"; {advice}" if advice else ""
    return InitializeError(
        f"{text} (it was started as: {connection.command})",
        exit_code=exited.exit_code if exited else None,
        signal=exited.signal if exited else None,
        phase="initialize",
        stderr_tail=tail,
        command=connection.command,
        program_version=connection.program.version,
    )


def _drop(transport: Transport, marker: str) -> None:
    """Undo a start that came to no connection: the program, what it has started itself, and the pipes."""
    _end(transport)
    orphans.sweep([marker])
    call_bounded(transport, "close")


def _end(transport: Transport) -> None:
    """Stop a program that did not become a session."""
    stop([transport], exit_grace=0.0, terminate_grace=1.0, kill_grace=2.0)


def _abandon(connection: Connection) -> None:
    """Undo a connection whose handshake failed, without patience."""
    connection.begin_close()
    connection.answers.end("closed", deny=False)
    connection.writer.close()
    _end(connection.transport)
    connection.settle(Deadline(3.0), Deadline(ABANDON_PATIENCE))
    give_back([connection])
