"""One program and everything that speaks with it: reader, writer, requests, answers, turns, and one life cycle.

Theory of operation. The first thing that ends the connection wins (`_end`), by whichever thread: it becomes what every
present and later call raises, fails what waits, fires the signals of open callbacks and ends every stream. A user's
`close()` is one such thing, the program's own exit, seen by the reader, another.

Locks: each part has its own and calls no other part while it holds it, but to ask what takes none, and but for the one
of `process/standby.py`: who holds that is the reader meanwhile. User code and Future results run under none of them.
"""

import contextlib
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from claude_control import log
from claude_control.deadline import Deadline, Latch, wait_event
from claude_control.errors import ClaudeControlError, ProtocolError, SessionClosedError
from claude_control.options import Options
from claude_control.process import forks
from claude_control.process.bounded import call_bounded
from claude_control.process.redaction import redact_command
from claude_control.process.stopping import stop
from claude_control.process.transport import Exit, SubprocessTransport, Transport
from claude_control.session.answers import Answers
from claude_control.session.belongings import Belongings
from claude_control.session.callbacks import Callbacks
from claude_control.session.calls import Calls
from claude_control.session.conversation import Conversation
from claude_control.session.door import Door
from claude_control.session.exited import again, exited_error
from claude_control.session.facts import SessionFacts
from claude_control.session.gate import Gate
from claude_control.session.inbox import Item
from claude_control.session.pending import PLAIN_FIELDS, REQUEST_PREFIX, PendingReplies
from claude_control.session.pool import CallbackPool
from claude_control.session.prompting import Interruptible, Prompting
from claude_control.session.reading import Reader
from claude_control.session.running import forbid_striking, forbid_waiting
from claude_control.session.subscriptions import Subscriptions
from claude_control.session.turn import Consumer
from claude_control.session.writer import Writer
from claude_control.wire import envelope
from claude_control.wire.framing import LongLine
from claude_control.wire.hooks import Hook
from claude_control.wire.support import Program

__all__ = ["Connection"]

_log = log.get(__name__)

_OTHER_STEPS = 10.0  # seconds: flushing, killing, sweeping and joining, each bounded in closing.py
_CLOSED = "the session is closed; a session is opened once, so make a new one"

EXIT_PATIENCE = 2.0
"""Seconds that a program which has closed its output or its input gets to exit by itself before it is stopped."""


