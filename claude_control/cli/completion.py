"""`claude-control completion`: the script that lets a shell complete the command."""

import click

__all__ = ["command"]

_SHELLS = ("bash", "zsh", "fish")
_EPILOG = """bash: eval "$(claude-control completion bash)" in ~/.bashrc; zsh: the same with zsh in ~/.zshrc;
fish: claude-control completion fish > ~/.config/fish/completions/claude-control.fish"""


@click.command("completion", epilog=_EPILOG)
@click.argument("shell", type=click.Choice(_SHELLS))
def command(shell: str) -> None:
    """Print the completion script for a shell."""
    from click.shell_completion import get_completion_class

    from claude_control.cli import COMPLETION, NAME, group

    found = get_completion_class(shell)
    assert found is not None  # click brings all three
    click.echo(found(group, {}, NAME, COMPLETION).source())
