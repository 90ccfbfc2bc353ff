"""Rules, tools and skills: each entry stays one rule."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claude_control import OptionsError
from claude_control.options import Options, merge_options
from claude_control.options.tools import allowed_rules, disallowed_rules, setting_sources, split_rules


@pytest.mark.parametrize(
    ("text", "rules"),
    [
        ("Read", ["Read"]),
        ("Read,Bash", ["Read", "Bash"]),
        ("Read Bash", ["Read", "Bash"]),
        ("Bash(git log:*),Read", ["Bash(git log:*)", "Read"]),
        ("Bash(a (b) c,d)", ["Bash(a (b)", "c", "d)"]),
        (" , ", []),
        ("Bash(a,Read", ["Bash(a,Read"]),
    ],
)
def test_text_is_cut_as_the_program_cuts_it(text: str, rules: list[str]) -> None:
    """Commas and blanks cut outside of parentheses, which do not nest (2.0.75 and 2.1.7)."""
    assert split_rules(text) == rules


@given(st.lists(st.text(alphabet="aB( ),:*-_", min_size=1, max_size=12), max_size=5))
def test_rules_that_are_taken_stay_the_rules_they_are(rules: list[str]) -> None:
    """Whatever list is taken, the program reads exactly that list from the joined text."""
    try:
        options = Options(allowed_tools=rules)
    except OptionsError:
        return
    assert split_rules(",".join(options.allowed_tools)) == rules


@pytest.mark.parametrize("name", ["allowed_tools", "disallowed_tools", "tools"])
@pytest.mark.parametrize("value", ["Read", ["Read,Bash"], ["Read Bash"], ["Bash(rm"], ["--x"], [""], [5], {"Read"}])
def test_entry_that_would_be_other_rules_is_refused(name: str, value: Any) -> None:
    """A text in place of a list, several rules in one entry, an open parenthesis and a flag are refused."""
    with pytest.raises(OptionsError) as caught:
        merge_options(**{name: value})
    assert caught.value.field == name


def test_tools_are_names() -> None:
    """`tools` takes names, none at all, or the preset; a rule belongs into allowed_tools."""
    assert Options(tools=[]).tools == ()
    assert Options(tools={"type": "preset", "preset": "claude_code"}).tools is not None
    with pytest.raises(OptionsError, match="allowed_tools"):
        Options(tools=["Bash(git:*)"])
    with pytest.raises(OptionsError, match="preset"):
        Options(tools={"type": "preset", "preset": "other"})


def test_skills_allow_themselves_and_their_sources() -> None:
    """Naming skills allows them and turns on the settings in which they live, unless sources were chosen."""
    some, all_, off = Options(skills=["pdf", "p:x"], allowed_tools=["Read"]), Options(skills="all"), Options(skills=[])
    assert allowed_rules(some) == ("Read", "Skill(pdf)", "Skill(p:x)")
    assert (allowed_rules(all_), allowed_rules(off)) == (("Skill",), ())
    assert setting_sources(some) == setting_sources(off) == ("user", "project")
    assert setting_sources(Options(skills="all", setting_sources=[])) == ()
    assert setting_sources(Options()) is None


@pytest.mark.parametrize(
    "name",
    ["", " a", "a ", "a,b", "a(b", "a)b", "*", "a:*", "a *", "/a", "-a", "a\\b", "a\nb", "\ufeffa", "\ud800", 7],
)
def test_skill_that_is_no_exact_name_is_refused(name: object) -> None:
    """A name that would become another rule, or could never match a skill, is refused."""
    with pytest.raises(OptionsError, match="exact skill names"):
        merge_options(skills=[name])


def test_skills_are_a_list() -> None:
    """A single name in place of a list is refused, rather than read letter by letter."""
    with pytest.raises(OptionsError, match="a list of skill names, 'all' or None"):
        merge_options(skills="pdf")


def test_questions_are_taken_out_where_nobody_answers() -> None:
    """The tool for questions is refused beside what the user refuses, once, unless somebody is there to answer."""
    assert disallowed_rules(Options()) == ("AskUserQuestion",)
    assert disallowed_rules(Options(disallowed_tools=["WebFetch"])) == ("WebFetch", "AskUserQuestion")
    assert disallowed_rules(Options(disallowed_tools=["AskUserQuestion", "Read"])) == ("AskUserQuestion", "Read")
    assert disallowed_rules(Options(disallowed_tools=["WebFetch"], on_question=print)) == ("WebFetch",)
