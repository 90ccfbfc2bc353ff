"""Asking on the terminal whether a tool may run: what is shown, and what each answer does."""

import json
import re
from typing import Any

import pytest

from claude_control.cli.approve import describe
from claude_control.cli.person import SHOWN_LINES
from claude_control.testing import ScriptedCLI
from claude_control.testing.steps import Step, ask_permission, cancel, delay, reply, turn, use_tool, wait_answers
from tests.cli.conftest import Program
from tests.cli.terminals import CTRL_D, Terminal

QUESTION = "or say why not: "


def decisions(cli: ScriptedCLI) -> list[dict[str, Any]]:
    """Return the answers to permission requests that the program was sent."""
    answers = [frame["response"] for frame in cli.received() if frame["type"] == "control_response"]
    return [answer["response"] for answer in answers if "behavior" in answer.get("response", {})]


def bash(command: str = "ls") -> Step:
    """Return the use of a tool that needs permission."""
    return use_tool("Bash", {"command": command})


@pytest.mark.parametrize("answer", ["y", "YES", " yes "])
def test_yes_lets_it_run(program: Program, answer: str) -> None:
    """A yes lets the tool run with the input that was shown."""
    cli = program(every_prompt=turn(bash("make test"), reply("done")))
    with Terminal("run", "hi") as terminal:
        shown = terminal.expect(QUESTION)
        terminal.type(f"{answer}\n")
        assert terminal.finish() == 0
    assert "Claude asks to use Bash:\r\n  | command: make test\r\nAllow? y yes, n no, a always Bash" in shown
    assert decisions(cli) == [{"behavior": "allow", "updatedInput": {"command": "make test"}}]


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ("n\n", "The person at the terminal said no."),
        ("No\n", "The person at the terminal said no."),
        ("use make instead\n", "use make instead"),
        (CTRL_D, "The person at the terminal has left."),
    ],
)
def test_denial_tells_why(program: Program, answer: str, message: str) -> None:
    """A no, a reason or the end of input denies and tells the model what was said; the turn goes on and ends with 0."""
    cli = program(every_prompt=turn(bash(), reply("understood")))
    with Terminal("run", "hi") as terminal:
        terminal.expect(QUESTION)
        terminal.type(answer)
        assert terminal.finish() == 0
    assert decisions(cli) == [{"behavior": "deny", "message": message}]


def test_always_is_a_rule_of_the_session(program: Program) -> None:
    """To allow always gives the program a rule for that tool that lasts as long as the session."""
    cli = program(every_prompt=turn(bash(), reply("done")))
    with Terminal("run", "hi") as terminal:
        terminal.expect(QUESTION)
        terminal.type("a\n")
        assert terminal.finish() == 0
    rule = {"type": "addRules", "rules": [{"toolName": "Bash"}], "behavior": "allow", "destination": "session"}
    assert decisions(cli)[0]["updatedPermissions"] == [rule]


@pytest.mark.parametrize("slip", ["\n", "x\n", "  \n"])
def test_slip_of_the_finger_decides_nothing(program: Program, slip: str) -> None:
    """An empty line or a strange letter is no answer: it is asked again."""
    program(every_prompt=turn(bash(), reply("done")))
    with Terminal("run", "hi") as terminal:
        terminal.expect(QUESTION)
        terminal.type(slip)
        terminal.expect(QUESTION)
        terminal.type("y\n")
        assert terminal.finish() == 0


def test_keys_typed_before_the_question_do_not_answer_it(program: Program) -> None:
    """A "y" that was typed before there was a question is dropped."""
    cli = program(every_prompt=turn(reply("wait"), delay(0.3), bash(), reply("done")))
    with Terminal("run", "hi") as terminal:
        terminal.expect("wait")
        terminal.type("y\n")
        terminal.expect(QUESTION)
        terminal.type("n\n")
        assert terminal.finish() == 0
    assert [decision["behavior"] for decision in decisions(cli)] == ["deny"]


