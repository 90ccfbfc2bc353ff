"""Prompts on their way to the program, and interrupts."""

import _thread
import weakref
from collections.abc import Callable
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from claude_control import log
from claude_control.deadline import Deadline, wait_event
from claude_control.errors import ClaudeControlError, ControlTimeoutError, SessionClosedError
from claude_control.session.calls import Calls
from claude_control.session.conversation import Conversation
from claude_control.session.gate import Gate
from claude_control.session.turn import TurnRecord
from claude_control.session.writer import Ticket, Unwanted, Writer
from claude_control.wire import envelope
from claude_control.wire.framing import encode
from claude_control.wire.prompts import Prompt, is_expanded, prompt_fields
from claude_control.wire.requests import Interrupt, InterruptReply
from claude_control.wire.support import CURRENT

if TYPE_CHECKING:
    from claude_control.options import Options
    from claude_control.session.connection import Connection

__all__ = ["Interruptible", "Prompting"]

_log = log.get(__name__)


class _Vow(partial[None]):
    """A call that is made when nobody holds this any more, so that no strike from outside can prevent it.

    It is made in C, and given to a new thread, which nothing strikes once it runs. But until the system lets it run, a
    strike that is meant for the thread that started it may land there (CPython 3.11); hence `_begin`, where that is
    spent.
    """

    def __del__(self) -> None:
        self()


def _begin(_vow: _Vow) -> None:
    """Do nothing: what the thread is for is done when it lets go of the vow, also if it was struck here."""


class _Life:
    """Held by a call of `ask` or `send`, and by nobody else: others see that it is gone, without a word from it."""

    __slots__ = ("__weakref__",)


