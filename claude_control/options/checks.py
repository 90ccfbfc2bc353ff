"""Checks of one value each, as attrs validators: an error names the field, the value and what would be right."""

import math
import os
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NoReturn

import attrs

from claude_control import log
from claude_control.errors import OptionsError

__all__ = [
    "KIB",
    "MIB",
    "Validator",
    "boolean",
    "byte_count",
    "count_from",
    "is_passable",
    "is_path",
    "is_seconds",
    "is_text",
    "not_built",
    "one_of",
    "optional",
    "path",
    "positive",
    "reject",
    "seconds",
    "seconds_or_zero",
    "shown",
    "text",
    "to_dict",
    "to_tuple",
]

KIB = 1024
"""Bytes of a kibibyte."""

MIB = 1024 * KIB
"""Bytes of a mebibyte."""

Validator = Callable[[Any, "attrs.Attribute[Any]", Any], None]
"""What attrs calls with the record, the field and the value."""

_PLACE = re.compile(r"[\[.].*", re.DOTALL)  # where in the option's value
_SHOWN = 80  # characters of a wrong value that an error repeats: enough to find it in the code


def reject(field: str, value: object, needed: str) -> NoReturn:
    """Raise the `OptionsError` for a value that is not what is `needed`; anything secret in it is left out.

    `field` may go on behind the option's name: "hooks['Stop'].timeout".
    """
    raise OptionsError(f"{field} must be {needed}, not {shown(value)}", field=_PLACE.sub("", field))


def shown(value: object) -> str:
    """Return a wrong value as an error repeats it: short, and without anything secret."""
    said = str(log.redact(repr(value))) if isinstance(value, bytes) else repr(log.redact(value))
    return said if len(said) <= _SHOWN else said[:_SHOWN] + "…"


def optional(check: Validator) -> Validator:
    """Return a validator that also takes None."""

    def run(instance: Any, attribute: "attrs.Attribute[Any]", value: Any) -> None:
        if value is not None:
            check(instance, attribute, value)

    return run


def boolean(_instance: Any, attribute: "attrs.Attribute[Any]", value: Any) -> None:
    """Take True or False."""
    if not isinstance(value, bool):
        reject(attribute.name, value, "True or False")


def seconds(_instance: Any, attribute: "attrs.Attribute[Any]", value: Any) -> None:
    """Take a positive number of seconds, or None for ever."""
    if value is not None and not is_seconds(value):
        reject(attribute.name, value, "a positive number of seconds, or None for no limit")


def seconds_or_zero(_instance: Any, attribute: "attrs.Attribute[Any]", value: Any) -> None:
    """Take a number of seconds from 0 on: a step of closing that has no patience, but always an end."""
    if not is_seconds(value, zero=True):
        reject(attribute.name, value, "a number of seconds, 0 or more")


def is_seconds(value: object, *, zero: bool = False) -> bool:
    """Tell whether a value is a finite number of seconds above 0, or with `zero` from 0 on."""
    return isinstance(value, int | float) and _is_number(value) and (value > 0 or (zero and value == 0))


def byte_count(_instance: Any, attribute: "attrs.Attribute[Any]", value: Any) -> None:
    """Take a number of bytes from 1 KiB on; less could not hold one message of the protocol."""
    if not _is_count(value) or value < KIB:
        reject(attribute.name, value, f"a number of bytes, {KIB} or more")


def count_from(least: int) -> Validator:
    """Return a validator for whole numbers from `least` on."""

    def run(_instance: Any, attribute: "attrs.Attribute[Any]", value: Any) -> None:
        if not _is_count(value) or value < least:
            reject(attribute.name, value, f"a whole number, {least} or more")

    return run


def positive(_instance: Any, attribute: "attrs.Attribute[Any]", value: Any) -> None:
    """Take a number above 0."""
    if not (_is_number(value) and value > 0):
        reject(attribute.name, value, "a number above 0")


def one_of(*known: str) -> Validator:
    """Return a validator for a fixed set of words."""

    def run(_instance: Any, attribute: "attrs.Attribute[Any]", value: Any) -> None:
        if value not in known:
            reject(attribute.name, value, f"one of {', '.join(known)}")

    return run


def text(_instance: Any, attribute: "attrs.Attribute[Any]", value: Any) -> None:
    """Take a text that can be the value of a flag; one that begins with a dash could only be a mistake."""
    if not is_text(value):
        reject(attribute.name, value, "a text that is not empty, has no NUL character and does not begin with '-'")


def is_text(value: object) -> bool:
    """Tell whether a value is a text that can stand on a command line and can be taken for no flag."""
    return isinstance(value, str) and value.strip() != "" and is_passable(value) and not value.startswith("-")


def is_passable(value: str) -> bool:
    """Tell whether the system can hand a text to a program: no NUL character, no half of a surrogate pair."""
    try:
        return b"\0" not in os.fsencode(value)
    except UnicodeEncodeError:
        return False


def path(_instance: Any, attribute: "attrs.Attribute[Any]", value: Any) -> None:
    """Take a path as str or Path; whether it exists is seen when the session opens."""
    if not is_path(value):
        reject(attribute.name, value, "a path (str or Path)")


def is_path(value: object) -> bool:
    """Tell whether a value names a path; bytes do not, for options travel as JSON."""
    if not isinstance(value, str | os.PathLike):
        return False
    name = os.fspath(value)
    return isinstance(name, str) and name != "" and is_passable(name)


def not_built(_instance: Any, attribute: "attrs.Attribute[Any]", value: Any) -> None:
    """Refuse what is promised but does not exist yet, rather than ignore it."""
    if value != attribute.default:
        raise OptionsError(f"{attribute.name} is not implemented yet", field=attribute.name)


def to_tuple(value: Iterable[Any] | None) -> Any:
    """Freeze a list; anything else is left for the validator to judge."""
    return tuple(value) if isinstance(value, list | tuple) else value


def to_dict(value: Mapping[Any, Any] | None) -> Any:
    """Copy a mapping, so that later changes to the original change nothing; anything else is left for the validator."""
    return dict(value) if isinstance(value, Mapping) else value


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
