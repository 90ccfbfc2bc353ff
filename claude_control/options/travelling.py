"""Options as plain data, to be kept in a file or sent to another process: what differs from the defaults."""

import math
import os
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

import attrs

from claude_control.errors import OptionsError
from claude_control.options.agents import AgentDefinition
from claude_control.options.checks import reject, shown
from claude_control.options.environment import SecondsFrom

if TYPE_CHECKING:
    from claude_control.options.options import Options

__all__ = [
    "VERSION",
    "builtin_default",
    "changed_fields",
    "read_document",
    "seconds_from",
    "unportable_fields",
    "write_document",
]

VERSION = 1
"""The version of the plain form. Options that are new do not change it: a program that lacks one says so."""

_KEY = "version"


def changed_fields(options: "Options") -> dict[str, Any]:
    """Return what differs from the built-in defaults, whatever the environment says."""
    fields = {field.name: (getattr(options, field.name), builtin_default(field, options)) for field in _fields(options)}
    return {name: value for name, (value, default) in fields.items() if value != default}


def unportable_fields(options: "Options") -> tuple[str, ...]:
    """Return the names of the changed fields that cannot be written as data."""
    return tuple(name for name, value in changed_fields(options).items() if not _is_plain(_plain(value)))


def write_document(options: "Options", skip: Collection[str]) -> dict[str, Any]:
    """Return the plain form without the fields of `skip`; raises `OptionsError` for what has none."""
    if isinstance(skip, str):
        reject("skip", skip, "a list of names of options")
    known = {field.name for field in _fields(options)}
    for name in skip:
        if name not in known:
            raise OptionsError(f"skip names {shown(name)}, which is no option", field="skip")
    left = [name for name in unportable_fields(options) if name not in skip]
    if left:
        raise OptionsError(
            f"{', '.join(left)} cannot be written as data, because code or other live objects are in it; leave it out "
            "by to_dict(skip=options.portable()), and set it anew where the options arrive",
            field=left[0],
        )
    return {_KEY: VERSION} | {name: _plain(item) for name, item in changed_fields(options).items() if name not in skip}


def read_document(kind: "type[Options]", document: Any) -> dict[str, Any]:
    """Return the fields of a plain form; their values are checked when options are made of them."""
    if not isinstance(document, Mapping):
        reject("options", type(document).__name__, "a dict as Options.to_dict() makes it")
    version = document.get(_KEY)
    if isinstance(version, bool) or version != VERSION:
        said = f"version {shown(version)}" if _KEY in document else f"no {_KEY!r}"
        raise OptionsError(
            f"these options have {said}, and this release reads {VERSION}: write them anew with Options.to_dict()",
            field=_KEY,
        )
    fields = {name: value for name, value in document.items() if name != _KEY}
    # Where they were written the environment had its say; here it has none.
    return {
        **{field.name: builtin_default(field, None) for field in attrs.fields(kind) if seconds_from(field)},
        **fields,
    }


def builtin_default(field: "attrs.Attribute[Any]", options: "Options | None" = None) -> Any:
    """Return the default of a field, whatever the environment says; some depend on other fields of `options`."""
    default: Any = field.default
    if (seconds := seconds_from(field)) is not None:
        return seconds.builtin
    if not hasattr(default, "factory"):
        return default
    return default.factory(options) if default.takes_self else default.factory()


def seconds_from(field: "attrs.Attribute[Any]") -> SecondsFrom | None:
    """Return how a field takes its default from the environment, None for most."""
    made_by = getattr(field.default, "factory", None)
    return made_by if isinstance(made_by, SecondsFrom) else None


def _fields(options: "Options") -> "tuple[attrs.Attribute[Any], ...]":
    return tuple(attrs.fields(type(options)))


def _plain(value: Any) -> Any:
    """Return a value as JSON would bring it back; what JSON has no form for stays as it is."""
    if isinstance(value, AgentDefinition):
        return _plain({name: item for name, item in attrs.asdict(value, recurse=False).items() if item is not None})
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value


def _is_plain(value: Any) -> bool:
    if isinstance(value, dict):
        return all(isinstance(key, str) and _is_plain(item) for key, item in value.items())
    if isinstance(value, list):
        return all(_is_plain(item) for item in value)
    return value is None or isinstance(value, str | int) or (isinstance(value, float) and math.isfinite(value))
