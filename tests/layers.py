"""The house rules on imports, as tables, and the reader that checks sources against them.

Every import counts: at the top of a module, inside a function, under `TYPE_CHECKING`, or by `import_module("...")`.
"""

import ast
from collections.abc import Collection, Iterable, Iterator

from tests.sources import PACKAGE, Source

# Lowest first. A module imports from rows below its own; within a row one may import the other, but not both ways.
# "" is the package itself, the public surface: it gathers the rows below, and none of them may import from it.
ROWS: tuple[tuple[str, ...], ...] = (
    ("_version", "errors", "records", "unset"),
    ("abort", "deadline", "likeness", "loading", "log"),
    ("wire",),
    ("options",),
    ("process",),
    ("tools",),
    ("session",),
    ("compat",),
    ("events",),
    ("approvals",),
    ("worktrees",),
    ("supervisor",),
    ("rpc",),
    ("web",),
    ("",),
    ("cli", "integrations"),
    ("__main__",),
)

# `testing` stands beside the rows: it may import any, and only the demo command imports it.
TESTING = "testing"
IMPORTS_TESTING = ("cli.demo",)

# Imports what others name: its calls count as imports of theirs.
LOADER = "loading"

# No threads, clocks, processes, sockets or randomness: ids and time are passed in.
PURE = (
    "wire",
    *("session.routing", "session.evidence", "session.outcome", "session.ledger"),
    *("tools.jsonrpc", "tools.methods"),
)
IMPURE = (
    *("_thread", "asyncio", "concurrent", "queue", "sched", "threading"),
    *("multiprocessing", "os", "signal", "subprocess"),
    *("select", "selectors", "socket", "socketserver", "tempfile"),
    *("random", "secrets", "time", "uuid"),
)

# Libraries that only their owners import: the modules that own a format, and those that start slowly.
OWNERS: dict[str, tuple[str, ...]] = {
    "orjson": ("wire.framing",),
    "structlog": ("log",),
    "msgspec": ("tools", "session.oneshot", "wire.framing"),
    "docstring_parser": ("tools",),
    "mcp": ("tools.link",),
    "anyio": ("tools.link",),
    "click": ("cli",),
    "rich": ("cli",),
    "asyncio": ("tools.link", "tools.portal"),
    "celery": ("integrations",),
    "django": ("integrations",),
    "flask": ("integrations",),
    "IPython": ("integrations",),
    "opentelemetry": ("integrations",),
}

COMPUTED = "<computed>"


def violations(sources: Collection[Source]) -> list[str]:
    """Return one sentence for every import that breaks a rule; empty when all is well."""
    known = {source.name for source in sources}
    edges: dict[tuple[str, str], str] = {}
    found = []
    for source in sources:
        for line, target in imports(source, known):
            found += [f"{source.name}:{line} {reason}" for reason in _reasons(source.name, target, source.is_package)]
            if _is_ours(target):
                edges.setdefault((_unit(source.name), _unit(target)), f"{source.name}:{line}")
    return found + list(_two_way(edges))


def imports(source: Source, known: Collection[str]) -> Iterator[tuple[int, str]]:
    """Yield (line, dotted target) for every import; `known` tells a submodule from a name in a package."""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = _absolute(source, node)
            for alias in node.names:
                full = f"{base}.{alias.name}"
                yield node.lineno, full if full in known or not _is_ours(base) else base
        elif isinstance(node, ast.Call) and _called(node) in {"import_module", "__import__"}:
            yield node.lineno, _literal(node.args)


def _reasons(name: str, target: str, is_package: bool) -> Iterator[str]:
    """Yield what is wrong with one import, in words."""
    importer = _local(name)
    if target == COMPUTED:
        # A package's `__init__` may load its heavy names late; anywhere else a computed name would hide an import.
        if not is_package and _unit(name) not in (TESTING, LOADER):
            yield "imports a module whose name is computed"
        return
    if not _is_ours(target):
        yield from _foreign_reasons(importer, target.partition(".")[0])
    elif _unit(target) == TESTING:
        if _unit(name) != TESTING and not _within(importer, IMPORTS_TESTING):
            yield f"imports {target}; only {', '.join(IMPORTS_TESTING)} may"
    elif _unit(name) != TESTING:
        here, there = _row(name), _row(target)
        if here is None or there is None:
            yield f"imports {target}: {name if here is None else target} has no row in tests/layers.py"
        elif there > here:
            yield f"imports {target}, which stands above it"


def _foreign_reasons(importer: str, library: str) -> Iterator[str]:
    """Yield what is wrong with importing a library of the standard distribution or of others."""
    if library in IMPURE and _within(importer, PURE):
        yield f"imports {library}, but is pure"
    if library in OWNERS and not _within(importer, (*OWNERS[library], TESTING)):
        yield f"imports {library}; only {', '.join(OWNERS[library]) or TESTING} may"


def _two_way(edges: dict[tuple[str, str], str]) -> Iterator[str]:
    """Yield each pair of one row that imports both ways."""
    siblings = [(one, other) for row in ROWS for one in row for other in row if one < other]
    for one, other in siblings:
        if (one, other) in edges and (other, one) in edges:
            yield f"{edges[one, other]} and {edges[other, one]}: {one} and {other} import each other"


def _absolute(source: Source, node: ast.ImportFrom) -> str:
    """Return the dotted base of a `from` import, relative ones resolved."""
    if not node.level:
        return node.module or ""
    parts = source.name.split(".")
    up = node.level - 1 if source.is_package else node.level
    return ".".join([*parts[: len(parts) - up], *([node.module] if node.module else [])])


def _literal(arguments: Iterable[ast.expr]) -> str:
    """Return the module name of an import by call, or the mark for one that is not written out."""
    first = next(iter(arguments), None)
    if isinstance(first, ast.Constant) and isinstance(first.value, str) and not first.value.startswith("."):
        return first.value
    return COMPUTED


def _called(node: ast.Call) -> str:
    """Return the last name of what is called."""
    return getattr(node.func, "attr", getattr(node.func, "id", ""))


def _is_ours(name: str) -> bool:
    """Whether a dotted name lies in the package."""
    return name.partition(".")[0] == PACKAGE


def _local(name: str) -> str:
    """Return a dotted name without the package in front."""
    return name.removeprefix(PACKAGE).removeprefix(".")


def _unit(name: str) -> str:
    """Return the first name below the package, "" for the package itself."""
    return _local(name).partition(".")[0]


def _row(name: str) -> int | None:
    """Return how high a module of ours stands, or None if it was given no place."""
    return next((height for height, row in enumerate(ROWS) if _unit(name) in row), None)


def _within(name: str, prefixes: Iterable[str]) -> bool:
    """Whether a dotted name is one of the prefixes or lies below one."""
    return any(name == prefix or name.startswith(prefix + ".") for prefix in prefixes)
