"""A start that fails says why and what to do, and leaves nothing behind."""

import os
import resource
import stat
import sys
from pathlib import Path

import pytest

from claude_control.errors import SpawnError
from claude_control.process.transport import SubprocessTransport
from tests.process.programs import PATH, has_watch_thread, running, sh
from tests.waiting import wait_until

ENV = {"PATH": PATH}


def refused(argv: list[str], *, cwd: str | None = None, env: dict[str, str] | None = None) -> SpawnError:
    """Return the error of a start that fails, after which no thread and no descriptor is left."""
    before = os.listdir("/proc/self/fd")
    with pytest.raises(SpawnError) as caught:
        SubprocessTransport.spawn(argv, env=ENV if env is None else env, cwd=cwd)
    wait_until(lambda: not has_watch_thread())
    assert os.listdir("/proc/self/fd") == before
    return caught.value


def program(path: Path, text: str, mode: int = 0o755) -> str:
    """Write a file that may be a program."""
    path.write_text(text, encoding="utf-8")
    path.chmod(mode)
    return str(path)


def test_program_that_does_not_exist() -> None:
    """A missing program is named with the places that were searched."""
    assert "'no-such-program' does not exist in PATH (/usr/bin:/bin); install it or change `cli_path`" in str(
        refused(["no-such-program"], env={"PATH": "/usr/bin:/bin"})
    )
    error = refused(["/no/such/program", "--model=value"])
    assert "'/no/such/program' does not exist" in str(error)
    assert error.command == "/no/such/program --model=value"
    assert isinstance(error.__cause__, FileNotFoundError)


def test_relative_program_is_looked_for_in_the_working_directory(tmp_path: Path) -> None:
    """The message about a relative path says from where it was seen."""
    assert f"'./program' does not exist (seen from {tmp_path})" in str(refused(["./program"], cwd=str(tmp_path)))


def test_working_directory_is_told_apart_from_the_program(tmp_path: Path) -> None:
    """A missing or wrong working directory is named, not the program."""
    missing = str(tmp_path / "missing")
    error = refused(["/bin/true"], cwd=missing)
    assert f"the working directory {missing!r} does not exist; create it or change `cwd`" in str(error)
    assert error.cwd == missing
    assert "is not a directory" in str(refused(["/bin/true"], cwd=program(tmp_path / "file", "")))


def test_interpreter_of_a_script_is_told_apart_from_the_script(tmp_path: Path) -> None:
    """A script whose interpreter is missing is said to exist, and the interpreter is named."""
    path = program(tmp_path / "script", "#!/no/such/interpreter -x\n")
    assert f"{path!r} exists, but its interpreter '/no/such/interpreter' does not" in str(refused([path]))


def test_program_for_another_system(tmp_path: Path) -> None:
    """A binary whose loader is missing is said to be built for another system."""
    path = tmp_path / "binary"
    content = Path("/bin/true").read_bytes()
    loader = content[content.index(b"/lib") :].split(b"\0")[0]
    path.write_bytes(content.replace(loader, b"/no" + loader[3:]))
    path.chmod(0o755)
    assert "its dynamic loader is missing" in str(refused([str(path)]))


def test_file_that_is_no_program(tmp_path: Path) -> None:
    """A file that is not executable, a folder, and a text without #! each get their own words."""
    plain = program(tmp_path / "plain", "text\n", mode=0o644)
    assert f"{plain!r} is not executable for this user; `chmod +x` it" in str(refused([plain]))
    assert f"{str(tmp_path)!r} is a directory" in str(refused([str(tmp_path)]))
    text = program(tmp_path / "text", "echo no interpreter\n")
    assert f"{text!r} is not a program that this machine can run" in str(refused([text]))


def test_command_line_that_is_too_long() -> None:
    """An argument or a variable that is too long is named with its size, and its value is not shown."""
    error = refused(["/bin/true", "--small=1", "--settings=" + "secret" * 50_000])
    assert "of which --settings has 300011" in str(error)
    assert "secretsecret" not in str(error)
    assert error.command is not None
    assert len(error.command) < 1000
    error = refused(["/bin/true"], env={"PATH": PATH, "BIG": "y" * 200_000})
    assert "the environment variable BIG has 200003" in str(error)


@pytest.mark.parametrize(
    ("argv", "env", "cwd", "words"),
    [
        (["/bin/true", "a\0b"], {}, None, "argument 1 (a\0b) contains a NUL character"),
        (["/bin/true"], {"A": "a\0b"}, None, "the environment variable A contains a NUL character"),
        (["/bin/true"], {"A=B": "c"}, None, "'A=B' is not a name that an environment variable can have"),
        (["/bin/true"], {}, "/a\0b", "the working directory '/a\\x00b' contains a NUL character"),
        (["/bin/true", "\ud800"], {}, None, "UnicodeEncodeError"),
        ([], {}, None, "the command is empty"),
    ],
)
def test_malformed_command(argv: list[str], env: dict[str, str], cwd: str | None, words: str) -> None:
    """What no program can be given is named."""
    with pytest.raises(SpawnError) as caught:
        SubprocessTransport.spawn(argv, env=env, cwd=cwd)
    assert words in str(caught.value)


def test_too_many_open_files() -> None:
    """Running out of descriptors at any step says so, and those that were opened are closed."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with running(["/bin/cat"]):  # the watch has its descriptors already
        used = os.listdir("/proc/self/fd")
        free = [number for number in range(1000) if not os.path.exists(f"/proc/self/fd/{number}")]
        for spare in range(8):  # six for the pipes, two for what the start itself needs
            resource.setrlimit(resource.RLIMIT_NOFILE, (free[spare], hard))
            try:
                with pytest.raises(SpawnError, match="too many files open; raise `ulimit -n`"):
                    SubprocessTransport.spawn(["/bin/true"], env={}, cwd=None)
            finally:
                resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
            assert os.listdir("/proc/self/fd") == used


def test_error_hides_secrets() -> None:
    """The command in the error is redacted."""
    error = refused(["/no/program", "--key=sk-ant-abcdefgh"])
    assert error.command == "/no/program '--key=…'"


def test_good_program_is_not_diagnosed(tmp_path: Path) -> None:
    """A script in the working directory and a program from the PATH of its own environment are started."""
    program(tmp_path / "tool", f"#!{sys.executable}\nprint('tool')\n")
    for argv, env in ((["./tool"], {}), (["tool"], {"PATH": str(tmp_path)})):
        transport = SubprocessTransport.spawn(argv, env=env, cwd=str(tmp_path))
        assert transport.read() == b"tool\n"
        assert transport.wait(10) is not None
        transport.close()
    assert stat.S_ISDIR(tmp_path.stat().st_mode)
    with running(sh("exit 0")) as transport:
        assert transport.wait(10) is not None
