"""The project's own source files, parsed: what the tests of layers, exports and style read."""

import ast
import functools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = "claude_control"


@dataclass(frozen=True)
class Source:
    """One Python module: its dotted name, whether it is a package's `__init__`, and its text."""

    name: str
    is_package: bool
    text: str

    @functools.cached_property
    def tree(self) -> ast.Module:
        """The parsed text."""
        return ast.parse(self.text)

    @property
    def lines(self) -> int:
        """How many lines the module has."""
        return len(self.text.splitlines())


def read(path: Path) -> Source:
    """Return one file below the root as a Source."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    is_package = parts[-1] == "__init__"
    name = ".".join(parts[:-1] if is_package else parts)
    return Source(name=name, is_package=is_package, text=path.read_text(encoding="utf-8"))


def is_leftover(path: Path) -> bool:
    """Whether a path below the root lies in a cache that some tool has left there."""
    return any(part == "__pycache__" or part.endswith("_cache") for part in path.relative_to(ROOT).parts)


@functools.cache
def modules(top: str = PACKAGE) -> tuple[Source, ...]:
    """Return every module below one top-level folder, in the order of their names."""
    paths = (path for path in (ROOT / top).rglob("*.py") if not is_leftover(path))
    return tuple(sorted(map(read, paths), key=lambda source: source.name))


def functions(source: Source) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Yield every function of a module, methods and nested ones included."""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node
