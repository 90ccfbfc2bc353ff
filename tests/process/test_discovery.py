"""Finding the program: what is named is used or an error, otherwise the places are tried in order."""

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

from claude_control import CLINotFoundError, OptionsError
from claude_control.process import discovery
from claude_control.process.discovery import Program, find_program


def executable(path: Path, text: str = "#!/bin/sh\nexit 0\n") -> str:
    """Make a file that can be run."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return str(path)


@pytest.fixture(autouse=True)
def _no_bundle(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide an official SDK that may be installed."""
    monkeypatch.setitem(sys.modules, "claude_agent_sdk", None)


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """An environment with an empty home and an empty directory as PATH."""
    for name in ("home", "bin"):
        (tmp_path / name).mkdir()
    return {"HOME": str(tmp_path / "home"), "PATH": str(tmp_path / "bin")}


def not_found(cli_path: Any, environ: dict[str, str]) -> CLINotFoundError:
    """Return the error of a search that finds nothing."""
    with pytest.raises(CLINotFoundError) as caught:
        find_program(cli_path, environ, places=())
    return caught.value


def test_places_are_tried_in_order(tmp_path: Path, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The option goes before the variable, that before PATH, that before the official SDK, that before usual places."""
    named = executable(tmp_path / "named")
    variable = executable(tmp_path / "variable")
    on_path = executable(tmp_path / "bin/claude")
    place = executable(tmp_path / "home/.local/bin/claude")
    (tmp_path / "site/claude_agent_sdk").mkdir(parents=True)
    (tmp_path / "site/claude_agent_sdk/__init__.py").write_text("raise SystemExit('it was imported')")
    bundled = executable(tmp_path / "site/claude_agent_sdk/_bundled/claude")
    monkeypatch.delitem(sys.modules, "claude_agent_sdk")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    importlib.invalidate_caches()
    environ["CLAUDE_CONTROL_CLI"] = variable

    assert find_program(named, environ) == Program((named,), "cli_path")
    assert find_program(None, environ) == Program((variable,), "CLAUDE_CONTROL_CLI")
    del environ["CLAUDE_CONTROL_CLI"]
    assert find_program(None, environ) == Program((on_path,), "PATH")
    Path(on_path).unlink()
    assert find_program(None, environ) == Program((bundled,), "claude-agent-sdk")
    assert "claude_agent_sdk" not in sys.modules
    Path(bundled).unlink()
    assert find_program(None, environ) == Program((place,), "usual place")


def test_usual_places_are_all_below_home_or_fixed(environ: dict[str, str], tmp_path: Path) -> None:
    """The local installation, the native installer's and npm's places are among the usual ones."""
    for place in (".claude/local/claude", ".npm-global/bin/claude", "node_modules/.bin/claude", ".yarn/bin/claude"):
        path = executable(tmp_path / "home" / place)
        assert find_program(None, environ).command == (path,)
        Path(path).unlink()


def test_error_lists_every_place(environ: dict[str, str], tmp_path: Path) -> None:
    """When nothing is found, the error names each place that was looked at and how to install the program."""
    (tmp_path / "bin/claude").mkdir()
    with pytest.raises(CLINotFoundError) as caught:
        find_program(None, environ, places=("~/a/claude", "/b/claude"))
    looked = caught.value.looked
    assert [entry.partition(":")[0] for entry in looked] == [
        "CLAUDE_CONTROL_CLI",
        "PATH",
        "claude-agent-sdk",
        "usual place",
        "usual place",
    ]
    assert "is a directory" in looked[1]
    assert f"{tmp_path / 'home' / 'a' / 'claude'} does not exist" in looked[3]
    assert all(entry in str(caught.value) for entry in looked)
    assert "npm install" in str(caught.value) and "cli_path" in str(caught.value)
    assert caught.value.phase == "start"


def test_named_path_is_never_replaced(environ: dict[str, str], tmp_path: Path) -> None:
    """A named program that cannot run is an error that says why, although another one is on PATH."""
    executable(tmp_path / "bin/claude")
    plain = tmp_path / "plain"
    plain.write_text("x")
    assert "does not exist" in str(not_found(tmp_path / "gone", environ))
    assert "is a directory" in str(not_found(tmp_path, environ))
    assert "is not executable" in str(not_found(plain, environ)) or sys.platform == "win32"
    assert not_found(tmp_path / "gone", environ).looked == (str(tmp_path / "gone"),)
    environ["CLAUDE_CONTROL_CLI"] = str(plain)
    assert "CLAUDE_CONTROL_CLI" in str(not_found(None, environ))


def test_path_that_was_named_before_is_looked_at_again(environ: dict[str, str], tmp_path: Path) -> None:
    """What was found once is not taken for good: a file that has changed is judged anew, and one may be gone."""
    path = tmp_path / "program"
    named = executable(path, "no script\n")
    first = find_program(named, environ)
    assert find_program(named, environ) is first  # as it was
    path.chmod(0o644)
    assert "not executable" in str(not_found(named, environ))
    path.unlink()
    executable(path, "#!/nowhere/sh\n")
    assert "/nowhere/sh, which does not exist" in str(not_found(named, environ))
    path.unlink()
    assert "does not exist" in str(not_found(named, environ))
    executable(path, "no script\n")
    assert find_program(named, environ) == first


def test_name_is_looked_up_on_path(environ: dict[str, str], tmp_path: Path) -> None:
    """A bare name is found on PATH; one that is not there is an error with the directories that were looked at."""
    path = executable(tmp_path / "bin/nightly")
    assert find_program("nightly", environ).command == (path,)
    error = not_found("daily", environ)
    assert "no 'daily' on PATH" in str(error)
    assert error.looked == (str(tmp_path / "bin/daily"),)


def test_relative_directories_of_path_are_left_out(
    environ: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A `claude` in the working directory is not run because PATH has "." or an empty entry."""
    executable(tmp_path / "work/claude")
    monkeypatch.chdir(tmp_path / "work")
    environ["PATH"] = ":.:sub"
    with pytest.raises(CLINotFoundError):
        find_program(None, environ, places=())


def test_command_is_made_absolute(environ: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A relative path is taken from here, not from the session's `cwd`; "~" is the home that the environment names."""
    path = executable(tmp_path / "home/tools/claude")
    monkeypatch.chdir(tmp_path / "home")
    assert find_program("tools/claude", environ).command == (path,)
    assert find_program("~/tools/claude", environ).command == (path,)
    assert find_program(Path("tools/claude"), environ).command == (path,)
    monkeypatch.chdir(tmp_path / "home/tools")
    assert find_program("claude", environ).command == (path,)


def test_whole_command_is_taken(environ: dict[str, str], tmp_path: Path) -> None:
    """A list is a command: its first part is found as a single name would be, the rest is kept."""
    npx = executable(tmp_path / "bin/npx")
    found = find_program(["npx", "-y", "@anthropic-ai/claude-code"], environ)
    assert found.command == (npx, "-y", "@anthropic-ai/claude-code")


@pytest.mark.parametrize("name", ["cli.js", "cli.mjs", "cli.cjs"])
def test_script_is_run_by_node(environ: dict[str, str], tmp_path: Path, name: str) -> None:
    """A JavaScript file needs no execute permission but node on PATH; without node the error says so."""
    script = tmp_path / name
    script.write_text("")
    assert "is run by node, which is not on PATH" in str(not_found(str(script), environ))
    node = executable(tmp_path / "bin/node")
    assert find_program(script, environ).command == (node, str(script))
    assert find_program([str(script), "--x"], environ).command == (node, str(script), "--x")


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("#!/usr/bin/env node", "is run by node, which is not on PATH"),
        ("#!/usr/bin/env -S node --x", "is run by node, which is not on PATH"),
        ("#!/nowhere/node", "is run by /nowhere/node, which does not exist"),
    ],
)
def test_missing_interpreter_is_said(environ: dict[str, str], tmp_path: Path, line: str, told: str) -> None:
    """A script whose interpreter is missing is not said to be missing itself."""
    script = executable(tmp_path / "bin/claude", f"{line}\n")
    assert told in str(not_found(script, environ))
    with pytest.raises(CLINotFoundError) as caught:
        find_program(None, environ, places=())
    assert told in caught.value.looked[1]


def test_script_with_interpreter_is_taken(environ: dict[str, str], tmp_path: Path) -> None:
    """A script whose interpreter is on PATH is run as it is."""
    executable(tmp_path / "bin/node")
    script = executable(tmp_path / "bin/claude", "#!/usr/bin/env node\n")
    assert find_program(None, environ).command == (script,)


@pytest.mark.parametrize("name", ["claude.cmd", "claude.BAT"])
def test_batch_file_is_refused(environ: dict[str, str], tmp_path: Path, name: str) -> None:
    """A batch file is refused wherever it is named: a shell would read its arguments anew."""
    path = executable(tmp_path / name)
    for cli_path in (path, [path, "x"]):
        with pytest.raises(OptionsError, match="batch file"):
            find_program(cli_path, environ)


def test_broken_official_sdk_is_no_obstacle(environ: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """An official SDK that cannot be looked at counts as not installed."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: (_ for _ in ()).throw(ValueError("broken")))
    assert discovery.VARIABLE in not_found(None, environ).looked[0]
