"""The two streams of the command, and what a terminal at their ends can show.

Stdout carries the answer and nothing else, stderr what is for people. Everything from outside goes through `safe`.
"""

import contextlib
import os
import sys
import threading
from collections.abc import Iterator, Mapping
from typing import Self, TextIO

from claude_control.cli.plain import clip, safe

__all__ = ["Terminal"]

_STYLES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}
_DEFAULT_COLUMNS = 80  # of a terminal that does not say, as everywhere
_ERASE = "\r\x1b[K"


class Terminal:
    """Writes to stdout and stderr from any thread, and keeps a status line out of the way of both.

    `shows_answers` says that stdout is a terminal, `is_watched` that stderr is one: that somebody reads it now.
    """

    def __init__(self, out: TextIO, err: TextIO, environ: Mapping[str, str]) -> None:
        self._out = out
        self._err = err
        self._environ = environ
        self.shows_answers = out.isatty()
        self.is_watched = err.isatty()
        self._moves = self.is_watched and environ.get("TERM", "dumb") != "dumb"
        # Reentrant: a signal's handler may raise out of a write, and what is then said takes the lock again.
        self._lock = threading.RLock()
        self._mid_line = False  # whether something stands on the last line
        self._drawn = False
        self._held = 0

    @classmethod
    def standard(cls) -> Self:
        """Return the terminal of this process's own streams, which from now on take every character."""
        for stream in (sys.stdout, sys.stderr):
            reconfigure = getattr(stream, "reconfigure", None)
            if reconfigure is not None:  # a locale without umlauts must not end a run
                reconfigure(errors="replace")
        return cls(sys.stdout, sys.stderr, os.environ)

    # -- writing -------------------------------------------------------------------------------------------------------

    def answer(self, text: str) -> None:
        """Write a piece of the answer to stdout, at once."""
        self._write(self._out, safe(text), same_terminal=self.shows_answers and self.is_watched)

    def data(self, line: str) -> None:
        """Write a line of JSON to stdout; it was made harmless when it was made."""
        self._write(self._out, line + "\n", same_terminal=self.shows_answers and self.is_watched)

    def say(self, text: str = "", style: str = "") -> None:
        """Write whole lines to stdout, for commands whose answer is a text for people."""
        self._write(self._out, self._styled(self._out, safe(text), style) + "\n", same_terminal=self.shows_answers)

    def note(self, text: str, style: str = "", end: str = "\n") -> None:
        """Write a line for people to stderr, on a line of its own."""
        with self._lock:
            if self._mid_line and self.is_watched:
                self._write(self._err, "\n", same_terminal=True)
            self._write(self._err, self._styled(self._err, safe(text), style) + end, same_terminal=self.is_watched)

    def end_line(self) -> None:
        """Begin a new line on the terminal if something stands on the last one."""
        with self._lock:
            if self._mid_line and self.is_watched:
                self._write(self._err, "\n", same_terminal=True)

    def typed(self, line: str) -> None:
        """Know what a person has typed behind what stands on the last line."""
        with self._lock:
            self._mid_line = self._mid_line and not line.endswith("\n")

    def announce(self, text: str) -> None:
        """Write a line to stderr if somebody looks, from the handler of a signal.

        Not through the stream, and without the lock: the main thread may be in the middle of a write.
        """
        if self.is_watched:
            os.write(self._err.fileno(), f"\n{text}\n".encode())
            self._mid_line = self._drawn = False

    def _write(self, stream: TextIO, text: str, *, same_terminal: bool) -> None:
        if not text:
            return
        with self._lock:
            if same_terminal:
                self.erase()
                self._mid_line = not text.endswith("\n")
            stream.write(text)
            stream.flush()

    def style(self, text: str, style: str) -> str:
        """Return a text of ours with the codes of a style, for stdout, if it takes colours."""
        return self._styled(self._out, text, style)

    def _styled(self, stream: TextIO, text: str, style: str) -> str:
        if not style or not text or not self._takes_colours(stream):
            return text
        return f"\x1b[{_STYLES[style]}m{text}\x1b[0m"

    def _takes_colours(self, stream: TextIO) -> bool:
        if self._environ.get("NO_COLOR"):
            return False
        if self._environ.get("FORCE_COLOR", "0") not in ("", "0"):
            return True
        return stream.isatty() and self._environ.get("TERM", "dumb") != "dumb"

    # -- the status line -----------------------------------------------------------------------------------------------

    def draw(self, text: str) -> None:
        """Show a text on the last line until something else is written; not on top of something, nor when held."""
        with self._lock:
            if not self._moves or self._held or self._mid_line:
                return
            shown = clip(safe(text).replace("\n", " ").replace("\t", " "), self.columns - 1)
            self._err.write(f"\r{self._styled(self._err, shown, 'dim')}\x1b[K")
            self._err.flush()
            self._drawn = True

    def erase(self) -> None:
        """Take the status line away."""
        with self._lock:
            if self._drawn:
                self._drawn = False
                self._err.write(_ERASE)
                self._err.flush()

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Draw no status while somebody types."""
        with self._lock:
            self._held += 1
            self.erase()
        try:
            yield
        finally:
            with self._lock:
                self._held -= 1

    @contextlib.contextmanager
    def prompting(self) -> Iterator[None]:
        """Know that a prompt stands on the last line, written by somebody else."""
        with self.held():
            self._mid_line = True
            try:
                yield
            finally:
                self._mid_line = False

    @property
    def columns(self) -> int:
        """How wide the terminal is now; COLUMNS says it first."""
        with contextlib.suppress(ValueError):
            if (chosen := int(self._environ.get("COLUMNS", "0"))) > 0:
                return chosen
        for stream in (self._err, self._out):
            with contextlib.suppress(OSError, ValueError):  # no terminal, or no descriptor at all
                if (found := os.get_terminal_size(stream.fileno()).columns) > 0:
                    return found
        return _DEFAULT_COLUMNS
