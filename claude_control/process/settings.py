"""The settings that a session brings along, as one JSON object, and what of such an object may be seen by others."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from claude_control import log
from claude_control.errors import OptionsError
from claude_control.options import Options
from claude_control.options.inline import is_inline

__all__ = ["SHORT", "is_plain", "merged_settings"]

SHORT = 4096
"""Characters of JSON that may stand on a command line: it stays readable, and far from the limit of 128 KiB."""

_PRIVATE = frozenset(("env", "headers", "apiKeyHelper"))


def merged_settings(options: Options) -> dict[str, Any] | None:
    """Return the settings with `sandbox` in them, None if there are none.

    A file is read as the program reads it: below `cwd`, with or without a byte-order mark. Raises `OptionsError`.
    """
    if options.settings is None and options.sandbox is None:
        return None
    settings = _read(options.settings, options.cwd) if options.settings is not None else {}
    return settings if options.sandbox is None else {**settings, "sandbox": dict(options.sandbox)}


def is_plain(value: Any) -> bool:
    """Tell whether JSON has nothing that looks like a secret, and no place where secrets usually are."""
    if isinstance(value, Mapping):
        return all(key not in _PRIVATE and is_plain(key) and is_plain(item) for key, item in value.items())
    if isinstance(value, list | tuple):
        return all(map(is_plain, value))
    return not isinstance(value, str) or _is_harmless(value)


def _is_harmless(text: str) -> bool:
    """Tell whether a text neither has a secret nor names one ("--token"), and is no address with a login or query."""
    carries = log.redact(text) != text or log.redact({text: 0}) != {text: 0}
    return not carries and not ("://" in text and set(text) & set("@?"))


def _read(settings_or_path: str | os.PathLike[str], cwd: str | os.PathLike[str] | None) -> dict[str, Any]:
    source = os.fspath(settings_or_path)
    try:
        if not is_inline(source):
            source = Path(os.fspath(cwd or ""), source).read_text(encoding="utf-8-sig")
        settings = json.loads(source)
    except OSError as error:
        raise OptionsError(f"settings cannot be read: {error}", field="settings") from error
    except ValueError:
        settings = None  # what is wrong stands in the text, which may be secret
    if not isinstance(settings, dict):
        raise OptionsError("settings are no JSON object", field="settings")
    return settings
