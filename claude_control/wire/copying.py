"""Copies of decoded JSON, for whoever may change what he gets."""

import gc
from typing import Any

__all__ = ["own_copy"]


def own_copy(value: dict[str, Any]) -> dict[str, Any]:
    """Return a copy whose dicts and lists are its own; `copy.deepcopy` takes ten times as long."""
    copied = value.copy()
    if not gc.is_tracked(value):  # it holds no container, so that there is nothing more to copy
        return copied
    for key, item in value.items():
        if item.__class__ is dict:
            copied[key] = own_copy(item)
        elif item.__class__ is list:
            copied[key] = _copied(item)
    return copied


def _copied(items: list[Any]) -> list[Any]:
    return [
        own_copy(item) if item.__class__ is dict else _copied(item) if item.__class__ is list else item
        for item in items
    ]
