"""What is needed late is imported in a thread apart, and no exception that strikes a user's thread breaks that."""

import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import pytest

from claude_control import loading
from tests import sources
from tests.threads import strike
from tests.waiting import wait_until


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory that modules are imported from."""
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def test_module_is_imported_in_another_thread_and_once(folder: Path) -> None:
    """The importing thread is not the caller's, and the second call returns the same module."""
    (folder / "late_one.py").write_text("import threading\nthread = threading.current_thread()\n")
    module = loading.import_module("late_one")
    assert module.thread is not threading.current_thread()
    assert module is loading.import_module("late_one") is sys.modules["late_one"]


def test_what_an_import_raises_reaches_the_caller(folder: Path) -> None:
    """A module that fails does so for whoever asked, and again for the next one."""
    (folder / "late_failing.py").write_text("raise ValueError('no')\n")
    for _ in range(2):
        with pytest.raises(ValueError, match="no"):
            loading.import_module("late_failing")
    with pytest.raises(ModuleNotFoundError):
        loading.import_module("late_and_missing")


def test_a_late_import_amid_another_is_part_of_it(folder: Path) -> None:
    """Modules that need each other, one of them late, are imported without waiting for one another."""
    ours = "from claude_control import loading\n"
    (folder / "late_outer.py").write_text(f"{ours}inner = loading.import_module('late_inner')\nname = 'outer'\n")
    (folder / "late_inner.py").write_text("import late_outer\n")
    assert loading.import_module("late_outer").inner.late_outer.name == "outer"


def test_who_is_struck_leaves_and_the_import_goes_on(folder: Path) -> None:
    """An exception reaches the thread that waits for an import, and whoever asks next has the whole module."""
    (folder / "late_slow.py").write_text(
        "import tests.test_loading as here\nhere.begun.set()\nassert here.go_on.wait(20)\ndone = True\n"
    )
    here = sys.modules["tests.test_loading"]
    here.begun, here.go_on = begun, go_on = threading.Event(), threading.Event()  # type: ignore[attr-defined]
    raised: list[BaseException] = []

    def ask() -> None:
        try:
            loading.import_module("late_slow")
        except KeyError as error:
            raised.append(error)

    asker = threading.Thread(target=ask, daemon=True)
    asker.start()
    assert begun.wait(20)
    strike(asker, KeyError)
    go_on.set()
    asker.join(20)
    wait_until(lambda: raised)
    assert loading.import_module("late_slow").done


STRUCK = textwrap.dedent(
    """
    import ctypes, random, threading
    from claude_control.wire import messages, requests

    chance, over = random.Random(1), threading.Event()
    names = [(package, name) for package in (requests, messages) for name in package.__all__]

    class Struck(Exception):
        pass

    def use():
        while not over.is_set():
            try:
                for package, name in names:
                    getattr(package, name)
                return
            except Struck:
                pass

    users = [threading.Thread(target=use, daemon=True) for _ in range(3)]
    for user in users:
        user.start()
    pause = threading.Event()
    for _ in range(2000):
        pause.wait(chance.random() * 0.0005)
        user = chance.choice(users)
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(user.ident), ctypes.py_object(Struck))
        if not any(user.is_alive() for user in users):
            break
    over.set()
    for user in users:
        user.join(10)
    print(all(getattr(package, name) for package, name in names))
    """
)


def test_exceptions_amid_first_uses_leave_no_import_lock_taken() -> None:
    """Whatever strikes threads that use requests and messages first, every name can be had afterwards."""
    for _ in range(3):
        command = [sys.executable, "-c", STRUCK]
        done = subprocess.run(command, capture_output=True, text=True, timeout=50, check=False, cwd=sources.ROOT)
        assert done.stdout == "True\n", done.stderr
