"""Changes to the permission rules, one function for each kind.

    Allow(updated_permissions=[AddRules("Bash(git log:*)"), SetMode("acceptEdits")])

2.1.332 drops an update that it cannot read without a word and lets the tool run; 2.0.75 and 2.1.7 deny the tool. So
what a program could not read, or would read as something else, raises `OptionsError` here. `destination` says where a
change is kept: "session" (until the session ends), "cliArg" (likewise), or "localSettings", "projectSettings" and
"userSettings", which are files.
"""

from typing import Literal

from claude_control.errors import OptionsError
from claude_control.wire.permissions import PermissionRuleValue, PermissionUpdate

__all__ = ["AddDirectories", "AddRules", "RemoveDirectories", "RemoveRules", "ReplaceRules", "SetMode"]

Behavior = Literal["allow", "deny", "ask"]


def AddRules(
    *rules: PermissionRuleValue | str, behavior: Behavior = "allow", destination: str = "session"
) -> PermissionUpdate:
    """Allow, deny or ask about what the rules name: "Bash(git log:*)", "Read", or a `PermissionRuleValue`."""
    return _rules("addRules", rules, behavior, destination)


def ReplaceRules(
    *rules: PermissionRuleValue | str, behavior: Behavior = "allow", destination: str = "session"
) -> PermissionUpdate:
    """Put these, or nothing, in place of all rules of that behaviour and destination."""
    return _rules("replaceRules", rules, behavior, destination)


def RemoveRules(
    *rules: PermissionRuleValue | str, behavior: Behavior = "allow", destination: str = "session"
) -> PermissionUpdate:
    """Take these rules away, where they stand with exactly that text, behaviour and destination."""
    return _rules("removeRules", rules, behavior, destination)


def AddDirectories(*directories: str, destination: str = "session") -> PermissionUpdate:
    """Let the tools work in these directories too."""
    return _checked(PermissionUpdate("addDirectories", directories=directories, destination=destination))


def RemoveDirectories(*directories: str, destination: str = "session") -> PermissionUpdate:
    """Keep the tools out of these directories again."""
    return _checked(PermissionUpdate("removeDirectories", directories=directories, destination=destination))


def SetMode(mode: str, *, destination: str = "session") -> PermissionUpdate:
    """Change the permission mode, as `Session.set_permission_mode` does.

    "auto" and "manual" are of 2.1.332, an older program denies the tool for them. "bypassPermissions" needs a session
    that was opened with `allow_bypass=True`.
    """
    return _checked(PermissionUpdate("setMode", mode=mode, destination=destination))


def _rules(
    kind: str, rules: tuple[PermissionRuleValue | str, ...], behavior: Behavior, destination: str
) -> PermissionUpdate:
    made = tuple(_rule(rule) for rule in rules)
    return _checked(PermissionUpdate(kind, rules=made, behavior=behavior, destination=destination))


def _rule(rule: object) -> PermissionRuleValue:
    if isinstance(rule, PermissionRuleValue):
        return rule
    if not isinstance(rule, str):
        raise OptionsError(f"{rule!r} is no rule; give texts such as 'Read' or 'Bash(git log:*)'", field="rules")
    tool, bracket, content = rule.partition("(")
    if bracket and not content.endswith(")"):
        raise OptionsError(f"the rule {rule!r} has a bracket that does not close", field="rules")
    content = content.removesuffix(")")
    return PermissionRuleValue(tool, None if content in ("", "*") else content)  # "Read()" and "Read(*)" are "Read"


def _checked(update: PermissionUpdate) -> PermissionUpdate:
    update.to_wire()
    return update
