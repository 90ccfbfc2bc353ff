"""One list of steps being played, and the frames that it claims for itself."""

from __future__ import annotations

import os

from .frames import fresh_id
from .matching import difference, fill, same_kind

TYPE_CHECKING = False
if TYPE_CHECKING:
    from . import Frame, Play
    from .program import Program
    from .turns import Turn


class Mismatch(Exception):
    """The SDK did something else than the script expects; the text says what."""


class ScriptRun:
    """Plays steps in order.

    A frame of the kind that one of its later `expect` steps is about belongs to that step, whenever it arrives, and is
    not answered by default. `frame` is the one that was expected last, which `answer` answers.
    """

    def __init__(
        self,
        program: Program,
        steps: list[Frame],
        name: str,
        turn: Turn | None = None,
        frame: Frame | None = None,
    ) -> None:
        self.program = program
        self.name = name
        self.frame = frame
        self.asked: list[str] = []  # ids of the requests made, the last one is what `cancel` means
        self.finished = False
        self._steps = steps
        self._position = -1
        self._claimed: dict[int, Frame] = {}
        self._turn = turn

    @property
    def turn(self) -> Turn | None:
        """The turn that this script answers; for other scripts the one that runs."""
        return self._turn or self.program.turns.current

    def play(self) -> Play:
        """Play every step."""
        self.program.runs.append(self)
        try:
            for position, step in enumerate(self._steps):
                self._position = position
                self.program.journal.note("step", script=self.name, index=position, step=step["do"])
                yield from self.program.steps[step["do"]](self, step)
        finally:
            self.finished = True
            self.program.runs.remove(self)

    def claim(self, frame: Frame) -> bool:
        """Take a frame for the first step to come that expects one of its kind."""
        for index in range(max(self._position, 0), len(self._steps)):
            step = self._steps[index]
            if step["do"] == "expect" and index not in self._claimed and same_kind(step["frame"], frame):
                self._claimed[index] = frame
                return True
        return False

    def claimed(self) -> Frame | None:
        """The frame that arrived for the present step; raises Mismatch if it is not the one expected."""
        frame = self._claimed.get(self._position)
        if frame is None:
            return None
        wrong = difference(self.fill(self._steps[self._position]["frame"]), frame)
        if wrong:
            raise Mismatch(f"step {self._position} of the {self.name} script: {wrong}")
        return frame

    def waits_for_end(self) -> bool:
        """Tell whether this script still has something to do when input has ended."""
        return any(step["do"] in ("wait_eof", "hang") for step in self._steps[max(self._position, 0) :])

    def expects(self) -> Frame | None:
        """The pattern that it waits for now, if it does."""
        step = self._steps[self._position] if 0 <= self._position < len(self._steps) else {}
        return step["frame"] if step.get("do") == "expect" and self._position not in self._claimed else None

    def fill(self, value: object) -> object:
        """Return `value` with the names of known things replaced."""
        turn, frame = self.turn, self.frame or {}
        return fill(
            value,
            {
                "$session_id": self.program.frames.session_id,
                "$prompt_uuid": turn.uuids[-1] if turn and turn.uuids else None,
                "$prompt_text": turn.text if turn else None,
                "$request_id": frame.get("request_id"),
                "$pid": os.getpid(),
                "$uuid": fresh_id,
            },
        )
