"""The changes of permission rules, each made by a function that refuses what a program would drop."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claude_control.errors import OptionsError
from claude_control.wire.permissions import PermissionRuleValue, PermissionUpdate
from claude_control.wire.updates import (
    AddDirectories,
    AddRules,
    RemoveDirectories,
    RemoveRules,
    ReplaceRules,
    SetMode,
)

RULE_UPDATES: dict[str, Callable[..., PermissionUpdate]] = {
    "addRules": AddRules,
    "replaceRules": ReplaceRules,
    "removeRules": RemoveRules,
}
DIRECTORY_UPDATES: dict[str, Callable[..., PermissionUpdate]] = {
    "addDirectories": AddDirectories,
    "removeDirectories": RemoveDirectories,
}


@pytest.mark.parametrize("kind", RULE_UPDATES)
def test_rules_have_the_wire_form(kind: str) -> None:
    """Rules are given as texts or as values, and go to this session as allowed unless said otherwise."""
    make = RULE_UPDATES[kind]
    rules = [{"toolName": "Bash", "ruleContent": "git log:*"}, {"toolName": "Read"}]
    made = make("Bash(git log:*)", PermissionRuleValue("Read"))
    assert made.to_wire() == {"type": kind, "rules": rules, "behavior": "allow", "destination": "session"}
    denied = make("Read", behavior="deny", destination="localSettings").to_wire()
    assert (denied["behavior"], denied["destination"]) == ("deny", "localSettings")


def test_rules_can_be_replaced_by_none() -> None:
    """Replacing by nothing takes all rules of that kind away, which every program understands."""
    made = ReplaceRules(behavior="deny")
    assert made.to_wire() == {"type": "replaceRules", "rules": [], "behavior": "deny", "destination": "session"}


@pytest.mark.parametrize("kind", DIRECTORY_UPDATES)
def test_directories_have_the_wire_form(kind: str) -> None:
    """Directories are given one by one."""
    made = DIRECTORY_UPDATES[kind]("/a", "/b", destination="cliArg")
    assert made.to_wire() == {"type": kind, "directories": ["/a", "/b"], "destination": "cliArg"}


def test_mode_has_the_wire_form() -> None:
    """A mode is given by its name, and equals the update that one could write by hand."""
    assert SetMode("acceptEdits").to_wire() == {"type": "setMode", "mode": "acceptEdits", "destination": "session"}
    assert SetMode("plan") == PermissionUpdate("setMode", mode="plan")


@pytest.mark.parametrize(
    ("text", "tool", "content"),
    [
        ("Read", "Read", None),
        ("Read()", "Read", None),
        ("Read(*)", "Read", None),
        ("Bash(echo (a) b)", "Bash", "echo (a) b"),
        ("Edit(/src/**)", "Edit", "/src/**"),
        ("mcp__lab__echo", "mcp__lab__echo", None),
    ],
)
def test_text_is_a_rule(text: str, tool: str, content: str | None) -> None:
    """A text is read as in a settings file: the tool, and in brackets which of its uses."""
    assert AddRules(text).rules == (PermissionRuleValue(tool, content),)


WRONG: dict[str, Callable[[], PermissionUpdate]] = {
    "no rule": AddRules,
    "nothing to remove": RemoveRules,
    "list": lambda: AddRules(["Read"]),  # type: ignore[arg-type]
    "number": lambda: RemoveRules(5),  # type: ignore[arg-type]
    "empty text": lambda: AddRules(""),
    "content only": lambda: AddRules("(git log:*)"),
    "open bracket": lambda: AddRules("Bash(git log:*"),
    "rule as a tool": lambda: AddRules(PermissionRuleValue("Bash(git log:*)")),
    "blank tool": lambda: AddRules(" "),
    "two tools": lambda: AddRules("Read Write"),
    "empty content": lambda: AddRules(PermissionRuleValue("Bash", "")),
    "star as content": lambda: AddRules(PermissionRuleValue("Bash", "*")),
    "unknown behaviour": lambda: ReplaceRules("Read", behavior="maybe"),  # type: ignore[arg-type]
    "unknown destination": lambda: AddRules("Read", destination="everywhere"),
    "no directory": AddDirectories,
    "empty directory": lambda: AddDirectories(""),
    "list of directories": lambda: RemoveDirectories(["/a"]),  # type: ignore[arg-type]
    "directory elsewhere": lambda: AddDirectories("/a", destination="here"),
    "unknown mode": lambda: SetMode("yolo"),
    "no mode": lambda: SetMode(None),  # type: ignore[arg-type]
    "mode elsewhere": lambda: SetMode("plan", destination="there"),
}


@pytest.mark.parametrize("make", WRONG.values(), ids=WRONG)
def test_what_a_program_would_drop_is_refused(make: Callable[[], PermissionUpdate]) -> None:
    """What a program would drop in silence, or take for something else, is refused where it is written."""
    with pytest.raises(OptionsError):
        make()


@given(rule=st.one_of(st.text(alphabet="Bash()*: ", max_size=8), st.integers(), st.none()))
def test_every_rule_is_one_that_programs_read(rule: Any) -> None:
    """Whatever is taken for a rule names a tool, without a bracket in it, and has a content or none."""
    try:
        (sent,) = AddRules(rule).to_wire()["rules"]
    except OptionsError:
        return
    assert sent["toolName"]
    assert "(" not in sent["toolName"]
    assert sent.get("ruleContent", "x") not in ("", "*", None)
