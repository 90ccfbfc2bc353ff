"""`claude-control doctor`: which Claude Code is used, whether it answers, what it supports."""

import click

__all__ = ["command"]

_EPILOG = "Exit codes: 0 ready, 1 it does not answer, 3 Claude Code is missing, cannot be started or is too old."


@click.command("doctor", epilog=_EPILOG)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    default=60.0,
    show_default=True,
    help="Most time for the handshake.",
)
def command(as_json: bool, timeout: float) -> int:
    """Say which Claude Code is used, whether it answers, and what it supports.

    It opens a session as `run` would, in the present directory, and asks nothing of the model.
    """
    # Here, so that --help and completion need not load the library.
    from claude_control.cli.examining import examine
    from claude_control.cli.plain import json_line
    from claude_control.cli.tables import show_rows
    from claude_control.cli.terminal import Terminal

    terminal = Terminal.standard()
    report = examine(timeout)
    if as_json:
        terminal.data(json_line(report.document()))
        return report.code
    for title, rows in report.sections():
        terminal.say(title, "bold")
        show_rows(terminal, rows)
        terminal.say()
    terminal.say(report.verdict, "green" if report.code == 0 else "red")
    return report.code
