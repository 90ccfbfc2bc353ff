"""Descriptions out of docstrings, in the styles of Google, NumPy and reStructuredText."""

import inspect

import attrs

from claude_control.records import frozen

__all__ = ["Description", "describe"]


@frozen
class Description:
    """What a docstring says of a function: in all, and of each parameter."""

    text: str = ""
    parameters: dict[str, str] = attrs.field(factory=dict)


def describe(docstring: str | None) -> Description:
    """Take a docstring apart; what is said of results and errors is left out, for it is meant for programmers."""
    text = inspect.cleandoc(docstring or "").strip()
    if "\n" not in text:
        return Description(text)
    from docstring_parser import parse  # 30 ms, and a docstring of one line needs none of it

    try:
        parsed = parse(text)
    except Exception:  # Exception: a docstring can hold anything, and the parser has several errors of its own
        return Description(text)
    parameters = {each.arg_name: " ".join((each.description or "").split()) for each in parsed.params}
    said = [part.strip() for part in (parsed.short_description, parsed.long_description) if part]
    return Description("\n\n".join(said), {name: about for name, about in parameters.items() if about})
