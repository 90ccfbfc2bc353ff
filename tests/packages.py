"""Building the project's distributions, apart from the checkout, which a build would leave files in."""

import shutil
import subprocess
import sys
from pathlib import Path

from tests import sources

FOLDERS = (".ci", "benchmarks", sources.PACKAGE, "docs", "tests")
FILES = (
    *(".gitignore", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "MANIFEST.in", "README.md"),
    *("pyproject.toml", "ruff.toml", "setup.cfg", "setup.py", "tox.ini"),
)
"""All that the top of the project holds; nothing else is in a source distribution."""

_IGNORED = shutil.ignore_patterns("__pycache__", ".?*", "_build")
_CODE = "import sys; from setuptools import build_meta; getattr(build_meta, 'build_' + sys.argv[1])('dist')"


def copy_project(folder: Path) -> Path:
    """Copy what a clone would hold into a new folder, and return that."""
    for name in FOLDERS:
        shutil.copytree(sources.ROOT / name, folder / name, ignore=_IGNORED)
    for name in FILES:
        shutil.copy(sources.ROOT / name, folder)
    return folder


def build(folder: Path, kind: str) -> Path:
    """Build a "wheel" or an "sdist" in a folder, as pip would but with the setuptools at hand; return the file."""
    subprocess.run([sys.executable, "-c", _CODE, kind], cwd=folder, check=True, capture_output=True, timeout=50)
    (built,) = (folder / "dist").glob("*.whl" if kind == "wheel" else "*.tar.gz")
    return built


def files_in(folder: Path) -> dict[str, bytes]:
    """Return every file below a folder by its relative name."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
