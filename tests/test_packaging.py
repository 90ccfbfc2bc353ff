"""What is installed is what the project says: metadata in one place, and a wheel that holds all of the package."""

import configparser
import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from email.message import Message
from email.parser import Parser
from pathlib import Path

import pytest

from claude_control import _version
from tests import packages, sources


@pytest.fixture(scope="module")
def setup_cfg() -> configparser.ConfigParser:
    """Return setup.cfg, parsed."""
    parser = configparser.ConfigParser()
    parser.read(sources.ROOT / "setup.cfg", encoding="utf-8")
    return parser


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the project, so that building leaves nothing in the checkout."""
    return packages.copy_project(tmp_path_factory.mktemp("build") / "claude_control_sdk")


@pytest.fixture(scope="module")
def wheel(copy: Path) -> zipfile.ZipFile:
    """Return the wheel, built by the backend that pip would use and the setuptools that is installed."""
    return zipfile.ZipFile(packages.build(copy, "wheel"))


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder that a source distribution unpacks to."""
    folder = tmp_path_factory.mktemp("sdist")
    built = packages.build(packages.copy_project(folder / "project"), "sdist")
    with tarfile.open(built) as archive:
        archive.extractall(folder, filter="data")
    return folder / built.name.removesuffix(".tar.gz")


@pytest.fixture(scope="module")
def metadata(wheel: zipfile.ZipFile) -> Message:
    """Return the METADATA of the wheel."""
    (name,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
    return Parser().parsestr(wheel.read(name).decode())


def test_wheel_holds_exactly_the_package(wheel: zipfile.ZipFile) -> None:
    """Every module of the package and its type marker are in the wheel, and nothing else is."""
    ours = {
        path.relative_to(sources.ROOT).as_posix()
        for path in (sources.ROOT / sources.PACKAGE).rglob("*")
        if path.is_file() and not sources.is_leftover(path)
    }
    packed = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert packed == ours
    assert "claude_control/py.typed" in packed


def test_sdist_is_the_project(unpacked: Path, copy: Path) -> None:
    """A source distribution holds all of the project, tests and what they read included, and adds only metadata."""
    made = {"PKG-INFO", *(name for name in packages.files_in(unpacked) if ".egg-info/" in name)}
    added = {"setup.cfg"}  # setuptools writes its own section behind ours
    packed = {name: data for name, data in packages.files_in(unpacked).items() if name not in made | added}
    ours = {
        name: data
        for name, data in packages.files_in(copy).items()
        if name not in added and not name.startswith(("build/", "dist/")) and ".egg-info/" not in name
    }
    assert packed.keys() == ours.keys()
    assert packed == ours


def test_sdist_forgets_nothing() -> None:
    """Whatever stands at the top of the checkout, but for caches and what builds leave, belongs to the project."""
    left = ("build", "dist", "claude_control_sdk.egg-info")
    seen = {path.name for path in sources.ROOT.iterdir() if path.name not in left}
    listed = {*packages.FOLDERS, *packages.FILES}
    assert {name for name in seen if not name.startswith(".")} <= listed <= seen


def test_wheel_from_the_sdist_is_the_same(unpacked: Path, wheel: zipfile.ZipFile) -> None:
    """Whoever builds from the source distribution gets the wheel that the checkout gives, byte for byte."""
    with zipfile.ZipFile(packages.build(unpacked, "wheel")) as other:
        assert {name: other.read(name) for name in other.namelist()} == {
            name: wheel.read(name) for name in wheel.namelist()
        }


def test_sdist_passes_tests_of_its_own(unpacked: Path) -> None:
    """Tests that read the project's files pass where only a source distribution was unpacked."""
    files = ["tests/test_errors.py", "tests/test_packaging.py"]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "not wheel and not sdist", *files]
    environment = {**os.environ, "PYTHONPATH": str(unpacked), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        command, cwd=unpacked, env=environment, check=False, capture_output=True, text=True, timeout=50
    )
    assert done.returncode == 0, done.stdout


