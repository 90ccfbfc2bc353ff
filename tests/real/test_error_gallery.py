"""The errors that the real programs lead to; what 2.1.332 says stands in the documentation."""

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import pytest

from claude_control import errors
from claude_control.errors import ClaudeControlError
from claude_control.testing import ModelServer
from claude_control.testing.model_prompt import script
from claude_control.testing.model_script import Answer, Gate, HttpError, Text, ToolCall, Words
from tests.error_gallery import check_carries, check_shown, provoked, shown
from tests.real import provision
from tests.real.conftest import Opener, Program

pytestmark = pytest.mark.real

NEWEST = "2.1.332"
NOWHERE = "5f0c3a52-9f5e-4d0b-8a6e-3c1f6b0d2e77"


@attrs.frozen
class Stage:
    """Where an exhibit plays."""

    open: Opener
    server: ModelServer
    workspace: Path

    def fails(self, *steps: Any, **options: Any) -> ClaudeControlError:
        """Return the error of a first turn for which the model has this script."""
        session = self.open(**options)
        return provoked(lambda: session.ask(script(*steps)).result(timeout=40))


def real_unknown_flag(stage: Stage) -> ClaudeControlError:
    """Give the program a flag that it does not know."""
    return provoked(lambda: stage.open(extra_args={"colour": "green"}))


def real_unknown_conversation(stage: Stage) -> ClaudeControlError:
    """Resume a conversation that does not exist."""
    return provoked(lambda: stage.open(resume=NOWHERE))


def real_kill_in_mid_turn(stage: Stage) -> ClaudeControlError:
    """Kill the program while it answers."""
    session = stage.open()
    turn = session.ask(script(Answer(Words(5), Gate("never"))))
    stage.server.wait_for_gate("never", timeout=30)
    os.kill(session._live().transport.pid, signal.SIGKILL)  # type: ignore[attr-defined]  # a subprocess has one
    return provoked(lambda: turn.result(timeout=20))


def real_too_many_turns(stage: Stage) -> ClaudeControlError:
    """Let the model want more steps than it may take; the session answers the next prompt."""
    session = stage.open(max_turns=1, allowed_tools=["Bash(true:*)"])
    call = ToolCall("Bash", command="true", description="do nothing")
    error = provoked(lambda: session.ask(script(call, Text("done"))).result(timeout=40))
    assert str(session.ask(script(Text("still here"))).result(timeout=40).result).strip() == "still here"
    return error


def real_wrong_key(stage: Stage) -> ClaudeControlError:
    """Ask with a key that the API refuses; the program is told not to try again."""
    return stage.fails(HttpError(401, times=None), env={"CLAUDE_CODE_MAX_RETRIES": "0"})


def real_no_account(stage: Stage) -> ClaudeControlError:
    """Ask without a key and without an account."""
    return stage.fails(Text("never"), env={"ANTHROPIC_API_KEY": "", "ANTHROPIC_AUTH_TOKEN": ""})


def real_api_failure(stage: Stage) -> ClaudeControlError:
    """Let the API refuse what it is asked."""
    return stage.fails(HttpError(400, times=None))


def real_refused_rewind(stage: Stage) -> ClaudeControlError:
    """Rewind the files to a prompt that there never was."""
    session = stage.open(enable_file_checkpointing=True)
    return provoked(lambda: session.rewind_files(NOWHERE))


def real_unknown_model(stage: Stage) -> ClaudeControlError:
    """Ask a model that the API does not know."""
    return stage.fails(HttpError(404, times=None), model="claude-sonnet-0")


def real_old_program(stage: Stage) -> ClaudeControlError:
    """Ask an old program for what it does not know."""
    return provoked(stage.open().get_context_usage)


ALL = provision.VERSIONS
# To 2.0.75 and 2.1.7 an empty key is one, and the model server takes any. The page shows the first version of each.
EXHIBITS: dict[Callable[[Stage], ClaudeControlError], tuple[type[ClaudeControlError], tuple[str, ...]]] = {
    real_unknown_flag: (errors.InitializeError, ALL),
    real_unknown_conversation: (errors.InitializeError, ALL),
    real_kill_in_mid_turn: (errors.ProcessExitedError, ALL),
    real_too_many_turns: (errors.MaxTurnsError, ALL),
    real_api_failure: (errors.APIError, ALL),
    real_unknown_model: (errors.APIError, ALL),
    real_wrong_key: (errors.AuthenticationError, ALL),
    real_no_account: (errors.AuthenticationError, (NEWEST,)),
    real_refused_rewind: (errors.ControlRequestError, ALL),
    real_old_program: (errors.NotSupportedError, ("2.0.75", "2.1.7")),
}
CASES = [(version, exhibit) for exhibit, (_, versions) in EXHIBITS.items() for version in versions]
NAMES = [f"{version}-{exhibit.__name__}" for version, exhibit in CASES]


@pytest.fixture
def stage(open_session: Opener, model_server: ModelServer, workspace: Path) -> Stage:
    """Where an exhibit plays."""
    return Stage(open_session, model_server, workspace)


@pytest.mark.parametrize(("program", "exhibit"), CASES, ids=NAMES, indirect=["program"])
def test_error_is_shown(exhibit: Callable[[Stage], ClaudeControlError], stage: Stage, program: Program) -> None:
    """Every version leads to the same kind of error with all that is known; the page shows what the first one says."""
    kind, versions = EXHIBITS[exhibit]
    error = exhibit(stage)
    assert type(error) is kind
    check_carries(error)
    if isinstance(error, errors.StartError | errors.SessionClosedError):
        assert error.exit_code is not None or error.signal is not None
        assert error.command
    if program.version == versions[0]:
        places = {" ".join(program.command): "claude", str(stage.workspace): "/project", stage.server.url: "http://api"}
        check_shown(exhibit.__name__, shown(error, places))
