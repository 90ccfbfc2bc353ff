"""`claude-control run` in a pipe: the answer and nothing else on stdout, and an exit code that says how it went."""

import json
import subprocess
from pathlib import Path

import pytest

from claude_control.testing.steps import (
    Step,
    background_turn,
    crash,
    default,
    delay,
    expect_prompt,
    reply,
    result,
    say,
    stderr,
    turn,
    use_tool,
    wait_idle,
)
from tests.cli.conftest import Program
from tests.cli.terminals import COMMAND, environment, piped

VERSIONS = ("2.1.332", "2.1.7", "2.0.75")
LISTING = use_tool("Bash", {"command": "ls"}, asks=False)


@pytest.mark.parametrize("version", VERSIONS)
def test_answer_is_all_that_is_printed(program: Program, version: str) -> None:
    """What the model says goes to stdout, each block once and blocks apart, and nothing goes to stderr."""
    program(program=version, every_prompt=turn(reply("Let me look."), LISTING, reply("All is\nwell.\n")))
    done = piped("run", "is all well?")
    assert (done.returncode, done.stdout, done.stderr) == (0, "Let me look.\n\nAll is\nwell.\n", "")


def test_prompt_comes_from_stdin(program: Program) -> None:
    """`-` reads the prompt from stdin to its end."""
    cli = program(every_prompt=turn(reply("yes")))
    assert piped("run", "-", given="line one\nline two é\n").returncode == 0
    prompts = [frame["message"]["content"] for frame in cli.received() if frame["type"] == "user"]
    assert prompts == ["line one\nline two é\n"]


def test_empty_stdin_is_a_usage_error(program: Program) -> None:
    """An empty prompt starts nothing."""
    cli = program()
    assert piped("run", "-").returncode == 2
    assert cli.runs() == []


def test_flags_reach_the_program(program: Program, tmp_path: Path) -> None:
    """Each flag becomes the program's own."""
    cli = program(every_prompt=turn(reply("yes")))
    flags = "--model opus --permission-mode plan --max-turns 3 --allow Read --allow Bash(git:*) --continue".split()
    assert piped("run", "hi", *flags, "--cwd", str(tmp_path)).returncode == 0
    wanted = {
        "--model=opus",
        "--permission-mode=plan",
        "--max-turns=3",
        "--allowedTools=Read,Bash(git:*)",
        "--continue",
    }
    assert wanted <= set(cli.argv)


def test_conversation_is_resumed(program: Program) -> None:
    """`--resume` names the conversation to go on with."""
    cli = program(every_prompt=turn(reply("yes")))
    assert piped("run", "hi", "--resume", "0a0a0a0a-0000-4000-8000-000000000000").returncode == 0
    assert "--resume=0a0a0a0a-0000-4000-8000-000000000000" in cli.argv


def test_result_is_one_document(program: Program) -> None:
    """`--json` prints the program's own result frame, and nothing else."""
    program(every_prompt=turn(reply("Let me look."), LISTING, reply("All is well.")))
    done = piped("run", "hi", "--json")
    document = json.loads(done.stdout)
    assert done.stdout.count("\n") == 1
    assert (document["type"], document["result"], done.stderr) == ("result", "All is well.", "")


@pytest.mark.parametrize("partial", [False, True])
def test_every_message_is_a_line(program: Program, partial: bool) -> None:
    """`--ndjson` prints the raw frames in order, pieces only on request."""
    program(every_prompt=turn(reply("one"), LISTING, reply("two")))
    done = piped("run", "hi", "--ndjson", *(["--partial"] if partial else []))
    frames = [json.loads(line) for line in done.stdout.splitlines()]
    kinds = [frame["type"] for frame in frames if frame["type"] != "command_lifecycle"]
    whole = [kind for kind in kinds if kind not in ("stream_event", "system")]
    assert whole == ["assistant", "assistant", "user", "assistant", "result"]
    assert ("stream_event" in kinds) == partial
    assert frames[-1]["type"] in ("result", "command_lifecycle", "system")


