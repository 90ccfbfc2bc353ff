"""What the code itself says of `Session` and `Turn`, as Markdown: the tables of README.md and reference/session.md."""

import inspect
import re
import typing
from collections.abc import Callable, Iterator
from typing import Any

import attrs

from claude_control import options
from claude_control.options.checks import not_built
from claude_control.options.official import OfficialOptions
from claude_control.session import calls, connection, subscriptions, turn
from claude_control.session.control import Control
from claude_control.session.session import Session
from claude_control.session.turn import Turn
from claude_control.wire import messages, prompts, requests
from claude_control.wire.conformance import FIELDS, SUBTYPES
from claude_control.wire.support import CURRENT
from docs.tables import one_line, table, type_text

__all__ = ["TABLES", "control_names"]

_NEWER = {"reinitialize": CURRENT}  # it sends what every program knows, but a second one ends those before


def control_names() -> list[str]:
    """Return the names of the methods that send one control request each, in the order of the code."""
    return ["interrupt", *(name for name in _methods(Control) if name not in vars(Session))]


def control_methods() -> str:
    """Return a table with a line for each control method."""
    rows = [(_call(name), _first_sentence(getattr(Session, name)), _since(name)) for name in control_names()]
    return table(("method", "what it does", "since"), rows)


def control_details() -> str:
    """Return a section for each control method."""
    described: set[type] = set()
    return "\n\n".join("\n\n".join(_section(Session, name, described)) for name in control_names())


def session_properties() -> str:
    """Return a table of what can be read off a session."""
    return _properties(Session)


def session_methods() -> str:
    """Return a section for each method of a session that is no control method."""
    others = [name for name in _methods(Session) if name not in control_names()]
    return "\n\n".join("\n\n".join(_section(Session, name)) for name in others)


def turn_properties() -> str:
    """Return a table of what can be read off a turn."""
    return _properties(Turn)


def turn_methods() -> str:
    """Return a section for each method of a turn."""
    return "\n\n".join("\n\n".join(_section(Turn, name)) for name in _methods(Turn))


def not_built_options() -> str:
    """Return the official options that are known, and refused unless they have their defaults."""
    names = [f"`{field.name}`" for field in attrs.fields(OfficialOptions) if field.validator is not_built]
    return f"{', '.join(names)}."


def _public(kind: type) -> list[str]:
    """Return the public names of a class and then of its bases, in the order of the code."""
    names = (name for place in kind.__mro__ for name in vars(place) if not name.startswith("_"))
    return list(dict.fromkeys(names))


def _methods(kind: type) -> list[str]:
    return [name for name in _public(kind) if inspect.isfunction(getattr(kind, name))]


def _properties(kind: type) -> str:
    names = [name for name in _public(kind) if isinstance(getattr(kind, name), property)]
    rows = [(f"`{name}`", one_line(inspect.getdoc(getattr(kind, name)) or "")) for name in names]
    return table(("property", "what it is"), rows)


def _section(kind: type, name: str, described: set[type] | None = None) -> Iterator[str]:
    method = getattr(kind, name)
    yield f"### {name}" if kind is Session else f"### turn.{name}"
    since = _since(name) if name in control_names() and kind is Session else ""
    yield f"`{_signature(name, method)}`" + (f", since {since}" if since else "")
    yield inspect.getdoc(method) or ""
    returned = _signature_of(method).return_annotation
    yield from _record(returned, set() if described is None else described)


def _record(annotation: Any, described: set[type]) -> Iterator[str]:
    """Yield a paragraph for each record that an annotation names and that was not described yet."""
    for member in typing.get_args(annotation):
        yield from _record(member, described)
    if not attrs.has(annotation) or not annotation.__module__.startswith(requests.__name__) or annotation in described:
        return
    described.add(annotation)
    fields = [field for field in attrs.fields(annotation) if field.name != "raw"]
    if fields:
        listed = ", ".join(f"`{field.name}: {type_text(field.type)}`" for field in fields)
        yield f"`{annotation.__name__}`: {one_line(inspect.getdoc(annotation) or '')} Fields: {listed}, `raw`."
    for field in fields:
        yield from _record(field.type, described)


def _call(name: str) -> str:
    """Return a method's name with the arguments that it needs."""
    parameters = [p for p in _parameters(getattr(Session, name)) if p.name != "timeout"]
    shown = [p.name for p in parameters if p.default is p.empty]
    return f"`{name}({', '.join([*shown, '…'] if len(shown) < len(parameters) else shown)})`"


def _parameters(method: Any) -> list[inspect.Parameter]:
    return [p for p in _signature_of(method).parameters.values() if p.name != "self"]


def _signature_of(method: Any) -> inspect.Signature:
    """Return a signature whose annotations are types; the module of `Session` names some of them for checkers only."""
    homes = (calls, connection, messages, prompts, options, subscriptions, turn)
    names = {name: value for home in homes for name, value in vars(home).items() if name[0].isupper()}
    return inspect.signature(method, eval_str=True, locals=names)


def _signature(name: str, method: Any) -> str:
    """Return all of a signature; the type of a timeout is the same everywhere and said once."""
    shown: list[str] = []
    for parameter in _parameters(method):
        if parameter.kind is parameter.KEYWORD_ONLY and "*" not in shown:
            shown.append("*")
        text = parameter.name
        if parameter.name != "timeout":
            text += f": {type_text(parameter.annotation)}"
        if parameter.default is not parameter.empty:
            text += f" = {parameter.default!r}" if ":" in text else f"={parameter.default!r}"
        shown.append(text)
    returned = _signature_of(method).return_annotation
    return f"{name}({', '.join(shown)}) -> {type_text(returned)}"


def _since(name: str) -> str:
    """Return the oldest measured program that knows a method's request, and which arguments need a newer one."""
    if name in _NEWER:
        return _NEWER[name]
    subtype = _subtype(name)
    if subtype is None:
        return ""
    newer = [f"`{field}` {needs}" for (of, field), needs in FIELDS.items() if of == subtype]
    return "; ".join((SUBTYPES[subtype], *newer))


def _subtype(name: str) -> str | None:
    """Return the subtype that a method sends, None if it sends nothing."""
    method = getattr(Session, name)
    found = re.findall(r"requests\.([A-Z]\w+)\(", inspect.getsource(method))
    reply = _signature_of(method).return_annotation
    record = found[0] if found else getattr(reply, "__name__", "").removesuffix("Reply")
    subtype: str | None = getattr(getattr(requests, record, None), "subtype", None)
    return subtype


def _first_sentence(documented: Any) -> str:
    paragraph = (inspect.getdoc(documented) or "").split("\n\n")[0]
    sentence = re.split(r"(?<=[.:;]) ", one_line(paragraph), maxsplit=1)[0].rstrip(".:;")
    return sentence.removesuffix(f" ({CURRENT})")  # which has a column of its own


TABLES: dict[str, Callable[[], str]] = {
    "control-details": control_details,
    "control-methods": control_methods,
    "not-built": not_built_options,
    "session-methods": session_methods,
    "session-properties": session_properties,
    "turn-methods": turn_methods,
    "turn-properties": turn_properties,
}
"""What stands in a page between `<!-- begin: NAME -->` and `<!-- end: NAME -->`, by that name."""
