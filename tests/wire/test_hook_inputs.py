"""The types of hooks' inputs against what the real programs sent, one recorded input of each event and program."""

import json
import typing
from pathlib import Path
from typing import Any

import pytest

from claude_control.options.callbacks import HOOK_EVENTS
from claude_control.wire.hook_inputs import HOOK_INPUTS, BaseHookInput, HookInput, UnknownHookInput
from docs.hook_tables import NEVER, OLDER
from tests.hook_shapes import complaints

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
RECORDED = sorted(GOLDEN.glob("*/hooks/*.json"))
VERSIONS = {"2.1.332", "2.1.7", "2.0.75"}


def load(path: Path) -> dict[str, Any]:
    """Return a recorded input; paths in it are scrubbed, and long texts are cut."""
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: f"{path.parts[-3]} {path.stem}")
def test_recorded_input_fits_its_type(path: Path) -> None:
    """What a program sent has no field that the type does not know, none is missing, and each is of its type."""
    sent = load(path)
    assert sent["hook_event_name"] == path.stem
    assert complaints(sent) == []


def test_every_program_was_recorded() -> None:
    """The events that the documentation ascribes to the programs are those that they sent."""
    events: dict[str, set[str]] = {version: set() for version in VERSIONS}
    for path in RECORDED:
        events[path.parts[-3]].add(path.stem)
    assert events["2.0.75"] == events["2.1.7"] == OLDER - {"SessionEnd"}  # that one only a signal causes there
    assert events["2.1.332"] == HOOK_EVENTS - NEVER


@pytest.mark.parametrize("event", sorted(HOOK_INPUTS))
def test_type_names_its_event(event: str) -> None:
    """Each type is named for its event, is told apart by it, and has what every input has."""
    kind = HOOK_INPUTS[event]
    assert kind.__name__ == f"{event}HookInput"
    hints = typing.get_type_hints(kind)
    assert typing.get_args(hints["hook_event_name"]) == (event,)
    assert hints.keys() >= typing.get_type_hints(BaseHookInput).keys() - {"agent_id", "agent_type"}
    assert kind in typing.get_args(HookInput)


def test_unknown_event_has_a_type() -> None:
    """The type for events that are not known here wants a name and nothing more than every event has."""
    assert typing.get_type_hints(UnknownHookInput).keys() - typing.get_type_hints(BaseHookInput).keys() == {
        "hook_event_name"
    }


def test_complaints_are_made() -> None:
    """Unknown fields, however deep, missing ones and wrong types are seen for what they are."""
    sent = load(GOLDEN / "2.1.332" / "hooks" / "PostToolBatch.json")
    sent["tool_calls"][0]["novel"] = 1
    sent["effort"] = {"level": "high", "more": 1}
    sent["new"] = None
    told = ["PostToolBatch: effort.more is in no type", "PostToolBatch: new is in no type"]
    assert sorted(complaints(sent)) == [*told, "PostToolBatch: tool_calls.novel is in no type"]
    assert complaints({key: value for key, value in sent.items() if key != "cwd"})[-1].endswith("field `cwd`")
    assert "Expected `str`" in complaints({**sent, "session_id": 5})[-1]
