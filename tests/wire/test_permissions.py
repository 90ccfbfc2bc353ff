"""Permission decisions: what a callback may return, and what the strictest program takes."""

import json
from typing import Any

import attrs
import pytest
from hypothesis import given

from claude_control.errors import OptionsError
from claude_control.wire.framing import Decoder, encode
from claude_control.wire.permissions import (
    Allow,
    Deny,
    PermissionRuleValue,
    PermissionUpdate,
    answer_permission,
    deny,
    read_suggestions,
)
from tests.wire.messages.samples import json_values

INPUT = {"command": "ls", "n": 12345678901234567890}

# As 2.1.332 wrote them, with fields of tomorrow in each of their parts.
SUGGESTIONS: list[dict[str, Any]] = [
    {
        "rules": [{"toolName": "Bash", "ruleContent": "touch x *", "novel": [1]}, {"toolName": "Read"}],
        "type": "addRules",
        "behavior": "allow",
        "destination": "localSettings",
        "novel": {"a": None},
    },
    {"type": "addDirectories", "directories": ["/repo", "/tmp/x"], "destination": "session"},
    {"type": "setMode", "mode": "acceptEdits", "destination": "session"},
    {"type": "ofTomorrow", "whatever": 1, "destination": "nowhere"},
]


# -- allow -------------------------------------------------------------------------------------------------------------


def test_allow_echoes_the_input() -> None:
    """An allow always has the input, because 2.0.75 and 2.1.7 deny one without; numbers of any length stay exact."""
    answer = answer_permission(Allow(), INPUT)
    assert answer == {"behavior": "allow", "updatedInput": INPUT}
    assert json.loads(encode(answer)) == answer


def test_allow_with_changed_input() -> None:
    """A changed input goes instead of the original one, also if it is empty."""
    assert answer_permission(Allow({"command": "pwd"}), INPUT)["updatedInput"] == {"command": "pwd"}
    assert answer_permission(Allow({}), INPUT)["updatedInput"] == {}


def test_echo_is_a_copy() -> None:
    """What is sent is not the object that the callback holds."""
    given_input = dict(INPUT)
    assert answer_permission(Allow(given_input), INPUT)["updatedInput"] is not given_input
    assert answer_permission(Allow(), given_input)["updatedInput"] is not given_input


@pytest.mark.parametrize("value", ["text", 5, [1], [("a", 1)], True], ids=repr)
def test_input_that_is_no_object_is_refused(value: Any) -> None:
    """The program would misread an input that is no object."""
    with pytest.raises(OptionsError) as caught:
        answer_permission(Allow(value), INPUT)
    assert caught.value.field == "updated_input"


# -- deny --------------------------------------------------------------------------------------------------------------


def test_deny_has_its_message() -> None:
    """A denial tells the model why, and ends the turn only if it says so."""
    assert answer_permission(Deny("not here"), INPUT) == {"behavior": "deny", "message": "not here"}
    stop = answer_permission(Deny("stop", interrupt=True), INPUT)
    assert stop == {"behavior": "deny", "message": "stop", "interrupt": True}


@pytest.mark.parametrize("message", ["", "  \n", None, 5])
def test_deny_always_has_a_message(message: Any) -> None:
    """A denial without words gets some: every program takes one without for an invalid result."""
    for answer in (answer_permission(Deny(message), INPUT), deny(message), answer_permission(Deny(), INPUT)):
        assert answer == {"behavior": "deny", "message": "Denied by the permission callback."}


# -- neither -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "decision",
    [None, True, False, "allow", {"behavior": "allow"}, {"behavior": "allow", "updatedInput": {}}, Allow, Deny, [], 0],
    ids=repr,
)
def test_anything_else_is_refused(decision: object) -> None:
    """What is neither Allow nor Deny is the callback's mistake; it is never taken for an allow."""
    with pytest.raises(OptionsError, match=r"must return Allow\(…\) or Deny\(…\)"):
        answer_permission(decision, INPUT)


@given(decision=json_values)
def test_no_json_value_allows(decision: Any) -> None:
    """No value that is not an Allow lets a tool run."""
    with pytest.raises(OptionsError):
        answer_permission(decision, INPUT)


# -- updates -----------------------------------------------------------------------------------------------------------


def updates(*items: Any, allow_bypass: bool = False) -> list[dict[str, Any]]:
    """Return the updates of an allow as they are sent."""
    answer = answer_permission(Allow(updated_permissions=list(items)), INPUT, allow_bypass=allow_bypass)
    sent: list[dict[str, Any]] = answer["updatedPermissions"]
    return sent


