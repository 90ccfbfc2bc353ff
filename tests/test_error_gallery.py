"""Every error is provoked, can be acted on by a stranger, and looks as the documentation shows it."""

import ast
import os
import pickle
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest

from claude_control import Options, Session, close_all, errors, run
from claude_control.errors import ClaudeControlError
from claude_control.process.discovery import find_program
from claude_control.testing.scripted_cli import ScriptedCLIFactory
from claude_control.testing.steps import (
    answer_error,
    ask_permission,
    close_stdout,
    crash,
    die,
    hang,
    on_request,
    raw,
    reply,
    result,
    stderr,
    turn,
    unanswered,
    wait_gate,
)
from tests import sources
from tests.error_gallery import blocks, check_carries, check_shown, provoked, shown
from tests.real.test_error_gallery import EXHIBITS as REAL_EXHIBITS

# Caught, never raised themselves.
FAMILIES = {errors.ClaudeControlError, errors.StartError, errors.ResultError}
CLASSES = {getattr(errors, name) for name in errors.__all__}


@attrs.frozen
class Stage:
    """Where an exhibit plays: a folder, stand-ins for the program, and sessions that are closed afterwards."""

    folder: Path
    make_cli: ScriptedCLIFactory
    sessions: list[Session] = attrs.field(factory=list)

    def claude(self, *steps: Any, **script: Any) -> str:
        """Return the path of a stand-in for the program."""
        return self.program(f'exec {" ".join(self.make_cli(steps, **script).command)} "$@"')

    def program(self, code: str) -> str:
        """Return the path of a program, a shell script."""
        path = self.folder / "claude"
        path.write_text(f"#!/bin/sh\n{code}\n", encoding="utf-8")
        path.chmod(0o755)
        return str(path)

    def session(self, cli_path: str, **options: Any) -> Session:
        """Return an open session."""
        session = Session(cli_path=cli_path, **options)
        self.sessions.append(session)
        return session.open()

    def fails(self, *steps: Any, **options: Any) -> ClaudeControlError:
        """Return the error of a first turn that plays these steps."""
        session = self.session(self.claude(prompts=[turn(*steps)]), **options)
        return provoked(lambda: session.ask("Fix the failing test").result(timeout=20))


# -- the exhibits: their names are those of the blocks in the page -----------------------------------------------------


def misspelt_option(_stage: Stage) -> ClaudeControlError:
    """Misspell the name of an option."""
    return provoked(lambda: Session(modle="opus"))


def impossible_value(_stage: Stage) -> ClaudeControlError:
    """Give an option a value that it does not have."""
    return provoked(lambda: Options(permission_mode="plans"))


def empty_prompt(stage: Stage) -> ClaudeControlError:
    """Ask nothing."""
    return provoked(lambda: stage.session(stage.claude()).ask(""))


def no_program(stage: Stage) -> ClaudeControlError:
    """Look for the program where it is not."""
    environ = {"PATH": f"{stage.folder}/bin", "HOME": f"{stage.folder}"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "claude_agent_sdk", None)
        return provoked(lambda: find_program(None, environ, places=("~/.claude/local/claude", "~/.local/bin/claude")))


def wrong_path(stage: Stage) -> ClaudeControlError:
    """Name a program that is not there."""
    return provoked(lambda: stage.session(f"{stage.folder}/claude"))


def no_version(stage: Stage) -> ClaudeControlError:
    """Use an option that depends on the version of a program that does not tell it."""
    return provoked(lambda: stage.session(stage.program("exit 1"), effort="high"))


def wrong_directory(stage: Stage) -> ClaudeControlError:
    """Start the program in a directory that is not there."""
    return provoked(lambda: stage.session(stage.claude(), cwd=stage.folder / "repository"))


def spawn_that_fails(stage: Stage) -> ClaudeControlError:
    """Start the program with a function that fails."""

    def spawn(*_: Any) -> None:
        raise ConnectionRefusedError("the container does not answer")

    return provoked(lambda: stage.session(stage.claude(), spawn=spawn))


