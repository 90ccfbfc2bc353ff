"""What is counted in a session."""

from claude_control.records import frozen
from claude_control.session.connection import Connection

__all__ = ["Stats", "read_stats"]


@frozen
class Stats:
    """Counters of one session.

    Of requests: `requests_sent` (refused ones among them), `requests_received`, `late_replies` (answers nobody waited
    for), `late_answers` (ours, dropped because the program had withdrawn its request). Of output: `bytes_read`,
    `bytes_written`, `frames`, `bad_lines` (no JSON object), `flawed_lines` (read by the tolerant decoder only),
    `long_lines` (over the limit); a piece of streamed text is judged when somebody reads it, a message of the model's
    also when its turn is asked about.
    `abandoned_callbacks` counts callbacks that did not end when the session was closed.
    """

    requests_sent: int = 0
    requests_received: int = 0
    late_replies: int = 0
    late_answers: int = 0
    bytes_read: int = 0
    bytes_written: int = 0
    frames: int = 0
    bad_lines: int = 0
    flawed_lines: int = 0
    long_lines: int = 0
    abandoned_callbacks: int = 0


def read_stats(connection: Connection) -> Stats:
    """Return the counters of a connection as they are now."""
    reader, pending, answers = connection.reader, connection.calls.pending, connection.answers
    return Stats(
        requests_sent=pending.sent,
        requests_received=answers.received,
        late_replies=pending.late,
        late_answers=answers.late + connection.callbacks.servers.late,
        bytes_read=reader.bytes_read,
        bytes_written=connection.writer.bytes_written,
        frames=reader.frames,
        bad_lines=reader.bad_lines,
        flawed_lines=reader.flawed_lines,
        long_lines=reader.long_lines,
        abandoned_callbacks=len(connection.abandoned),
    )
