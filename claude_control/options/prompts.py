"""The system prompt: what the option may be and what it comes to."""

from collections.abc import Mapping
from typing import Any

import attrs

from claude_control.errors import OptionsError
from claude_control.options.checks import is_path, reject

__all__ = ["SystemPrompt", "check_system_prompt", "read_system_prompt"]

_KEYS = {
    "preset": ("preset", "append", "exclude_dynamic_sections", "snapshot"),
    "custom": ("prompt", "snapshot"),
    "file": ("path",),
}
_FORMS = (
    "a text, None, {'type': 'preset', 'preset': 'claude_code'}, {'type': 'custom', 'prompt': …} "
    "or {'type': 'file', 'path': …}"
)


@attrs.frozen
class SystemPrompt:
    """A system prompt, taken apart.

    `text` replaces the program's own prompt, None keeps that; `append` is added to it; `file` is a path that takes the
    place of `text`. The rest is None where nothing was said.
    """

    text: str | None = None
    append: str | None = None
    file: str | None = None
    exclude_dynamic_sections: bool | None = None
    snapshot: bool | None = None


def read_system_prompt(value: str | Mapping[str, Any] | None) -> SystemPrompt:
    """Take a checked `system_prompt` apart; None is the empty prompt, as in the official SDK."""
    if value is None or isinstance(value, str):
        return SystemPrompt(text=value or "")
    kind, snapshot = value["type"], value.get("snapshot")
    if kind == "file":
        return SystemPrompt(file=value["path"])
    if kind == "custom":
        return SystemPrompt(text=value["prompt"], snapshot=snapshot)
    return SystemPrompt(
        append=value.get("append") or None,
        exclude_dynamic_sections=value.get("exclude_dynamic_sections"),
        snapshot=snapshot,
    )


def check_system_prompt(_instance: Any, attribute: "attrs.Attribute[Any]", value: Any) -> None:
    """Take the five forms of a system prompt, and no key that nobody would read."""
    if value is None or isinstance(value, str):
        return
    if not isinstance(value, Mapping) or value.get("type") not in _KEYS:
        reject(attribute.name, value, _FORMS)
    known = _KEYS[value["type"]]
    for key, item in value.items():
        if key != "type" and key not in known:
            raise OptionsError(f"system_prompt has no key {key!r}; it knows {', '.join(known)}", field=attribute.name)
        _check_item(key, item)
    if value["type"] == "preset" and "preset" not in value:
        raise OptionsError("system_prompt of type preset needs preset='claude_code'", field=attribute.name)
    if value["type"] != "preset" and not set(known[:1]) <= set(value):
        raise OptionsError(f"system_prompt of type {value['type']} needs {known[0]!r}", field=attribute.name)


def _check_item(key: str, item: object) -> None:
    where = f"system_prompt[{key!r}]"
    if key == "preset" and item != "claude_code":
        reject(where, item, "'claude_code', the only preset")
    if key in ("append", "prompt") and not isinstance(item, str):
        reject(where, item, "a text")
    if key in ("exclude_dynamic_sections", "snapshot") and not isinstance(item, bool):
        reject(where, item, "True or False")
    if key == "path" and not (is_path(item) and isinstance(item, str)):
        reject(where, item, "a path as str")
