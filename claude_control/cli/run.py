"""`claude-control run`: one prompt, its answer on stdout, and an exit code that says how it went."""

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from claude_control.cli.choosing import session_flags, session_options
from claude_control.cli.exits import Code, told
from claude_control.errors import ResultError

if TYPE_CHECKING:
    from claude_control.cli.person import Person
    from claude_control.cli.terminal import Terminal
    from claude_control.session.turn import Turn

__all__ = ["command"]

_EPILOG = """Exit codes: 0 done, 1 the turn ended in an error, 2 wrong usage, 3 Claude Code is missing or too old,
4 a tool was denied because there was nobody to ask, 124 timeout, 130 Ctrl-C, 141 broken pipe, 143 SIGTERM."""


@click.command("run", epilog=_EPILOG)
@click.argument("prompt")
@click.option("--json", "form", flag_value="json", help="Print the result as one JSON document.")
@click.option("--ndjson", "form", flag_value="ndjson", help="Print every message as one line of JSON.")
@click.option("--partial", is_flag=True, help="With --ndjson: also the pieces of an answer as they come.")
@click.option("--timeout", type=click.FloatRange(min=0, min_open=True), metavar="SECONDS", help="Most time to take.")
@session_flags
def command(prompt: str, form: str | None, partial: bool, timeout: float | None, **flags: Any) -> int:
    """Ask PROMPT once and print the answer; "-" reads it from stdin.

    On a terminal you are asked about each tool that needs permission, and what Claude asks. Without one such a tool is
    denied, unless --allow or the permission mode lets it run.
    """
    if partial and form != "ndjson":
        raise click.UsageError("--partial needs --ndjson; the answer as text always comes in pieces.")
    options = session_options(flags)
    options["include_partial_messages"] = partial or form is None
    text = _read(prompt)
    if not text.strip():
        raise click.UsageError("the prompt is empty.")
    return _run(text, options, form, timeout)


def _read(prompt: str) -> str:
    if prompt != "-":
        return prompt
    return sys.stdin.buffer.read().decode("utf-8", "replace")


def _run(prompt: str, options: dict[str, Any], form: str | None, timeout: float | None) -> int:
    # Here, so that --help and completion need not load the library.
    from claude_control.cli.approve import Approver
    from claude_control.cli.following import closing, follow, follow_tasks
    from claude_control.cli.keyboard import Keyboard
    from claude_control.cli.person import Person
    from claude_control.cli.printing import DocumentPrinter, LinePrinter, Printer, TextPrinter
    from claude_control.cli.questions import Answerer, Judge
    from claude_control.cli.signals import time_limit
    from claude_control.cli.status import Status, price
    from claude_control.cli.terminal import Terminal
    from claude_control.session.session import Session

    terminal = Terminal.standard()
    status = Status(terminal)
    person = Person(terminal, Keyboard.find(terminal), status)
    printers: dict[str | None, Callable[[Terminal], Printer]] = {
        None: TextPrinter,
        "json": DocumentPrinter,
        "ndjson": LinePrinter,
    }
    printer = printers[form](terminal)
    session = Session(can_use_tool=Approver(person), on_question=Answerer(person), on_plan=Judge(person), **options)
    with status, closing(session), time_limit(timeout) as lift:
        session.open()
        turn = session.ask(prompt)
        follow(session, turn, printer, status)
        follow_tasks(session, printer, status)
        lift()
    if terminal.is_watched:
        terminal.note(f"{status.seconds:.1f} s, {price(status.cost)}", "dim")
    return _verdict(turn, person, terminal)


def _verdict(turn: "Turn", person: "Person", terminal: "Terminal") -> int:
    """Return the exit code for a turn that has ended; raises for one that failed."""
    try:
        turn.result()
    except ResultError as error:
        if not person.unasked:
            raise
        terminal.note(f"claude-control: {told(error)}")
    if person.unasked:
        return Code.DENIED
    if turn.outcome != "completed":
        terminal.note(f"claude-control: the turn ended as {turn.outcome}")
        return Code.FAILED
    return Code.DONE