EVIL = "\x1b]0;title\x07\x1b[2J\x9b31m[red]word\u202e\ud83d"


@pytest.mark.parametrize("flags", [[], ["--json"], ["--ndjson"]])
def test_untrusted_text_is_harmless_in_a_pipe(program: Program, flags: list[str]) -> None:
    """No escape code of the model reaches stdout in any form, for a pipe often ends in a terminal."""
    program(every_prompt=turn(reply(EVIL)))
    out = piped("run", "hi", *flags).stdout
    assert not set(out) & {"\x1b", "\x07", "\x9b", "\u202e"}
    assert "[red]word" in out


def test_characters_that_the_locale_lacks_do_not_end_it(program: Program) -> None:
    """In a locale without them, characters are replaced."""
    program(every_prompt=turn(reply("naïve 漢字")))
    done = piped("run", "hi", variables={"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"})
    assert (done.returncode, done.stdout) == (0, "na?ve ??\n")


def failing(**fields: object) -> list[Step]:
    """Return the steps of a turn that ends with these fields in its result."""
    return [reply("so far"), result(**fields)]


@pytest.mark.parametrize(
    ("steps", "code", "said"),
    [
        (failing(subtype="error_max_turns", is_error=True), 1, "max_turns"),
        (failing(is_error=True, result="API Error: 500", api_error_status=500), 1, "API Error: 500"),
        (failing(terminal_reason="hook_stopped"), 1, "blocked"),
        ([stderr("the reason\n"), crash(3)], 1, "exited with code 3"),
    ],
)
def test_failed_turn_is_told(program: Program, steps: list[Step], code: int, said: str) -> None:
    """A turn that fails ends with 1 and says on stderr how; what was said before stays on stdout."""
    program(every_prompt=turn(*steps))
    done = piped("run", "hi")
    assert done.returncode == code
    assert said in done.stderr
    assert done.stderr.startswith("claude-control: ")
    assert "Traceback" not in done.stderr
    assert done.stdout in ("so far\n", "")


def test_api_error_is_no_answer(program: Program) -> None:
    """What the program says itself about an error of the API goes to stderr, not to stdout."""
    text = "API Error: 529 overloaded"
    message = {"role": "assistant", "model": "<synthetic>", "content": [{"type": "text", "text": text}]}
    frame = {"type": "assistant", "message": message, "parent_tool_use_id": None, "error": "overloaded"}
    program(
        every_prompt=turn(say({**frame, "session_id": "$session_id", "uuid": "$uuid"}), *failing(is_error=True)[1:])
    )
    done = piped("run", "hi")
    assert (done.returncode, done.stdout) == (1, "")


def test_subagents_words_are_no_answer(program: Program) -> None:
    """What a subagent says is not printed."""
    message = {"role": "assistant", "model": "m", "content": [{"type": "text", "text": "from below"}]}
    frame = {"type": "assistant", "message": message, "parent_tool_use_id": "toolu_1", "session_id": "$session_id"}
    program(every_prompt=turn(say({**frame, "uuid": "$uuid"}), reply("from above")))
    assert piped("run", "hi").stdout == "from above\n"


def test_local_commands_output_is_printed(program: Program) -> None:
    """A result that no message brought, as that of a local command, is printed."""
    program(every_prompt=turn(result(result="Total cost: $0.01", num_turns=0)))
    assert piped("run", "/cost").stdout == "Total cost: $0.01\n"


@pytest.mark.parametrize("version", VERSIONS)
def test_tool_is_denied_without_a_terminal(program: Program, version: str) -> None:
    """A tool that needs permission is denied where nobody can be asked: stderr says so, the exit code is 4."""
    cli = program(program=version, every_prompt=turn(use_tool("Bash", {"command": "ls"}), reply("I could not.")))
    done = piped("run", "hi")
    assert (done.returncode, done.stdout) == (4, "I could not.\n")
    assert "denied Bash: there is no terminal to ask on (--allow Bash lets it run)" in done.stderr
    assert [event["outcome"] for event in cli.events("tool")] == ["denied"]


