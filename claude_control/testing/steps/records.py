"""What a script is made of: steps, the answers to prompts, and reactions."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import attrs

Frame: TypeAlias = Mapping[str, Any]
"""A frame, or a part of one that stands for all that agree with it."""


@attrs.frozen
class Step:
    """One thing that the stand-in does; made by the functions of this module."""

    do: str
    fields: Mapping[str, Any] = attrs.field(factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return the step as it stands in the script file."""
        return {"do": self.do, **self.fields}


@attrs.frozen
class TurnScript:
    """How one prompt is answered; made by `turn`."""

    steps: tuple[Step, ...]
    bare: bool = False
    interruptible: bool = True

    def to_json(self) -> dict[str, Any]:
        """Return the turn as it stands in its file."""
        steps = [step.to_json() for step in self.steps]
        return {"steps": steps, "bare": self.bare, "interruptible": self.interruptible}


@attrs.frozen
class Reaction:
    """Steps that are played whenever a fitting frame arrives; made by `on` and its kin."""

    when: Frame
    steps: tuple[Step, ...]
    times: int | None = None
    also_default: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return the reaction as it stands in the script file."""
        steps = [step.to_json() for step in self.steps]
        return {"when": self.when, "steps": steps, "times": self.times, "also_default": self.also_default}


def turn(*steps: Step, bare: bool = False, interruptible: bool = True) -> TurnScript:
    """One answer to a prompt.

    The frames around it (`system/init`, the result, the states) are written by themselves, unless the turn is `bare`.
    An interrupt ends it, unless it is not `interruptible`.
    """
    return TurnScript(steps, bare, interruptible)


def on(when: Frame, *steps: Step, times: int | None = None, also_default: bool = False) -> Reaction:
    """A reaction to every frame that fits the partial frame `when`, or to the first `times` of them.

    It takes the place of the default behaviour, unless `also_default` is set.
    """
    return Reaction(when, steps, times, also_default)


def on_request(subtype: str, *steps: Step, times: int | None = None, also_default: bool = False) -> Reaction:
    """A reaction to the control requests of one subtype."""
    when = {"type": "control_request", "request": {"subtype": subtype}}
    return on(when, *steps, times=times, also_default=also_default)


def unanswered(subtype: str, *, times: int | None = None) -> Reaction:
    """A reaction that leaves the control requests of one subtype without an answer."""
    return on_request(subtype, times=times)


def as_turn(script: TurnScript | Sequence[Step]) -> TurnScript:
    """Return steps as the script of a turn."""
    return script if isinstance(script, TurnScript) else TurnScript(tuple(script))
