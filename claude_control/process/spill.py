"""Temporary files: for what is too large or too secret for a command line, and for output that waits to be read.

The files lie in one directory per session that only this user can open. Its name says which process made it, so that
the next session removes what a crashed host has left.
"""

import contextlib
import os
import re
import stat
import threading

from claude_control import log
from claude_control.errors import SpawnError
from claude_control.process._watchdog import start_time

__all__ = ["SpillFiles", "overflow_file"]

_PREFIX = "claude-control"
# The process namespace comes first: a pid of another container, which may share the directory, says nothing here.
_DIRECTORY = re.compile(rf"{_PREFIX}-(?P<namespace>\d+)-(?P<pid>\d+)-(?P<start>\d+)-[A-Za-z0-9_]+")
# Without O_NOFOLLOW and O_CLOEXEC on Windows, where this module is imported but never used.
_SAFE = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _SAFE

_log = log.get(__name__)
_swept: set[str] = set()  # the directories in which this process has already looked for leftovers
_sweep_lock = threading.Lock()  # guards _swept


class SpillFiles:
    """The files of one session; the directory comes with the first file and goes with `close`."""

    def __init__(self) -> None:
        self._owner = os.getpid()
        self._directory: str | None = None
        self._names: list[str] = []

    def __repr__(self) -> str:
        return f"SpillFiles(directory={self._directory!r}, files={len(self._names)})"

    def write(self, name: str, content: str | bytes) -> str:
        """Write a new file and return its path. Raises `SpawnError` if it cannot, and leaves nothing behind."""
        data = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
        try:
            directory = self._made()
            self._names.append(name)
            path = os.path.join(directory, name)
            _write_new(path, data)
        except OSError as error:
            self.close()
            import tempfile

            text = f"cannot write a temporary file in {tempfile.gettempdir()}: {error.strerror}"
            raise SpawnError(f"{text}; TMPDIR names another place") from error
        return path

    def close(self) -> None:
        """Remove the files and their directory; idempotent. A forked child leaves its parent's alone."""
        directory, self._directory = self._directory, None
        if directory is None or os.getpid() != self._owner:
            return
        names, self._names = self._names, []
        for name in names:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(os.path.join(directory, name))
        try:
            os.rmdir(directory)
        except OSError as error:  # somebody put a file of his own there; ours are gone
            _log.warning("spill.kept", directory=directory, error=repr(error))

    def _made(self) -> str:
        if self._directory is None:
            import tempfile  # slow to import, and most sessions need no file

            root = tempfile.gettempdir()
            _sweep_once(root)
            self._directory = tempfile.mkdtemp(prefix=f"{_PREFIX}-{_identity()}-", dir=root)
            os.chmod(self._directory, 0o700)  # whatever the umask
        return self._directory


def overflow_file() -> int:
    """Return the descriptor of a temporary file that has no name, so that it is gone when it is closed."""
    import tempfile

    descriptor, path = tempfile.mkstemp(prefix=f"{_PREFIX}-")
    os.unlink(path)
    return descriptor


def _write_new(path: str, data: bytes) -> None:
    descriptor = os.open(path, _CREATE, 0o600)
    with open(descriptor, "wb") as file:
        os.fchmod(descriptor, 0o600)  # whatever the umask
        file.write(data)


def _identity() -> str:
    """Return what tells this process from every other one: its namespace, pid and start time."""
    pid = os.getpid()
    return f"{_namespace()}-{pid}-{os.fsdecode(start_time(pid)) or 0}"


def _namespace() -> int:
    try:
        return os.stat("/proc/self/ns/pid").st_ino
    except OSError:  # no /proc: macOS has no containers to tell apart
        return 0


def _sweep_once(root: str) -> None:
    with _sweep_lock:
        if root in _swept:
            return
        _swept.add(root)
    sweep(root)


def sweep(root: str) -> list[str]:
    """Remove from a directory what this user's dead processes have left there; returns the paths removed."""
    found = [(entry, _DIRECTORY.fullmatch(entry.name)) for entry in _entries(root)]
    left = [entry.path for entry, name in found if name and _is_left(name)]
    removed = [path for path in left if _remove(path)]
    if removed:
        _log.info("spill.swept", directories=removed)
    return removed


def _entries(root: str) -> "list[os.DirEntry[str]]":
    try:
        with os.scandir(root) as entries:
            return [entry for entry in entries if entry.name.startswith(_PREFIX)]
    except OSError:  # unreadable, or gone: creating the file will say so
        return []


def _is_left(name: re.Match[str]) -> bool:
    """Tell whether the process that made a directory is dead; where that cannot be told, it is not."""
    if int(name["namespace"]) != _namespace():
        return False
    if os.path.exists("/proc/self/stat"):
        return os.fsdecode(start_time(int(name["pid"]))) != name["start"]
    try:
        os.kill(int(name["pid"]), 0)
    except ProcessLookupError:
        return True
    except OSError:  # somebody else's, or no pid at all
        return False
    return False


def _remove(path: str) -> bool:
    """Remove a directory of plain files if it is ours; no link is followed, whatever takes its place meanwhile."""
    try:
        directory = os.open(path, os.O_RDONLY | os.O_DIRECTORY | _SAFE)
        try:
            if os.fstat(directory).st_uid != os.getuid():
                return False
            for name in os.listdir(directory):
                if stat.S_ISREG(os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode):
                    os.unlink(name, dir_fd=directory)
        finally:
            os.close(directory)
        os.rmdir(path)
    except OSError as error:  # another process sweeps too, or it is not as we made it: then it stays
        _log.debug("spill.unswept", directory=path, error=repr(error))
        return False
    return True