def dead_on_arrival(stage: Stage) -> ClaudeControlError:
    """Start a program that refuses one of its flags."""
    refuses = stage.claude(stderr("error: unknown option '--colour'\n"), crash(1))
    return provoked(lambda: stage.session(refuses, extra_args={"colour": "green"}))


def silent_start(stage: Stage) -> ClaudeControlError:
    """Start a program that never finishes the handshake."""
    silent = stage.claude(reactions=[unanswered("initialize")])
    return provoked(lambda: stage.session(silent, initialize_timeout=0.5))


def refused_handshake(stage: Stage) -> ClaudeControlError:
    """Start a program that answers the handshake with an error."""
    refuses = stage.claude(reactions=[on_request("initialize", answer_error("Invalid agents: reviewer"))])
    return provoked(lambda: stage.session(refuses))


def long_control_line(stage: Stage) -> ClaudeControlError:
    """Let the program send a control message that is over the limit."""
    line = b'{"type":"control_request","request_id":"x","request":{"subtype":"can_use_tool","input":"' + b"x" * 200_000
    return stage.fails(raw(line + b'"}}\n'), hang(), max_line_bytes=100_000)


def refused_request(stage: Stage) -> ClaudeControlError:
    """Ask for a model that the program does not have."""
    refusal = answer_error("Model 'gpt' is not in the catalog", "catalog_unknown")
    session = stage.session(stage.claude(reactions=[on_request("set_model", refusal)]))
    return provoked(lambda: session.set_model("gpt"))


def old_program(stage: Stage) -> ClaudeControlError:
    """Ask an old program for what it does not know."""
    session = stage.session(stage.claude(program="2.0.75"))
    return provoked(session.get_context_usage)


def never_opened(stage: Stage) -> ClaudeControlError:
    """Use a session that is not open."""
    return provoked(lambda: Session(cli_path=stage.claude()).ask("Hello"))


def used_after_close(stage: Stage) -> ClaudeControlError:
    """Use a session after its close."""
    session = stage.session(stage.claude())
    session.close()
    return provoked(lambda: session.set_model("opus"))


def killed_in_mid_turn(stage: Stage) -> ClaudeControlError:
    """Kill the program while it answers."""
    return stage.fails(reply("Let me look."), die("SIGKILL"))


def crashed_with_words(stage: Stage) -> ClaudeControlError:
    """Let the program crash with words that hold a secret."""
    words = "TypeError: undefined is not a function\n    sent: Authorization: Bearer sk-ant-0123456789abcdef\n"
    return stage.fails(stderr(words), crash(7))


def output_closed(stage: Stage) -> ClaudeControlError:
    """Let the program close its output and live on."""
    return stage.fails(close_stdout(), hang())


def request_without_answer(stage: Stage) -> ClaudeControlError:
    """Wait for an answer that does not come."""
    session = stage.session(stage.claude(reactions=[unanswered("mcp_status")]))
    return provoked(lambda: session.get_mcp_status(timeout=0.3))


def slow_turn(stage: Stage) -> ClaudeControlError:
    """Wait for a turn that takes longer."""
    session = stage.session(stage.claude(prompts=[turn(wait_gate("never"))]))
    return provoked(lambda: session.ask("Review everything").result(timeout=0.3))


def dropped_prompt(stage: Stage) -> ClaudeControlError:
    """Wait for a prompt that was dropped while it was queued."""
    session = stage.session(stage.claude(prompts=[turn(wait_gate("never"))]))
    session.ask("Review everything")
    queued = session.ask("Then fix it")
    queued.interrupt()
    return provoked(queued.result)


def waiting_in_a_callback(stage: Stage) -> ClaudeControlError:
    """Wait for a turn in a callback on which that turn waits."""
    seen: list[ClaudeControlError] = []

    def decide(*_: Any) -> None:
        seen.append(provoked(lambda: session.ask("Is that safe?").result()))
        raise seen[0]

    session = stage.session(stage.claude(prompts=[turn(ask_permission())]), can_use_tool=decide)
    session.ask("List the files").result(timeout=20)
    return seen[0]


