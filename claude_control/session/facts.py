"""What the program's messages say of the session as a whole."""

from typing import Any

from claude_control.session.gate import Gate
from claude_control.session.tasks import TaskBook

__all__ = ["SessionFacts"]

# Tuples, not sets: an odd frame's type may be a list, which has no hash.
_TELLING = ("system", "result")
_TELLING_OLD = (*_TELLING, "assistant", "user")


class SessionFacts:
    """The session's id, its background tasks and its last words. Written by the reader only."""

    def __init__(self, gate: Gate, session_id: str | None) -> None:
        self._gate = gate
        self.session_id = session_id
        self.capabilities: tuple[str, ...] = ()
        """What the program said that it can do, at the begin of its latest turn (2.1.332)."""
        self.tasks = TaskBook()
        """Shells and subagents that run beside a turn."""
        self.last_words: str | None = None
        """What the last result says went wrong: why the program exits, where it says so; None if all went well."""

    @property
    def telling(self) -> tuple[str, ...]:
        """The types of frames to learn from."""
        return _TELLING if self._gate.program.modern else _TELLING_OLD

    def learn(self, frame: dict[str, Any]) -> None:
        """Take over what a frame of one of the `telling` types says."""
        kind, subtype = frame["type"], frame.get("subtype")
        if kind == "system" and subtype == "init":
            self._note_id(frame.get("session_id"))
            if isinstance(frame.get("claude_code_version"), str):
                self._gate.note_version(frame["claude_code_version"])
            named = frame.get("capabilities")
            self.capabilities = tuple(map(str, named)) if isinstance(named, list) else ()
        elif kind == "system" and isinstance(subtype, str) and "task" in subtype:
            self.tasks.learn(frame)
        elif kind in ("assistant", "user"):
            self.tasks.learn_old(frame)
        elif kind == "result":
            errors = frame.get("errors")
            said = errors if isinstance(errors, list) else [frame.get("result")] if frame.get("is_error") else []
            self.last_words = "; ".join(text for text in said if text and isinstance(text, str)) or None

    def _note_id(self, value: object) -> None:
        if isinstance(value, str) and value:
            self.session_id = value
