"""A writer on a transport of the test's own, and what the tests of it share."""

import threading

from claude_control.deadline import Deadline
from claude_control.session.writer import Ticket, Writer
from tests.session.pipe_transport import PipeTransport, PlainPipeTransport
from tests.waiting import wait_until

NAME = "claude-test-writer"
SHORT, LONG = b"short\n", b"x" * (300 * 1024) + b"\n"


class Pipe:
    """A writer on a transport of the test's own."""

    def __init__(self, transport: PlainPipeTransport) -> None:
        self.transport = transport
        self.writer = Writer(transport, NAME)

    def put(self, line: bytes) -> Ticket:
        """Hand over a line that has to wait."""
        ticket = self.writer.put(line)
        assert ticket is not None
        return ticket

    def end(self) -> None:
        """End everything."""
        self.writer.close()
        self.transport.end_input()
        assert self.writer.join(Deadline(10))
        self.transport.stop_reading()


def writing() -> bool:
    """Whether a writer thread runs."""
    return any(thread.name == NAME for thread in threading.enumerate())


def begun(ticket: Ticket) -> bool:
    """Wait until the line is being written."""
    wait_until(lambda: ticket.begun)
    return True


class CountingTransport(PipeTransport):
    """Counts the writes that do not wait, and can refuse them."""

    def __init__(self) -> None:
        super().__init__()
        self.written: list[bytes] = []
        self.refuses = False

    def try_write(self, data: bytes) -> bool:
        """Write all of it or nothing, without waiting."""
        if self.refuses:
            return False
        self.written.append(data)
        return super().try_write(data)
