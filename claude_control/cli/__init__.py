"""The command ``claude-control``: parse, call, print, exit code.

The one package that imports click. A command's module is loaded when the command is used, so that ``--version`` and
``--help`` answer at once.
"""

import importlib
import os
import sys
from collections.abc import Sequence
from typing import NoReturn, TextIO

import click

from claude_control._version import __version__
from claude_control.cli.exits import Code, Stopped, code_for, told
from claude_control.cli.plain import safe
from claude_control.cli.signals import time_limit, watching
from claude_control.errors import ClaudeControlError

__all__ = ["call", "group", "main"]

NAME = "claude-control"
COMPLETION = "_CLAUDE_CONTROL_COMPLETE"
"""The variable by which a completion script asks for words."""

LAST_FLUSH = 0.5
"""Seconds that stdout gets to take its last piece when a signal ends the command."""

# The modules of the commands, and what --help says of each: the first sentence of its own help, as a test checks.
_COMMANDS = {
    "run": 'Ask PROMPT once and print the answer; "-" reads it from stdin.',
    "chat": "Talk with Claude Code.",
    "doctor": "Say which Claude Code is used, whether it answers, and what it supports.",
    "demo": "Show the main things this library does, in a few seconds.",
    "completion": "Print the completion script for a shell.",
}

_STOPPED = {Code.TIMED_OUT: "the time is up", Code.INTERRUPTED: "interrupted"}  # a supervisor knows what it has sent


class _Commands(click.Group):
    """A group that loads a command when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        command: click.Command = importlib.import_module(f"claude_control.cli.{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))


@click.group(
    name=NAME,
    cls=_Commands,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name=NAME)
@click.pass_context
def group(ctx: click.Context) -> int:
    """Drive Claude Code from the command line."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help(), err=True)
        return Code.USAGE
    return Code.DONE


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command and exit with its code."""
    sys.exit(call(sys.argv[1:] if arguments is None else arguments))


def call(arguments: Sequence[str]) -> int:
    """Run the command and return its exit code; what is wrong is said on stderr."""
    _fill_gaps()
    try:
        with watching():
            code = _invoke(list(arguments))
            sys.stdout.flush()
            return code
    except click.exceptions.Exit as error:
        return error.exit_code
    except click.ClickException as error:
        return _complain(_usage(error), error.exit_code)
    except BrokenPipeError:
        return _hang_up(Code.BROKEN_PIPE)
    except (KeyboardInterrupt, click.Abort):
        return _leave("interrupted", Code.INTERRUPTED)
    except Stopped as error:
        return _leave(_STOPPED.get(error.code, ""), error.code)
    except (ClaudeControlError, OSError) as error:
        return _complain(told(error), code_for(error))


def _fill_gaps() -> None:
    """Give a stream that the parent has closed (`>&-`) to nowhere: something else would get its descriptor."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115 - it stays open as long as the process


def _invoke(arguments: list[str]) -> int:
    """Do what `click.Group.main` does, but for its own ways with signals and broken pipes: it exits with 1 for both."""
    instruction = os.environ.get(COMPLETION)
    if instruction:
        from click.shell_completion import shell_complete

        return shell_complete(group, {}, NAME, COMPLETION, instruction)
    with group.make_context(NAME, arguments) as context:
        value: object = group.invoke(context)
    return value if isinstance(value, int) else Code.DONE


def _usage(error: click.ClickException) -> str:
    context = getattr(error, "ctx", None)
    hint = f" ({context.command_path} -h says more)" if context is not None else ""
    return f"{safe(error.format_message())}{hint}"


def _leave(text: str, code: int) -> int:
    """End after a signal, which may have struck in a write to a pipe that nobody reads."""
    try:
        with time_limit(LAST_FLUSH):
            sys.stdout.flush()
    except (OSError, Stopped):
        _to_nowhere(sys.stdout)
    return _complain(text, code)


def _complain(text: str, code: int) -> int:
    """Say what is wrong, if stderr still takes it, and return the code."""
    try:
        if text:
            print(f"{NAME}: {text}", file=sys.stderr, flush=True)
    except OSError:
        return _hang_up(code)
    return code


def _hang_up(code: int) -> int:
    """Point the streams nowhere: the interpreter flushes them at its exit, and would complain of the pipe."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            _to_nowhere(stream)
    return code


def _to_nowhere(stream: TextIO) -> None:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
