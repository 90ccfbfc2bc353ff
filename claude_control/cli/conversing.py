"""The loop of a chat: prompts, commands, and what the program says by itself in between."""

import contextlib
import sys
import threading
from collections import deque
from collections.abc import Iterator

from claude_control import errors
from claude_control.cli.commands import Commands, Left
from claude_control.cli.exits import Code, told
from claude_control.cli.following import follow
from claude_control.cli.keyboard import Keyboard
from claude_control.cli.printing import TextPrinter
from claude_control.cli.status import Status, price
from claude_control.cli.terminal import Terminal
from claude_control.session.session import Session
from claude_control.session.turn import Turn

__all__ = ["Chat"]

_PROMPT = "> "
_LOOK = 0.1  # seconds between two looks at what was typed while a turn runs


class Chat:
    """One conversation of a person with an open session."""

    def __init__(self, session: Session, terminal: Terminal, keyboard: Keyboard | None, status: Status) -> None:
        self._session = session
        self._terminal = terminal
        self._reads_terminal = sys.stdin.isatty()
        self._keyboard = keyboard if self._reads_terminal else None
        self._status = status
        self._commands = Commands(session, terminal, status)
        self._waiting: deque[str] = deque()  # prompts that were typed while a turn ran

    def run(self) -> int:
        """Take prompts and commands until the person leaves; returns the exit code."""
        version = self._session.program_version
        self._terminal.note(f"Claude Code{' ' + version if version else ''}. /help lists the commands.", "dim")
        threading.Thread(target=self._listen, name="claude-listening", daemon=True).start()
        try:
            while (line := self._next()) is not None:
                if not self._do(line):
                    self._ask(line)
        except Left:
            pass
        return Code.DONE

    # -- reading -------------------------------------------------------------------------------------------------------

    def _next(self) -> str | None:
        """Return the next line that says something, None at the end of input."""
        interrupts = 0
        while True:
            if self._waiting:
                return self._waiting.popleft()
            try:
                line = self._read()
            except EOFError:
                self._terminal.note("")
                return None
            except KeyboardInterrupt:
                interrupts += 1
                if interrupts > 1 or not self._reads_terminal:
                    raise
                self._terminal.note("\n(Ctrl-C again or /exit leaves)", "dim")
                continue
            if line.strip():
                return line.strip()
            interrupts = 0

    def _read(self) -> str:
        if self._keyboard is not None and self._terminal.shows_answers:
            with contextlib.suppress(ImportError):  # a Python without it still reads lines
                import readline  # noqa: F401 - input() uses it once it is imported
            return self._keyboard.prompt(lambda: input(_PROMPT))
        if self._keyboard is not None:
            self._terminal.note(_PROMPT, end="")
        line = sys.stdin.readline() if self._keyboard is None else self._keyboard.prompt(sys.stdin.readline)
        if not line:
            raise EOFError
        return line

    def _do(self, line: str) -> bool:
        """Carry out a line that is a command of ours; False if it is a prompt."""
        try:
            return self._commands.run(line)
        except (errors.SessionClosedError, Left):
            raise
        except errors.ClaudeControlError as error:
            self._terminal.note(told(error), "red")
            return True

    # -- a turn --------------------------------------------------------------------------------------------------------

    def _ask(self, line: str) -> None:
        turn = self._session.ask(line)
        try:
            with self._status, self._typing(turn):
                follow(self._session, turn, TextPrinter(self._terminal), self._status, self._commands.see)
            self._report(turn)
        except KeyboardInterrupt:
            if turn.state != "done" or self._session.state in ("closing", "closed", "failed"):
                raise
            self._report(turn)
        if self._commands.leaving:
            raise Left

    def _report(self, turn: Turn) -> None:
        try:
            turn.result()
        except (errors.ResultError, errors.AbortedError) as error:
            self._terminal.note(told(error), "red")
        if turn.outcome not in ("completed", None):
            self._terminal.note(f"({turn.outcome})", "yellow")
        if self._terminal.is_watched:
            self._terminal.note(f"{self._status.seconds:.1f} s, {price(self._status.cost)}", "dim")

    @contextlib.contextmanager
    def _typing(self, turn: Turn) -> Iterator[None]:
        """Take lines that are typed while the turn runs: commands are carried out at once, prompts wait."""
        over = threading.Event()
        self._commands.turn = turn
        thread = threading.Thread(target=self._take_lines, args=(over,), name="claude-typing", daemon=True)
        if self._keyboard is not None:
            thread.start()
        try:
            yield
        finally:
            over.set()
            self._commands.turn = None
            if thread.ident is not None:
                thread.join(_LOOK * 10)

    def _take_lines(self, over: threading.Event) -> None:
        assert self._keyboard is not None
        while not over.wait(_LOOK):
            line = self._keyboard.typed()
            if line == "":  # Ctrl-D, or the terminal is gone: the prompt behind the turn sees to it
                return
            if line is None or not line.strip():
                continue
            self._terminal.typed(line)
            try:
                if not self._do(line.strip()):
                    self._waiting.append(line.strip())
                    self._terminal.note("(waits until this turn has ended)", "dim")
            except (errors.SessionClosedError, Left):
                return

    # -- the program by itself -----------------------------------------------------------------------------------------

    def _listen(self) -> None:
        """Show what the program says outside of our turns, such as a turn about a background task that has ended."""
        printer = TextPrinter(self._terminal)
        with contextlib.suppress(errors.ClaudeControlError, OSError):  # the main thread meets the same end
            for message in self._session.messages():
                self._status.see(message)
                self._commands.see(message)
                self._terminal.end_line()
                printer.show(message)
