"""The program's stderr, line by line, to a user's callback."""

import codecs
from collections import deque
from collections.abc import Callable

from claude_control import log
from claude_control.session.pool import CallbackPool, InOrder

__all__ = ["StderrLines"]

KEPT_LINES = 10_000
"""Lines kept for a callback that falls behind; the oldest go first, and the tail for errors is kept elsewhere."""

LONGEST_LINE = 65_536
"""Characters after which a line without an end is passed on as it is.

Some failures dump a whole program on one line.
"""

_log = log.get(__name__)


class StderrLines:
    """Cuts chunks into lines and calls the function with each, in order, on a callback thread."""

    def __init__(self, function: Callable[[str], None] | None) -> None:
        self._function = function
        self._decoder: codecs.IncrementalDecoder | None = None  # made for the first chunk, for most have none
        self._rest = ""
        self._lines: deque[str] = deque(maxlen=KEPT_LINES)
        self._runner: InOrder | None = None

    @property
    def wanted(self) -> bool:
        """Whether anybody listens."""
        return self._function is not None

    def attach(self, pool: CallbackPool) -> None:
        """Name the threads that the function runs on; lines that came before are passed on now."""
        if self.wanted:
            self._runner = InOrder(pool, self._drain)
            self._runner.wake()

    def feed(self, chunk: bytes) -> None:
        """Take a chunk. Called by the watch thread."""
        if self._decoder is None:
            self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        *lines, self._rest = (self._rest + self._decoder.decode(chunk)).split("\n")
        if len(self._rest) > LONGEST_LINE:
            lines, self._rest = [*lines, self._rest], ""
        self._lines.extend(lines)
        if lines and self._runner is not None:
            self._runner.wake()

    def _drain(self) -> bool:
        found = False
        while self._lines:
            found = True
            try:
                assert self._function is not None
                self._function(self._lines.popleft())
            except BaseException as error:  # one failing call must not silence the rest
                _log.warning("stderr_callback.failed", error=repr(error))
        return found
