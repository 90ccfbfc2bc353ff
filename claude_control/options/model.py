"""Options about the model's work: thinking, budgets, the form of the answer."""

from collections.abc import Mapping
from typing import Any

import attrs

from claude_control.errors import OptionsError
from claude_control.options.checks import is_text, reject

__all__ = ["EFFORTS", "check_betas", "check_output_format", "check_task_budget", "check_thinking"]

EFFORTS = ("low", "medium", "high", "xhigh", "max")
"""The efforts that 2.1.332 takes."""

_DISPLAYS = ("summarized", "omitted")
_THINKING_KEYS = {
    "adaptive": {"type", "display"},
    "enabled": {"type", "budget_tokens", "display"},
    "disabled": {"type"},
}


def check_thinking(_instance: Any, attribute: "attrs.Attribute[Any]", value: Any) -> None:
    """Take the three forms of a thinking configuration."""
    if value is None:
        return
    forms = "{'type': 'adaptive'}, {'type': 'enabled', 'budget_tokens': N} or {'type': 'disabled'}"
    if not isinstance(value, Mapping) or value.get("type") not in _THINKING_KEYS:
        reject(attribute.name, value, forms)
    if set(value) - _THINKING_KEYS[value["type"]] or value.get("display", "omitted") not in _DISPLAYS:
        reject(attribute.name, value, f"{forms}; 'display' is 'summarized' or 'omitted'")
    if value["type"] == "enabled" and not _is_positive(value.get("budget_tokens")):
        reject("thinking['budget_tokens']", value.get("budget_tokens"), "a whole number, 1 or more")


def check_task_budget(_instance: Any, attribute: "attrs.Attribute[Any]", value: Any) -> None:
    """Take {"total": tokens}."""
    if value is None:
        return
    if not isinstance(value, Mapping) or set(value) != {"total"} or not _is_positive(value["total"]):
        reject(attribute.name, value, "{'total': N}, N a whole number of tokens")


def check_output_format(_instance: Any, attribute: "attrs.Attribute[Any]", value: Any) -> None:
    """Take a JSON schema in the form of the Messages API."""
    if value is None:
        return
    if (
        not isinstance(value, Mapping)
        or value.get("type") != "json_schema"
        or not isinstance(value.get("schema"), Mapping)
    ):
        reject(attribute.name, value, "{'type': 'json_schema', 'schema': {…}}")
    unknown = set(value) - {"type", "schema"}
    if unknown:
        raise OptionsError(f"output_format has keys that nothing reads: {sorted(unknown)}", field=attribute.name)


def check_betas(_instance: Any, attribute: "attrs.Attribute[Any]", value: Any) -> None:
    """Take a list of beta names."""
    if not isinstance(value, tuple) or not all(is_text(name) and not set(name) & set(", ") for name in value):
        reject(attribute.name, value, "a list of beta names, such as ['context-1m-2025-08-07']")


def _is_positive(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0
