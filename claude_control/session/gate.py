"""What the running program is, and the gate that keeps from it what it does not know."""

import contextlib
from collections.abc import Callable
from typing import Any

from claude_control.errors import NotSupportedError, OptionsError, SpawnError
from claude_control.wire.requests import Request
from claude_control.wire.support import CURRENT, Program

__all__ = ["Gate"]


class Gate:
    """Checks every request before it is written.

    Old programs never answer what they do not know, and 2.0.75 does the wrong thing with a field that it does not know.
    The version is asked for with `--version` only if a request hangs on it and the program has not said it yet.
    """

    def __init__(self, *, allow_bypass: bool, find_version: Callable[[], str | None]) -> None:
        self.program = Program(None, modern=True)
        self.ready = False
        """Whether initialize has been answered; it is the one request before that."""
        self._allow_bypass = allow_bypass
        self._find_version = find_version

    def open(self, program: Program) -> None:
        """Take over what the answer to initialize told."""
        self.program = program
        self.ready = True

    def note_version(self, version: str) -> None:
        """Take over the version that the program said in a later frame, or that `--version` printed."""
        if self.program.version is None:
            self.program = Program(version, self.program.modern)

    @property
    def knows_cancel(self) -> bool:
        """Whether a request of ours can be withdrawn; it kills 2.0.75 and 2.1.7."""
        return self.ready and self.program.modern

    def check(self, request: Request[Any]) -> None:
        """Raise `NotSupportedError` for what the program does not know, `OptionsError` for what it must not be told."""
        if not self.ready:
            return
        if (
            request.subtype == "set_permission_mode"
            and request.body().get("mode") == "bypassPermissions"
            and not self._allow_bypass
        ):
            # 2.0.75 and 2.1.7 would take it from a session that was never launched for it
            raise OptionsError("bypassPermissions needs allow_bypass=True when the session is opened", field="mode")
        what, needs = request.needs()
        if request.subtype == "initialize":
            if len(request.body()) > 1:  # hooks of other ids would take the place of this session's
                raise OptionsError("fields of initialize are sent by open() only", field="fields")
            what, needs = "reinitialize()", CURRENT
        self.require(what, needs)

    def require(self, what: str, needs: str) -> None:
        """Raise `NotSupportedError` unless the program knows what the measured version `needs` brought."""
        if self._knows(needs):
            return
        running = self._running()
        text = f"{what} needs Claude Code {needs} or newer, but {running or 'an older version'} is running; update it"
        raise NotSupportedError(text, what=what, needs=needs, program_version=running)

    def _running(self) -> str | None:
        """Return the version for an error, and ask for it if the program has not said it yet."""
        if self.program.version is None:
            with contextlib.suppress(SpawnError):
                self.note_version(self._find_version() or "unknown")
        return None if self.program.version == "unknown" else self.program.version

    def _knows(self, needs: str) -> bool:
        if self.program.knows(needs):
            return True
        if self.program.modern or self.program.version is not None or needs == CURRENT:
            return False
        self.note_version(self._find_version() or "unknown")
        return self.program.knows(needs)
