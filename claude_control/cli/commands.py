"""The commands of a chat; every other line that begins with a slash is for the program."""

from claude_control.cli.status import Status, price
from claude_control.cli.tables import show_rows
from claude_control.cli.terminal import Terminal
from claude_control.session.session import Session
from claude_control.session.turn import Turn
from claude_control.wire.messages import Message
from claude_control.wire.messages.session import InitMessage, StatusMessage
from claude_control.wire.requests import PERMISSION_MODES

__all__ = ["Commands", "Left"]

_HELP = (
    ("/model [NAME]", "show the model, or change it; works while Claude is at work"),
    ("/mode [MODE]", f"show how tools are permitted, or change it: {', '.join(PERMISSION_MODES)}"),
    ("/status", "what this session is and does"),
    ("/interrupt", "stop the turn that runs, as Ctrl-C does"),
    ("/help", "this list"),
    ("/exit", "leave; Ctrl-D does too"),
    ("/...", "any other command goes to Claude Code, such as /compact"),
)


class Left(Exception):
    """Raised when the person leaves."""


class Commands:
    """Carries out commands, from the prompt or from what is typed while a turn runs (`turn`)."""

    def __init__(self, session: Session, terminal: Terminal, status: Status) -> None:
        self._session = session
        self._terminal = terminal
        self._status = status
        self._model: str | None = session.options.model
        self._mode = session.server_info.permission_mode or session.options.permission_mode
        self.turn: Turn | None = None
        self.leaving = False
        """Whether somebody has left while a turn ran, which is interrupted then."""

    def run(self, line: str) -> bool:
        """Carry out a command; returns False for a line that is none of ours.

        Raises what the session's methods raise, and `Left`.
        """
        word, _, argument = line.partition(" ")
        command = {
            "/model": self._change_model,
            "/mode": self._change_mode,
            "/status": self._show_status,
            "/interrupt": self._interrupt,
            "/help": self._help,
            "/exit": self._exit,
            "/quit": self._exit,
        }.get(word)
        if command is None:
            return False
        command(argument.strip())
        return True

    def see(self, message: Message) -> None:
        """Take over the model and the mode that a message tells."""
        if isinstance(message, InitMessage):
            self._model, self._mode = message.model or self._model, message.permission_mode or self._mode
        elif isinstance(message, StatusMessage):
            self._mode = message.permission_mode or self._mode

    def _change_model(self, name: str) -> None:
        if name:
            reply = self._session.set_model(None if name == "default" else name)
            self._model = reply.model or name
        self._terminal.note(f"model: {self._model or 'the default one'}")

    def _change_mode(self, mode: str) -> None:
        if mode == "bypassPermissions" and not self._session.options.allow_bypass:
            self._terminal.note("bypassPermissions lets every tool run unasked; start with --allow-bypass", "red")
            return
        if mode:
            self._mode = self._session.set_permission_mode(mode).mode or mode
        self._terminal.note(f"permission mode: {self._mode or 'default'}")

    def _show_status(self, _argument: str) -> None:
        session = self._session
        rows = [
            ("program", session.program_version or "a version that does not say so"),
            ("session", session.session_id or "not known before the first turn"),
            ("state", session.state),
            ("model", self._model or "the default one"),
            ("permission mode", self._mode or "default"),
            ("cost", price(self._status.cost)),
            ("background tasks", str(self._status.tasks)),
        ]
        self._terminal.end_line()
        show_rows(self._terminal, rows)

    def _interrupt(self, _argument: str) -> None:
        turn = self.turn
        if turn is None:
            self._terminal.note("(nothing runs)", "dim")
        else:
            turn.interrupt()

    def _help(self, _argument: str) -> None:
        show_rows(self._terminal, _HELP)

    def _exit(self, _argument: str) -> None:
        self.leaving = True
        turn = self.turn
        if turn is not None:
            turn.interrupt()
        raise Left
