"""Compares what a program sends to a hook with the types of `claude_control.wire.hook_inputs`."""

import typing
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from claude_control.wire.hook_inputs import HOOK_INPUTS


def complaints(event_input: Mapping[str, Any]) -> list[str]:
    """Return what is wrong with an input: a field that no type has, a missing one, a value of another type."""
    event = event_input["hook_event_name"]
    kind = HOOK_INPUTS[event]
    unknown = [f"{event}: {name} is in no type" for name in _unknown(event_input, kind)]
    try:
        msgspec.convert(event_input, kind)
    except msgspec.ValidationError as error:
        return [*unknown, f"{event}: {error}"]
    return unknown


def _unknown(value: object, kind: Any) -> Iterator[str]:
    """Yield the keys, however deep, that a type does not know."""
    if typing.is_typeddict(kind) and isinstance(value, Mapping):
        hints = typing.get_type_hints(kind)
        for key, item in value.items():
            if key in hints:
                yield from (f"{key}.{name}" for name in _unknown(item, hints[key]))
            else:
                yield str(key)
    elif typing.get_origin(kind) is list and isinstance(value, list):
        (item_kind,) = typing.get_args(kind)
        for item in value:
            yield from _unknown(item, item_kind)
