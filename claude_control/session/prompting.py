"""Prompts on their way to the program, and interrupts."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from claude_control import log
from claude_control.deadline import Deadline, wait_event
from claude_control.errors import ClaudeControlError, ControlTimeoutError, SessionClosedError
from claude_control.session.calls import Calls
from claude_control.session.conversation import Conversation
from claude_control.session.gate import Gate
from claude_control.session.turn import TurnRecord
from claude_control.session.writer import Writer
from claude_control.wire import envelope
from claude_control.wire.framing import encode
from claude_control.wire.requests import Interrupt, InterruptReply

if TYPE_CHECKING:
    from claude_control.options import Options

__all__ = ["Prompting"]

_log = log.get(__name__)


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
        conversation.on_begin = self._turn_begins

    # -- prompts -------------------------------------------------------------------------------------------------------

    def ask(self, content: str | list[dict[str, Any]], uuid: str) -> TurnRecord:
        """Queue a prompt, and write it if nothing runs; never waits for the pipe."""
        record, write_now = self._conversation.ask(content, uuid)
        if write_now:
            self._write(record)
        return record

    def send(self, content: str | list[dict[str, Any]], uuid: str) -> None:
        """Write a prompt at once and wait until it is written."""
        line = encode(envelope.user_message(content, uuid))
        self._conversation.note_sent(uuid)
        try:
            self._write_and_wait(line)
        except ControlTimeoutError:
            self._write(self._conversation.withdraw(uuid))
            raise
        except OSError as error:
            self._write(self._conversation.withdraw(uuid))
            raise self._broken_pipe(error) from error

    def write_from_reader(self, record: TurnRecord | None) -> None:
        """Hand the next prompt to the writer thread.

        If that is too late, the reader learns so itself, and fails the turn with the program's end.
        """
        if record is None or record.line is None:
            return
        line, record.line = record.line, None
        try:
            self._writer.put(line, direct=False, on_error=lambda error: self._prompt_failed(record, error))
        except OSError as error:
            _log.debug("prompt.not_written", error=repr(error))

    def _write(self, record: TurnRecord | None) -> None:
        if record is None or record.line is None:
            return
        line, record.line = record.line, None
        try:
            self._writer.put(line, on_error=lambda error: self._prompt_failed(record, error))
        except OSError as error:
            self._prompt_failed(record, error)

    def _write_and_wait(self, line: bytes) -> None:
        ticket = self._writer.put(line)
        if ticket is None:
            return
        seconds = self._options.write_timeout
        with self._calls.interruptible:
            written = ticket.wait(Deadline(seconds))
        if not written and self._writer.withdraw(ticket):
            text = f"the prompt could not be written within {seconds:g} seconds: the program does not read its input"
            raise ControlTimeoutError(text, timeout=seconds)
        if ticket.error is not None:
            raise ticket.error

    def _prompt_failed(self, record: TurnRecord, error: OSError) -> None:
        # On the writer's thread or a user's. How the program ended is what the turn shall raise; that takes a moment to
        # be known.
        record.fail(self._broken_pipe(error))

    # -- interrupts ----------------------------------------------------------------------------------------------------

    def interrupt(self, *, cancel_queued: bool, timeout: Any) -> InterruptReply:
        """Interrupt what runs.

        2.1.332 loses an interrupt that comes between a prompt and its begin, and says so by listing the prompt as still
        queued: it is then repeated when the turn begins.
        """
        if cancel_queued:
            self._conversation.drop_queued()
        record = self._conversation.current
        if record is not None:
            record.stopped = True
        request = Interrupt(cancel_queued=cancel_queued and self._gate.program.modern)
        reply = self._calls.call(request, timeout)
        if record is not None and record.uuid in reply.still_queued and not record.done.is_set():
            self._owe_interrupt(record)
        return reply

    def interrupt_turn(self, record: TurnRecord) -> None:
        """Stop one turn, wherever it is."""
        if record.done.is_set() or self._conversation.drop(record) or record.done.is_set():
            return
        if self._conversation.current is not record:
            return  # it has just ended, and an interrupt would hit the next one
        try:
            self.interrupt(cancel_queued=False, timeout=self._options.control_timeout)
        except SessionClosedError:
            if not record.done.is_set():
                raise

    def interrupt_and_wait(self) -> None:
        """Interrupt what runs and give it its grace to end."""
        record = self._conversation.current
        if record is None:
            return
        record.stopped = True
        record.interrupt_owed = self._gate.program.modern and not self._conversation.router.running
        self._interrupt_again()
        wait_event(record.done, Deadline(self._options.interrupt_grace))

    def _turn_begins(self, record: TurnRecord) -> None:
        """Repeat an interrupt that came too early. Called by the reader."""
        if record.interrupt_owed:
            record.interrupt_owed = False
            self._interrupt_again()

    def _owe_interrupt(self, record: TurnRecord) -> None:
        record.interrupt_owed = True
        begun = self._conversation.router.running and self._conversation.current is record
        if begun and record.interrupt_owed:  # it began meanwhile
            record.interrupt_owed = False
            self._interrupt_again()

    def _interrupt_again(self) -> None:
        try:
            self._calls.submit(Interrupt(), direct=False)
        except (ClaudeControlError, OSError):
            _log.debug("interrupt.skipped")  # the session has ended, and the turn with it
