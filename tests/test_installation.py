"""What pip makes of the project works: in a new environment, with its extras, and by the README's first line."""

import os
import subprocess
import sys
import time
from pathlib import Path

import attrs
import pytest

from claude_control import _version
from tests import packages, sources

# Pip reaches its registry over a network that may be slow; so tox runs these once, not on every Python.
pytestmark = [pytest.mark.install, pytest.mark.timeout(600)]
_PIP_SECONDS = 300.0

DEMO_SECONDS = 5.0
"""How long the demo may take."""

_USER_CODE = """\
from claude_control import Session

with Session(model="sonnet") as session:
    reveal_type(session.ask("Hello").result().total_cost_usd)
    session.ask(5)
"""


def run(*command: object, cwd: Path, seconds: float = 50.0, **environment: str) -> str:
    """Run a command to its end and return what it prints; what it writes to stderr explains a failure."""
    done = finished(*command, cwd=cwd, seconds=seconds, env=clean(environment))
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def finished(*command: object, cwd: Path, seconds: float, env: dict[str, str]) -> "subprocess.CompletedProcess[str]":
    """Run a command to its end, whatever that is."""
    argv = [str(part) for part in command]
    return subprocess.run(argv, cwd=cwd, env=env, check=False, capture_output=True, text=True, timeout=seconds)


def clean(more: dict[str, str]) -> dict[str, str]:
    """Return this environment without what would let a new Python see the checkout or another environment."""
    hidden = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "COVERAGE_PROCESS_START", "COVERAGE_PROCESS_CONFIG")
    return {name: value for name, value in os.environ.items() if name not in hidden} | more


@attrs.frozen
class Installed:
    """An environment of its own that holds the wheel and what it requires."""

    wheel: Path
    folder: Path

    @property
    def python(self) -> Path:
        """Its interpreter."""
        return self.folder / "bin" / "python"

    @property
    def command(self) -> Path:
        """Its `claude-control`."""
        return self.folder / "bin" / "claude-control"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """Return a new environment in which pip has installed the wheel."""
    folder = tmp_path_factory.mktemp("installed")
    wheel = packages.build(packages.copy_project(folder / "project"), "wheel")
    made = Installed(wheel, folder / "venv")
    run(sys.executable, "-m", "venv", made.folder, cwd=folder)
    run(made.python, "-m", "pip", "install", wheel, cwd=folder, seconds=_PIP_SECONDS)
    return made


def test_requirements_fit_together(installed: Installed, tmp_path: Path) -> None:
    """The requirements are all there: pip finds nothing missing and no conflict."""
    assert "No broken requirements" in run(installed.python, "-m", "pip", "check", cwd=tmp_path)


def test_package_is_the_installed_one(installed: Installed, tmp_path: Path) -> None:
    """The import comes from the new environment, with its type marker, and tells the version of its metadata."""
    code = (
        "import claude_control, importlib.metadata, importlib.resources as r;"
        "print(claude_control.__file__, r.files('claude_control').joinpath('py.typed').is_file(),"
        "importlib.metadata.version('claude-control-sdk'), claude_control.__version__)"
    )
    place, typed, *versions = run(installed.python, "-c", code, cwd=tmp_path).split()
    assert Path(place).is_relative_to(installed.folder)
    assert typed == "True"
    assert versions == [_version.__version__] * 2


def test_command_tells_its_version(installed: Installed, tmp_path: Path) -> None:
    """The installed command and `python -m claude_control` say the same version."""
    told = run(installed.command, "--version", cwd=tmp_path)
    assert _version.__version__ in told
    assert _version.__version__ in run(installed.python, "-m", "claude_control", "--version", cwd=tmp_path)


def test_demo_runs_from_what_is_installed(installed: Installed, tmp_path: Path) -> None:
    """The demo finds its stand-in inside the installed package, plays to the end, and is short."""
    begun = time.monotonic()
    told = run(installed.command, "demo", cwd=tmp_path)
    assert "session.close()" in told
    assert time.monotonic() - begun < DEMO_SECONDS


def test_type_checker_sees_the_types(installed: Installed, tmp_path: Path) -> None:
    """The types of the installed package are read by mypy: a result is known, and a wrong argument is found."""
    run(installed.python, "-m", "pip", "install", "mypy", cwd=tmp_path, seconds=_PIP_SECONDS)
    (tmp_path / "script.py").write_text(_USER_CODE, encoding="utf-8")
    command = (installed.python, "-m", "mypy", "--cache-dir", os.devnull, "script.py")
    done = finished(*command, cwd=tmp_path, seconds=120, env=clean({}))
    assert 'Revealed type is "float | None"' in done.stdout.replace("Union[builtins.float, None]", "float | None")
    assert 'Argument 1 to "ask" of "Session" has incompatible type "int"' in done.stdout


def test_extra_brings_rich(installed: Installed, tmp_path: Path) -> None:
    """The extra `rich` can be installed, and the command still runs with it."""
    folder = tmp_path / "with_rich"
    wanted = f"{installed.wheel}[rich]"
    run(installed.python, "-m", "pip", "install", "--target", folder, wanted, cwd=tmp_path, seconds=_PIP_SECONDS)
    code = "import rich, sys; from claude_control.__main__ import main; sys.argv[1:] = ['doctor', '--help']; main()"
    assert (folder / "rich").is_dir()
    assert "doctor" in run(installed.python, "-c", code, cwd=tmp_path, PYTHONPATH=str(folder))


def readme_line() -> str:
    """Return the README's line that sets up and runs the demo."""
    lines = (sources.ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    (line,) = (line for line in lines if line.endswith("/claude-control demo") and "venv" in line)
    return line


def test_readme_line_works_on_a_fresh_machine(tmp_path: Path) -> None:
    """In a clone, with an empty home and no cache, the README's first line installs the command and plays the demo."""
    project = packages.copy_project(tmp_path / "clone")
    home = tmp_path / "home"
    home.mkdir()
    kept = ("PATH", "LANG", "LC_ALL", "TMPDIR", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE")
    environment = {
        name: value
        for name, value in os.environ.items()
        if name in kept or name.startswith("PIP_") or name.lower().endswith("_proxy")
    }
    environment |= {"HOME": str(home), "XDG_CACHE_HOME": str(home / "cache"), "PIP_CONFIG_FILE": pip_settings()}
    begun = time.monotonic()
    done = finished("/bin/sh", "-c", readme_line(), cwd=project, seconds=500, env=environment)
    print(f"{time.monotonic() - begun:.1f} s")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "session.close()" in done.stdout


def pip_settings() -> str:
    """Return the file with this user's own settings for pip, which an empty home would lose; or one that is empty."""
    own = [os.environ.get("PIP_CONFIG_FILE"), "~/.config/pip/pip.conf", "~/.pip/pip.conf"]
    files = [Path(name).expanduser() for name in own if name]
    return next((str(file) for file in files if file.is_file()), os.devnull)
