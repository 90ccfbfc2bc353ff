"""Text from outside made harmless for a terminal. Pure.

What the model, a tool or the program says may hold escape codes, which would set titles, clear the screen or colour
what follows, and bidirectional controls, which make a command look like another one.
"""

import json
import unicodedata
from typing import Any

__all__ = ["clip", "json_line", "printable", "safe", "width"]

# C0 without newline and tab, DEL, and C1: what starts or is an escape code. A carriage return is one of them, for it
# lets a line be written over.
_CONTROLS = [code for code in (*range(0x20), *range(0x7F, 0xA0)) if code not in (0x09, 0x0A)]
# Embeddings, overrides and isolates reorder what follows them. The marks U+200E and U+200F, which right-to-left texts
# need, and joiners, which emoji need, reorder nothing.
_REORDERING = [*range(0x202A, 0x202F), *range(0x2066, 0x206A)]
_SURROGATES = range(0xD800, 0xE000)

_SAFE: dict[int, str | None] = {
    **dict.fromkeys(_CONTROLS + _REORDERING),
    **dict.fromkeys(_SURROGATES, "\N{REPLACEMENT CHARACTER}"),
}
_ESCAPED = {code: f"\\u{code:04x}" for code in (*_CONTROLS, *_REORDERING, *_SURROGATES, 0x2028, 0x2029)}


def safe(text: str) -> str:
    """Return a text without control characters but newline and tab, and without what reorders it.

    What an escape code leaves behind, such as `[2J`, stays: it was said, and it is harmless now.
    """
    return text.translate(_SAFE)


def printable(text: str) -> str:
    r"""Return a text in which everything that cannot be seen is spelled out, such as `\x1b` and `\u202e`.

    For what a person decides about: nothing of it may hide. Newlines and tabs stay.
    """
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() or one in "\n\t" else _spelled(ord(one)) for one in text)


def _spelled(code: int) -> str:
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def json_line(value: Any) -> str:
    """Return a value as JSON on one line, complete, and with what a terminal would obey spelled as an escape."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).translate(_ESCAPED)


def width(text: str) -> int:
    """Return how many columns of a terminal a text of one line takes."""
    return sum(_columns(character) for character in text)


def clip(text: str, columns: int) -> str:
    """Return the beginning of a text of one line that fits into so many columns, with "..." if it was cut."""
    if width(text) <= columns:
        return text
    dots = "..."[: max(columns, 0)]
    kept, taken = "", len(dots)
    for character in text:
        taken += _columns(character)
        if taken > columns:
            break
        kept += character
    return kept + dots


def _columns(character: str) -> int:
    if unicodedata.combining(character) or unicodedata.category(character) in ("Cf", "Me", "Mn"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
