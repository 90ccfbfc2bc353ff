"""`claude-control chat`: a conversation on the terminal."""

from typing import Any

import click

from claude_control.cli.choosing import session_flags, session_options

__all__ = ["command"]

_EPILOG = """/help lists the commands. They work while Claude is at work too; prompts typed then wait, and Ctrl-C
interrupts. Exit codes: 0 left, 1 the session ended in an error, 2 wrong usage, 3 Claude Code is missing or too old,
130 Ctrl-C at the prompt, 143 SIGTERM."""


@click.command("chat", epilog=_EPILOG)
@session_flags
def command(**flags: Any) -> int:
    """Talk with Claude Code.

    Prompts are lines of stdin, which need not be a terminal.
    """
    options = session_options(flags)
    # Here, so that --help and completion need not load the library.
    from claude_control.cli.approve import Approver
    from claude_control.cli.conversing import Chat
    from claude_control.cli.following import closing
    from claude_control.cli.keyboard import Keyboard
    from claude_control.cli.person import Person
    from claude_control.cli.questions import Answerer, Judge
    from claude_control.cli.status import Status
    from claude_control.cli.terminal import Terminal
    from claude_control.session.session import Session

    terminal = Terminal.standard()
    keyboard = Keyboard.find(terminal)
    status = Status(terminal)
    person = Person(terminal, keyboard, status)
    session = Session(
        can_use_tool=Approver(person),
        on_question=Answerer(person),
        on_plan=Judge(person),
        include_partial_messages=True,
        **options,
    )
    with closing(session):
        return Chat(session.open(), terminal, keyboard, status).run()
