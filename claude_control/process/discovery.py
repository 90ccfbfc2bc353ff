"""Where the program is: what the caller names, what the environment names, and where it is usually installed."""

import importlib.util
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

import attrs

from claude_control.errors import CLINotFoundError, OptionsError
from claude_control.process.version import program_version

__all__ = ["Program", "find_program", "program_version"]

VARIABLE = "CLAUDE_CONTROL_CLI"
"""The environment variable that names the program for a whole process."""

_NAME = "claude"
_SCRIPTS = (".js", ".mjs", ".cjs")
_BATCHES = (".cmd", ".bat")
_PLACES = (
    "~/.claude/local/claude",
    "~/.local/bin/claude",
    "/usr/local/bin/claude",
    "/usr/bin/claude",
    "/opt/homebrew/bin/claude",
    "~/.npm-global/bin/claude",
    "~/node_modules/.bin/claude",
    "~/.yarn/bin/claude",
    "~/.bun/bin/claude",
    "~/.volta/bin/claude",
)
_INSTALL = (
    "Install it (`npm install -g @anthropic-ai/claude-code`, or `pip install --no-deps claude-agent-sdk`, which brings"
    f" the program along), put it on PATH, or name it: Options(cli_path=…) or the variable {VARIABLE}."
)
# Each session starts the same one: the file that was looked at last and is no script, and the path, the file and the
# program of the last `cli_path` that named such a one by its absolute path.
_fine: tuple[object, ...] = ()
_named: tuple[str, tuple[object, ...], "Program | None"] = ("", (), None)
_SHEBANG_BYTES = 256  # what Linux reads of a script's first line


@attrs.frozen
class Program:
    """A program that was found: the command that runs it, and how it was found, for people."""

    command: tuple[str, ...]
    origin: str


def find_program(
    cli_path: str | os.PathLike[str] | Sequence[str] | None = None,
    environ: Mapping[str, str] | None = None,
    *,
    places: Sequence[str] = _PLACES,
) -> Program:
    """Return the program to run; nothing is started.

    `cli_path` is a path, a name on PATH, a `.js` file or a whole command; where it is None, CLAUDE_CONTROL_CLI, PATH,
    an installed claude-agent-sdk (which is not imported) and `places` are tried in this order. Raises
    `CLINotFoundError`.
    """
    if cli_path.__class__ is str and (program := _named_again(cli_path)) is not None:
        return program
    search = _Search(os.environ if environ is None else environ)
    if cli_path is not None:
        return search.named(cli_path, "cli_path")
    if search.environ.get(VARIABLE):
        return search.named(search.environ[VARIABLE], VARIABLE)
    search.looked.append(f"{VARIABLE}: not set")
    for path, origin in search.candidates(places):
        if path is not None and (program := search.usable(path, origin)) is not None:
            return program
    raise CLINotFoundError(f"Claude Code was not found. {_INSTALL} {_list(search.looked)}", looked=search.looked)


