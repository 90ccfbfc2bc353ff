"""Imports what is needed late, in a way that no exception can break.

An exception that strikes a thread in the middle of an import (Ctrl-C, a task runner's time limit) may leave the
import's lock taken for ever, as CPython 3.13 and those before it do. It can strike a user's thread anywhere, so that
one does not import anything of ours itself: a thread that nobody knows of does, while the user's waits. If that is
struck it leaves with its exception, and the import goes on to its end.
"""

import _thread
import importlib
from _thread import LockType
from types import ModuleType

__all__ = ["import_module"]

PATIENCE = 1.0
"""Seconds that a thread gets to begin; then another is started.

An exception for a thread that is just starting another one may hit the newborn instead, which then never does anything
(CPython 3.11). `threading.Thread.start()` would wait for it for ever.
"""

_loaded: dict[str, ModuleType] = {}
_importers: set[int] = set()  # threads; what is asked for late by a module that they import is part of their work


def import_module(name: str) -> ModuleType:
    """Return the module of this name, after importing it in a thread apart; raises what the import raises."""
    module = _loaded.get(name)
    if module is None:
        if _thread.get_ident() not in _importers:
            _import_apart(name)
        module = _loaded[name] = importlib.import_module(name)
    return module


def _import_apart(name: str) -> None:
    """Import a module in another thread, and wait for that; whoever asks for it then gets what it raised."""
    while True:
        begun, done = _thread.allocate_lock(), _thread.allocate_lock()
        begun.acquire()
        done.acquire()
        try:
            _thread.start_new_thread(_run, (name, begun, done))
        except RuntimeError:  # the interpreter is shutting down, or the system has no more threads
            return
        if begun.acquire(timeout=PATIENCE):
            done.acquire()
            return


def _run(name: str, begun: LockType, done: LockType) -> None:
    begun.release()
    _importers.add(_thread.get_ident())
    try:
        importlib.import_module(name)
    except BaseException:
        return  # it is raised anew where it is wanted
    finally:
        _importers.discard(_thread.get_ident())
        done.release()
