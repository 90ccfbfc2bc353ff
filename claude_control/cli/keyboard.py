"""Lines that a person types: for the prompt of a chat, for questions, and beside a turn that runs; one at a time."""

import contextlib
import os
import select
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Self

from claude_control.cli.terminal import Terminal

__all__ = ["Keyboard"]

_LOOK = 0.1  # seconds between two looks at whether a question was withdrawn: at once, for a person
_LINE_BYTES = 4096  # what a terminal gives at most for one line


class Keyboard:
    """The person's side of a terminal."""

    def __init__(self, descriptor: int, terminal: Terminal) -> None:
        self._descriptor = descriptor
        self._terminal = terminal
        self._lock = threading.Lock()  # held by whoever reads
        self._count_lock = threading.Lock()  # guards the number of questions that wait for the other lock or hold it
        self._asking = 0
        self._prompting = False

    @classmethod
    def find(cls, terminal: Terminal) -> Self | None:
        """Return the keyboard of the terminal that shows stderr; None if there is nobody to see a question.

        Where stdin brings something else, such as the prompt, the controlling terminal is read.
        """
        if not terminal.is_watched:
            return None
        if sys.stdin.isatty():
            return cls(sys.stdin.fileno(), terminal)
        try:
            return cls(os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY | os.O_CLOEXEC), terminal)
        except OSError:  # no controlling terminal: a service, a container without -t
            return None

    @contextlib.contextmanager
    def question(self, is_withdrawn: Callable[[], bool], notice: str) -> Iterator[bool]:
        """Have the keyboard for a question; yields False if it was withdrawn before its turn came.

        `notice` is shown when somebody is about to type something else.
        """
        with self._count_lock:
            self._asking += 1
        noticed = False
        try:
            while not self._lock.acquire(timeout=_LOOK):
                if is_withdrawn():
                    yield False
                    return
                if self._prompting and not noticed:
                    noticed = True
                    self._terminal.note(f"{notice} Press Enter to answer.", "yellow")
            try:
                with self._terminal.held():
                    yield True
            finally:
                self._lock.release()
        finally:
            with self._count_lock:
                self._asking -= 1

    def answer(self, is_withdrawn: Callable[[], bool]) -> str | None:
        """Return the next line; "" at the end of input, None when the question is withdrawn."""
        while not is_withdrawn():
            if self._has_line(_LOOK):
                return self._read()
        return None

    def forget(self) -> None:
        """Drop what was typed before a question was there to be read: no stray "y" answers it."""
        import termios

        with contextlib.suppress(termios.error):
            termios.tcflush(self._descriptor, termios.TCIFLUSH)

    def prompt(self, read: Callable[[], str]) -> str:
        """Return what `read` reads, once no question is open."""
        while self._asking:
            threading.Event().wait(_LOOK)
        with self._lock, self._terminal.prompting():
            self._prompting = True
            try:
                return read()
            finally:
                self._prompting = False

    def typed(self) -> str | None:
        """Return a line that was typed meanwhile, without waiting; None if there is none or a question is open."""
        if self._asking or not self._lock.acquire(blocking=False):
            return None
        try:
            return self._read() if self._has_line(0) else None
        finally:
            self._lock.release()

    def _has_line(self, seconds: float) -> bool:
        return bool(select.select([self._descriptor], [], [], seconds)[0])

    def _read(self) -> str:
        try:
            return os.read(self._descriptor, _LINE_BYTES).decode("utf-8", "replace")
        except OSError:  # the terminal is gone
            return ""