def test_questions_come_one_after_the_other(program: Program) -> None:
    """Two tools at once are asked about one by one, and each gets its own answer."""
    two = [ask_permission("Bash", {"command": f"ls {n}"}, request_id=f"r{n}", wait=False) for n in (1, 2)]
    cli = program(every_prompt=turn(*two, wait_answers(), reply("done")))
    with Terminal("run", "hi") as terminal:
        answers = {}
        for answer in ("y", "n"):
            found = re.search(r"command: ls (\d)", terminal.expect(QUESTION))
            assert found is not None
            answers[f"r{found[1]}"] = {"y": "allow", "n": "deny"}[answer]
            terminal.type(f"{answer}\n")
        assert terminal.finish() == 0
    told = [frame["response"] for frame in cli.received() if frame["type"] == "control_response"]
    given = {one["request_id"]: one["response"]["behavior"] for one in told if one["request_id"] in ("r1", "r2")}
    assert given == answers


def test_question_that_is_withdrawn(program: Program) -> None:
    """A question that the program takes back is no longer asked, and the turn goes on."""
    withdrawn = [ask_permission("Bash", {"command": "ls"}, wait=False), delay(0.5), cancel(), reply("done")]
    program(every_prompt=turn(*withdrawn))
    with Terminal("run", "hi") as terminal:
        terminal.expect(QUESTION)
        terminal.expect("(no longer asked)")
        assert terminal.finish() == 0


def test_long_input_is_shown_on_request(program: Program) -> None:
    """Of a long input the beginning is shown, with how much is missing; `v` shows all of it."""
    content = "\n".join(f"line {number}" for number in range(100))
    program(every_prompt=turn(use_tool("Write", {"file_path": "a", "content": content}), reply("done")))
    with Terminal("run", "hi") as terminal:
        shown = terminal.expect(QUESTION)
        assert f"... {101 - SHOWN_LINES} more lines; v shows everything" in shown
        assert "line 99" not in shown
        terminal.type("v\n")
        assert "|   line 99\r\n" in terminal.expect(QUESTION)
        terminal.type("y\n")
        assert terminal.finish() == 0


EVIL = "ls\x1b[2K\rharmless\u202e\nAllow? y\x9b31m"


def test_input_hides_nothing(program: Program) -> None:
    """Codes in a tool's name or input are spelled out, and no line of them looks like the question."""
    program(every_prompt=turn(use_tool("Bash\x1b]0;t\x07\nAllow? y", {"command": EVIL}), reply("done")))
    with Terminal("run", "hi", columns=32) as terminal:
        shown = terminal.expect(QUESTION)
        terminal.type("y\n")
        assert terminal.finish() == 0
    assert "Claude asks to use Bash\\x1b]0;t\\x07\\nAllow? y:" in shown
    assert "ls\\x1b[2K\\x0dhar" in shown
    assert [line for line in shown.splitlines() if line.startswith("Allow?")] != []
    assert shown.count("\nAllow?") == 1


def test_lines_are_wrapped_behind_their_mark() -> None:
    """A long line, wide characters in it or not, is cut so that each piece stands behind the mark and an indent."""
    lines = describe({"command": "x" * 100 + "漢" * 20}, None, 40)
    assert lines[0].startswith("  | command: x")
    assert all(line.startswith("  |   ") for line in lines[1:])
    assert max(len(line) for line in lines) <= 39
    assert lines[0][4:] + "".join(line[6:] for line in lines[1:]) == "command: " + "x" * 100 + "漢" * 20


def test_values_of_any_type_are_shown() -> None:
    """Numbers, lists and objects are shown as JSON, their characters as they are."""
    lines = describe({"n": 1, "edits": [{"old": "é"}], "none": None, "empty": []}, None, 80)
    text = "\n".join(line[4:] for line in lines)
    assert "n: 1" in text
    assert "none: null" in text
    assert "empty: []" in text
    assert '"old": "é"' in text
    assert json.loads(text.partition("edits: ")[2].partition("\nnone")[0]) == [{"old": "é"}]
