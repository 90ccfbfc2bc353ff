"""What the program's messages say of the session as a whole."""

import time
from typing import Any

from claude_control.session.gate import Gate

__all__ = ["TELLING", "SessionFacts"]

TELLING = ("system", "result", "conversation_reset")
"""The types of frames to learn from. A tuple, not a set: an odd frame's type may be a list, which has no hash."""


class SessionFacts:
    """The session's id, its background tasks and its last words. Written by the reader only."""

    def __init__(self, gate: Gate, session_id: str | None) -> None:
        self._gate = gate
        self.session_id = session_id
        self.tasks: tuple[Any, ...] = ()
        """The background tasks that run, as 2.1.332 lists them; always empty on older programs."""
        self.tasks_changed: float | None = None
        """When the list changed last, in monotonic seconds."""
        self.last_words: str | None = None
        """The text of the last failed result: why the program exits, where it says so."""

    def learn(self, frame: dict[str, Any]) -> None:
        """Take over what a frame of one of the `TELLING` types says."""
        kind, subtype = frame["type"], frame.get("subtype")
        if kind == "system" and subtype == "init":
            self._note_id(frame.get("session_id"))
            if isinstance(frame.get("claude_code_version"), str):
                self._gate.note_version(frame["claude_code_version"])
        elif kind == "system" and subtype == "background_tasks_changed":
            tasks = frame.get("tasks")
            self.tasks = tuple(tasks) if isinstance(tasks, list) else ()
            self.tasks_changed = time.monotonic()
        elif kind == "conversation_reset":
            self._note_id(frame.get("new_conversation_id"))
        elif kind == "result" and frame.get("is_error"):
            errors = frame.get("errors")
            said = errors if isinstance(errors, list) else [frame.get("result")]
            self.last_words = "; ".join(text for text in said if text and isinstance(text, str)) or None

    def _note_id(self, value: object) -> None:
        if isinstance(value, str) and value:
            self.session_id = value
