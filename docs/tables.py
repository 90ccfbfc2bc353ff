"""How what the code says of itself becomes Markdown: rows, types and texts of one line."""

import inspect
import re
from collections.abc import Iterable
from typing import Any

__all__ = ["one_line", "table", "type_text"]


def table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """Return a table; bars inside of its cells are escaped."""
    lines = [head, tuple("---" for _ in head), *(tuple(cell.replace("|", "\\|") for cell in row) for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def type_text(value: Any) -> str:
    """Return a type as one would write it, without the modules that names come from."""
    if isinstance(value, str):
        return value
    text = inspect.formatannotation(value)
    return re.sub(r"\b(?:[a-z_]+\.)+(?=[A-Za-z~])", "", text).replace("~", "").replace("NoneType", "None")


def one_line(text: str) -> str:
    """Return a text without its line breaks."""
    return " ".join(text.split())
