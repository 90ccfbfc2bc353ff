"""The environment of the program: merged, without an outer session's own variables."""

import os
from pathlib import Path

import pytest

from claude_control import OptionsError
from claude_control.options import Options
from claude_control.process.environ import OUTER_SESSION, build_environment, initialize_timeout

PARENT = {"PATH": "/bin", "HOME": "/h"}


def built(options: Options, parent: dict[str, str] = PARENT, marker: str | None = "m") -> dict[str, str]:
    """Build an environment."""
    return build_environment(options, parent, marker=marker)


def test_environment_is_merged() -> None:
    """The parent's variables stay, `env` goes over them, and None takes one away."""
    made = built(Options(env={"HOME": "/other", "NEW": "1", "PATH": None}))
    assert (made["HOME"], made["NEW"], "PATH" in made) == ("/other", "1", False)
    assert built(Options())["PATH"] == "/bin"


@pytest.mark.parametrize("name", sorted(OUTER_SESSION))
def test_outer_session_is_forgotten(name: str) -> None:
    """What a Claude Code around us says of its own session does not reach ours, unless `env` says so."""
    assert built(Options(), {**PARENT, name: "outer"}).get(name) != "outer"
    assert built(Options(env={name: "mine"}), {**PARENT, name: "outer"})[name] == "mine"


@pytest.mark.parametrize(
    "name",
    ["CLAUDE_CONFIG_DIR", "CLAUDE_CODE_USE_BEDROCK", "ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN", "HTTPS_PROXY"],
)
def test_users_settings_are_kept(name: str) -> None:
    """What people set for the program in their shell reaches it."""
    assert built(Options(), {**PARENT, name: "theirs"})[name] == "theirs"


def test_session_asks_for_what_it_reads() -> None:
    """The program is told who we are, to report its state, and checkpoints if they are wanted."""
    made = built(Options())
    assert (made["CLAUDE_CODE_ENTRYPOINT"], made["CLAUDE_CODE_SDK_READS_SESSION_STATE"]) == ("sdk-py", "1")
    assert "CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING" not in made
    checkpoints = built(Options(enable_file_checkpointing=True))
    assert checkpoints["CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING"] == "true"
    assert built(Options(client_app="app/1"))["CLAUDE_AGENT_SDK_CLIENT_APP"] == "app/1"
    assert "CLAUDE_AGENT_SDK_CLIENT_APP" not in made


def test_marker_is_the_sessions_own() -> None:
    """The marker replaces an outer session's, and `env` cannot take it away or change it."""
    parent = {**PARENT, "CLAUDE_CONTROL_RUN": "outer"}
    for env in ({}, {"CLAUDE_CONTROL_RUN": "forged"}, {"CLAUDE_CONTROL_RUN": None}):
        assert built(Options(env=env), parent)["CLAUDE_CONTROL_RUN"] == "m"
    assert "CLAUDE_CONTROL_RUN" not in built(Options(), parent, None)


def test_working_directory_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """PWD is the absolute path of `cwd`, so that it does not name the parent's directory."""
    monkeypatch.chdir(tmp_path)
    assert built(Options(cwd="sub"), {**PARENT, "PWD": "/elsewhere"})["PWD"] == str(tmp_path / "sub")
    assert built(Options(), {**PARENT, "PWD": "/elsewhere"})["PWD"] == "/elsewhere"


@pytest.mark.parametrize(
    ("option", "told", "seconds"),
    [
        (60.0, None, 60.0),
        (60.0, "", 60.0),
        (60.0, "90000", 90.0),
        (60.0, "1000", 60.0),
        (5.0, "7500", 7.5),
        (None, "90000", None),
    ],
)
def test_variable_raises_the_initialize_timeout(option: float | None, told: str | None, seconds: float | None) -> None:
    """CLAUDE_CODE_STREAM_CLOSE_TIMEOUT, in milliseconds, makes the handshake's timeout longer, never shorter."""
    environ = {} if told is None else {"CLAUDE_CODE_STREAM_CLOSE_TIMEOUT": told}
    assert initialize_timeout(Options(initialize_timeout=option), environ) == seconds
    if told is not None:
        assert initialize_timeout(Options(initialize_timeout=option, env=dict(environ)), {}) == seconds


@pytest.mark.parametrize("told", ["soon", "nan", "inf"])
def test_variable_that_is_no_number_is_refused(told: str) -> None:
    """A timeout in the environment that is no number is an error with the variable's name."""
    with pytest.raises(OptionsError, match="CLAUDE_CODE_STREAM_CLOSE_TIMEOUT"):
        initialize_timeout(Options(), {"CLAUDE_CODE_STREAM_CLOSE_TIMEOUT": told})


def test_changes_of_the_process_environment_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every program gets the environment as it is when it starts, however often it was read before."""
    for value in ("one", "two \N{SNOWMAN}", "\udc80"):
        monkeypatch.setenv("CHANGED", value)
        assert build_environment(Options(), os.environ, marker=None)["CHANGED"] == value
    built = build_environment(Options(), os.environ, marker=None)
    built["CHANGED"] = "by its owner"
    assert build_environment(Options(), os.environ, marker=None)["CHANGED"] == "\udc80"
    monkeypatch.delenv("CHANGED")
    assert "CHANGED" not in build_environment(Options(), os.environ, marker=None)
    parent = dict(os.environ)
    assert build_environment(Options(), os.environ, marker=None) == build_environment(Options(), parent, marker=None)
