"""The person at the keyboard, who is asked, and what the model wrote as it is shown to a person who decides."""

import contextlib
import threading
from collections.abc import Iterator, Mapping, Sequence

from claude_control.cli.keyboard import Keyboard
from claude_control.cli.plain import printable, width
from claude_control.cli.status import Status
from claude_control.cli.terminal import Terminal
from claude_control.session.permissions import PermissionContext
from claude_control.wire.permissions import Allow, Deny

__all__ = ["SHOWN_LINES", "WITHDRAWN", "Person", "marked", "name", "whom"]

SHOWN_LINES = 24
"""Lines that are shown unasked: with the question behind them they fit on the smallest usual terminal."""

WITHDRAWN = Deny("The question was withdrawn.")
"""What is answered to a question that the program took back; it is dropped."""

_GUTTER = "  | "
_LEAST_COLUMNS = 20  # a narrower terminal wraps by itself
_YES = ("y", "yes")
_NO = ("n", "no")
_VIEW = ("v", "view")


class Person:
    """Whoever sits at the keyboard, if anybody does: asked one thing at a time.

    `unasked` has the tools that were denied because there was nobody to ask.
    """

    def __init__(self, terminal: Terminal, keyboard: Keyboard | None, status: Status) -> None:
        self.terminal = terminal
        self._keyboard = keyboard
        self._status = status
        self._lock = threading.Lock()  # guards the list: callbacks run side by side
        self.unasked: list[str] = []

    @property
    def is_there(self) -> bool:
        """Whether anybody can be asked."""
        return self._keyboard is not None

    def deny_unasked(self, tool_name: str, why: str, hint: str = "") -> Deny:
        """Return the denial for the model, which is told `why` too; `hint` tells the user what would help."""
        with self._lock:
            self.unasked.append(tool_name)
        self.terminal.note(f"claude-control: denied {name(tool_name)}: there is no terminal to ask on{hint}")
        return Deny(f"Nobody can be asked: this run has no terminal. {why}")

    @contextlib.contextmanager
    def asked(self, context: PermissionContext, notice: str) -> Iterator[bool]:
        """Have the person's attention; yields False if the question was withdrawn before its turn came.

        `notice` is shown when they are about to type something else.
        """
        assert self._keyboard is not None
        self._status.wait_for_use(context.tool_use_id)
        with self._keyboard.question(lambda: context.signal.aborted, notice) as has_keyboard:
            yield has_keyboard

    def read(self, prompt: str, context: PermissionContext) -> str | None:
        """Return the line that is typed behind a prompt; "" at the end of input, None when it is withdrawn."""
        assert self._keyboard is not None
        self.terminal.note(prompt, end="")
        line = self._keyboard.answer(lambda: context.signal.aborted)
        if line is None:
            self.terminal.note("(no longer asked)", "dim")
        else:
            self.terminal.typed(line)
        return line

    def forget(self) -> None:
        """Drop what was typed before a question was there to be read."""
        assert self._keyboard is not None
        self._keyboard.forget()

    def decide(
        self,
        lines: Sequence[str],
        prompt: str,
        context: PermissionContext,
        others: Mapping[str, Allow] | None = None,
    ) -> Allow | Deny:
        """Show lines and have a yes, a no, or a text that denies; `others` are words that allow in another way."""
        self._show(lines, SHOWN_LINES)
        self.forget()
        while True:
            line = self.read(prompt, context)
            if line is None:
                return WITHDRAWN
            word = line.strip().lower()
            if word in _VIEW:
                self._show(lines, None)
            elif others is not None and word in others:
                return others[word]
            elif (decision := _decision(line)) is not None:
                return decision

    def _show(self, lines: Sequence[str], limit: int | None) -> None:
        for line in lines[:limit]:
            self.terminal.note(line)
        if limit is not None and len(lines) > limit:
            self.terminal.note(f"  ... {len(lines) - limit} more lines; v shows everything", "yellow")


def marked(text: str, columns: int, *, indent: str = "", first: str = "") -> list[str]:
    """Return a text of the model as lines for a person: complete, every character visible.

    A mark stands before each line, wrapped ones too, so that none can pass for a line of ours. `first` stands before
    the first of them, `indent` before all others.
    """
    room = max(columns, _LEAST_COLUMNS) - len(_GUTTER) - 1
    lines: list[str] = []
    for line in printable(text).expandtabs(4).split("\n"):
        for piece in _wrapped(line, room - max(len(first), len(indent))):
            lines.append(_GUTTER + (indent if lines else first) + piece)
    return lines


def name(text: str) -> str:
    """Return a word of the model, such as a tool's name, on one line, with every character visible."""
    return printable(text).replace("\n", "\\n").replace("\t", "\\t")


def whom(context: PermissionContext) -> str:
    """Return who asks."""
    return "A subagent" if context.agent_id else "Claude"


def _decision(line: str) -> Allow | Deny | None:
    """Return what a line means; None for one that means nothing."""
    if line == "":  # the end of input: nobody is there any more
        return Deny("The person at the terminal has left.")
    answer = line.strip()
    if answer.lower() in _YES:
        return Allow()
    if answer.lower() in _NO:
        return Deny("The person at the terminal said no.")
    return Deny(answer) if len(answer) > 1 else None  # a single letter is a slip of the finger


def _wrapped(line: str, room: int) -> list[str]:
    pieces, piece, taken = [], "", 0
    for character in line:
        wide = width(character)
        if taken + wide > room:
            pieces.append(piece)
            piece, taken = "", 0
        piece += character
        taken += wide
    return [*pieces, piece]
