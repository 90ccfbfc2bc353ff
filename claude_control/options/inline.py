"""JSON that an option may carry itself where it could also name a file."""

import json

from claude_control.errors import OptionsError

__all__ = ["check_json", "fits_json", "is_inline"]


def is_inline(value: object) -> bool:
    """Tell JSON from a path, as the program does."""
    stripped = value.strip() if isinstance(value, str) else ""
    return stripped.startswith("{") and stripped.endswith("}")


def check_json(field: str, value: str) -> None:
    """Raise `OptionsError` for a text that is no JSON; what it says is not repeated."""
    try:
        json.loads(value)
    except ValueError as error:
        where = f"line {error.lineno}, column {error.colno}" if isinstance(error, json.JSONDecodeError) else "it"
        raise OptionsError(f"{field} is no valid JSON: look at {where}", field=field) from None  # it may hold secrets


def fits_json(value: object) -> bool:
    """Tell whether a value can be written as JSON."""
    try:
        json.dumps(value)
    except (TypeError, ValueError, RecursionError):
        return False
    return True
