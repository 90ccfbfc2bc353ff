"""Recorded conversations of the real programs, and whose each frame was, as one can tell in hindsight.

A recording has the prompts as they were written ("in") and the frames as they came ("out"), without control frames;
most keys are left out, long texts are cut, and prompts are called P1, P2 and so on.
"""

import functools
import json
from pathlib import Path
from typing import Any

import attrs

from claude_control.session.routing import Decision, Place, Router

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
MODERN = "2.1.332"

Step = dict[str, Any]


@attrs.frozen
class Recording:
    """One conversation with one program."""

    version: str
    name: str
    steps: tuple[Step, ...]

    @property
    def frames(self) -> list[dict[str, Any]]:
        """What the program wrote."""
        return [step["out"] for step in self.steps if "out" in step]

    @property
    def asked(self) -> list[str]:
        """The prompts that have a turn of ours, in the order in which they were written."""
        return [step["in"] for step in self.steps if step.get("by") == "ask"]

    def __str__(self) -> str:
        return f"{self.version}/{self.name}"


@functools.cache
def recordings() -> tuple[Recording, ...]:
    """Return all recordings, of all versions."""
    return tuple(_read(file) for file in sorted(GOLDEN.glob("*/turns/*.jsonl")))


def recording(version: str, name: str) -> Recording:
    """Return one recording."""
    return next(one for one in recordings() if (one.version, one.name) == (version, name))


def _read(file: Path) -> Recording:
    lines = file.read_text(encoding="utf-8").splitlines()
    return Recording(file.parts[-3], file.stem, tuple(json.loads(line) for line in lines))


# -- routing a recording -----------------------------------------------------------------------------------------------


@attrs.define
class Replay:
    """Feeds frames to a router and keeps what becomes of each, as a session does: "P1", "program", "nobody", "echo"."""

    router: Router
    places: list[str | None] = attrs.field(factory=list)  # by frame; None while it is held
    begun: list[str] = attrs.field(factory=list)
    ended: list[tuple[str, int | None]] = attrs.field(factory=list)  # prompt, index of its result
    _current: str | None = None
    _held: list[int] = attrs.field(factory=list)

    def write(self, uuid: str, *, ours: bool) -> None:
        """Note a prompt."""
        self.router.written(uuid, ours=ours)
        if ours:
            self._current = uuid

    def feed(self, frame: dict[str, Any]) -> Decision:
        """Route a frame."""
        index, decision = len(self.places), self.router.route(frame)
        self.places.append(None)
        if decision.release is not None:
            for held in self._held:
                self._put(held, decision.release)
            self._held = []
        if decision.begins:
            assert self._current is not None
            self.begun.append(self._current)
        if decision.place is Place.HELD:
            self._held.append(index)
        else:
            self._put(index, decision.place)
        if decision.ends:
            assert self._current is not None
            self.ended.append((self._current, index if decision.ended_by_result else None))
            self._current = None
        return decision

    def _put(self, index: int, place: Place) -> None:
        assert self.places[index] is None, "a frame goes to one place"
        assert place is not Place.HELD, "a held frame is released to somebody"
        if place is Place.TURN:
            assert self._current is not None, "there is a turn to give it to"
        self.places[index] = self._current if place is Place.TURN else place.value

    @property
    def held(self) -> list[int]:
        """The frames of which it is not yet known whose they are."""
        return self._held


def replay(one: Recording) -> Replay:
    """Route a whole recording."""
    router = Router()
    router.modern = one.version == MODERN
    done = Replay(router)
    for step in one.steps:
        if "in" in step:
            done.write(step["in"], ours=step["by"] == "ask")
        else:
            done.feed(step["out"])
    return done


# -- hindsight ---------------------------------------------------------------------------------------------------------


@attrs.define
class Truth:
    """Whose each frame was, and which frame was the result of each prompt of ours (None: it has none)."""

    places: list[str]
    results: dict[str, int | None]


def hindsight(one: Recording) -> Truth:
    """Tell it from the whole recording, later frames included."""
    return _modern_truth(one) if one.version == MODERN else _old_truth(one)


def _modern_truth(one: Recording) -> Truth:
    frames = one.frames
    truth = Truth([_modern_place(frame) for frame in frames], {})
    for prompt in one.asked:
        started = [i for i, frame in enumerate(frames) if _lifecycle(frame) == (prompt, "started")]
        results = [
            i for i, f in enumerate(frames) if f["type"] == "result" and prompt in f.get("user_message_uuids", ())
        ]
        truth.results[prompt] = results[0] if results else None
        for index in range(started[0], results[0] + 1) if started else ():
            if truth.places[index] == "program":
                truth.places[index] = prompt
    return truth


def _lifecycle(frame: dict[str, Any]) -> tuple[Any, Any]:
    return (frame.get("command_uuid"), frame.get("state")) if frame["type"] == "command_lifecycle" else (None, None)


def _modern_place(frame: dict[str, Any]) -> str:
    if frame["type"] == "command_lifecycle" or frame.get("sdk_host_only"):
        return "nobody"
    is_echo = frame.get("isReplay") and not _text(frame).startswith("<local-command-stdout>")  # which nobody asked for
    return "echo" if is_echo else "program"


def _old_truth(one: Recording) -> Truth:
    truth, start, waiting = Truth([], {}), 0, list[tuple[str, str]]()
    frames: list[dict[str, Any]] = []
    for step in one.steps:
        if "in" in step:
            waiting.append((step["in"], step["by"]))
            continue
        frames.append(step["out"])
        if step["out"]["type"] == "result":
            _old_turn(truth, frames[start:], waiting)
            start = len(frames)
    assert start == len(frames), "a recording ends with a result"
    return truth


def _old_turn(truth: Truth, frames: list[dict[str, Any]], waiting: list[tuple[str, str]]) -> None:
    """Tell whose the frames up to a result were, by every echo among them."""
    first = len(truth.places)
    echoes = {frame.get("uuid"): index for index, frame in enumerate(frames) if frame.get("isReplay")}
    answered = [prompt for prompt in waiting if prompt[0] in echoes]
    is_own = any(frame.get("isReplay") and _text(frame).startswith("<task-notification>") for frame in frames)
    if not answered and not is_own:
        answered = waiting[:1]
    for prompt in answered:
        waiting.remove(prompt)
    ours = next((name for name, by in answered if by == "ask"), None)
    since = echoes[ours] if is_own and ours is not None else 0
    known = {name for name, _ in answered}
    for index, frame in enumerate(frames):
        place = ours if ours is not None and index >= since else "program"
        truth.places.append("echo" if frame.get("isReplay") and frame.get("uuid") in known else place)
    if ours is not None:
        truth.results[ours] = first + len(frames) - 1


def _text(frame: dict[str, Any]) -> str:
    content = frame["message"]["content"]
    return content if isinstance(content, str) else ""