def used_after_fork(stage: Stage) -> ClaudeControlError:
    """Use a session in a forked child; the error comes from there."""
    session = stage.session(stage.claude())
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.write(writing, pickle.dumps(provoked(lambda: session.set_model("opus"))))
        finally:
            os._exit(0)
    os.close(writing)
    with open(reading, "rb") as file:
        error: ClaudeControlError = pickle.loads(file.read())
    os.waitpid(pid, 0)
    return error


def too_many_turns(stage: Stage) -> ClaudeControlError:
    """Let a turn use up its steps."""
    said = ["Reached maximum number of turns (1)"]
    return stage.fails(result(subtype="error_max_turns", is_error=True, errors=said))


def budget_used_up(stage: Stage) -> ClaudeControlError:
    """Let a session use up its money."""
    said = ["Reached maximum budget ($0.01)"]
    return stage.fails(result(subtype="error_max_budget_usd", is_error=True, errors=said))


def too_many_requests(stage: Stage) -> ClaudeControlError:
    """Let the API refuse for too many requests."""
    return stage.fails(result(is_error=True, api_error_status=429, result="API Error: Request rejected (429)"))


def not_logged_in(stage: Stage) -> ClaudeControlError:
    """Ask without an account."""
    return stage.fails(result(is_error=True, result="Not logged in · Please run /login"))


def refused_by_the_model(stage: Stage) -> ClaudeControlError:
    """Let the model refuse."""
    said = "API Error: Claude Code is unable to respond to this request"
    return stage.fails(result(is_error=True, stop_reason="refusal", result=said))


def api_failure(stage: Stage) -> ClaudeControlError:
    """Let the API fail."""
    return stage.fails(result(is_error=True, api_error_status=529, result="API Error: 529 Overloaded"))


def failed_execution(stage: Stage) -> ClaudeControlError:
    """Let the program fail in a turn without ending."""
    said = ["[session_crash] error_name=AbortError"]
    return stage.fails(result(subtype="error_during_execution", is_error=True, errors=said))


def output_without_form(stage: Stage) -> ClaudeControlError:
    """Ask for a form that never comes."""
    said = ["Failed to provide valid structured output after 5 attempts"]
    return stage.fails(result(subtype="error_max_structured_output_retries", is_error=True, errors=said))


def output_of_another_form(stage: Stage) -> ClaudeControlError:
    """Ask for a form and get another one."""
    claude = stage.claude(prompts=[turn(result(structured_output={"count": "three"}))])
    return provoked(lambda: run("Count the tests", output_type=Count, cli_path=claude))


@attrs.frozen
class Count:
    """What `run` is to return."""

    count: int


EXHIBITS: dict[Callable[[Stage], ClaudeControlError], type[ClaudeControlError]] = {
    misspelt_option: errors.OptionsError,
    impossible_value: errors.OptionsError,
    empty_prompt: errors.OptionsError,
    no_program: errors.CLINotFoundError,
    wrong_path: errors.CLINotFoundError,
    no_version: errors.CLIVersionError,
    wrong_directory: errors.SpawnError,
    spawn_that_fails: errors.SpawnError,
    dead_on_arrival: errors.InitializeError,
    silent_start: errors.InitializeError,
    refused_handshake: errors.InitializeError,
    long_control_line: errors.ProtocolError,
    refused_request: errors.ControlRequestError,
    old_program: errors.NotSupportedError,
    never_opened: errors.SessionClosedError,
    used_after_close: errors.SessionClosedError,
    killed_in_mid_turn: errors.ProcessExitedError,
    crashed_with_words: errors.ProcessExitedError,
    output_closed: errors.ProcessExitedError,
    request_without_answer: errors.ControlTimeoutError,
    slow_turn: errors.WaitTimeoutError,
    dropped_prompt: errors.AbortedError,
    waiting_in_a_callback: errors.ConcurrencyError,
    used_after_fork: errors.ForkedError,
    too_many_turns: errors.MaxTurnsError,
    budget_used_up: errors.BudgetExceededError,
    too_many_requests: errors.RateLimitedError,
    not_logged_in: errors.AuthenticationError,
    refused_by_the_model: errors.RefusedError,
    api_failure: errors.APIError,
    failed_execution: errors.ExecutionError,
    output_without_form: errors.StructuredOutputError,
    output_of_another_form: errors.StructuredOutputError,
}