def test_wheel_carries_the_licence(wheel: zipfile.ZipFile, metadata: Message) -> None:
    """The wheel says MIT and has the text."""
    (licence,) = (name for name in wheel.namelist() if name.endswith("/LICENSE"))
    assert wheel.read(licence).decode().startswith("MIT License")
    assert metadata["License-Expression"] == "MIT"


def test_wheel_names_the_distribution(metadata: Message) -> None:
    """Name, version and Python floor of the wheel are the promised ones."""
    assert metadata["Name"] == "claude-control-sdk"
    assert metadata["Version"] == _version.__version__
    assert metadata["Requires-Python"] == ">=3.11"


def test_wheel_requires_few_libraries(metadata: Message) -> None:
    """Six libraries are required, orjson from the release that survives deep nesting; the rest are extras."""
    required = {line for line in metadata.get_all("Requires-Dist", []) if "extra ==" not in line}
    names = {re.split(r"[^\w-]", line, maxsplit=1)[0] for line in required}
    assert names == {"orjson", "attrs", "structlog", "click", "msgspec", "docstring-parser"}
    assert "orjson>=3.9.15" in required
    extras = {"rich", "mcp", "django", "flask", "celery", "otel", "jupyter", "all", "test", "docs"}
    assert set(metadata.get_all("Provides-Extra", [])) == extras


def test_wheel_declares_its_entry_points(wheel: zipfile.ZipFile) -> None:
    """The command and the pytest plugin are declared under the names of things that exist."""
    (name,) = (name for name in wheel.namelist() if name.endswith("/entry_points.txt"))
    parser = configparser.ConfigParser(delimiters=("=",))
    parser.read_string(wheel.read(name).decode())
    assert dict(parser["console_scripts"]) == {"claude-control": "claude_control.cli:main"}
    plugin = "claude_control.testing.pytest_plugin"
    assert dict(parser["pytest11"]) == {plugin: plugin}
    assert plugin in {module.name for module in sources.modules()}


def test_version_is_written_once(setup_cfg: configparser.ConfigParser) -> None:
    """The version stands in `_version.py` only; setup.cfg points there."""
    assert setup_cfg["metadata"]["version"] == "attr: claude_control._version.__version__"
    places = [module.name for module in sources.modules() if _version.__version__ in module.text]
    assert places == ["claude_control._version"]
    assert _version.__version__ not in (sources.ROOT / "setup.cfg").read_text(encoding="utf-8")


def test_setup_cfg_is_the_only_place_of_metadata() -> None:
    """pyproject.toml declares the build alone, and setup.py does nothing but call setup()."""
    with (sources.ROOT / "pyproject.toml").open("rb") as file:
        declared = tomllib.load(file)
    assert set(declared) == {"build-system"}
    setup_py = sources.read(sources.ROOT / "setup.py").text.split('"""')[2].split("\n")
    assert [line for line in setup_py if line] == ["import setuptools", "setuptools.setup()"]


def test_one_line_sets_up_and_tests() -> None:
    """The README's line is the one that continuous integration runs, last and to the letter."""
    line = "python3 -m venv .venv && .venv/bin/pip install tox && .venv/bin/tox run-parallel"
    assert (sources.ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()[-1] == line
    assert line in (sources.ROOT / "README.md").read_text(encoding="utf-8").splitlines()


def test_changelog_opens_with_the_promise() -> None:
    """The change log says first what may change between releases, then lists the unreleased changes."""
    text = (sources.ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert 0 < text.index("Compatibility") < text.index("## [Unreleased]")


def test_extras_name_one_another() -> None:
    """The extra `all` has every extra that is not for developing."""
    text = (sources.ROOT / "setup.cfg").read_text(encoding="utf-8")
    section = text.partition("[options.extras_require]")[2].partition("\n[")[0]
    names = set(re.findall(r"^(\w+) =", section, re.MULTILINE))
    (gathered,) = re.findall(r"^all = claude-control-sdk\[(.*)\]$", section, re.MULTILINE)
    assert set(gathered.split(",")) == names - {"all", "test", "docs"}
