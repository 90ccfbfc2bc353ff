"""Patterns and placeholders: whether a frame fits what a script expects, and the values a script cannot know."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from . import Frame

ANYTHING = "$any"


def difference(pattern: object, value: object, path: str = "") -> str | None:
    """Return in words where `value` departs from `pattern`, or None if it fits.

    An object fits if every key of the pattern fits; other keys are free. A list fits a list of the same length.
    """
    if pattern == ANYTHING:
        return None
    if isinstance(pattern, dict):
        if not isinstance(value, dict):
            return f"{path or 'the frame'} is not an object: {value!r}"
        return _first(pattern, value, path)
    if isinstance(pattern, list) and isinstance(value, list) and len(pattern) == len(value):
        return _first(dict(enumerate(pattern)), dict(enumerate(value)), path)
    return None if pattern == value else f"{path or 'the frame'}: expected {pattern!r}, got {value!r}"


def _first(pattern: dict[object, object], value: dict[object, object], path: str) -> str | None:
    """Return the first difference between two objects."""
    for key, expected in pattern.items():
        below = f"{path}.{key}" if path else str(key)
        if key not in value:
            return f"{below} is missing"
        found = difference(expected, value[key], below)
        if found:
            return found
    return None


def same_kind(pattern: Frame, frame: Frame) -> bool:
    """Tell whether a frame is the one that a pattern is about: the type agrees, and the subtype of a request.

    A pattern of an answer is about the answer to that request, if it names one.
    """
    expected = pattern.get("type", "control_request" if "request" in pattern else ANYTHING)
    if expected not in (ANYTHING, frame.get("type")):
        return False
    return _agree(pattern, frame, "request", "subtype") and _agree(pattern, frame, "response", "request_id")


def _agree(pattern: Frame, frame: Frame, part: str, key: str) -> bool:
    """Tell whether a field that the pattern names is the same in the frame."""
    expected = pattern.get(part)
    if not isinstance(expected, dict) or key not in expected:
        return True
    found = frame.get(part)
    return isinstance(found, dict) and expected[key] in (ANYTHING, found.get(key))


def fill(value: object, known: Mapping[str, object]) -> object:
    """Return `value` with every text that is the name of something known, such as "$session_id", replaced by it.

    What is known may be a function that makes a new value each time.
    """
    if isinstance(value, dict):
        return {key: fill(item, known) for key, item in value.items()}
    if isinstance(value, list):
        return [fill(item, known) for item in value]
    if isinstance(value, str) and value.startswith("$"):
        found = known.get(value, value)
        return found() if callable(found) else found
    return value
