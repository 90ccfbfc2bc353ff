"""`claude-control demo`: the main things this library does, in a few seconds, with no account."""

import click

__all__ = ["command"]


@click.command("demo", epilog="Exit codes: 0 shown, 1 something failed, 3 with --real: Claude Code is missing.")
@click.option("--real", is_flag=True, help="Use the Claude Code that is found here; only the model is a stand-in.")
def command(real: bool) -> None:
    """Show the main things this library does, in a few seconds.

    A stand-in for Claude Code plays along, so it needs no account, no network and no download. With --real the program
    itself does, in a scratch directory, with a scripted model that listens on this machine only.
    """
    # Here, so that --help and completion need not load the library.
    from claude_control.cli.demo.stages import real_stage, scripted_stage
    from claude_control.cli.demo.story import tell
    from claude_control.cli.terminal import Terminal

    with real_stage() if real else scripted_stage() as stage:
        tell(stage, Terminal.standard())
