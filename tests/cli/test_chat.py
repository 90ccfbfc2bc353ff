"""`claude-control chat`: prompts, commands, and steering while a turn runs."""

import pytest

from claude_control.testing.steps import (
    background_turn,
    crash,
    default,
    delay,
    expect_prompt,
    reply,
    result,
    turn,
    use_tool,
    wait_gate,
    wait_idle,
)
from tests.cli.conftest import Program
from tests.cli.terminals import CTRL_C, CTRL_D, Terminal, piped

PROMPT = "> "
ENDLESS = reply("word " * 1000, pause=0.05)


def test_lines_are_prompts(program: Program) -> None:
    """Each line is answered, in one conversation; what the model says is all that a pipe gets."""
    cli = program(prompts=[turn(reply("one")), turn(reply("two\n"))])
    done = piped("chat", given="first\n\nsecond\n")
    assert (done.returncode, done.stdout) == (0, "one\ntwo\n")
    prompts = [frame["message"]["content"] for frame in cli.received() if frame["type"] == "user"]
    assert prompts == ["first", "second"]
    assert len(cli.sessions) == 1


def test_conversation_on_a_terminal(program: Program) -> None:
    """Prompts are typed behind a mark, answers follow, and Ctrl-D leaves."""
    program(prompts=[turn(reply("one")), turn(use_tool("Bash", {"command": "ls"}), reply("two"))])
    with Terminal("chat") as terminal:
        terminal.expect("Claude Code 2.1.332. /help lists the commands.")
        terminal.expect(PROMPT)
        terminal.type("first\n")
        terminal.expect("one\r\n")
        terminal.expect(PROMPT)
        terminal.type("second\n")
        terminal.expect("or say why not: ")
        terminal.type("y\n")
        terminal.expect("two\r\n")
        terminal.expect(PROMPT)
        terminal.type(CTRL_D)
        assert terminal.finish() == 0


def test_history_is_there(program: Program) -> None:
    """A prompt can be brought back with the arrow keys, where Python has readline."""
    pytest.importorskip("readline", reason="this Python was built without readline")
    cli = program()
    with Terminal("chat") as terminal:
        terminal.expect(PROMPT)
        terminal.type("hello\n")
        terminal.expect("answer to: hello")
        terminal.expect(PROMPT)
        terminal.type("\x1b[A\n")
        terminal.expect("answer to: hello")
        terminal.expect(PROMPT)
        terminal.type("/exit\n")
        assert terminal.finish() == 0
    prompts = [frame["message"]["content"] for frame in cli.received() if frame["type"] == "user"]
    assert prompts == ["hello", "hello"]


def test_commands_are_carried_out(program: Program) -> None:
    """The model and the mode can be changed, and the status shows both."""
    cli = program()
    commands = ["/model opus", "/mode plan", "/status", "/model", "/mode", "/interrupt", "/help", "/quit"]
    done = piped("chat", given="\n".join(commands))
    assert done.returncode == 0
    asked = [frame["request"]["subtype"] for frame in cli.received() if frame["type"] == "control_request"]
    assert asked == ["initialize", "set_model", "set_permission_mode"]
    assert done.stderr.splitlines()[1:] == [
        "model: claude-opus-5-5",
        "permission mode: plan",
        "model: claude-opus-5-5",
        "permission mode: plan",
        "(nothing runs)",
    ]
    assert "model             claude-opus-5-5\n" in done.stdout
    assert "permission mode   plan\n" in done.stdout
    assert "/interrupt     stop the turn that runs, as Ctrl-C does\n" in done.stdout


def test_other_commands_are_for_the_program(program: Program) -> None:
    """A slash command that is none of ours is sent as it is."""
    cli = program(prompts=[turn(result(result="Compacted.", num_turns=0))])
    assert piped("chat", given="/compact\n").stdout == "Compacted.\n"
    prompts = [frame["message"]["content"] for frame in cli.received() if frame["type"] == "user"]
    assert prompts == ["/compact"]


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("/mode never", "permission mode 'never' is unknown"),
        ("/mode bypassPermissions", "start with --allow-bypass"),
    ],
)
def test_wrong_command_is_told(program: Program, command: str, said: str) -> None:
    """A command that cannot be carried out says why, and the conversation goes on."""
    program()
    done = piped("chat", given=f"{command}\nhello\n")
    assert (done.returncode, done.stdout) == (0, "answer to: hello\n")
    assert said in done.stderr


def test_old_program_says_what_it_lacks(program: Program) -> None:
    """A mode that a program does not know is refused by name of the version that does."""
    program(program="2.1.7")
    done = piped("chat", given="/mode auto\nhello\n")
    assert "needs Claude Code 2.1.332" in done.stderr
    assert done.stdout == "answer to: hello\n"


def test_failed_turn_does_not_end_the_conversation(program: Program) -> None:
    """After a turn that failed the next prompt is answered."""
    program(prompts=[turn(result(subtype="error_max_turns", is_error=True)), turn(reply("fine"))])
    done = piped("chat", given="one\ntwo\n")
    assert (done.returncode, done.stdout) == (0, "fine\n")
    assert "max_turns" in done.stderr


