"""Prompts on their way to the program, and interrupts."""

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from claude_control import log
from claude_control.deadline import Deadline
from claude_control.errors import ClaudeControlError, ControlTimeoutError, SessionClosedError
from claude_control.session.calls import Calls, PendingReply
from claude_control.session.conversation import Conversation
from claude_control.session.gate import Gate
from claude_control.session.turn import TurnRecord
from claude_control.session.writer import Ticket, Writer
from claude_control.wire import envelope
from claude_control.wire.framing import encode
from claude_control.wire.requests import Interrupt, InterruptReply

if TYPE_CHECKING:
    from claude_control.options import Options

__all__ = ["Prompting"]

_log = log.get(__name__)


_END_PATIENCE = 1.0  # seconds in which a turn learns that its session has ended


class _HasEndedError(Exception):
    """The turn that was to be interrupted has ended by itself."""


class Prompting:
    """Writes prompts when it is their turn, and stops turns.

    `broken_pipe` returns what to raise for a failed write; it may wait for the program's exit, so it is never called by
    the reader.
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
        # Held while a prompt or an interrupt is handed to the writer: the one never overtakes the other, so an
        # interrupt hits the turn that it was meant for.
        self._order = threading.Lock()
        conversation.on_begin = self._turn_begins

    # -- prompts -------------------------------------------------------------------------------------------------------

    def ask(self, content: str | list[dict[str, Any]], uuid: str) -> TurnRecord:
        """Queue a prompt, and write it if nothing runs; never waits for the pipe."""
        try:
            return self._conversation.ask(content, uuid)
        finally:
            self.write_next()

    def send(self, content: str | list[dict[str, Any]], uuid: str) -> None:
        """Write a prompt at once and wait until it is written."""
        line = encode(envelope.user_message(content, uuid))
        goes_out = False
        try:
            self._conversation.note_sent(uuid)
            ticket = self._put(line)
            goes_out = True  # also if Ctrl-C ends the wait
            if ticket is not None:
                goes_out = self._wait_until_written(ticket)
        finally:
            if not goes_out:
                self._conversation.withdraw(uuid)
                self.write_next()
        if not goes_out:
            seconds = self._options.write_timeout
            text = f"the prompt could not be written within {seconds:g} seconds: the program does not read its input"
            raise ControlTimeoutError(text, timeout=seconds)

    def _put(self, line: bytes) -> Ticket | None:
        try:
            return self._writer.put(line)
        except BrokenPipeError as error:
            raise self._broken_pipe(error) from error

    def _wait_until_written(self, ticket: Ticket) -> bool:
        """Wait for a line; False if it was taken back, for its time was up before it was begun."""
        with self._calls.interruptible:
            written = ticket.wait(Deadline(self._options.write_timeout))
        if not written and self._writer.withdraw(ticket):
            return False
        if ticket.error is not None:
            raise self._broken_pipe(ticket.error) from ticket.error
        return True

    def write_next(self, *, direct: bool = True) -> None:
        """Write the prompt whose turn it is, unless that is done; the reader leaves it to the writer thread.

        An exception may strike a user's thread before it has handed its line over: then whoever comes next does it.
        Should the line go out twice, the program ignores the second one with the same uuid.
        """
        record = self._conversation.current
        if record is None or record.line is None:
            return
        with self._order:
            self._hand_over(record, direct)

    def _hand_over(self, record: TurnRecord, direct: bool) -> None:
        line = record.line
        if line is None:
            return
        try:
            self._writer.put(line, direct=direct)
        except BrokenPipeError as error:  # what fails the turn is how the program ended, and that is told elsewhere
            _log.debug("prompt.not_written", error=repr(error))
            return
        record.line = None

    # -- interrupts ----------------------------------------------------------------------------------------------------

    def interrupt(self, *, cancel_queued: bool, timeout: Any) -> InterruptReply:
        """Interrupt what runs."""
        if cancel_queued:
            self._conversation.drop_queued()
        return self._interrupt(None, cancel_queued, timeout)

    def interrupt_turn(self, record: TurnRecord) -> None:
        """Stop one turn, wherever it is, and no other."""
        if record.done.is_set() or self._conversation.drop(record):
            return
        try:
            self._interrupt(record, False, self._options.control_timeout)
        except _HasEndedError:
            return
        except SessionClosedError:
            if not record.done.wait(Deadline(_END_PATIENCE)):
                raise

    def _interrupt(self, only: TurnRecord | None, cancel_queued: bool, timeout: Any) -> InterruptReply:
        """Interrupt what runs, if it is `only` that one.

        2.1.332 loses an interrupt that comes between a prompt and its begin, and says so by listing the prompt as still
        queued: it is then repeated when the turn begins.
        """
        stopped: list[TurnRecord] = []

        def start(request: Interrupt) -> PendingReply[InterruptReply]:
            with self._order:
                record = self._conversation.current
                if only is not None and record is not only:
                    raise _HasEndedError
                if record is not None:
                    stopped.append(record)
                    record.stopped = True
                    self._hand_over(record, True)
                return self._calls.start(request)

        request = Interrupt(cancel_queued=cancel_queued and self._gate.program.modern)
        reply = self._calls.call(request, timeout, start)
        for record in stopped:
            if record.uuid in reply.still_queued:
                self._owe_interrupt(record)
        return reply

    def interrupt_and_wait(self) -> None:
        """Interrupt what runs and give it its grace to end."""
        record = self._conversation.current
        if record is None:
            return
        record.interrupt_owed = self._gate.program.modern and not self._conversation.router.running
        self._interrupt_again(record)
        record.done.wait(Deadline(self._options.interrupt_grace))

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
            with self._order:
                if self._conversation.current is record:
                    record.stopped = True
                    self._hand_over(record, False)
                    self._calls.start(Interrupt(), direct=False)
        except (ClaudeControlError, BrokenPipeError):
            _log.debug("interrupt.skipped")  # the session has ended, and the turn with it
