"""The command `claude-control` on the real programs, in a pipe and in a pseudo-terminal."""

import json
import shlex
from pathlib import Path

import pytest

from claude_control.testing.model_prompt import script
from claude_control.testing.model_script import HttpError, Text, ToolCall, Words
from tests.cli.terminals import CTRL_C, Terminal, piped
from tests.real.conftest import Program

pytestmark = pytest.mark.real

QUESTION = "or say why not: "


@pytest.fixture
def variables(
    program: Program, real_environment: dict[str, str], tmp_path: Path, workspace: Path
) -> dict[str, str | None]:
    """The variables with which the command finds the program under test, and the program the scripted model."""
    path = tmp_path / "claude"
    path.write_text(f'#!/bin/sh\nexec {shlex.join(program.command)} "$@"\n')
    path.chmod(0o755)
    assert workspace.is_dir()
    return {**real_environment, "CLAUDE_CONTROL_CLI": str(path)}


def touch(name: str) -> ToolCall:
    """A Bash call that every version asks about."""
    return ToolCall("Bash", command=f"touch {name}", description="make a file")


def test_run_prints_the_answer(variables: dict[str, str | None], workspace: Path) -> None:
    """The answer is streamed to a pipe, each block once, tools in between or not."""
    prompt = script(Text("Let me look."))
    done = piped("run", prompt, "--cwd", str(workspace), variables=variables)
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "Let me look.", "")
    prompt = script(ToolCall("Bash", command="echo hello", description="say hello"), Text("All is well."))
    done = piped("run", prompt, "--cwd", str(workspace), "--allow", "Bash", variables=variables)
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "All is well.", "")


def test_run_gives_json(variables: dict[str, str | None], program: Program, workspace: Path) -> None:
    """The document is the program's own result, and the lines are its own frames."""
    done = piped("run", script(Text("one two")), "--json", "--cwd", str(workspace), variables=variables)
    assert (done.returncode, json.loads(done.stdout)["result"].strip()) == (0, "one two")
    done = piped("run", script(Text("one two")), "--ndjson", "--cwd", str(workspace), variables=variables)
    frames = [json.loads(line) for line in done.stdout.splitlines()]
    assert [frame["type"] for frame in frames if frame["type"] in ("assistant", "result")] == ["assistant", "result"]
    assert any(frame.get("claude_code_version") == program.version for frame in frames)


def test_run_denies_without_a_terminal(variables: dict[str, str | None], workspace: Path) -> None:
    """Without a terminal the tool does not run, and the exit code is 4."""
    prompt = script(touch("made"), Text("I could not."))
    done = piped("run", prompt, "--cwd", str(workspace), variables=variables)
    assert (done.returncode, done.stdout.strip()) == (4, "I could not.")
    assert "denied Bash" in done.stderr
    assert not (workspace / "made").exists()


def test_run_asks_on_a_terminal_until_told_always(variables: dict[str, str | None], workspace: Path) -> None:
    """A denial keeps one tool use from running; "always" lets it and all later ones run, and is not asked again."""
    prompt = script(touch("one"), touch("two"), touch("three"), Text("done"))
    with Terminal("run", prompt, "--cwd", str(workspace), variables=variables) as terminal:
        assert "command: touch one" in terminal.expect(QUESTION, timeout=30)
        terminal.type("not that one\n")
        assert "command: touch two" in terminal.expect(QUESTION)
        terminal.type("a\n")
        terminal.expect("done\r\n")
        assert terminal.finish() == 0
    assert [(workspace / name).exists() for name in ("one", "two", "three")] == [False, True, True]


def asking() -> ToolCall:
    """A call by which the model asks a question with two options."""
    options = [{"label": label, "description": f"about {label}"} for label in ("Red", "Blue")]
    question = {"question": "Which colour?", "header": "Colour", "options": options, "multiSelect": False}
    return ToolCall("AskUserQuestion", questions=[question])


def test_run_asks_what_the_model_asks(variables: dict[str, str | None], workspace: Path) -> None:
    """The model's question is shown with its options, and the number that is typed reaches the model as a label."""
    prompt = script(asking(), Text("done"))
    with Terminal("run", prompt, "--ndjson", "--cwd", str(workspace), variables=variables) as terminal:
        shown = terminal.expect("leaves it open: ", timeout=30)
        terminal.type("2\n")
        terminal.expect(r"\"Which colour?\"=\"Blue\"")
        assert terminal.finish() == 0
    assert "  | Colour: Which colour?\r\n  | 1 Red: about Red\r\n  | 2 Blue: about Blue\r\nYour answer?" in shown


def test_run_answers_nothing_without_a_terminal(variables: dict[str, str | None], workspace: Path) -> None:
    """Without a terminal the model is told that nobody can be asked, even if it may ask; the exit code is 4."""
    prompt = script(asking(), Text("I decide myself."))
    flags = ("--ndjson", "--allow", "AskUserQuestion", "--cwd", str(workspace))
    done = piped("run", prompt, *flags, variables=variables)
    assert done.returncode == 4
    assert "Nobody can be asked: this run has no terminal." in done.stdout
    assert done.stderr == "claude-control: denied AskUserQuestion: there is no terminal to ask on\n"


def test_run_asks_about_a_plan(variables: dict[str, str | None], workspace: Path) -> None:
    """In plan mode the person judges the plan; what they want changed reaches the model."""
    prompt = script(ToolCall("ExitPlanMode"), Text("done"))
    flags = ("--ndjson", "--permission-mode", "plan", "--cwd", str(workspace))
    with Terminal("run", prompt, *flags, variables=variables) as terminal:
        assert "Claude has a plan, but wrote nothing." in terminal.expect("or say what to change: ", timeout=30)
        terminal.type("write one first\n")
        terminal.expect('"content":"write one first"')
        assert terminal.finish() == 0


