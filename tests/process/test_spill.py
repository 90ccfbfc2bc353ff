"""Temporary files: private, and gone in every case."""

import os
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from claude_control import SpawnError
from claude_control.process import spill
from claude_control.process.spill import SpillFiles, overflow_file, sweep
from tests.process.programs import ROOT


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory for temporary files that nobody else uses."""
    path = tmp_path / "tmp"
    path.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(path))
    return path


@pytest.fixture
def files() -> Iterator[SpillFiles]:
    """The files of one session, closed at the end."""
    made = SpillFiles()
    yield made
    made.close()


def mode(path: Path | str) -> int:
    """The permission bits of a file."""
    return stat.S_IMODE(os.stat(path).st_mode)


@pytest.mark.parametrize("umask", [0o000, 0o077, 0o777])
def test_files_are_private(files: SpillFiles, umask: int) -> None:
    """The directory is 0700 and each file 0600, under every umask."""
    before = os.umask(umask)
    try:
        path = files.write("a.json", "{}")
    finally:
        os.umask(before)
    assert (mode(path), mode(os.path.dirname(path))) == (0o600, 0o700)
    assert Path(path).read_text() == "{}"


def test_nothing_is_made_without_a_file(folder: Path) -> None:
    """A session that spills nothing makes no directory."""
    SpillFiles().close()
    assert list(folder.iterdir()) == []


def test_close_removes_everything_and_can_be_repeated(files: SpillFiles, folder: Path) -> None:
    """After close nothing is left, closing again does nothing, and later files get a new directory."""
    files.write("a", b"\x00\xff")
    files.write("b", "x\ud800")
    assert "files=2" in repr(files)
    assert len(list(folder.iterdir())) == 1
    files.close()
    files.close()
    assert list(folder.iterdir()) == []
    assert Path(files.write("a", "again")).read_text() == "again"


def test_existing_file_is_never_written_to(files: SpillFiles, folder: Path, tmp_path: Path) -> None:
    """A file or link that stands where ours would is neither followed nor overwritten."""
    target = tmp_path / "target"
    target.write_text("theirs")
    directory = Path(files.write("a", "x")).parent
    (directory / "b").symlink_to(target)
    with pytest.raises(SpawnError):
        files.write("b", "ours")
    assert target.read_text() == "theirs"
    assert list(folder.iterdir()) == []


def test_failed_write_leaves_nothing(files: SpillFiles, folder: Path) -> None:
    """When the disk takes no more, the error names the place and a remedy, and nothing is left."""
    resource = pytest.importorskip("resource")
    signal = pytest.importorskip("signal")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1024, before[1]))
    try:
        with pytest.raises(SpawnError, match="TMPDIR"):
            files.write("big", b"x" * 4096)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    assert list(folder.iterdir()) == []


def test_missing_directory_is_an_error(files: SpillFiles, folder: Path) -> None:
    """Without a place for temporary files the error is a typed one."""
    folder.rmdir()
    with pytest.raises(SpawnError, match="cannot write a temporary file"):
        files.write("a", "x")


def test_foreign_file_is_kept(files: SpillFiles) -> None:
    """What somebody else put into the directory is not deleted at close."""
    directory = Path(files.write("a", "x")).parent
    (directory / "theirs").write_text("x")
    files.close()
    assert [path.name for path in directory.iterdir()] == ["theirs"]
    (directory / "theirs").unlink()
    directory.rmdir()


def test_forked_child_leaves_the_parents_files_alone(files: SpillFiles) -> None:
    """Closing in a forked child removes nothing."""
    path = files.write("a", "x")
    pid = os.fork()
    if pid == 0:
        files.close()
        os._exit(0)
    os.waitpid(pid, 0)
    assert Path(path).exists()


CRASHER = """
import os, sys, tempfile
tempfile.tempdir = sys.argv[1]
from claude_control.process.spill import SpillFiles
print(SpillFiles().write("secret.json", "x"), flush=True)
os.kill(os.getpid(), 9)
"""


def crashed(folder: Path) -> Path:
    """Return the file that a host left that was killed."""
    command = [sys.executable, "-c", CRASHER, str(folder)]
    done = subprocess.run(
        command, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, check=False
    )
    assert done.returncode == -9, done.stderr
    return Path(os.fsdecode(done.stdout.strip()))


def test_crashed_host_is_cleaned_up_after(files: SpillFiles, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next session removes what a killed host left, once per process and directory, and keeps its own."""
    left = crashed(folder)
    assert left.exists()
    monkeypatch.setattr(spill, "_swept", set())
    mine = Path(files.write("a", "x"))
    assert not left.parent.exists()
    assert mine.exists()
    assert sweep(str(folder)) == []
    assert mine.exists()


def test_live_process_and_other_namespace_keep_their_files(folder: Path) -> None:
    """Directories of a living process, of another process namespace, or of another form are not touched."""
    namespace, pid, start = spill._identity().split("-")
    for name in (
        f"claude-control-{namespace}-{pid}-{start}-abc",
        f"claude-control-{int(namespace) + 1}-{pid}-1-abc",
        f"claude-control-{namespace}-{pid}-1",
        "claude-control-other",
        "other",
    ):
        (folder / name).mkdir()
    (folder / f"claude-control-{namespace}-{pid}-1-file").write_text("x")
    (folder / f"claude-control-{namespace}-{pid}-2-link").symlink_to(folder / "other")
    dead = folder / f"claude-control-{namespace}-{pid}-1-abc"
    dead.mkdir()
    assert sweep(str(folder)) == [str(dead)]
    assert len(list(folder.iterdir())) == 7


def test_sweep_follows_no_link_and_enters_no_directory(folder: Path, tmp_path: Path) -> None:
    """In a dead process's directory only plain files are removed; with anything else in it, it stays."""
    namespace, pid, _ = spill._identity().split("-")
    dead = folder / f"claude-control-{namespace}-{pid}-1-abc"
    (dead / "sub").mkdir(parents=True)
    (dead / "sub/kept").write_text("x")
    (dead / "plain").write_text("x")
    (tmp_path / "target").write_text("x")
    (dead / "link").symlink_to(tmp_path / "target")
    assert sweep(str(folder)) == []
    assert sorted(path.name for path in dead.iterdir()) == ["link", "sub"]
    assert (tmp_path / "target").exists() and (dead / "sub/kept").exists()


def test_sweep_of_nothing_is_quiet(folder: Path) -> None:
    """A directory that cannot be read is no error."""
    assert sweep(str(folder / "gone")) == []


def test_overflow_file_has_no_name(folder: Path) -> None:
    """The file for waiting output can be written and read, is nowhere to be seen, and is not inherited by children."""
    descriptor = overflow_file()
    try:
        assert list(folder.iterdir()) == []
        assert not os.get_inheritable(descriptor)
        os.write(descriptor, b"line\n")
        assert os.pread(descriptor, 100, 0) == b"line\n"
        assert os.fstat(descriptor).st_nlink == 0
    finally:
        os.close(descriptor)