class Connection:
    """The parts and their life cycle; a `Session` is what a user sees of it."""

    def __init__(
        self,
        transport: Transport,
        options: Options,
        pending: PendingReplies,
        *,
        name: str,
        router: Any,
        hooks: Mapping[str, Hook],
        argv: Sequence[str],
        open_file: Callable[[], int],
        find_version: Callable[[], str | None],
        belongings: Belongings,
        session_id: str | None,
        session: Callable[[], Any],
    ) -> None:
        self.transport = transport
        self.options = options
        self.name = name
        self._argv = argv
        self.interruptible = Interruptible(self)
        self._owner = forks.own_pid()
        self.belongings = belongings
        self._state_lock = threading.Lock()  # guards the three below
        self._make_error: Callable[[], Exception] | None = None  # what ended it, anew for each who is to raise it
        self._closing = False
        self.has_closer = False
        """Whether somebody closes it or has closed it; not if Ctrl-C has struck whoever began."""
        self._ended = Latch()
        self.left = Latch()
        """Set when the thread that has made the connection has read to the end, and leaves it."""

        self.gate = Gate(allow_bypass=options.allow_bypass, find_version=find_version)
        self.facts = SessionFacts(self.gate, session_id)
        self.writer = Writer(transport, f"claude-{name}-writer", direct=isinstance(transport, SubprocessTransport))
        self.pool = CallbackPool(f"claude-{name}-callback", self.writer.release)
        self.subscriptions = Subscriptions(self.pool, options.inbox_bytes)
        self.answers = Answers(self._write_answer)
        self.calls = self._make_calls(pending)
        self.reader = self.calls.reader = self._make_reader()
        self.pool.door = Door(self.reader)
        self.conversation = Conversation(
            router,
            inbox_bytes=options.inbox_bytes,
            open_file=open_file,
            decoded=self.reader.decoded,
            decode_message=self.reader.message_decoder.decode,
            tap=self.subscriptions.put,
        )
        self.callbacks = self._make_callbacks(hooks, session)
        self.messages = Consumer(self.conversation.program, self)
        """Who reads what belongs to no turn of ours; one for all, so that none loses the other's place."""
        self.prompting = self._make_prompting()
        self.kill_tools = True
        self.abandoned: list[str] = []
        """Names of callback threads that did not end when the session was closed."""
        self.released = Latch()
        """Set when the program is gone and everything that was held for it is given back."""
        # Whoever makes it is the one that reads then.
        self._thread, self._reader_id = threading.current_thread(), threading.get_ident()

    def _make_calls(self, pending: PendingReplies) -> Calls:
        return Calls(
            self.writer,
            pending,
            timeout=self.options.control_timeout,
            write_timeout=self.options.write_timeout,
            check=self.gate.check,
            knows_cancel=lambda: self.gate.knows_cancel,
            broken_pipe=self._broken_pipe,
            elsewhere=self.pool.submit,
            interruptible=self.interruptible,
        )

    def _make_callbacks(self, hooks: Mapping[str, Hook], session: Callable[[], Any]) -> Callbacks:
        return Callbacks(
            answers=self.answers,
            pool=self.pool,
            options=self.options,
            hooks=hooks,
            post=self.calls.post,
            session=session,
            stopping=self.conversation.note_stop,
            require=self.gate.require,
        )

    def _make_prompting(self) -> Prompting:
        return Prompting(
            conversation=self.conversation,
            writer=self.writer,
            calls=self.calls,
            gate=self.gate,
            options=self.options,
            broken_pipe=self._broken_pipe,
        )

    def _make_reader(self) -> Reader:
        return Reader(
            self.transport,
            max_line_bytes=self.options.max_line_bytes,
            deliver=self._deliver,
            ask=lambda frames: self.callbacks.receive(frames),  # noqa: PLW0108 - they are made later
            control=self._control,
            lost_control=self._lost_control,
            pending=self.calls.pending,
            look=self.calls.look,
        )

    # -- life cycle ----------------------------------------------------------------------------------------------------

    def check_alive(self) -> None:
        """Raise what ended the connection, or what `check_owner` raises. Takes no lock."""
        standby = self.reader.standby
        led = standby is not None and standby.leading
        if led or self.conversation.noted_by is not None or forks.NOTED_PID[0] != self._owner:
            self.check_owner()
        if self._make_error is not None:
            raise self._make_error()
        if self._closing:
            raise SessionClosedError("the session is being closed; make a new one to go on", phase="closing")

    def check_owner(self) -> None:
        """Raise `ForkedError` in a forked child, before any lock is taken there; else see that this thread may wait.

        Raises `ConcurrencyError` where it would wait for itself.
        """
        forks.require_owner(self._owner, "this session")
        forbid_striking(self.conversation.noted_by)
        if self.reader.standby is not None:
            self.reader.standby.leave()

    @property
    def has_ended(self) -> bool:
        """Whether something has ended the connection."""
        return self._make_error is not None

    @property
    def closing(self) -> bool:
        """Whether a user has asked to close it."""
        return self._closing

    @property
    def program(self) -> Program:
        """What is known of the running program."""
        return self.gate.program

    @property
    def command(self) -> str:
        """The program's command line, for errors."""
        return redact_command(self._argv)

    def phase(self) -> str:
        """Say what the connection is doing, in the words of the errors."""
        if self._closing:
            return "closing"
        if not self.gate.ready:
            return "initialize"
        return "turn" if self.conversation.current is not None else "idle"

    def begin_close(self) -> bool:
        """Note that a user wants to close; False if somebody does so already."""
        self.check_owner()
        with self._state_lock:
            first, self._closing, self.has_closer = not self.has_closer, True, True
        return first

    def leave_close(self) -> None:
        """Let somebody else go on with the close: Ctrl-C has struck who began it."""
        self.has_closer = self.released.is_set()

    def fail(self, error: Exception) -> None:
        """End the connection for a defect of the program's output, and stop the program."""
        self._end(again(error))
        call_bounded(self.transport, "kill")

    def end_closed(self) -> None:
        """Tell everything that waits that the session was closed."""
        self._end(self._closed_error)

    def _closed_error(self) -> SessionClosedError:
        version = self.program.version
        return SessionClosedError(_CLOSED, phase="closing", command=self.command, program_version=version)

    def _end(self, make: Callable[[], Exception]) -> None:
        # Made for those who are told, who are few, and then for who asks: nobody sees most errors of this kind.
        with self._state_lock:
            make = self._make_error = self._make_error or make
        closed = self._closing
        # Every step is done by the later ones too: the first may have been struck in the middle. Each knows if it was.
        self.calls.pending.fail_all(make)
        self.answers.end("closed" if closed else "exited", deny=False)
        self.conversation.end(make, closed=closed)
        self.subscriptions.end()

    def close_bound(self) -> float:
        """Seconds that a close takes at the most, by the options."""
        options = self.options
        return float(options.interrupt_grace + options.exit_grace + options.terminate_grace + _OTHER_STEPS)

    def start_no_thread(self) -> None:
        """From now on do without threads that do not run: the interpreter is shutting down."""
        self.writer.start_no_thread()
        self.pool.start_no_thread()

    def settle(self, threads: Deadline, callbacks: Deadline) -> None:
        """End the threads, once the program is gone: ours until `threads`, those of callbacks until `callbacks`."""
        if self._thread is not threading.current_thread():
            wait_event(self.left, threads)
        if not self._ended.is_set():  # else the reader has told everybody
            self.end_closed()
        self.pool.close()
        self.writer.join(threads)
        self.abandoned = self.pool.join(callbacks)
        if self.abandoned:
            _log.warning("callbacks.abandoned", threads=self.abandoned)

    # -- the reader ----------------------------------------------------------------------------------------------------

    def read(self) -> None:
        """Read to the end of the output. In the thread that has made the connection."""
        try:
            self.reader.run()
        except ClaudeControlError as error:
            vars(error).update(self._known())
            self._end(again(error))
        except OSError as error:
            self._end(again(ProtocolError(f"the program's output could not be read: {error}", **self._known())))
        except Exception as error:  # a defect of ours must not leave anybody waiting
            _log.error("reader.broken", error=repr(error))
            text = f"internal error while reading the program's output, please report it: {error!r}"
            self._end(again(ProtocolError(text, **self._known())))
        finally:
            self._output_ended()

    def _output_ended(self) -> None:
        outlived = None
        if not self._closing:  # the close ladder has patience of its own
            self.writer.close()
            call_bounded(self.transport, "end_input")
            if call_bounded(self.transport, "wait", EXIT_PATIENCE, seconds=EXIT_PATIENCE) is None:
                outlived = "output"
                self._stop()
        if self._closing:
            self.end_closed()
        else:
            self._end(again(self._exited(outlived)))
        self._ended.set()

    def _stop(self) -> None:
        grace = self.options.terminate_grace
        with contextlib.suppress(RuntimeError):  # a transport of the user's needs threads: not at shutdown
            stop([self.transport], exit_grace=0.0, terminate_grace=grace, kill_grace=EXIT_PATIENCE)

    def _exited(self, outlived: str | None) -> Exception:
        status, known = call_bounded(self.transport, "wait", 0), self._known()
        return exited_error(
            status if isinstance(status, Exit) else None,
            known,
            said=str(log.redact(self.facts.last_words or "")) or known["stderr_tail"],
            session_id=self.facts.session_id,
            outlived=outlived,
        )

    def _known(self) -> dict[str, Any]:
        """Return what every error about the program carries."""
        version, tail = self.gate.program.version, self.stderr_tail()
        return {"phase": self.phase(), "command": self.command, "program_version": version, "stderr_tail": tail}

    def stderr_tail(self) -> str:
        """Return the program's last words on stderr, without what looks like a secret."""
        tail = call_bounded(self.transport, "stderr_tail")
        return str(log.redact(tail)) if tail else ""

    def _deliver(self, items: list[Item]) -> None:
        telling = self.facts.telling
        for item in items:
            frame = item[1] if type(item) is tuple else None  # a run tells nothing
            if type(frame) is dict and frame.get("type") in telling:
                self.facts.learn(frame)
        self.prompting.write_from_reader(self.conversation.deliver(items))
        self.prompting.mend()

    def _control(self, kind: str, frame: dict[str, Any]) -> None:
        if kind == "control_response":
            request_id = envelope.answered(frame)
            if request_id is not None and request_id.startswith(REQUEST_PREFIX):  # else it echoes an answer of ours
                if len(frame["response"]) > PLAIN_FIELDS:
                    self.callbacks.resume(frame)
                self.calls.pending.resolve(request_id, frame)
        elif isinstance(frame.get("request_id"), str):
            self.answers.cancel(frame["request_id"])

    def _write_answer(self, line: bytes) -> None:
        direct = threading.get_ident() != self._reader_id
        try:
            self.writer.put(line, direct, self.line_lost, follows=self.pool.follows)
        except OSError as error:
            self.line_lost(error)
            raise

    def line_lost(self, error: OSError) -> None:
        """Take note of a line that could not be written although the program waits for it. Waits for nothing."""
        # A program that no longer reads would wait for its answer for ever, and so would the turn. To see whether it
        # ends by itself takes a moment, and this may be the reader.
        self.pool.submit(lambda: self._input_broken(error))

    def _lost_control(self, line: LongLine) -> None:
        limit = self.options.max_line_bytes
        text = f"a control message of {line.size} bytes is over max_line_bytes ({limit}); raise it to at least its size"
        self.fail(ProtocolError(text, raw=line.head, **self._known()))

    # -- requests ------------------------------------------------------------------------------------------------------

    def _input_broken(self, error: OSError) -> None:
        """See how the program ends that no longer reads; if it does not by itself, end it. May wait a little."""
        if self._closing or self.has_ended or threading.current_thread() is self._thread:
            return  # it is known, or the reader is about to tell
        if not wait_event(self._ended, Deadline(EXIT_PATIENCE)):
            self.fail(self._exited("input"))

    def _broken_pipe(self, error: OSError) -> ClaudeControlError:
        """Return what to raise for a failed write: how the program ended, or that it no longer reads."""
        self._input_broken(error)
        made = self._make_error() if self._make_error is not None else None
        if isinstance(made, ClaudeControlError):
            return made
        return SessionClosedError(f"{_CLOSED} ({error})", **self._known())

    # -- waits ---------------------------------------------------------------------------------------------------------

    def forbid_waiting(self) -> None:
        """Raise `ConcurrencyError` in a callback, where a turn's end can never come."""
        forbid_waiting(self.pool)

    def __repr__(self) -> str:
        return f"<Connection {self.name} {self.phase()}: {self.calls.pending!r}, {self.answers!r}, {self.pool!r}>"
