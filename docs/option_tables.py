"""What the code itself says of `Options` and environment variables, as Markdown: the tables of reference/options.md."""

import ast
import inspect
import textwrap
from collections.abc import Callable
from typing import Any

import attrs

from claude_control.options.checks import MIB, not_built
from claude_control.options.official import OfficialOptions
from claude_control.options.options import Options
from claude_control.options.travelling import builtin_default, seconds_from
from docs.tables import one_line, table, type_text

__all__ = ["TABLES", "described"]

_OTHERS = {
    "CLAUDE_CONTROL_CLI": ("`cli_path`", "the usual places", "the program: a path or a name on `PATH`"),
    "CLAUDE_CONTROL_RUN": (
        "",
        "",
        "set by the library in the environment of each program it starts, as the marker by which it finds what the "
        "program leaves behind; yours is not read",
    ),
    "CLAUDE_CONTROL_SCRIPTED": ("", "", "set by the scripted CLI of `claude_control.testing` for what it starts"),
    "_CLAUDE_CONTROL_COMPLETE": ("", "", "set by the shell's completion when it asks `claude-control` for words"),
}


def official_options() -> str:
    """Return a table of the options that the official SDK has too."""
    return _options(list(attrs.fields(OfficialOptions)))


def our_options() -> str:
    """Return a table of the options that only this library has."""
    official = attrs.fields_dict(OfficialOptions)
    return _options([field for field in attrs.fields(Options) if field.name not in official])


def environment_variables() -> str:
    """Return a table of every environment variable with the library's name in it."""
    timed = {field.name: seconds for field in attrs.fields(Options) if (seconds := seconds_from(field)) is not None}
    rows = [
        (f"`{seconds.variable}`", f"`{name}`", f"{seconds.builtin:g}", _allowed(seconds.bounded))
        for name, seconds in timed.items()
    ]
    others = [(f"`{variable}`", *cells) for variable, cells in _OTHERS.items()]
    return table(("variable", "option", "default", "value"), [*rows, *others])


def described(kind: type) -> dict[str, str]:
    """Return what stands below each field of a class, by the field's name."""
    (tree,) = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    assert isinstance(tree, ast.ClassDef)
    found: dict[str, str] = {}
    for node, below in zip(tree.body, tree.body[1:], strict=False):
        if isinstance(node, ast.AnnAssign) and isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant):
            found[ast.unparse(node.target)] = one_line(str(below.value.value))
    return found


def _options(fields: "list[attrs.Attribute[Any]]") -> str:
    texts = described(OfficialOptions) | described(Options)
    rows = [
        (f"`{field.name}`", f"`{type_text(field.type)}`", f"`{_default(field)}`", _travels(field), texts[field.name])
        for field in fields
    ]
    return table(("option", "type", "default", "travels", "what it is"), rows)


def _default(field: "attrs.Attribute[Any]") -> str:
    value = builtin_default(field, Options())
    is_mebibytes = isinstance(value, int) and value >= MIB and value % MIB == 0
    return f"{value // MIB} MiB" if is_mebibytes else repr(value)


def _travels(field: "attrs.Attribute[Any]") -> str:
    """Say whether `to_dict()` can write an option; what is always at its default never comes into question."""
    if field.validator is not_built:
        return ""
    kind = type_text(field.type)
    return "no" if "Callable" in kind or "HookMatcher" in kind else "yes"


def _allowed(bounded: bool) -> str:
    return "seconds, 0 or more" if bounded else "seconds above 0, or `none` for no limit"


TABLES: dict[str, Callable[[], str]] = {
    "environment-variables": environment_variables,
    "official-options": official_options,
    "our-options": our_options,
}
"""What stands in a page between `<!-- begin: NAME -->` and `<!-- end: NAME -->`, by that name."""
