"""The command ``claude-control``: parse, call, print, exit code.

The one package that imports click. It answers ``--version`` and ``--help``; commands are added here as they exist.
"""

import click

from claude_control._version import __version__

__all__ = ["main"]


@click.group(name="claude-control", context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="claude-control")
def main() -> None:
    """Drive Claude Code from the command line."""