class _Search:
    """One search, and the places it has looked at."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self.environ = environ
        self.looked: list[str] = []

    def named(self, value: str | os.PathLike[str] | Sequence[str], origin: str) -> Program:
        """Return the program that somebody named; a wrong name is an error, never a reason to look elsewhere."""
        global _named
        parts = [value] if isinstance(value, str | os.PathLike) else list(value)
        first, *rest = [os.fspath(part) for part in parts]
        if first.lower().endswith(_BATCHES):
            text = "a batch file runs in a shell that reads its arguments anew; name the program itself"
            raise OptionsError(f"{origin} {first!r} is refused: {text}", field="cli_path")
        by_name = isinstance(parts[0], str) and os.sep not in first and not first.startswith("~")
        path = self.on_path(first, origin) if by_name else self.at_home(first)
        problem = self.problem(path)
        if problem:
            self.fail(f"{origin}: {problem}", path)
        program = Program((*self.command(path), *rest), origin)
        fine = _fine
        if value.__class__ is str and value == path and path in fine[:1] and origin == "cli_path":
            _named = path, fine, program
        return program

    def usable(self, path: str, origin: str) -> Program | None:
        """Return the program at a place where it may be, and remember what is wrong with it otherwise."""
        problem = self.problem(path)
        if problem is None:
            return Program(self.command(path), origin)
        self.looked.append(f"{origin}: {problem}")
        return None

    def candidates(self, places: Sequence[str]) -> Iterator[tuple[str | None, str]]:
        """Yield every path where the program may be, and how it would have been found."""
        for directory in self.directories():
            yield os.path.join(directory, _NAME), "PATH"
        bundled = _bundled()
        if bundled is None:
            self.looked.append("claude-agent-sdk: not installed, or without the program")
        yield bundled, "claude-agent-sdk"
        for place in places:
            yield self.at_home(place), "usual place"

    def directories(self) -> list[str]:
        """Return the directories of PATH, without relative ones: those may lie in the project that is worked on."""
        entries = self.environ.get("PATH", os.defpath).split(os.pathsep)
        return list(dict.fromkeys(entry for entry in entries if os.path.isabs(entry)))

    def on_path(self, name: str, origin: str) -> str:
        """Return the path of a program given by its name, or of a file of that name right here."""
        found = self.which(name)
        if found is None and (name.endswith(_SCRIPTS) or os.path.isfile(name)):
            return os.path.abspath(name)
        if found is None:
            looked = [os.path.join(directory, name) for directory in self.directories()]
            raise CLINotFoundError(f"{origin}: there is no {name!r} on PATH. {_list(looked)}", looked=looked)
        return found

    def which(self, name: str) -> str | None:
        """Return the first file of that name on PATH that can be run."""
        paths = (os.path.join(directory, name) for directory in self.directories())
        return next((path for path in paths if os.path.isfile(path) and os.access(path, os.X_OK)), None)

    def at_home(self, path: str) -> str:
        """Return an absolute path, `~` being the home that the environment names."""
        if path == "~" or path.startswith("~/"):
            path = (self.environ.get("HOME") or str(Path.home())) + path[1:]
        return os.path.abspath(os.path.expanduser(path))

    def problem(self, path: str) -> str | None:
        """Return why the file cannot be run, None if it can."""
        global _fine
        try:
            found = os.stat(path)
        except (OSError, ValueError):
            return f"{path} does not exist"
        if stat.S_ISDIR(found.st_mode):
            return f"{path} is a directory"
        if path.endswith(_SCRIPTS):
            return self.script_problem(path)
        identity = _identity(path, found)
        if identity == _fine:
            return None
        if not os.access(path, os.X_OK):
            return f"{path} is not executable (chmod +x makes it so)"
        shebang = _shebang(path)
        if shebang:
            return self.interpreter_problem(path, shebang)
        _fine = identity
        return None

    def script_problem(self, path: str) -> str | None:
        """Return what is wrong with a JavaScript file, which need not be executable."""
        if not os.access(path, os.R_OK):
            return f"{path} cannot be read"
        return None if self.which("node") else f"{path} is run by node, which is not on PATH"

    def interpreter_problem(self, path: str, shebang: Sequence[str]) -> str | None:
        """Return what is wrong with a script's interpreter; if it is missing, the system says that the script is."""
        interpreter, *arguments = shebang
        if os.path.basename(interpreter) == "env":
            wanted = next((word for word in arguments if not word.startswith("-") and "=" not in word), None)
            missing = wanted is not None and os.sep not in wanted and self.which(wanted) is None
            return f"{path} is run by {wanted}, which is not on PATH" if missing else None
        return None if os.path.exists(interpreter) else f"{path} is run by {interpreter}, which does not exist"

    def command(self, path: str) -> tuple[str, ...]:
        """Return the command that runs a file without problems."""
        node = self.which("node") if path.endswith(_SCRIPTS) else None
        return (node, path) if node else (path,)

    def fail(self, text: str, path: str) -> NoReturn:
        """Raise the error for a program that was named and is not there."""
        raise CLINotFoundError(f"{text}. {_INSTALL}", looked=[path])


def _named_again(path: Any) -> Program | None:
    """Return the program that this path was the last time, if its file is as it was."""
    value, identity, program = _named
    if path != value:
        return None
    try:
        return program if _identity(path, os.stat(path)) == identity else None
    except OSError:
        return None


def _identity(path: str, found: os.stat_result) -> tuple[object, ...]:
    return path, found.st_dev, found.st_ino, found.st_mode, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def _bundled() -> str | None:
    """Return the program inside of an installed claude-agent-sdk; finding a top-level package does not import it."""
    try:
        spec = importlib.util.find_spec("claude_agent_sdk")
    except (ImportError, ValueError):  # a broken or half-made module of that name
        return None
    folders = spec.submodule_search_locations if spec is not None else None
    paths = [os.path.join(folder, "_bundled", _NAME) for folder in folders or ()]
    return next((path for path in paths if os.path.isfile(path)), None)


def _shebang(path: str) -> list[str] | None:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            line = os.read(fd, _SHEBANG_BYTES).partition(b"\n")[0]
        finally:
            os.close(fd)
    except OSError:  # it may be run without being readable
        return None
    return os.fsdecode(line[2:]).split() if line.startswith(b"#!") else None


def _list(looked: Sequence[str]) -> str:
    return "Looked at: " + "; ".join(looked)