def test_run_offers_tools_of_ones_own(variables: dict[str, str | None], workspace: Path) -> None:
    """A server of tools that the command line names is called, with the permission that any tool needs."""
    (workspace / "shop.py").write_text(
        "from claude_control import ToolServer\n"
        "def stock(item: str) -> str:\n"
        '    open("called", "a").write(item)\n'
        '    return "12"\n'
        'server = ToolServer("shop", [stock])\n'
    )
    prompt = script(ToolCall("mcp__shop__stock", item="A-17"), Text("Twelve."))
    shop = ("run", prompt, "--tools", "shop:server")
    done = piped(*shop, variables=variables, cwd=workspace)
    assert (done.returncode, (workspace / "called").exists()) == (4, False)
    done = piped(*shop, "--allow", "mcp__shop", variables=variables, cwd=workspace)
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "Twelve.", "")
    assert (workspace / "called").read_text() == "A-17"


def test_run_tells_an_api_error(variables: dict[str, str | None], workspace: Path) -> None:
    """An error of the API ends with 1, with its text on stderr and nothing on stdout."""
    prompt = script(HttpError(400, times=None), Text("never"))
    done = piped("run", prompt, "--cwd", str(workspace), variables=variables)
    assert (done.returncode, done.stdout) == (1, "")
    assert "400" in done.stderr


def test_ctrl_c_interrupts_the_program(variables: dict[str, str | None], workspace: Path) -> None:
    """Ctrl-C ends the turn in order, and the command with 130."""
    prompt = script(Words(2000, pause=0.05))
    with Terminal("run", prompt, "--cwd", str(workspace), variables=variables) as terminal:
        terminal.expect("w3", timeout=30)
        terminal.type(CTRL_C)
        terminal.expect("claude-control: interrupted")
        assert terminal.finish() == 130
    assert "Traceback" not in terminal.output


def test_time_limit_ends_the_program(variables: dict[str, str | None], workspace: Path) -> None:
    """`--timeout` ends an endless turn with 124."""
    prompt = script(Words(2000, pause=0.05))
    done = piped("run", prompt, "--timeout", "6", "--cwd", str(workspace), variables=variables)
    assert done.returncode == 124
    assert "w3" in done.stdout


def test_chat_is_steered(variables: dict[str, str | None], workspace: Path) -> None:
    """In a chat the model is changed while a turn runs, the turn is interrupted, and the next prompt is answered."""
    with Terminal("chat", "--cwd", str(workspace), variables=variables) as terminal:
        terminal.expect("> ", timeout=30)
        terminal.type(script(Words(2000, pause=0.05)) + "\n")
        terminal.expect("w3", timeout=30)
        terminal.type("/model opus\n")
        terminal.expect("model: ")
        terminal.type("/interrupt\n")
        terminal.expect("(interrupted)")
        terminal.expect("> ")
        terminal.type(script(Text("the next one")) + "\n")
        terminal.expect("the next one\r\n")
        terminal.expect("> ")
        terminal.type("/exit\n")
        assert terminal.finish() == 0


def test_background_work_is_waited_for(variables: dict[str, str | None], program: Program, workspace: Path) -> None:
    """Work that a turn leaves in the background is done when the command ends (2.1.332; older ones do not tell)."""
    work = ToolCall("Bash", command="sleep 3; touch ended", description="work", run_in_background=True)
    prompt = script(work, Text("Started."))
    done = piped("run", prompt, "--allow", "Bash", "--cwd", str(workspace), variables=variables)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Started.")
    if program.version == "2.1.332":
        assert (workspace / "ended").exists()


def test_conversation_that_is_unknown(variables: dict[str, str | None], workspace: Path) -> None:
    """A conversation that does not exist ends with 1, and the program's own reason."""
    unknown = "0a0a0a0a-0000-4000-8000-000000000000"
    done = piped("run", "hi", "--resume", unknown, "--cwd", str(workspace), variables=variables)
    assert (done.returncode, done.stdout) == (1, "")
    assert f"No conversation found with session ID: {unknown}" in done.stderr


def test_doctor_is_content(variables: dict[str, str | None], program: Program) -> None:
    """The doctor tells the version, opens a session, and knows what this version lacks."""
    done = piped("doctor", "--json", variables=variables)
    document = json.loads(done.stdout)
    assert (done.returncode, document["version"], document["measured_as"]) == (0, program.version, program.version)
    assert document["handshake"]["error"] is None
    assert document["supports"]["--effort"] == (program.version == "2.1.332")
    assert document["supports"]["rewind_files(dry_run=True)"] == (program.version != "2.0.75")


def test_demo_is_real(variables: dict[str, str | None]) -> None:
    """`demo --real` plays every scene with the program that is found."""
    named = variables["CLAUDE_CONTROL_CLI"]
    done = piped("demo", "--real", timeout=50, variables={"CLAUDE_CONTROL_CLI": named})
    assert (done.returncode, done.stderr) == (0, "")
    told = (
        "decide()     Bash: touch note.txt -> Allow()",
        "guard()      Bash: cat .env -> deny",
        "stock()      A-17 -> 12",
        "turn         interrupted",
    )
    assert [text for text in (*told, "Yes, with all we talked about.") if text not in done.stdout] == []
