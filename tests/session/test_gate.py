"""What is kept from a running program, and what is known of it."""

from typing import Any

import pytest

from claude_control.errors import NotSupportedError, OptionsError, SpawnError
from claude_control.session.gate import Gate
from claude_control.testing.scripted_cli import ScriptedCLIFactory
from claude_control.testing.steps import call_hook, default, on_request
from claude_control.wire import requests
from claude_control.wire.hooks import HookMatcher
from claude_control.wire.support import CURRENT, Program
from tests.session.conftest import OpenScripted

DRY_RUN = requests.RewindFiles("u", dry_run=True)


class Finder:
    """Finds these versions, one a time; None is one that is not told, an error a program that does not start."""

    def __init__(self, *found: str | Exception | None) -> None:
        self._found = list(found)
        self.asked = 0

    def __call__(self) -> str | None:
        self.asked += 1
        found = self._found.pop(0)
        if isinstance(found, Exception):
            raise found
        return found


def old(finder: Finder) -> Gate:
    """Return the gate of a program that has shaken hands and not said its version."""
    gate = Gate(allow_bypass=False, find_version=finder)
    gate.open(Program(None, modern=False))
    return gate


@pytest.mark.parametrize("found", [None, SpawnError("it is gone")], ids=repr)
def test_version_that_cannot_be_found_is_learnt_later(found: Any) -> None:
    """A program whose `--version` tells nothing counts as the oldest until it says more itself; it is asked once."""
    finder = Finder(found)
    gate = old(finder)
    for _ in range(3):
        with pytest.raises(NotSupportedError) as caught:
            gate.check(DRY_RUN)
        assert caught.value.program_version is None
    assert (finder.asked, gate.program.version) == (1, None)
    gate.note_version("2.1.7")
    gate.check(DRY_RUN)
    assert gate.program.version == "2.1.7"


def test_version_is_asked_for_once() -> None:
    """What `--version` prints is kept."""
    finder = Finder("2.1.7")
    gate = old(finder)
    for _ in range(3):
        gate.check(DRY_RUN)
    assert (finder.asked, gate.program.version) == (1, "2.1.7")


EARLY: list[tuple[Any, type[Exception]]] = [
    (requests.SetPermissionMode("bypassPermissions"), OptionsError),
    (requests.Initialize(), NotSupportedError),
    (requests.Initialize({"hooks": {}}), OptionsError),
    (DRY_RUN, NotSupportedError),
    (requests.GetPlan(), NotSupportedError),
]


@pytest.mark.parametrize("program", ["2.0.75", CURRENT])
def test_handshake_opens_the_gate(scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted, program: str) -> None:
    """A callback during the handshake can send what every program knows; nothing else, for it could be any of them."""
    raised: list[Any] = []

    def hook(_input: object, _id: object, context: Any) -> None:
        for request, _ in EARLY:
            try:
                raised.append(context.session.request(request, timeout=1))
            except Exception as error:
                raised.append(type(error))
        raised.append(context.session.set_permission_mode("plan", timeout=5).mode)

    call = call_hook("InstructionsLoaded", {"hook_event_name": "InstructionsLoaded"})
    cli = scripted_cli(program=program, reactions=[on_request("initialize", call, default(), times=1)])
    open_scripted(cli, hooks={"InstructionsLoaded": [HookMatcher(hooks=[hook])]}, initialize_timeout=20)
    assert raised == [kind for _, kind in EARLY] + ["plan"]
    asked = [frame["request"]["subtype"] for frame in cli.received() if frame["type"] == "control_request"]
    assert asked == ["initialize", "set_permission_mode"]
