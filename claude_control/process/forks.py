"""What a forked child does about the things it inherited: it closes descriptors and forgets, without taking any lock.

A lock may have been held by a thread that the child does not have, so whoever can be called in a child compares the
owner's pid first (`require_owner`) and only then takes its own locks.
"""

import functools
import itertools
import mmap
import os
import sys
import threading
import weakref
from collections.abc import Callable, Sequence
from types import MethodType
from typing import Any

from claude_control.errors import ForkedError

__all__ = ["NOTED_PID", "on_fork_in_child", "own_pid", "require_owner", "steady"]

_FORK_PATIENCE = 1.0  # seconds a fork waits for `steady`, which is only ever held for microseconds
_WIPE_ON_FORK = 18  # MADV_WIPEONFORK of Linux 4.14 and later, which Python has no name for
_IMPOSSIBLE = -1


def _wiped_by_forks() -> "memoryview | None":
    """Return a place for a number that is 0 in every new child, or None where the system has no such memory.

    In those of an extension's own `fork()`, too, of which Python is told nothing: uWSGI makes its workers so.
    """
    if sys.platform != "linux":
        return None
    try:
        page = mmap.mmap(-1, mmap.PAGESIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        page.madvise(_WIPE_ON_FORK)
    except OSError:
        return None
    try:
        page.madvise(_IMPOSSIBLE)
    except OSError:
        return memoryview(page).cast("i")
    return None  # emulators (qemu before 8.0) say yes to everything, and do nothing


_page = _wiped_by_forks()

NOTED_PID: Sequence[int] = (0,) if _page is None else _page
"""This process's id, or 0 where it was not noted, and only the system knows: to ask it takes 1 to 3 % of a call."""

# The object weakly, its function strongly: a WeakMethod complains when the interpreter ends.
_methods: "dict[int, tuple[weakref.ref[Any], Callable[[Any], None]]]" = {}
_numbers = itertools.count()
_handover = threading.RLock()  # reentrant: a signal handler may fork in the thread that holds it
_held: dict[int, bool] = {}  # by thread that is forking: whether it got `_handover`
_installed = False


def on_fork_in_child(method: Callable[[], None]) -> None:
    """Call the bound `method()` in every child that is forked from here on, as long as its object lives.

    It must not take a lock, wait, signal or reap anything. Children of `subprocess` are not forks in this sense.
    """
    assert isinstance(method, MethodType), "only a bound method can be let go of with its object"
    _install()
    number = next(_numbers)
    owner = weakref.ref(method.__self__, functools.partial(_let_go, _methods, number))
    _methods[number] = (owner, method.__func__)


def steady() -> threading.RLock:
    """The lock under which a descriptor gets or loses its owner; no fork happens meanwhile.

    Without it a child could inherit a pipe end that nobody in it knows of, and the program would never see the end of
    its input. Nothing that can block is done under it.
    """
    return _handover


def require_owner(owner: int, what: str) -> None:
    """Raise `ForkedError` if this is not the process `owner`; called before any lock is taken."""
    if os.getpid() != owner:
        raise ForkedError(f"{what} belongs to process {owner}, from which this one was forked; open a new one here")


def own_pid() -> int:
    """Return this process's id, and note it, for whoever makes something that belongs to this process."""
    while True:
        pid = os.getpid()
        if _page is not None:
            _page[0] = pid
        if pid == os.getpid():  # else a signal handler has forked in here, and this is the child
            return pid


def _let_go(methods: dict[int, Any], number: int, _: object) -> None:
    # Given, not global: at the interpreter's end the module is emptied before its objects die.
    methods.pop(number, None)


def _install() -> None:
    global _installed
    if _installed or not hasattr(os, "register_at_fork"):
        return
    _installed = True
    os.register_at_fork(before=_before, after_in_parent=_after_in_parent, after_in_child=_after_in_child)


def _before() -> None:
    _held[threading.get_ident()] = _handover.acquire(timeout=_FORK_PATIENCE)


def _after_in_parent() -> None:
    if _held.pop(threading.get_ident(), False):
        _handover.release()


def _after_in_child() -> None:
    global _handover
    _handover = threading.RLock()
    _held.clear()
    for reference, function in list(_methods.values()):
        owner = reference()
        if owner is not None:
            _call(function, owner)


def _call(function: Callable[[Any], None], owner: Any) -> None:
    try:
        function(owner)
    except Exception:
        # The child is another program's business: what cannot be closed there is left, and the next method still runs.
        # Logging is out of the question, its locks may be held for ever.
        return
