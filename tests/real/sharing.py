"""Sessions that tests share, for a start of the program costs ten times as much as a turn.

Tests marked `shared` get one from `open_session` when an earlier test of their module has opened one on the same
program with the same options, whatever the callbacks among these: each test has its own callbacks called. They share
the model server, the home and the workspace too; the workspace is made as new for each of them. A test is marked
`alone` where it changes what outlives it: rules, the mode, files outside of the workspace, what a stream still holds.
"""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs

from claude_control import HookMatcher, Session, close_all
from claude_control.errors import ClaudeControlError
from claude_control.testing import ModelServer
from tests.waiting import wait_until

_PLAIN = (str, int, float, bool, type(None), Path)
_REST_SECONDS = 10.0
"""What a turn that a test left behind gets to end."""

_KEPT = 4
"""Programs that wait for another test; each takes some 200 MB."""


class Slot:
    """Stands in the options for a callback, and calls that of the test that runs."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function: Callable[..., Any] | None = function

    def __call__(self, *arguments: Any) -> Any:
        """Call the test's own; a call after the test's end is a defect."""
        assert self.function is not None, "called after the end of the test"
        return self.function(*arguments)


@attrs.define
class _Kept:
    session: Session
    slots: list[Slot]
    options: Any
    """Held, so that no other object gets the identity of one of these."""


class Stage:
    """What the tests of one module share on one program."""

    def __init__(self, server: ModelServer, home: Path, workspace: Path, open_: Callable[..., Session]) -> None:
        self.server = server
        self.home = home
        self.workspace = workspace
        self._open = open_
        self._kept: dict[str, _Kept] = {}
        self._used: set[str] = set()

    def session(self, **options: Any) -> Session:
        """Return a session with these options that is at rest: one that is there, or a new one."""
        slots: list[Slot] = []
        key = repr(sorted((name, _shape(value)) for name, value in options.items()))
        made = _slotted(options, slots)
        assert key not in self._used, "a test gets one session with the same options"
        kept = self._kept.pop(key, None)
        if kept is None or kept.session.state != "idle":
            if kept is not None:
                kept.session.close(timeout=20)
            kept = _Kept(self._open(**made), slots, options)
        self._kept[key] = kept  # the last one now
        for slot, new in zip(kept.slots, slots, strict=True):
            slot.function = new.function
        self._used.add(key)
        return kept.session

    def tidy(self, *, failed: bool) -> None:
        """End a test: keep the sessions that rest, close the others, and make the workspace as new."""
        for key in self._used:
            kept = self._kept[key]
            if failed or not _rests(kept.session):
                self._drop(key)
            for slot in kept.slots:
                slot.function = None
        self._used.clear()
        for key in list(self._kept)[:-_KEPT]:
            self._drop(key)
        for path in self.workspace.iterdir():
            if path.is_dir() and path.name != ".git":
                shutil.rmtree(path)
            elif path.name not in ("a.txt", ".git"):
                path.unlink()

    def close(self) -> None:
        """Close what is open."""
        close_all([kept.session for kept in self._kept.values()], timeout=20)

    def _drop(self, key: str) -> None:
        self._kept.pop(key).session.close(timeout=20)


def _rests(session: Session) -> bool:
    try:
        wait_until(lambda: session.state != "running", _REST_SECONDS)
        return session.state == "idle"
    except (AssertionError, ClaudeControlError):
        return False


def _shape(value: Any) -> Any:
    """Return what tells options apart: callbacks are all alike, and other objects only like themselves."""
    if isinstance(value, HookMatcher):
        return [value.matcher, value.timeout, value.on_failure, value.ordered, _shape(value.hooks)]
    if isinstance(value, dict):
        return sorted((str(key), repr(_shape(part))) for key, part in value.items())
    if isinstance(value, list | tuple):
        return [_shape(part) for part in value]
    return value if isinstance(value, _PLAIN) else "a callback" if callable(value) else id(value)


def _slotted(value: Any, slots: list[Slot]) -> Any:
    """Return options with a slot in place of each callback."""
    if isinstance(value, HookMatcher):
        return attrs.evolve(value, hooks=_slotted(value.hooks, slots))
    if isinstance(value, dict):
        return {key: _slotted(part, slots) for key, part in sorted(value.items())}
    if isinstance(value, list | tuple):
        return [_slotted(part, slots) for part in value]
    if not callable(value):
        return value
    slots.append(Slot(value))
    return slots[-1]