def test_denied_tool_and_failed_turn(program: Program) -> None:
    """A turn that fails over a denied tool says both, and ends with 4."""
    program(every_prompt=turn(use_tool("Bash", {"command": "ls"}), *failing(is_error=True, result="no way")))
    done = piped("run", "hi")
    assert done.returncode == 4
    assert "denied Bash" in done.stderr
    assert "no way" in done.stderr


def test_missing_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there is no program the exit code is 3, and stderr says what to do."""
    monkeypatch.setenv("CLAUDE_CONTROL_CLI", "/no/such/program")
    done = piped("run", "hi")
    assert (done.returncode, done.stdout) == (3, "")
    assert "/no/such/program does not exist. Install it" in done.stderr


def test_program_that_is_too_old(program: Program) -> None:
    """A flag that needs a newer program ends with 3 and names that version, before anything is started."""
    program(program="2.1.7")
    done = piped("run", "hi", "--permission-mode", "auto")
    assert done.returncode == 3
    assert "needs Claude Code 2.1.332" in done.stderr


def test_something_else_than_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that does not answer the handshake ends with 1 and says so."""
    monkeypatch.setenv("CLAUDE_CONTROL_CLI", "/bin/true")
    done = piped("run", "hi")
    assert done.returncode == 1
    assert "exited with code 0" in done.stderr


def test_background_work_is_waited_for(program: Program) -> None:
    """A turn that the program begins about a background task is part of the answer."""
    task = {"task_id": "t1", "task_type": "local_bash", "description": "sleep"}
    listed = {"type": "system", "subtype": "background_tasks_changed", "session_id": "$session_id", "uuid": "$uuid"}
    script = [wait_idle(), delay(0.2), say({**listed, "tasks": []}), background_turn(reply("It has ended."))]
    cli = program(
        [expect_prompt(), default(), *script], every_prompt=turn(say({**listed, "tasks": [task]}), reply("Started."))
    )
    done = piped("run", "hi")
    assert (done.returncode, done.stdout) == (0, "Started.\n\nIt has ended.\n"), done.stderr
    cli.check()


@pytest.mark.parametrize("form", [[], ["--ndjson"]])
def test_time_limit(program: Program, form: list[str]) -> None:
    """`--timeout` interrupts the turn, shows what it said, and ends with 124."""
    program(every_prompt=turn(reply("one " * 1000, pause=0.05)))
    done = piped("run", "hi", "--timeout", "1", *form)
    assert done.returncode == 124
    assert "the time is up" in done.stderr
    assert "one" in done.stdout
    if form:
        assert '"terminal_reason":"aborted_streaming"' in done.stdout


def test_secret_is_not_printed(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    """A key in the environment, and one that the program says in its last words, are not printed."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-from-the-environment")
    program(every_prompt=turn(stderr("Authorization: Bearer abcdefghijkl sk-ant-from-the-program\n"), crash(1)))
    done = piped("run", "hi")
    assert done.returncode == 1
    assert not {word for word in ("environment", "abcdefghijkl", "from-the-program") if word in done.stderr}


@pytest.mark.parametrize(
    ("closed", "printed"), [("<&-", "yes\n"), ("<&- 2>&-", "yes\n"), (">&-", ""), ("<&- >&- 2>&-", "")]
)
def test_streams_that_are_closed(program: Program, closed: str, printed: str) -> None:
    """A stream that is closed from the start is nothing to fall over."""
    cli = program(every_prompt=turn(reply("yes")))
    script = ["/bin/sh", "-c", f'exec "$@" {closed}', "sh", *COMMAND, "run", "hi"]
    done = subprocess.run(script, env=environment(), capture_output=True, text=True, timeout=30, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, printed, "")
    assert len(cli.sessions) == 1
