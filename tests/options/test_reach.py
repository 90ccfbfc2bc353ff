"""Options that keep a callback from being asked: told in the log, or refused under strict.

That the programs do what is claimed here is measured in tests/real/test_permission_order.py and test_questions.py.
"""

import logging
from typing import Any

import pytest

from claude_control import Allow, Options, OptionsError
from claude_control.options import merge_options
from claude_control.options.reach import can_ask_questions, obstacles, whole_tool
from claude_control.tools import ToolServer


def ask(*_arguments: Any) -> Allow:
    """Let everything run."""
    return Allow()


BYPASS = {"permission_mode": "bypassPermissions", "allow_bypass": True}
TOOL, QUESTION, PLAN = {"can_use_tool": ask}, {"on_question": ask}, {"on_plan": ask}

# Options, the option that is told of, and a piece of what is told.
UNREACHABLE: list[tuple[dict[str, Any], str, str]] = [
    (TOOL | {"allowed_tools": ["Read", "Bash(git log:*)"]}, "can_use_tool", "never asked about Read, which"),
    (TOOL | {"allowed_tools": ["Read()", "Bash(*)"]}, "can_use_tool", "Read(), Bash(*), which allowed_tools lets run"),
    (TOOL | {"allowed_tools": ["mcp__files__read"]}, "can_use_tool", "a PreToolUse hook as a guard"),
    (TOOL | BYPASS, "can_use_tool", "'bypassPermissions' lets every tool run unasked"),
    (TOOL | {"permission_mode": "dontAsk"}, "can_use_tool", "'dontAsk' denies unasked"),
    (TOOL | {"permission_mode": "auto"}, "can_use_tool", "'auto' lets the program itself judge"),
    (TOOL | {"tools": []}, "can_use_tool", "tools=[] leaves no tool"),
    (QUESTION | {"tools": ["Read"]}, "on_question", "tools does not name AskUserQuestion"),
    (QUESTION | {"disallowed_tools": ["AskUserQuestion"]}, "on_question", "disallowed_tools names AskUserQuestion"),
    (QUESTION | {"permission_mode": "dontAsk"}, "on_question", "'dontAsk' denies unasked"),
    (PLAN | {"tools": ["Read"]}, "on_plan", "tools does not name ExitPlanMode"),
    (PLAN | {"disallowed_tools": ["ExitPlanMode(*)"]}, "on_plan", "disallowed_tools names ExitPlanMode"),
    (PLAN | {"permission_mode": "dontAsk"}, "on_plan", "'dontAsk' denies unasked"),
    ({"tools": ["Read", "AskUserQuestion"]}, "tools", "taken out because nobody could answer; set on_question"),
    ({"allowed_tools": ["AskUserQuestion"]}, "allowed_tools", "taken out because nobody could answer"),
    (PLAN | {"tools": ["ExitPlanMode", "AskUserQuestion"]}, "tools", "nobody could answer"),
]
REACHABLE: list[dict[str, Any]] = [
    {},
    BYPASS,
    {"permission_mode": "dontAsk", "allowed_tools": ["Read"]},
    {"tools": []},
    {"disallowed_tools": ["AskUserQuestion", "ExitPlanMode"]},
    TOOL,
    TOOL | {"allowed_tools": ["Bash(git log:*)", "AskUserQuestion", "ExitPlanMode"]},
    TOOL | {"permission_mode": "acceptEdits"},
    TOOL | {"permission_mode": "plan"},
    TOOL | {"tools": ["Read"]},
    TOOL | {"tools": [], "mcp_servers": {"lab": ToolServer("lab", [])}},
    TOOL | {"tools": ["AskUserQuestion"]},
    TOOL | {"disallowed_tools": ["AskUserQuestion"]},
    QUESTION,
    QUESTION | BYPASS | {"allowed_tools": ["AskUserQuestion", "Read"]},
    QUESTION | {"tools": ["AskUserQuestion"], "disallowed_tools": ["Bash(rm:*)"]},
    QUESTION | {"tools": {"type": "preset", "preset": "claude_code"}},
    PLAN,
    PLAN | BYPASS | {"allowed_tools": ["ExitPlanMode"]},
    PLAN | {"permission_mode": "plan", "tools": ["ExitPlanMode"]},
    {"tools": ["AskUserQuestion"], "permission_prompt_tool_name": "mcp__people__ask"},
]


@pytest.mark.parametrize(("fields", "field", "told"), UNREACHABLE, ids=lambda value: str(value)[:60])
def test_callback_out_of_reach_is_told(
    fields: dict[str, Any], field: str, told: str, caplog: pytest.LogCaptureFixture
) -> None:
    """What keeps a callback from being asked is a warning that names both, and an error under strict."""
    with caplog.at_level(logging.WARNING):
        options = merge_options(**fields)
    (found,) = obstacles(options)
    assert found.field == field
    assert told in found.text
    (record,) = caplog.records
    assert (record.message, record.field, record.reason) == (  # type: ignore[attr-defined]  # what was bound to it
        "options.callback_unreachable",
        field,
        found.text,
    )
    with pytest.raises(OptionsError) as caught:
        merge_options(options, strict=True)
    assert caught.value.field == field
    assert told in str(caught.value)


@pytest.mark.parametrize("fields", REACHABLE, ids=str)
def test_callback_within_reach_is_taken(fields: dict[str, Any], caplog: pytest.LogCaptureFixture) -> None:
    """Options that leave something to ask are taken without a word, under strict too."""
    with caplog.at_level(logging.WARNING):
        assert obstacles(merge_options(strict=True, **fields)) == []
    assert caplog.text == ""


def test_every_obstacle_is_told() -> None:
    """Options that are in the way twice, or of two callbacks, are told of each time."""
    options = Options(can_use_tool=ask, on_question=ask, allowed_tools=["Read"], permission_mode="dontAsk")
    assert [found.field for found in obstacles(options)] == ["can_use_tool", "can_use_tool", "on_question"]


@pytest.mark.parametrize(
    ("fields", "answered"),
    [
        ({}, False),
        (PLAN, False),
        (QUESTION, True),
        (TOOL, True),
        ({"permission_prompt_tool_name": "mcp__people__ask"}, True),
    ],
    ids=str,
)
def test_question_needs_somebody(fields: dict[str, Any], answered: bool) -> None:
    """Questions can be answered by on_question, by can_use_tool, and by a tool that is asked in its place."""
    assert can_ask_questions(merge_options(**fields)) == answered


@pytest.mark.parametrize(
    ("rule", "tool"),
    [("Read", "Read"), ("Read()", "Read"), ("Read(*)", "Read"), ("Bash(git log:*)", None), ("Bash(* x)", None)],
)
def test_whole_tool_is_named(rule: str, tool: str | None) -> None:
    """A rule without contents, or with a star alone, is about the whole tool."""
    assert whole_tool(rule) == tool
