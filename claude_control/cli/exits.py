"""The exit codes of the command, and what is said on stderr about the exception that led to one."""

from claude_control import errors, log
from claude_control.cli.plain import safe

__all__ = ["Code", "Stopped", "code_for", "told"]


class Code:
    """The exit codes; those of signals are 128 and the signal's number, as shells have it."""

    DONE = 0
    FAILED = 1
    """The turn or the session ended in an error."""
    USAGE = 2
    NO_PROGRAM = 3
    """Claude Code is missing, cannot be started, or is too old."""
    DENIED = 4
    """A tool was denied because there was nobody to ask."""
    TIMED_OUT = 124
    INTERRUPTED = 130
    BROKEN_PIPE = 141


class Stopped(BaseException):
    """A signal that ends the command; raised in the main thread, wherever it is, `code` is the exit code."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


# The first class that fits counts.
_CODES: tuple[tuple[type[BaseException], int], ...] = (
    (KeyboardInterrupt, Code.INTERRUPTED),
    (BrokenPipeError, Code.BROKEN_PIPE),
    (errors.OptionsError, Code.USAGE),
    (errors.InitializeError, Code.FAILED),
    (errors.StartError, Code.NO_PROGRAM),
    (errors.NotSupportedError, Code.NO_PROGRAM),
    (TimeoutError, Code.TIMED_OUT),
)

# The library's names of options, and the flags that stand for them here.
_FLAGS = {
    "allowed_tools": "--allow",
    "continue_conversation": "--continue",
    "cwd": "--cwd",
    "max_turns": "--max-turns",
    "model": "--model",
    "permission_mode": "--permission-mode",
    "resume": "--resume",
}


def code_for(error: BaseException) -> int:
    """Return the exit code for an exception that ends the command."""
    if isinstance(error, Stopped):
        return error.code
    return next((code for kind, code in _CODES if isinstance(error, kind)), Code.FAILED)


def told(error: BaseException) -> str:
    """Return what an exception says, for a terminal: without escape codes, and without what looks like a secret."""
    text = str(error) or type(error).__name__
    if isinstance(error, errors.OptionsError) and error.field in _FLAGS:
        text = f"{_FLAGS[error.field]}: {text}"
    return safe(str(log.redact(text)))
