"""Which tools and skills the model has and may use unasked: lists of rules, each of which must stay one rule.

The program joins nothing and quotes nothing: it cuts the value of its flags at commas and blanks outside of parentheses
(read in 2.0.75 and 2.1.7), so an entry that would be cut would grant what nobody wrote.
"""

import re
from typing import TYPE_CHECKING, Any

import attrs

from claude_control.errors import OptionsError
from claude_control.options.checks import is_text, reject
from claude_control.options.reach import can_ask_questions
from claude_control.wire.questions import QUESTION_TOOL

if TYPE_CHECKING:
    from claude_control.options.options import Options

__all__ = [
    "allowed_rules",
    "check_rules",
    "check_skills",
    "check_tools",
    "disallowed_rules",
    "setting_sources",
    "split_rules",
]

_SKILL_REFUSED = re.compile("[(),\\\\\x00-\x1f\x7f-\x9f\ufeff\ud800-\udfff]")


def split_rules(value: str) -> list[str]:
    """Cut a text into rules exactly as the program does."""
    rules, rule, inside = [], "", False
    for character in value:
        if character in "()":
            inside = character == "("
        if character in ", " and not inside:
            rules.append(rule)
            rule = ""
        else:
            rule += character
    return [part.strip() for part in [*rules, rule] if part.strip()]


def check_rules(_instance: Any, attribute: "attrs.Attribute[Any]", value: Any) -> None:
    """Take a list of permission rules: "Read", "Bash(git log:*)", "mcp__server__tool"."""
    if not isinstance(value, tuple):
        reject(attribute.name, value, "a list of rules, such as ['Read', 'Bash(git log:*)']")
    for rule in value:
        _check_rule(attribute.name, rule)


def _check_rule(field: str, rule: object) -> None:
    if not isinstance(rule, str) or not is_text(rule):
        reject(field, rule, "a list of texts such as 'Read' or 'Bash(git log:*)'")
    if split_rules(rule) != [rule] or rule.rfind("(") > rule.rfind(")"):
        remedy = "one rule for each entry, blanks and commas only inside of ( )"
        raise OptionsError(f"{field} has {rule!r}, which the program would read as other rules: {remedy}", field=field)


def check_tools(_instance: Any, attribute: "attrs.Attribute[Any]", value: Any) -> None:
    """Take a list of tool names (empty: no tool), the preset of all, or None."""
    if value is None or value == {"type": "preset", "preset": "claude_code"}:
        return
    if not isinstance(value, tuple):
        reject(attribute.name, value, "a list of tool names, {'type': 'preset', 'preset': 'claude_code'} or None")
    for name in value:
        _check_rule(attribute.name, name)
        if "(" in name:
            raise OptionsError(f"tools has {name!r}: names only, rules belong into allowed_tools", field=attribute.name)


def check_skills(_instance: Any, attribute: "attrs.Attribute[Any]", value: Any) -> None:
    """Take "all", a list of skill names (empty: none is shown), or None."""
    if value is None or value == "all":
        return
    if not isinstance(value, tuple):
        reject(attribute.name, value, "a list of skill names, 'all' or None")
    for name in value:
        if not _is_skill(name):
            needed = (
                "a list of exact skill names ('name' or 'plugin:name'), without wildcards, brackets, commas, "
                "slashes in front or blanks around"
            )
            reject(attribute.name, name, needed)


def _is_skill(name: object) -> bool:
    return (
        isinstance(name, str)
        and name != ""
        and name == name.strip()
        and not name.startswith(("/", "-"))
        and not name.endswith((":*", " *"))
        and name != "*"
        and not _SKILL_REFUSED.search(name)
    )


def allowed_rules(options: "Options") -> tuple[str, ...]:
    """Return `allowed_tools` and the rules that `skills` stands for."""
    rules = options.allowed_tools
    if options.skills is None:
        return tuple(rules)
    granted = ["Skill"] if options.skills == "all" else [f"Skill({name})" for name in options.skills]
    return tuple(dict.fromkeys([*rules, *granted]))


def disallowed_rules(options: "Options") -> tuple[str, ...]:
    """Return `disallowed_tools`, and `AskUserQuestion` where nobody could answer.

    2.1.332 takes that tool out by itself where it cannot ask for permissions; older programs offer it, and let every
    call of it fail.
    """
    unanswered = () if can_ask_questions(options) else (QUESTION_TOOL,)
    return tuple(dict.fromkeys([*options.disallowed_tools, *unanswered]))


def setting_sources(options: "Options") -> tuple[str, ...] | None:
    """Return `setting_sources`; where nothing was said, `skills` turns on the user's and the project's, their homes."""
    if options.setting_sources is None and options.skills is not None:
        return ("user", "project")
    return None if options.setting_sources is None else tuple(options.setting_sources)
