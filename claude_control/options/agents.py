"""Subagents that a session brings along: one wrong definition makes the program drop them all, without a word."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from claude_control.errors import OptionsError
from claude_control.options.checks import reject, to_tuple
from claude_control.records import frozen

__all__ = ["AgentDefinition", "agents_to_wire", "check_agents", "to_agents"]

_TEXTS = ("description", "prompt", "model", "initialPrompt")
_CAPITAL = re.compile("[A-Z]")
_LISTS = ("tools", "disallowedTools", "skills")


@frozen
class AgentDefinition:
    """A subagent: when to use it (`description`), what it is told (`prompt`), and what it may use.

    `model` is an alias ("sonnet", "opus", "haiku", "inherit") or a full name; `mcp_servers` has names, or one-entry
    mappings from name to configuration. The fields from `skills` on, and full model names, need 2.1.332.
    """

    description: str
    prompt: str
    tools: Sequence[str] | None = attrs.field(default=None, converter=to_tuple)
    disallowed_tools: Sequence[str] | None = attrs.field(default=None, converter=to_tuple)
    model: str | None = None
    permission_mode: str | None = None
    mcp_servers: Sequence[str | Mapping[str, Any]] | None = attrs.field(default=None, converter=to_tuple, repr=False)
    skills: Sequence[str] | None = attrs.field(default=None, converter=to_tuple)
    memory: str | None = None
    initial_prompt: str | None = None
    max_turns: int | None = None
    background: bool | None = None
    effort: str | int | None = None


def agents_to_wire(agents: Mapping[str, Any] | None) -> dict[str, dict[str, Any]]:
    """Return the wire form of checked agents, without what is None."""
    return {name: _to_wire(agent) for name, agent in (agents or {}).items()}


def _to_wire(agent: Any) -> dict[str, Any]:
    """Return a definition as the wire has it; records of any kind are read by their fields."""
    if isinstance(agent, Mapping):
        items = dict(agent)
    else:
        names = getattr(type(agent), "__dataclass_fields__", None) or attrs.fields_dict(type(agent))
        items = {name: getattr(agent, name) for name in names}
    return {
        _camel(key): list(item) if isinstance(item, tuple) else item for key, item in items.items() if item is not None
    }


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def _snake(name: str) -> str:
    return _CAPITAL.sub(lambda found: "_" + found[0].lower(), name)


def to_agents(value: Any) -> Any:
    """Copy a mapping and make its definitions `AgentDefinition`, whatever kind of record they were.

    What has a field that is not one of ours stays as it is; what is no definition is left for the validator.
    """
    return {name: _to_agent(agent) for name, agent in value.items()} if isinstance(value, Mapping) else value


def _to_agent(agent: Any) -> Any:
    if isinstance(agent, AgentDefinition) or not _is_definition(agent):
        return agent
    fields = {_snake(name): item for name, item in _to_wire(agent).items()}
    known = {"description", "prompt"} <= set(fields) <= set(attrs.fields_dict(AgentDefinition))
    return AgentDefinition(**fields) if known else agent


def _is_definition(agent: Any) -> bool:
    if isinstance(agent, Mapping):
        return all(isinstance(name, str) for name in agent)
    is_record = attrs.has(type(agent)) or hasattr(type(agent), "__dataclass_fields__")
    return is_record and not isinstance(agent, type)


def check_agents(_instance: Any, attribute: "attrs.Attribute[Any]", value: Any) -> None:
    """Take a mapping from agent name to `AgentDefinition` or to a dict of the same fields."""
    if value is None:
        return
    if not isinstance(value, Mapping):
        reject(attribute.name, value, "a mapping from agent name to AgentDefinition")
    for name, agent in value.items():
        if not isinstance(name, str) or not name.strip():
            reject(attribute.name, name, "a mapping whose keys are names")
        _check_agent(f"agents[{name!r}]", agent)


def _check_agent(where: str, agent: Any) -> None:
    if not _is_definition(agent):
        reject(where, agent, "an AgentDefinition or a dict of its fields")
    wire = _to_wire(agent)
    for key in ("description", "prompt"):
        if not wire.get(key):
            raise OptionsError(f"{where} needs a {key}", field="agents")
    for key, item in wire.items():
        if key in _TEXTS and (not isinstance(item, str) or not item):
            reject(f"{where}.{key}", item, "a text that is not empty")
        if key in _LISTS and not (isinstance(item, list) and all(isinstance(entry, str) for entry in item)):
            reject(f"{where}.{key}", item, "a list of texts")
        if key == "mcpServers" and not isinstance(item, list):
            reject(f"{where}.{key}", item, "a list of server names")
        if key == "maxTurns" and (isinstance(item, bool) or not isinstance(item, int) or item < 1):
            reject(f"{where}.{key}", item, "a whole number, 1 or more")
