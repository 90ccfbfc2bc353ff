"""Where an idle thread of the callback pool waits for the program's next request, and reads it by itself."""

from collections.abc import Callable
from functools import partial

from claude_control.session.pending import is_echo
from claude_control.session.reading import Reader

__all__ = ["Door"]


class Door:
    """Stands for the reader towards the pool: see `process/standby.py`. One thread at a time waits here."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def wait(self, waits: Callable[[], bool], expect: Callable[[], None], seconds: float) -> None:
        """Wait for requests while `waits()`, and deal with them; `expect` is called before that.

        Returns at once if the reader does not stand by, and after `seconds`, `ring`, or other output, which is left to
        the reader.
        """
        standby = self._reader.standby
        if standby is not None:
            standby.lead(waits, partial(self._take, expect), seconds, may_overtake=False)

    def ring(self) -> None:
        """Wake who waits here, if anybody does."""
        standby = self._reader.standby
        if standby is not None:
            standby.release()

    def _take(self, expect: Callable[[], None], chunk: bytes) -> bytes:
        frame = self._reader.control_in(chunk)
        if frame is None:
            return chunk
        if frame["type"] == "control_request":
            expect()
            self._reader.ask((frame,))
        elif frame["type"] != "control_response" or not is_echo(frame):
            return chunk
        self._reader.count_read(len(chunk))
        return b""
