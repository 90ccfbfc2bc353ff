"""The house rules on form: what every module, function and text file of the project keeps to."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests import sources
from tests.sources import Source

MODULE_LINES = 400
# Tests mirror the source file by file and need about half as much again.
TEST_MODULE_LINES = 600
FUNCTION_LINES = 60

# Names that say nothing about what is inside.
EMPTY_NAMES = frozenset(("common", "helpers", "manager", "misc", "types", "utils"))

# Written in pieces, so that this file does not find itself.
UNFINISHED = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X)\b")
MACHINE_PATH = re.compile(r"(?<![\w.~}-])/(?:(?:root|work|Users)/|home/(?!me\b|user\b|you\b|linuxbrew\b)\w)")

FOLDERS = ("benchmarks", "claude_control", "docs", "tests", ".ci")
TEXTS = frozenset((".cfg", ".ini", ".js", ".html", ".json", ".jsonl", ".md", ".py", ".sh", ".toml", ".txt", ""))


def complaints(source: Source) -> Iterator[str]:
    """Yield one sentence for every rule that a module breaks."""
    is_test = source.name.partition(".")[0] == "tests"
    limit = TEST_MODULE_LINES if is_test else MODULE_LINES
    if source.lines > limit:
        yield f"{source.name}: {source.lines} lines, more than {limit}"
    if source.text.strip() and not ast.get_docstring(source.tree):
        yield f"{source.name}: no docstring"
    if EMPTY_NAMES & set(source.name.split(".")):
        yield f"{source.name}: the name says nothing about what is inside"
    for function in sources.functions(source):
        length = (function.end_lineno or function.lineno) - function.lineno + 1
        if length > FUNCTION_LINES:
            yield f"{source.name}:{function.lineno} {function.name}: {length} lines, more than {FUNCTION_LINES}"
    yield from _test_complaints(source) if is_test else _public_complaints(source)


def text_complaints(name: str, text: str) -> Iterator[str]:
    """Yield one sentence for every line of a file that is unfinished or names a path of the author's machine."""
    here = re.compile(
        "|".join(re.escape(str(path)) + r"\b" for path in (sources.ROOT, Path.home()) if len(path.parts) > 2)
    )
    for number, line in enumerate(text.splitlines(), 1):
        if UNFINISHED.search(line):
            yield f"{name}:{number} unfinished"
        if MACHINE_PATH.search(line) or (here.pattern and here.search(line)):
            yield f"{name}:{number} names a path of one machine"


def texts() -> Iterator[tuple[str, str]]:
    """Yield (name, text) of every text file that belongs to the project."""
    top = [path for path in sources.ROOT.iterdir() if path.is_file() and not path.name.startswith(".coverage")]
    nested = [path for folder in FOLDERS for path in (sources.ROOT / folder).rglob("*") if path.is_file()]
    for path in sorted(top + nested):
        if path.suffix in TEXTS and "_build" not in path.parts and not sources.is_leftover(path):
            yield path.relative_to(sources.ROOT).as_posix(), path.read_text(encoding="utf-8")


def _public_complaints(source: Source) -> Iterator[str]:
    """Yield the public classes, functions and methods of a module that have no docstring."""
    for name, node in _public(source.tree, ""):
        if not ast.get_docstring(node):
            yield f"{source.name}:{node.lineno} {name}: no docstring"


def _public(
    parent: ast.Module | ast.ClassDef, prefix: str
) -> Iterator[tuple[str, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef]]:
    """Yield the public definitions of a module or class by their qualified names; what functions hide is private."""
    for node in parent.body:
        if not isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) or node.name.startswith("_"):
            continue
        if any(ast.unparse(decorator).endswith(("overload", ".setter")) for decorator in node.decorator_list):
            continue
        yield prefix + node.name, node
        if isinstance(node, ast.ClassDef):
            yield from _public(node, f"{prefix}{node.name}.")


def _test_complaints(source: Source) -> Iterator[str]:
    """Yield the tests and fixtures without a docstring of one line, and sleeps that stand in for waiting."""
    for function in sources.functions(source):
        is_fixture = any("fixture" in ast.unparse(decorator) for decorator in function.decorator_list)
        if function.name.startswith("test_") or is_fixture:
            said = ast.get_docstring(function) or ""
            if not said:
                yield f"{source.name}:{function.lineno} {function.name}: no docstring"
            elif "\n" in said and not is_fixture:
                yield f"{source.name}:{function.lineno} {function.name}: the guarantee takes more than one line"
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in {"time.sleep", "sleep"}:
            yield f"{source.name}:{node.lineno} sleeps; wait for an event instead"
