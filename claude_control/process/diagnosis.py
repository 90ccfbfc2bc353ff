"""Why the operating system refused to start a program, in words that say what to do about it."""

import errno
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from claude_control.errors import SpawnError
from claude_control.process.redaction import redact_command

__all__ = ["spawn_error", "spawn_function_error"]

_SHOWN_CHARACTERS = 200  # of one argument: prompts and JSON on the command line would bury the message

_EXHAUSTED = {
    errno.EMFILE: "this process has too many files open; raise `ulimit -n` or close sessions",
    errno.ENFILE: "the machine has too many files open; close some, or raise fs.file-max",
    errno.EAGAIN: "the limit of processes or threads is reached; raise `ulimit -u`, or end some",
    errno.ENOMEM: "there is not enough memory; end something, or allow overcommit",
}


def spawn_error(error: Exception, argv: Sequence[str], env: Mapping[str, str], cwd: str | None) -> SpawnError:
    """Return the error to raise for a start that failed with `error`."""
    message = _reason(error, argv, env, cwd)
    made = SpawnError(f"cannot start the program: {message}", command=redact_command(argv), cwd=cwd)
    made.__cause__ = error
    return made


def spawn_function_error(error: Exception, argv: Sequence[str], cwd: str | None) -> SpawnError:
    """Return the error to raise when the caller's own `spawn` function failed with `error`."""
    told = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    text = f"cannot start the program: the `spawn` option raised {told}"
    return SpawnError(text, command=redact_command(argv), cwd=cwd)


def _reason(error: Exception, argv: Sequence[str], env: Mapping[str, str], cwd: str | None) -> str:
    if not isinstance(error, OSError):
        return _malformed(error, argv, env, cwd)
    if error.errno in _EXHAUSTED:
        return _EXHAUSTED[error.errno]
    if error.errno == errno.E2BIG:
        return _too_big(argv, env)
    return _directory_problem(cwd) or _program_problem(error, argv[0], env, cwd)


def _malformed(error: Exception, argv: Sequence[str], env: Mapping[str, str], cwd: str | None) -> str:
    """Name the argument or variable that no program can be given."""
    for number, argument in enumerate(argv):
        if "\0" in argument:
            return f"argument {number} ({_short(argument)}) contains a NUL character; remove it"
    for name, value in env.items():
        if not name or "=" in name or "\0" in name:
            return f"{name!r} is not a name that an environment variable can have; change `env`"
        if "\0" in value:
            return f"the environment variable {name} contains a NUL character; change `env`"
    if cwd is not None and "\0" in cwd:
        return f"the working directory {cwd!r} contains a NUL character; change `cwd`"
    return f"{error} ({type(error).__name__})"


def _too_big(argv: Sequence[str], env: Mapping[str, str]) -> str:
    """Say what of the command line and environment is too long; names only, values may be secret."""
    arguments = [(len(os.fsencode(argument)), _short(argument.partition("=")[0])) for argument in argv]
    variables = [(len(os.fsencode(name + value)), f"the environment variable {name}") for name, value in env.items()]
    size, name = max(arguments + variables)
    total = sum(length + 1 for length, _ in arguments + variables)
    return (
        f"its arguments and environment are too long: {total} bytes, of which {name} has {size}; "
        "Linux allows 128 KiB for one and about 2 MiB for all; shorten that one or pass it in a file"
    )


def _directory_problem(cwd: str | None) -> str | None:
    if cwd is None:
        return None
    if not os.path.exists(cwd):
        return f"the working directory {cwd!r} does not exist; create it or change `cwd`"
    if not os.path.isdir(cwd):
        return f"the working directory {cwd!r} is not a directory; change `cwd`"
    if not os.access(cwd, os.X_OK):
        return f"the working directory {cwd!r} may not be entered by this user; change its mode or `cwd`"
    return None


def _program_problem(error: OSError, program: str, env: Mapping[str, str], cwd: str | None) -> str:
    path = _find(program, env, cwd)
    if path is None:
        where = f"(seen from {cwd or os.getcwd()})" if os.sep in program else f"in PATH ({env.get('PATH', os.defpath)})"
        return f"{program!r} does not exist {where}; install it or change `cli_path`"
    if path.is_dir():
        return f"{str(path)!r} is a directory; `cli_path` must name the program in it"
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return _interpreter_problem(path)
    if isinstance(error, PermissionError):
        if not os.access(path, os.X_OK):
            return f"{str(path)!r} is not executable for this user; `chmod +x` it or change `cli_path`"
        return (
            f"the system does not let this user run {str(path)!r}; "
            "it may lie on a file system mounted noexec, or its interpreter is not executable"
        )
    if error.errno == errno.ENOEXEC:
        return f"{str(path)!r} is not a program that this machine can run: another architecture, or a script without #!"
    return f"{error.strerror or error} ({str(path)!r})"


def _interpreter_problem(path: Path) -> str:
    """Say that the file is there, and what it needs is not."""
    interpreter = _shebang(path)
    if interpreter is not None:
        return f"{str(path)!r} exists, but its interpreter {interpreter!r} does not; install it or change line 1"
    return (
        f"{str(path)!r} exists, but what it needs to run does not: it was built for another system (its dynamic loader "
        "is missing, as with a glibc program on Alpine); install one that fits"
    )


def _shebang(path: Path) -> str | None:
    try:
        with path.open("rb") as file:
            first = file.readline(256)  # the kernel looks no further
    except OSError:  # a program may be executable and not readable
        return None
    words = first[2:].split()
    return os.fsdecode(words[0]) if first.startswith(b"#!") and words else None


def _find(program: str, env: Mapping[str, str], cwd: str | None) -> Path | None:
    """Return the file that was meant, executable or not, or None."""
    if os.sep in program:
        places = [Path(cwd or ".", program)]
    else:
        places = [Path(cwd or ".", folder, program) for folder in env.get("PATH", os.defpath).split(os.pathsep)]
    return next((place for place in places if _exists(place)), None)


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # a folder on the way that may not be searched, or a name that is too long
        return False


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN_CHARACTERS else text[:_SHOWN_CHARACTERS] + "…"
