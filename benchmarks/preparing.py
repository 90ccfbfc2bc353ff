"""What has to be there before anything is measured: the stand-in, compiled, and the official SDK, installed apart.

Both lie in a cache outside of the checkout: `claude-control-benchmarks` below `$XDG_CACHE_HOME` or `~/.cache`.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

OFFICIAL = "claude-agent-sdk==0.2.189"
"""The release that is compared with."""

PEER_SOURCES = tuple(Path(__file__).with_name(name) for name in ("peer.c", "peer_pipes.h"))
"""The stand-in's source, and what it includes."""

_INSTALL_SECONDS = 900.0  # some 100 MB, over a slow line
_COMPILE_SECONDS = 120.0


class PreparationError(Exception):
    """Something cannot be had; the message says what to do about it."""


def cache_directory() -> Path:
    """Return the directory that keeps what was built, between runs."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "claude-control-benchmarks"


def build_peer() -> Path:
    """Return the compiled stand-in, after compiling it if its source has changed; raises `PreparationError`."""
    source = b"".join(path.read_bytes() for path in PEER_SOURCES)
    target = cache_directory() / f"peer-{hashlib.sha256(source).hexdigest()[:16]}"
    if target.is_file():
        return target
    if shutil.which("cc") is None:
        raise PreparationError("no C compiler: install one that is called cc (for example: apt-get install gcc)")
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
        built = Path(scratch) / "peer"
        _run(["cc", "-O2", "-o", str(built), str(PEER_SOURCES[0])], _COMPILE_SECONDS)
        built.replace(target)  # whole, or not at all
    return target


def install_official() -> Path:
    """Return the Python of an environment with the official SDK, after making it; raises `PreparationError`."""
    directory = cache_directory() / OFFICIAL.replace("==", "-")
    python = directory / "bin" / "python"
    if (directory / "complete").is_file() and python.exists():
        return python
    shutil.rmtree(directory, ignore_errors=True)  # an environment cannot be moved, so half of one is made anew
    _run([sys.executable, "-m", "venv", str(directory)], _INSTALL_SECONDS)
    _run([str(python), "-m", "pip", "install", "--quiet", OFFICIAL], _INSTALL_SECONDS)
    (directory / "complete").touch()
    return python


def _run(command: list[str], timeout: float) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise PreparationError(f"{' '.join(command)}: {error}") from error
    if done.returncode:
        raise PreparationError(f"{' '.join(command)} ended with {done.returncode}:\n{done.stderr.strip()[-2000:]}")