def test_program_that_ends(program: Program) -> None:
    """A program that ends by itself ends the conversation with 1, and says how."""
    program(prompts=[turn(crash(3))])
    done = piped("chat", given="one\ntwo\n")
    assert done.returncode == 1
    assert "exited with code 3" in done.stderr
    assert "Traceback" not in done.stderr


def test_steering_while_a_turn_runs(program: Program) -> None:
    """Commands that are typed while a turn runs work at once, and `/interrupt` ends the turn alone."""
    cli = program(prompts=[turn(ENDLESS), turn(reply("the next one"))])
    with Terminal("chat") as terminal:
        terminal.expect(PROMPT)
        terminal.type("go\n")
        terminal.expect("word")
        terminal.type("/model opus\n")
        terminal.expect("model: claude-opus-5-5")
        terminal.type("/status\n")
        terminal.expect("running")
        terminal.type("/interrupt\n")
        terminal.expect("(interrupted)")
        terminal.expect(PROMPT)
        terminal.type("on\n")
        terminal.expect("the next one")
        terminal.expect(PROMPT)
        terminal.type("/exit\n")
        assert terminal.finish() == 0
    asked = [frame["request"]["subtype"] for frame in cli.received() if frame["type"] == "control_request"]
    # Leaving adds another interrupt if the program has not said yet that it rests.
    assert asked[:3] == ["initialize", "set_model", "interrupt"] and len(asked) <= 4


def test_prompt_typed_while_a_turn_runs_waits(program: Program) -> None:
    """A prompt that is typed early is asked when the turn has ended."""
    cli = program(prompts=[turn(reply("one"), wait_gate("go on")), turn(reply("two"))])
    with Terminal("chat") as terminal:
        terminal.expect(PROMPT)
        terminal.type("first\n")
        terminal.expect("one")
        terminal.type("second\n")
        terminal.expect("(waits until this turn has ended)")
        cli.open_gate("go on")
        terminal.expect("two")
        terminal.expect(PROMPT)
        terminal.type("/exit\n")
        assert terminal.finish() == 0


def test_ctrl_c_interrupts_the_turn_and_the_conversation_goes_on(program: Program) -> None:
    """Ctrl-C ends the turn; at the prompt it takes two to leave, with 130."""
    program(prompts=[turn(ENDLESS), turn(reply("the next one"))])
    with Terminal("chat") as terminal:
        terminal.expect(PROMPT)
        terminal.type("go\n")
        terminal.expect("word")
        terminal.type(CTRL_C)
        terminal.expect("Interrupting the turn")
        terminal.expect("(interrupted)")
        terminal.expect(PROMPT)
        terminal.type("on\n")
        terminal.expect("the next one")
        terminal.expect(PROMPT)
        terminal.type("half a li")
        terminal.expect("half a li")
        terminal.press_until(CTRL_C, "(Ctrl-C again or /exit leaves)")
        terminal.expect(PROMPT)
        terminal.press_until(CTRL_C, "claude-control: interrupted")
        assert terminal.finish() == 130
    assert "Traceback" not in terminal.output


def test_leaving_while_a_turn_runs(program: Program) -> None:
    """`/exit` interrupts the turn and leaves."""
    program(prompts=[turn(ENDLESS)])
    with Terminal("chat") as terminal:
        terminal.expect(PROMPT)
        terminal.type("go\n")
        terminal.expect("word")
        terminal.type("/exit\n")
        assert terminal.finish() == 0


def test_program_speaks_by_itself(program: Program) -> None:
    """A turn that the program begins while the person is at the prompt is shown, and its question can be answered."""
    own = background_turn(reply("It has ended."), use_tool("Bash", {"command": "ls"}), reply("All seen."))
    cli = program([expect_prompt(), default(), wait_idle(), wait_gate("prompt is there"), own])
    with Terminal("chat") as terminal:
        terminal.expect(PROMPT)
        terminal.type("hello\n")
        terminal.expect("answer to: hello")
        terminal.expect(PROMPT)
        cli.open_gate("prompt is there")
        terminal.expect("It has ended.\r\n")
        terminal.expect("Claude asks to use Bash. Press Enter to answer.")
        terminal.type("\n")
        terminal.expect("or say why not: ")
        terminal.type("y\n")
        terminal.expect("All seen.\r\n")
        terminal.type("/exit\n")
        assert terminal.finish() == 0
    assert [event["outcome"] for event in cli.events("tool")] == ["ran"]


def test_untrusted_text_is_harmless(program: Program) -> None:
    """Nothing that the model says is obeyed by the terminal, in a chat either."""
    program(prompts=[turn(reply("\x1b]0;title\x07\x1b[2Jword"), delay(0.1))])
    with Terminal("chat") as terminal:
        terminal.expect(PROMPT)
        terminal.type("hello\n")
        terminal.expect("]0;title[2Jword\r\n")
        terminal.expect(PROMPT)
        terminal.type(CTRL_D)
        assert terminal.finish() == 0
    assert "\x1b]" not in terminal.output
    assert "\x1b[2J" not in terminal.output
