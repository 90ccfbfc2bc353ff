"""What the running program is, and the gate that keeps from it what it does not know."""

import contextlib
from collections.abc import Callable
from typing import Any

from claude_control.errors import NotSupportedError, OptionsError, SpawnError
from claude_control.wire.requests import Request
from claude_control.wire.requests.base import is_fixed
from claude_control.wire.support import CURRENT, MEASURED, OLDEST, Program

__all__ = ["Gate"]


class Gate:
    """Checks every request before it is written.

    Old programs never answer what they do not know, and 2.0.75 does the wrong thing with a field that it does not know.
    The version is asked for with `--version` only if a request hangs on it and the program has not said it yet.
    """

    def __init__(self, *, allow_bypass: bool, find_version: Callable[[], str | None]) -> None:
        self.program = Program(None, modern=True)
        self.ready = False
        """Whether initialize has been answered."""
        self._allow_bypass = allow_bypass
        self._find_version = find_version
        self._asked = False
        self._known = frozenset({OLDEST})  # the measured programs of which it is sure to know all

    def open(self, program: Program) -> None:
        """Take over what the answer to initialize told."""
        self.ready = True
        self._learn(program)

    def note_version(self, version: str) -> None:
        """Take over the version that the program said in a later frame, or that `--version` printed."""
        if self.program.version is None:
            self._learn(Program(version, self.program.modern))

    def _learn(self, program: Program) -> None:
        self.program = program
        if self.ready:
            self._known = frozenset(MEASURED[: MEASURED.index(program.measured) + 1])

    @property
    def knows_cancel(self) -> bool:
        """Whether a request of ours can be withdrawn; it kills 2.0.75 and 2.1.7."""
        return self.ready and self.program.modern

    def check(self, request: Request[Any]) -> bool:
        """Raise `NotSupportedError` for what the program does not know, `OptionsError` for what it must not be told.

        Returns whether all requests of this kind pass from here on, so that none needs to be checked again.
        """
        subtype = request.subtype
        if (
            subtype == "set_permission_mode"
            and request.body().get("mode") == "bypassPermissions"
            and not self._allow_bypass
        ):
            # 2.0.75 and 2.1.7 would take it from a session that was never launched for it
            raise OptionsError("bypassPermissions needs allow_bypass=True when the session is opened", field="mode")
        what, needs = request.needs()
        if subtype == "initialize":
            if len(request.body()) > 1:  # hooks of other ids would take the place of this session's
                raise OptionsError("fields of initialize are sent by open() only", field="fields")
            what, needs = "reinitialize()", CURRENT
        if needs not in self._known:
            self.require(what, needs)
            return False
        return self.ready and is_fixed(request)

    def require(self, what: str, needs: str) -> None:
        """Raise `NotSupportedError` unless the program knows what the measured version `needs` brought.

        Which program it is tells its answer to initialize: until then it may be any.
        """
        if needs in self._known:
            return
        if not self.ready:
            text = f"{what} needs Claude Code {needs}, and which version runs is known after the handshake; ask then"
            raise NotSupportedError(text, what=what, needs=needs)
        if self._knows(needs):
            return
        running = self._running()
        text = f"{what} needs Claude Code {needs} or newer, but {running or 'an older version'} is running; update it"
        raise NotSupportedError(text, what=what, needs=needs, program_version=running)

    def _running(self) -> str | None:
        """Return the version, and ask for it if the program has not said it yet; None if it cannot be found."""
        if self.program.version is None and not self._asked:
            with contextlib.suppress(SpawnError):
                found = self._find_version()
                if found is not None:
                    self.note_version(found)
            self._asked = True  # not before: another thread may want to know, and must not take it for unknown
        return self.program.version

    def _knows(self, needs: str) -> bool:
        if not self.program.knows(needs) and not self.program.modern and needs != CURRENT:
            self._running()
        return self.program.knows(needs)
