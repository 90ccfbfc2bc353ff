"""The handshake."""

from typing import Any

import pytest

from claude_control.wire.requests import Initialize
from claude_control.wire.support import Program
from tests.wire.requests.replies import exchange


def test_current_program_tells_of_itself() -> None:
    """The answer of 2.1.332 has its version, pid, capabilities, mode and state."""
    reply = Initialize().reply(exchange("2.1.332/initialize").reply.response)
    assert reply.version == "2.1.332"
    assert reply.pid is not None and reply.pid > 0
    assert "ui_surface_v1" in reply.capabilities
    assert (reply.permission_mode, reply.session_state) == ("default", "idle")
    assert reply.program == Program("2.1.332", True)


@pytest.mark.parametrize("version", ["2.0.75", "2.1.7"])
def test_old_programs_tell_less(version: str) -> None:
    """The answer of the old programs has commands, models, styles and account, and counts as old."""
    reply = Initialize().reply(exchange(f"{version}/initialize").reply.response)
    assert (reply.version, reply.pid, reply.capabilities) == (None, None, ())
    assert reply.commands and reply.models and reply.available_output_styles and reply.account
    assert reply.output_style == "default"
    assert reply.program == Program(None, False)


def test_fields_are_the_wires_own() -> None:
    """What is given is sent as it is, beside the subtype."""
    body = Initialize({"hooks": {}, "systemPrompt": ["x"]}).body()
    assert body == {"subtype": "initialize", "hooks": {}, "systemPrompt": ["x"]}


@pytest.mark.parametrize(
    ("payload", "program"),
    [
        ({"capabilities": []}, Program(None, True)),
        ({"claude_code_version": "2.2.0"}, Program("2.2.0", True)),
        ({"claude_code_version": 5, "pid": "7"}, Program(None, False)),
        ({}, Program(None, False)),
    ],
    ids=repr,
)
def test_program_is_told_by_what_it_sends(payload: dict[str, Any], program: Program) -> None:
    """Capabilities, even none, or a version make a program count as current."""
    assert Initialize().reply(payload).program == program


def test_odd_parts_are_left_out() -> None:
    """Commands, agents and models that are no objects are left out, as are capabilities that are no texts."""
    reply = Initialize().reply({"commands": ["x", {"name": "y"}], "account": None, "capabilities": [1, "a"]})
    assert (reply.commands, reply.account, reply.capabilities) == (({"name": "y"},), {}, ("a",))
