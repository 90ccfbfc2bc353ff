"""Checks of the arguments of requests: `OptionsError` names the field, its value and what to give instead."""

from collections.abc import Callable, Mapping
from typing import Any

import attrs

from claude_control import log
from claude_control.errors import OptionsError

__all__ = ["check_flag", "check_object", "check_text", "one_of", "optional", "reject", "whole_number"]

_SHOWN = 100  # characters of a wrong value

Check = Callable[[Any, "attrs.Attribute[Any]", Any], None]


def reject(field: str, value: object, needed: str) -> None:
    """Raise `OptionsError`: what `field` needs, and what it was given, in short and without secrets."""
    said = repr(log.redact(value))
    said = said if len(said) <= _SHOWN else said[:_SHOWN] + "…"
    raise OptionsError(f"{field} must be {needed}, not {said}", field=field)


def check_text(_request: Any, attribute: "attrs.Attribute[Any]", value: Any) -> None:
    """Take a text that is not blank."""
    if not isinstance(value, str) or not value.strip():
        reject(attribute.name, value, "a text that is not empty")


def check_flag(_request: Any, attribute: "attrs.Attribute[Any]", value: Any) -> None:
    """Take True or False."""
    if not isinstance(value, bool):
        reject(attribute.name, value, "True or False")


def check_object(_request: Any, attribute: "attrs.Attribute[Any]", value: Any) -> None:
    """Take a dict with texts as keys. The error does not show what is in it: settings and arguments hold secrets."""
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise OptionsError(
            f"{attribute.name} must be a dict with texts as keys, not a {type(value).__name__} of another kind",
            field=attribute.name,
        )


def optional(check: Check) -> Check:
    """Return the check that takes None as well."""

    def check_optional(request: Any, attribute: "attrs.Attribute[Any]", value: Any) -> None:
        if value is not None:
            check(request, attribute, value)

    return check_optional


def one_of(*choices: str) -> Check:
    """Return the check that takes one of these texts."""

    def check(_request: Any, attribute: "attrs.Attribute[Any]", value: Any) -> None:
        if not isinstance(value, str) or value not in choices:
            reject(attribute.name, value, f"one of {', '.join(choices)}")

    return check


def whole_number(least: int) -> Check:
    """Return the check that takes a whole number from `least` on."""

    def check(_request: Any, attribute: "attrs.Attribute[Any]", value: Any) -> None:
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            reject(attribute.name, value, f"a whole number from {least}")

    return check