RULES = (PermissionRuleValue("Bash", "ls *"), PermissionRuleValue("Read"))


@pytest.mark.parametrize("kind", ["addRules", "replaceRules", "removeRules"])
def test_rules_have_the_wire_form(kind: str) -> None:
    """Updates of rules carry rules, behaviour and destination; a rule without content has no such key."""
    assert updates(PermissionUpdate(kind, rules=RULES, behavior="deny", destination="cliArg")) == [
        {
            "type": kind,
            "rules": [{"toolName": "Bash", "ruleContent": "ls *"}, {"toolName": "Read"}],
            "behavior": "deny",
            "destination": "cliArg",
        }
    ]


@pytest.mark.parametrize("kind", ["addDirectories", "removeDirectories"])
def test_directories_have_the_wire_form(kind: str) -> None:
    """Updates of directories carry their list, for this session unless said otherwise."""
    sent = updates(PermissionUpdate(kind, directories=("/a", "/b")))
    assert sent == [{"type": kind, "directories": ["/a", "/b"], "destination": "session"}]


def test_mode_has_the_wire_form() -> None:
    """A change of the mode carries it."""
    assert updates(PermissionUpdate("setMode", mode="plan")) == [
        {"type": "setMode", "mode": "plan", "destination": "session"}
    ]


def test_no_updates_are_no_field() -> None:
    """Without updates the field is left out."""
    empties: list[Any] = [None, [], ()]
    for empty in empties:
        assert "updatedPermissions" not in answer_permission(Allow(updated_permissions=empty), INPUT)


MALFORMED: dict[str, Any] = {
    "unknown type": PermissionUpdate("allowAll"),
    "no type": {"rules": [], "behavior": "allow"},
    "unknown destination": PermissionUpdate("setMode", mode="plan", destination="everywhere"),
    "no destination": {"type": "setMode", "mode": "plan"},
    "unknown mode": PermissionUpdate("setMode", mode="yolo"),
    "no mode": PermissionUpdate("setMode"),
    "unknown behaviour": {
        "type": "addRules",
        "rules": [{"toolName": "A"}],
        "behavior": "maybe",
        "destination": "session",
    },
    "no behaviour": PermissionUpdate("addRules", rules=RULES),
    "no rules": PermissionUpdate("addRules", behavior="allow"),
    "empty rules": PermissionUpdate("addRules", rules=[], behavior="allow"),
    "one rule for a list": PermissionUpdate("addRules", rules=RULES[0], behavior="allow"),  # type: ignore[arg-type]
    "text as rules": PermissionUpdate("addRules", rules="Bash", behavior="allow"),  # type: ignore[arg-type]
    "texts as rules": PermissionUpdate("addRules", rules=["Bash"], behavior="allow"),  # type: ignore[list-item]
    "rule without a tool": PermissionUpdate("addRules", rules=[PermissionRuleValue("")], behavior="allow"),
    "text as wire rule": {"type": "addRules", "rules": ["Bash"], "behavior": "allow", "destination": "session"},
    "one bad wire rule": {
        "type": "addRules",
        "rules": [{"toolName": "Bash"}, 5],
        "behavior": "allow",
        "destination": "session",
    },
    "wire rule in Python's names": {
        "type": "addRules",
        "rules": [{"tool_name": "Bash"}],
        "behavior": "allow",
        "destination": "session",
    },
    "wire rule whose content is a number": {
        "type": "addRules",
        "rules": [{"toolName": "Bash", "ruleContent": 5}],
        "behavior": "allow",
        "destination": "session",
    },
    "no directories": PermissionUpdate("addDirectories"),
    "empty directories": {"type": "addDirectories", "directories": [], "destination": "session"},
    "text as directories": PermissionUpdate("addDirectories", directories="/tmp/x"),
    "text as wire directories": {"type": "addDirectories", "directories": "/tmp/x", "destination": "session"},
    "number as directory": PermissionUpdate("addDirectories", directories=[5]),  # type: ignore[list-item]
    "empty directory": PermissionUpdate("addDirectories", directories=["/a", ""]),
    "text": "acceptEdits",
    "none": None,
    "list": [],
}


@pytest.mark.parametrize("item", MALFORMED.values(), ids=MALFORMED)
def test_malformed_update_is_refused(item: Any) -> None:
    """An update that 2.0.75 and 2.1.7 would deny the tool for, and 2.1.332 drop in silence, is refused here."""
    with pytest.raises(OptionsError):
        updates(PermissionUpdate("setMode", mode="plan"), item)


