"""Permission decisions: what a callback returns and what goes over the wire.

The strictest program decides the form: 2.0.75 and 2.1.7 deny an allow that has no `updatedInput`, every program denies
a deny that has no message, and malformed permission updates are refused by the old programs and dropped without a word
by 2.1.332.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import attrs

from claude_control.errors import OptionsError
from claude_control.records import frozen
from claude_control.wire.requests.steering import PERMISSION_MODES

__all__ = ["Allow", "Deny", "PermissionRuleValue", "PermissionUpdate", "answer_permission", "read_suggestions"]

DEFAULT_DENIAL = "Denied by the permission callback."

_RULE_UPDATES = ("addRules", "replaceRules", "removeRules")
_DIRECTORY_UPDATES = ("addDirectories", "removeDirectories")
_UPDATES = (*_RULE_UPDATES, *_DIRECTORY_UPDATES, "setMode")
_DESTINATIONS = ("userSettings", "projectSettings", "localSettings", "session", "cliArg")
_BEHAVIORS = ("allow", "deny", "ask")


@frozen
class PermissionRuleValue:
    """A rule about a tool: its name, and what of its use is meant (None: every use)."""

    tool_name: str
    rule_content: str | None = None

    def to_wire(self) -> dict[str, Any]:
        """Return the wire form."""
        content = {} if self.rule_content is None else {"ruleContent": self.rule_content}
        return {"toolName": self.tool_name, **content}


@frozen
class PermissionUpdate:
    """A change to the permission rules that an allow carries along, or that the program suggests.

    `type` is addRules, replaceRules, removeRules (with `rules` and `behavior`), addDirectories, removeDirectories (with
    `directories`) or setMode (with `mode`); `destination` says where it is kept. A suggestion of the program keeps its
    wire form in `raw`, which is what goes back; a changed copy (`attrs.evolve`) goes as its fields say.
    """

    type: str
    rules: Sequence[PermissionRuleValue] | None = None
    behavior: Literal["allow", "deny", "ask"] | None = None
    mode: str | None = None
    directories: Sequence[str] | None = None
    destination: str = "session"
    raw: dict[str, Any] | None = attrs.field(default=None, repr=False, eq=False)

    def to_wire(self) -> dict[str, Any]:
        """Return the wire form; raises `OptionsError` for what the programs would drop or refuse."""
        if self.raw is not None and read_update(self.raw) == self:
            return self.raw
        self._check()
        made: dict[str, Any] = {"type": self.type, "destination": self.destination}
        if self.type in _RULE_UPDATES:
            made |= {"rules": [rule.to_wire() for rule in self.rules or ()], "behavior": self.behavior}
        elif self.type in _DIRECTORY_UPDATES:
            made |= {"directories": list(self.directories or ())}
        else:
            made |= {"mode": self.mode}
        return made

    def _check(self) -> None:
        _one_of("type", self.type, _UPDATES)
        _one_of("destination", self.destination, _DESTINATIONS)
        if self.type in _RULE_UPDATES:
            _one_of("behavior", self.behavior, _BEHAVIORS)
            if self.type != "replaceRules" or self.rules not in ((), []):  # no rules in place of all is an order too
                _list_of("rules", self.rules, _is_rule, "PermissionRuleValue(tool_name, rule_content or None)")
        elif self.type in _DIRECTORY_UPDATES:
            # A text would be taken for a list of its letters, "/" among them.
            _list_of("directories", self.directories, _is_text, "texts")
        else:
            _one_of("mode", self.mode, PERMISSION_MODES)


def _one_of(field: str, value: object, known: Sequence[str]) -> None:
    if value not in known:
        raise OptionsError(f"{field} of a permission update is {value!r}; use one of {', '.join(known)}", field=field)


def _list_of(field: str, value: object, fits: Callable[[object], bool], items: str) -> None:
    if not isinstance(value, list | tuple) or not value or not all(fits(item) for item in value):
        raise OptionsError(
            f"{field} of a permission update is {value!r}; give a list of {items} that is not empty", field=field
        )


def _is_rule(value: object) -> bool:
    if not isinstance(value, PermissionRuleValue) or not _is_text(value.tool_name):
        return False
    if set(value.tool_name) & set("( \t\n"):  # a whole rule, or a slip: 2.1.332 takes it, and then it matches nothing
        return False
    content = value.rule_content  # "" and "*" do not mean every use: these rules match nothing either
    return content is None or (isinstance(content, str) and content not in ("", "*"))


def _is_text(value: object) -> bool:
    return isinstance(value, str) and value != ""


@frozen
class Allow:
    """Lets the tool run, with `updated_input` instead of its own if given; `updated_permissions` change the rules."""

    updated_input: Mapping[str, Any] | None = None
    updated_permissions: Sequence[PermissionUpdate | Mapping[str, Any]] | None = None


@frozen
class Deny:
    """Keeps the tool from running; the model is told `message`. With `interrupt` the whole turn ends."""

    message: str = DEFAULT_DENIAL
    interrupt: bool = False


def answer_permission(decision: object, tool_input: Mapping[str, Any], *, allow_bypass: bool = False) -> dict[str, Any]:
    """Return the wire form of a callback's decision.

    Allow always has the input, Deny always a message. Raises `OptionsError` for anything that the program would
    misread, and for a switch to bypassPermissions in a session that was not launched for it (2.0.75 and 2.1.7 would
    take it).
    """
    if isinstance(decision, Deny):
        return deny(decision.message, interrupt=decision.interrupt)
    if not isinstance(decision, Allow):
        raise OptionsError(f"a permission callback must return Allow(…) or Deny(…), not {type(decision).__name__}")
    updated = tool_input if decision.updated_input is None else decision.updated_input
    if updated.__class__ is not dict and not isinstance(updated, Mapping):
        raise OptionsError(f"updated_input must be a dict, not {type(updated).__name__}", field="updated_input")
    answer: dict[str, Any] = {"behavior": "allow", "updatedInput": dict(updated)}
    if decision.updated_permissions:
        answer["updatedPermissions"] = write_updates(decision.updated_permissions, allow_bypass)
    return answer


def deny(message: str, *, interrupt: bool = False) -> dict[str, Any]:
    """Return the wire form of a denial."""
    text = message if isinstance(message, str) and message.strip() else DEFAULT_DENIAL
    return {"behavior": "deny", "message": text, **({"interrupt": True} if interrupt else {})}


def write_updates(items: object, allow_bypass: bool) -> list[dict[str, Any]]:
    """Return the wire form of a list of updates, each a `PermissionUpdate` or a dict.

    Raises `OptionsError` as `answer_permission` does.
    """
    if not isinstance(items, list | tuple):
        raise OptionsError(
            f"updated_permissions must be a list, not {type(items).__name__}", field="updated_permissions"
        )
    return [_update(item, allow_bypass) for item in items]


def _update(item: object, allow_bypass: bool) -> dict[str, Any]:
    if isinstance(item, Mapping):
        made = {**item, **attrs.evolve(read_update(dict(item)), raw=None).to_wire()}
    elif isinstance(item, PermissionUpdate):
        made = item.to_wire()
    else:
        raise OptionsError(f"a permission update must be a PermissionUpdate or a dict, not {type(item).__name__}")
    if made.get("mode") == "bypassPermissions" and not allow_bypass:
        raise OptionsError(
            "bypassPermissions needs allow_bypass=True when the session is opened", field="updated_permissions"
        )
    return made


def read_update(item: dict[str, Any]) -> PermissionUpdate:
    """Read an update from its wire form, which is kept in `raw`; a field of another type counts as absent."""
    rules, directories = item.get("rules"), item.get("directories")
    return PermissionUpdate(
        type=str(item.get("type", "")),
        rules=tuple(map(_read_rule, rules)) if isinstance(rules, list) else None,
        behavior=item.get("behavior"),
        mode=item.get("mode"),
        directories=tuple(directories) if isinstance(directories, list) else None,
        destination=str(item.get("destination", "")),
        raw=item,
    )


def _read_rule(rule: Any) -> PermissionRuleValue:
    named = rule if isinstance(rule, dict) else {}
    # What is no text stays as it is, and is refused when it is sent: without its content a rule is about every use of
    # the tool.
    return PermissionRuleValue(named.get("toolName", ""), named.get("ruleContent"))


def read_suggestions(value: object) -> tuple[PermissionUpdate, ...]:
    """Read the program's suggestions, ready to be handed back in `Allow(updated_permissions=…)`."""
    return tuple(read_update(item) for item in value if isinstance(item, dict)) if isinstance(value, list) else ()