# -- the tests ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def stage(scripted_cli: ScriptedCLIFactory) -> Iterator[Stage]:
    """Where an exhibit plays: in a folder whose path is always as long, for long reprs are cut."""
    with tempfile.TemporaryDirectory(dir="/tmp") as directory:
        folder = Path(directory, "x" * (63 - len(directory)))
        folder.mkdir()
        stage = Stage(folder, scripted_cli)
        yield stage
        close_all(stage.sessions, timeout=20)


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
@pytest.mark.parametrize(("exhibit", "kind"), EXHIBITS.items(), ids=lambda value: getattr(value, "__name__", ""))
def test_error_is_shown(
    exhibit: Callable[[Stage], ClaudeControlError], kind: type[ClaudeControlError], stage: Stage
) -> None:
    """The error is of its class, survives pickling, and the page shows it to the letter but for paths and ids."""
    error = exhibit(stage)
    assert type(error) is kind
    check_carries(error)
    check_shown(exhibit.__name__, shown(error, {str(stage.folder): "/project"}))
    if isinstance(error, errors.ProcessExitedError):
        assert error.command
        assert error.program_version == "2.1.332"
        assert error.phase == "turn"
        assert error.exit_code is not None or error.signal is not None


def test_every_class_is_in_the_gallery() -> None:
    """Each exception has an exhibit, except those that are families of others."""
    assert set(EXHIBITS.values()) == CLASSES - FAMILIES


def test_families_are_not_raised() -> None:
    """The package raises no exception that says only of what family it is."""
    families = {kind.__name__ for kind in FAMILIES}
    made = [
        f"{module.name}:{node.lineno}"
        for module in sources.modules()
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in families
    ]
    assert made == []


def test_page_shows_the_exhibits() -> None:
    """The page has a block for each exhibit, of stand-ins and of the real program, and no other."""
    exhibits = [exhibit.__name__ for exhibit in (*EXHIBITS, *REAL_EXHIBITS)]
    assert sorted(blocks()) == sorted(exhibits)


def test_page_has_the_fields_of_each_class() -> None:
    """Below the heading of a class the page names every field that the class has."""
    page = (sources.ROOT / "docs" / "reference" / "errors.md").read_text(encoding="utf-8")
    missing = []
    for kind in CLASSES:
        section = page.partition(f"\n### {kind.__name__}\n")[2].partition("\n### ")[0]
        if kind not in FAMILIES:
            missing += [
                f"{kind.__name__}: {name}" for name in ("", *vars(kind())) if f"`{name}`" not in section and name
            ]
        if not section:
            missing.append(kind.__name__)
    assert missing == []


def test_secrets_are_not_shown() -> None:
    """What a program said that looks like a secret is in no block of the page."""
    assert "[redacted]" in blocks()["crashed_with_words"]
    assert "0123456789abcdef" not in "".join(blocks().values())


def test_last_words_are_of_the_last_turn(stage: Stage) -> None:
    """What an earlier turn failed of is not told as the reason of the program's end; what the last one said is."""
    key = "sk-ant-0123456789abcdef"
    failed, ended = result(is_error=True, result=f"refused {key}"), turn(reply("Well."), die("SIGKILL"))
    later = stage.session(stage.claude(prompts=[[failed], [reply("Done.")], ended]))
    assert "refused" in str(provoked(lambda: later.ask("one").result()))
    later.ask("two").result()
    assert "refused" not in str(provoked(lambda: later.ask("three").result(timeout=20)))
    soon = stage.session(stage.claude(prompts=[turn(failed), ended]))
    provoked(lambda: soon.ask("one").result())
    told = str(provoked(lambda: soon.ask("two").result(timeout=20)))
    assert "it said: refused [redacted]" in told


def test_check_can_fail() -> None:
    """A text that differs from the page by one character is seen."""
    name, text = next(iter(blocks().items()))
    with pytest.MonkeyPatch.context() as patch, pytest.raises(AssertionError):
        patch.delenv("CLAUDE_CONTROL_WRITE_ERRORS", raising=False)
        check_shown(name, text + ".")