@pytest.mark.parametrize(
    "items", ["addRules", 5, {"type": "setMode"}, PermissionUpdate("setMode", mode="plan")], ids=repr
)
def test_updates_must_be_a_list(items: Any) -> None:
    """One update where a list is wanted is refused, and not looked into."""
    with pytest.raises(OptionsError) as caught:
        answer_permission(Allow(updated_permissions=items), INPUT)
    assert caught.value.field == "updated_permissions"


BYPASS: dict[str, Any] = {
    "record": PermissionUpdate("setMode", mode="bypassPermissions"),
    "dict": {"type": "setMode", "mode": "bypassPermissions", "destination": "session"},
    "suggestion": read_suggestions([{"type": "setMode", "mode": "bypassPermissions", "destination": "session"}])[0],
    "changed suggestion": attrs.evolve(read_suggestions(SUGGESTIONS)[2], mode="bypassPermissions"),
}


@pytest.mark.parametrize("item", BYPASS.values(), ids=BYPASS)
def test_bypass_is_refused_unless_allowed(item: Any) -> None:
    """A switch to bypassPermissions goes only to a session opened for it: 2.0.75 and 2.1.7 would take it from any."""
    with pytest.raises(OptionsError, match="allow_bypass=True"):
        updates(item)
    assert [sent["mode"] for sent in updates(item, allow_bypass=True)] == ["bypassPermissions"]


# -- suggestions -------------------------------------------------------------------------------------------------------


def test_suggestions_go_back_as_they_came() -> None:
    """A suggestion that is handed back has the same bytes, with every field that is unknown here."""
    line = json.dumps({"permission_suggestions": SUGGESTIONS}, separators=(",", ":")).encode()
    frame = Decoder().decode(line)
    assert frame is not None
    suggestions = read_suggestions(frame["permission_suggestions"])
    sent = updates(*suggestions)
    assert encode({"permission_suggestions": sent}) == line + b"\n"


def test_suggestions_can_be_read() -> None:
    """A suggestion says in our names what it is about."""
    rules, directories, mode, unknown = read_suggestions(SUGGESTIONS)
    assert rules.rules == (PermissionRuleValue("Bash", "touch x *"), PermissionRuleValue("Read"))
    assert (rules.behavior, rules.destination) == ("allow", "localSettings")
    assert directories.directories == ("/repo", "/tmp/x")
    assert (mode.mode, unknown.type) == ("acceptEdits", "ofTomorrow")
    assert "raw" not in repr(rules)


def test_changed_suggestion_goes_as_changed() -> None:
    """A copy of a suggestion with another destination or rule goes as changed: what was taken away stays away."""
    first = read_suggestions(SUGGESTIONS)[0]
    kept = attrs.evolve(first, destination="session", rules=(PermissionRuleValue("Read"),))
    assert updates(kept) == [
        {"type": "addRules", "rules": [{"toolName": "Read"}], "behavior": "allow", "destination": "session"}
    ]


def test_dict_of_a_suggestion_goes_back_too() -> None:
    """A suggestion that is handed back as the dict it was, from `raw`, is sent with its own fields."""
    assert updates(SUGGESTIONS[1], SUGGESTIONS[2]) == SUGGESTIONS[1:3]
    assert updates(SUGGESTIONS[0])[0]["novel"] == {"a": None}


def test_wire_rule_with_null_content_is_about_every_use() -> None:
    """A null that the programs would refuse is left out, and means what it says: no content."""
    item = {"type": "addRules", "rules": [{"toolName": "Bash", "ruleContent": None}], "behavior": "ask"}
    assert updates({**item, "destination": "session"})[0]["rules"] == [{"toolName": "Bash"}]


@given(value=json_values)
def test_no_suggestion_raises(value: Any) -> None:
    """Whatever the program suggests, reading it gives updates."""
    for suggestions in (read_suggestions(value), read_suggestions([{"type": value, "rules": value}, value])):
        assert all(isinstance(update, PermissionUpdate) for update in suggestions)


@given(value=json_values)
def test_no_dict_gets_through_unchecked(value: Any) -> None:
    """A dict of the user's with anything in it is sent in a form that the programs take, or refused."""
    for key in ("type", "rules", "behavior", "destination"):
        item = {"type": "addRules", "rules": [{"toolName": "Bash"}], "behavior": "allow", "destination": "session"}
        try:
            (sent,) = updates({**item, key: value})
        except OptionsError:
            continue
        assert sent["behavior"] in ("allow", "deny", "ask")
        assert all(isinstance(rule["toolName"], str) and rule["toolName"] for rule in sent["rules"])