class Prompting:
    """Writes prompts when it is their turn, and stops turns.

    `broken_pipe` sees to it that a failed write ends the session, and returns what to raise for it. It may wait for the
    program's exit, but not on the reader's thread, which tells the exit.
    """

    def __init__(
        self,
        *,
        conversation: Conversation,
        writer: Writer,
        calls: Calls,
        gate: Gate,
        options: "Options",
        broken_pipe: Callable[[OSError], ClaudeControlError],
    ) -> None:
        self._conversation = conversation
        self._writer = writer
        self._calls = calls
        self._gate = gate
        self._options = options
        self._broken_pipe = broken_pipe
        self._sending: dict[str, tuple[weakref.ref[_Life], Ticket]] = {}  # by uuid: prompts that `send` has taken up
        conversation.on_begin = self._turn_begins

    # -- prompts -------------------------------------------------------------------------------------------------------

    def ask(self, prompt: Prompt, uuid: str, *, verbatim: bool | None = None) -> TurnRecord:
        """Queue a prompt, and write it if nothing runs; never waits for the pipe."""
        fields, life = self._fields(prompt, verbatim=verbatim), _Life()
        try:
            self.mend()
            record, to_write = self._conversation.ask(prompt, uuid, fields, weakref.ref(life))
            self._write(to_write)
        except ClaudeControlError:
            raise  # nothing was queued
        except BaseException:
            # Struck from outside, perhaps when a turn had begun and its prompt was not yet written: nothing could be
            # written after it any more. Should it go out twice, the program ignores the second one of the same uuid.
            try:
                _thread.start_new_thread(_begin, (_Vow(self._go_on),))
            except RuntimeError:  # the interpreter is shutting down, or the system has no more threads
                _log.debug("thread.refused")  # it was done here, as the vow died
            raise
        return record

    def _go_on(self) -> None:
        """Complete what a struck thread has begun. Runs in a thread of its own, which nothing strikes."""
        self.write_from_reader(self._conversation.go_on())

    def send(self, prompt: Prompt, uuid: str, *, verbatim: bool | None = None, **said: Any) -> None:
        """Write a prompt at once and wait until it is written; `said` is what `prompt_fields` takes."""
        line = encode(envelope.user_message(prompt, uuid, **self._fields(prompt, verbatim=verbatim, **said)))
        ticket, life, written = Ticket(line, self._broken_pipe), _Life(), False
        try:
            self._sending[uuid] = weakref.ref(life), ticket
            self._conversation.note_sent(uuid)
            self._writer.put(line, direct=False, ticket=ticket)
            written = self._wait_until_written(ticket)
            self._sending.pop(uuid)
        except BrokenPipeError as error:
            raise self._broken_pipe(error) from error
        finally:
            if not written:  # as in `ask`
                try:
                    _thread.start_new_thread(_begin, (_Vow(self._take_back, uuid, ticket),))
                except RuntimeError:
                    _log.debug("thread.refused")
        if not written:
            seconds = self._options.write_timeout
            text = f"the prompt could not be written within {seconds:g} seconds: the program does not read its input"
            raise ControlTimeoutError(text, timeout=seconds)

    def _take_back(self, uuid: str, ticket: Ticket) -> None:
        """Forget a prompt that does not go out; it does if only the wait for it was struck. Runs as `_go_on` does."""
        if not self._writer.has(ticket):
            self.write_from_reader(self._conversation.withdraw(uuid))
        self._sending.pop(uuid, None)  # last: who is struck before that leaves it to the next one

    def mend(self) -> None:
        """Complete what calls have left that were struck so often that they could not even see to it."""
        for uuid, (life, ticket) in list(self._sending.items()):
            if life() is None:
                self._take_back(uuid, ticket)
        record = self._conversation.current
        if record is not None and record.line is not None and record.taken_by is not None and record.taken_by() is None:
            self._write(record, direct=False)

    def _fields(self, prompt: Prompt, *, verbatim: bool | None, **said: Any) -> dict[str, Any]:
        """Return the frame's fields; raises `NotSupportedError` if the program would ignore one."""
        verbatim = self._options.verbatim_prompts if verbatim is None else verbatim
        if not self._gate.program.modern and not is_expanded(prompt):
            verbatim = False  # it is taken as it is anyway
        fields = prompt_fields(verbatim=verbatim, **said)
        for name in fields:
            self._gate.require(f"{name} of a prompt", CURRENT)
        return fields

    def write_from_reader(self, record: TurnRecord | None) -> None:
        """Hand the next prompt to the writer thread; if that is too late, the turn fails with the program's end."""
        if record is None or record.line is None:
            return
        line, record.line = record.line, None
        try:
            self._writer.put(line, direct=False, on_error=self._broken_pipe)
        except OSError as error:
            _log.debug("prompt.not_written", error=repr(error))

    def _write(self, record: TurnRecord | None, *, direct: bool = True) -> None:
        if record is None or record.line is None:
            return
        line = record.line
        try:
            self._writer.put(line, direct=direct, on_error=self._broken_pipe)
            record.line = None  # not before: Ctrl-C may have struck
        except OSError as error:
            self._broken_pipe(error)  # the turn is failed with how the program ended, as everything is

    def _wait_until_written(self, ticket: Ticket) -> bool:
        """Wait for a line; False if it was taken back, for its time was up before it was begun."""
        with self._calls.interruptible:
            written = ticket.wait_for_write(Deadline(self._options.write_timeout))
        if not written and self._writer.withdraw(ticket):
            return False
        if ticket.error is not None:
            raise self._broken_pipe(ticket.error) from ticket.error
        return True

    # -- interrupts ----------------------------------------------------------------------------------------------------

    def interrupt(self, *, cancel_queued: bool, timeout: Any) -> InterruptReply:
        """Interrupt what runs.

        2.1.332 loses an interrupt that comes between a prompt and its begin, and says so by listing the prompt as still
        queued: it is then repeated when the turn begins.
        """
        if cancel_queued:
            self._conversation.drop_queued()
        request = Interrupt(cancel_queued=cancel_queued and self._gate.program.modern)
        return self._interrupt(request, self._conversation.current, timeout)

    def _interrupt(
        self,
        request: Interrupt,
        record: TurnRecord | None,
        timeout: Any,
        wanted: Callable[[], bool] | None = None,
    ) -> InterruptReply:
        if record is not None:
            record.evidence.stopped = True
        reply = self._calls.call(request, timeout, wanted)
        if record is not None and record.uuid in reply.still_queued and not record.done.is_set():
            self._owe_interrupt(record)
        return reply

    def interrupt_turn(self, record: TurnRecord) -> None:
        """Stop one turn, wherever it is."""
        if record.done.is_set() or self._conversation.drop(record) or record.done.is_set():
            return
        try:
            # Once it has ended the interrupt would hit the next one. Whether it has is looked at when the next prompt
            # can no longer be written before the interrupt.
            wanted = partial(self._is_current, record)
            self._interrupt(Interrupt(), record, self._options.control_timeout, wanted)
        except Unwanted:
            return
        except SessionClosedError:
            if not record.done.is_set():
                raise

    def _is_current(self, record: TurnRecord) -> bool:
        return self._conversation.current is record

    def interrupt_and_wait(self) -> None:
        """Interrupt what runs and give it its grace to end."""
        record = self._conversation.current
        if record is None:
            return
        record.evidence.stopped = True
        record.interrupt_owed = self._gate.program.modern and not self._conversation.router.running
        self._interrupt_again(record)
        wait_event(record.done, Deadline(self._options.interrupt_grace))

    def _turn_begins(self, record: TurnRecord) -> None:
        """Repeat an interrupt that came too early. Called by the reader."""
        if record.interrupt_owed:
            record.interrupt_owed = False
            self._interrupt_again(record)

    def _owe_interrupt(self, record: TurnRecord) -> None:
        record.interrupt_owed = True
        begun = self._conversation.router.running and self._conversation.current is record
        if begun and record.interrupt_owed:  # it began meanwhile
            record.interrupt_owed = False
            self._interrupt_again(record)

    def _interrupt_again(self, record: TurnRecord) -> None:
        try:
            self._calls.submit(Interrupt(), direct=False, wanted=partial(self._is_current, record))
        except (ClaudeControlError, OSError, Unwanted):
            _log.debug("interrupt.skipped")  # the turn has ended, or the session with it


class Interruptible:
    """Stands around every wait for the program: Ctrl-C interrupts the turn that runs, then goes on its way.

    Entering it in a forked child raises `ForkedError`.
    """

    def __init__(self, connection: "Connection") -> None:
        self._connection = connection

    def __enter__(self) -> Self:
        self._connection.check_owner()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None and issubclass(kind, KeyboardInterrupt):
            self.interrupt()

    def interrupt(self) -> None:
        """Interrupt what runs and wait a little for its end; a second Ctrl-C meanwhile closes the session."""
        if self._connection.has_ended:
            return
        from claude_control.session.closing import close_connections  # it needs the connection's module

        try:
            self._connection.prompting.interrupt_and_wait()
        except KeyboardInterrupt:
            close_connections([self._connection], timeout=None)
            raise
