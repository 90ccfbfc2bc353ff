"""Control requests are answered as the program of each version answers them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from claude_control.testing.scripted_cli import ScriptedCLI
from claude_control.wire.requests import RECORDS
from tests.testing.pipes import Pipes, shapes
from tests.wire.requests.replies import Exchange, exchange, exchanges

Make = Callable[..., ScriptedCLI]

MODERN = "2.1.332"
OLD = ("2.1.7", "2.0.75")
SAMPLES = [exchange(f"2.1.332/{subtype}") for subtype in sorted(RECORDS) if subtype != "rewind_files"]


def test_initialize_is_answered_like_the_current_program(make: Make) -> None:
    """2.1.332 tells its version, pid, capabilities and state, and whether hooks were taken."""
    with Pipes(make()) as pipes:
        pipes.request("initialize", hooks={"Stop": [{"hookCallbackIds": ["h"]}]})
        response = pipes.response()
        answer = response["response"]
        assert answer["claude_code_version"] == MODERN
        assert answer["pid"] == pipes.process.pid
        assert answer["session_state"] == "idle"
        assert answer["hooks_applied"] is True
        assert {"commands", "models", "account", "capabilities", "current_permission_mode"} <= answer.keys()
        assert response["pending_permission_requests"] == []


@pytest.mark.parametrize("program", OLD)
def test_initialize_is_answered_like_an_old_program(make: Make, program: str) -> None:
    """Older programs answer with five keys, once; a second initialize is an error."""
    with Pipes(make(program=program)) as pipes:
        pipes.request("initialize")
        keys = {"commands", "output_style", "available_output_styles", "models", "account"}
        assert pipes.response()["response"].keys() == keys
        pipes.request("initialize", "r2")
        again = {"subtype": "error", "error": "Already initialized", "pending_permission_requests": []}
        assert pipes.response("r2") == {**again, "request_id": "r2"}


def test_initialize_answer_can_be_changed(make: Make) -> None:
    """Fields given take the place of the version's own."""
    with Pipes(make(initialize={"output_style": "Concise", "extra": 1})) as pipes:
        pipes.request("initialize")
        answer = pipes.response()["response"]
        assert (answer["output_style"], answer["extra"]) == ("Concise", 1)


@pytest.mark.parametrize("hooks", [{"Stop": [{}]}, {"Stop": 5}, 5])
def test_unreadable_hooks(make: Make, hooks: Any) -> None:
    """Hooks that cannot be read are an error on 2.1.332, and the end of 2.0.75."""
    with Pipes(make()) as pipes:
        pipes.request("initialize", hooks=hooks)
        assert "hooks must map" in pipes.response()["error"]
    with Pipes(make(program="2.0.75")) as pipes:
        pipes.request("initialize", hooks=hooks)
        assert pipes.rest() == []
        assert pipes.code() == 1


@pytest.mark.parametrize(
    ("program", "subtype", "fields", "expected"),
    [
        (MODERN, "interrupt", {}, {"response": {"still_queued": []}}),
        (MODERN, "interrupt", {"cancel_queued": True}, {"response": {"still_queued": [], "cancelled": []}}),
        ("2.1.7", "interrupt", {}, {}),
        (MODERN, "set_permission_mode", {"mode": "manual"}, {"response": {"mode": "default"}}),
        (MODERN, "set_permission_mode", {"mode": "bypassPermissions"}, {"error_code": "bypass_not_launched"}),
        (MODERN, "set_permission_mode", {}, {"error_code": "invalid_mode"}),
        ("2.1.7", "set_permission_mode", {"mode": "bogus"}, {"response": {"mode": "bogus"}}),
        (MODERN, "set_model", {"model": "sonnet"}, {"response": {"model": "claude-sonnet-5-5"}}),
        (MODERN, "set_model", {}, {"response": {"model": "claude-opus-5-5"}}),
        (MODERN, "set_model", {"model": ""}, {"error_code": "catalog_unknown"}),
        (MODERN, "set_model", {"model": 5}, {"error_code": "invalid_request"}),
        ("2.0.75", "set_model", {"model": "sonnet"}, {}),
        (MODERN, "set_max_thinking_tokens", {"max_thinking_tokens": None}, {}),
        (MODERN, "set_max_thinking_tokens", {"thinking_display": "x"}, {"subtype": "error"}),
        ("2.1.7", "set_max_thinking_tokens", {"max_thinking_tokens": "x"}, {}),
        (MODERN, "mcp_status", {}, {"response": {"mcpServers": []}}),
        ("2.1.7", "mcp_message", {}, {}),
        (
            MODERN,
            "mcp_set_servers",
            {"servers": {"a": {}}},
            {"response": {"added": ["a"], "removed": [], "errors": {}}},
        ),
        (MODERN, "mcp_set_servers", {}, {"subtype": "error"}),
        (MODERN, "cancel_async_message", {"message_uuid": "u"}, {"response": {"cancelled": False}}),
        (MODERN, "rewind_files", {"user_message_id": "u"}, {"error": "File rewinding is not enabled."}),
        ("2.0.75", "rewind_files", {"dry_run": True}, {"error": "File rewinding is not enabled for the SDK."}),
        ("2.1.7", "rewind_files", {"dry_run": True}, {"subtype": "success"}),
        (MODERN, "no_such", {}, {"error_code": "unsupported_request"}),
    ],
)
def test_request_is_answered(make: Make, program: str, subtype: str, fields: Any, expected: dict[str, Any]) -> None:
    """Each request gets the answer that the version was measured to give."""
    with Pipes(make(program=program)) as pipes:
        pipes.request(subtype, **fields)
        response = pipes.response()
        assert response | expected == response


@pytest.mark.parametrize("program", OLD)
def test_old_program_is_silent_on_what_it_does_not_know(make: Make, program: str) -> None:
    """An unknown subtype is never answered, and the session stays healthy."""
    with Pipes(make(program=program)) as pipes:
        pipes.request("get_usage", "r1")
        pipes.request("mcp_status", "r2")
        assert pipes.frame()["response"]["request_id"] == "r2"


@pytest.mark.parametrize("program", OLD)
def test_old_program_answers_permission_mode_twice(make: Make, program: str) -> None:
    """The second answer for the same id has no payload."""
    with Pipes(make(program=program)) as pipes:
        pipes.request("set_permission_mode", mode="plan")
        answers = [pipes.frame()["response"], pipes.frame()["response"]]
        assert answers[0] == {"subtype": "success", "request_id": "r1", "response": {"mode": "plan"}}
        assert answers[1] == {"subtype": "success", "request_id": "r1"}


def test_permission_mode_change_is_announced_by_the_current_program(make: Make) -> None:
    """One answer, and a status frame if the mode changed."""
    with Pipes(make(), "--permission-mode=acceptEdits") as pipes:
        pipes.request("set_permission_mode", mode="acceptEdits")
        pipes.request("set_permission_mode", "r2", mode="plan")
        frames = [pipes.frame() for _ in range(3)]
        assert shapes(frames) == ["control_response", "control_response", "system status"]
        assert frames[2]["permissionMode"] == "plan"


@pytest.mark.parametrize(
    "flags",
    [
        ["--dangerously-skip-permissions"],
        ["--allow-dangerously-skip-permissions"],
        ["--permission-mode", "bypassPermissions"],
    ],
)
def test_bypass_is_granted_when_launched_for_it(make: Make, flags: list[str]) -> None:
    """Each of the three launch flags allows bypassPermissions."""
    with Pipes(make(), *flags) as pipes:
        pipes.request("set_permission_mode", mode="bypassPermissions")
        assert pipes.response()["response"] == {"mode": "bypassPermissions"}


@pytest.mark.parametrize(
    ("program", "dry", "done"),
    [
        (
            MODERN,
            {"canRewind": True, "filesChanged": [], "insertions": 0, "deletions": 0},
            {"canRewind": True, "skippedLinks": 0},
        ),
        ("2.1.7", {"canRewind": True, "filesChanged": [], "insertions": 0, "deletions": 0}, {"canRewind": True}),
        ("2.0.75", None, None),
    ],
)
def test_rewinding(make: Make, program: str, dry: Any, done: Any) -> None:
    """With checkpoints on, a known prompt can be rewound to; a dry run is only dry where it was measured to be."""
    cli = make(program=program)
    with Pipes(cli, environment={"CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING": "true"}) as pipes:
        pipes.prompt("hi", "u1")
        pipes.until("result")
        pipes.request("rewind_files", "r1", user_message_id="u1", dry_run=True)
        assert pipes.response("r1").get("response") == dry
        assert len(cli.events("rewound")) == (program == "2.0.75")
        pipes.request("rewind_files", "r2", user_message_id="u1")
        assert pipes.response("r2").get("response") == done
        pipes.request("rewind_files", "r3", user_message_id="other")
        assert "No file checkpoint found" in pipes.response("r3")["error"]


def test_request_without_id_is_answered_without_id(make: Make) -> None:
    """The answer to a request that has no id has none."""
    with Pipes(make()) as pipes:
        pipes.send({"type": "control_request", "request": {"subtype": "mcp_status"}})
        assert "request_id" not in pipes.frame()["response"]


def test_model_change_is_echoed_with_the_replay_flag(make: Make) -> None:
    """2.1.332 shows a change of the model as the output of a local command, if echoes were asked for."""
    with Pipes(make(), "--replay-user-messages") as pipes:
        pipes.request("set_model", model="sonnet")
        echo = pipes.frame()
        assert echo["message"]["content"].startswith("<local-command-stdout>Set model to `sonnet (claude-sonnet-5-5)`")
        assert echo["isReplay"] is True


def test_missing_servers_end_an_old_program(make: Make) -> None:
    """`mcp_set_servers` without `servers` is the end of 2.0.75, without an answer."""
    with Pipes(make(program="2.0.75")) as pipes:
        pipes.request("mcp_set_servers")
        assert pipes.rest() == []
        assert pipes.code() == 1


@pytest.mark.parametrize("one", SAMPLES, ids=lambda one: one.request["subtype"])
def test_answers_are_shaped_like_the_real_ones(make: Make, one: Exchange, tmp_path: Path) -> None:
    """Every request of the catalogue is answered, with fields that the real program's answers have."""
    (tmp_path / "a.txt").write_text("one")
    subtype, fields = one.request["subtype"], {key: value for key, value in one.request.items() if key != "subtype"}
    with Pipes(make()) as pipes:
        pipes.request("mcp_set_servers", "r0", servers={"lab": {"command": "x", "args": []}})
        pipes.response("r0")
        pipes.request(subtype, **fields)
        response = pipes.response()
    if response["subtype"] == "error":
        assert subtype in ("get_task_output", "mcp_call", "mcp_read_resource", "read_file")
        assert response["error"]
    else:
        seen = [set(sample.reply.response) for sample in exchanges() if sample.request["subtype"] == subtype]
        assert set(response.get("response") or {}) <= set.union(*seen)


def test_settings_are_remembered(make: Make) -> None:
    """Flag settings are told by get_settings, by their latest values; null takes one away."""
    with Pipes(make()) as pipes:
        for number, settings in enumerate([{"a": 1, "b": 2}, {"a": None, "c": 3}]):
            pipes.request("apply_flag_settings", f"s{number}", settings=settings)
            pipes.response(f"s{number}")
        pipes.request("get_settings")
        assert pipes.response()["response"]["effective"] == {"b": 2, "c": 3}


def test_servers_can_be_switched_off(make: Make) -> None:
    """A server that was set is disabled and enabled again; one that was not is unknown."""
    with Pipes(make()) as pipes:
        pipes.request("mcp_set_servers", "r0", servers={"lab": {"command": "x", "args": []}})
        pipes.response("r0")
        seen = []
        for number, enabled in enumerate((False, True)):
            pipes.request("mcp_toggle", f"t{number}", serverName="lab", enabled=enabled)
            pipes.response(f"t{number}")
            pipes.request("mcp_status", f"q{number}")
            seen.append(pipes.response(f"q{number}")["response"]["mcpServers"][0]["status"])
        assert seen == ["disabled", "connected"]
        pipes.request("mcp_toggle", serverName="none", enabled=True)
        assert pipes.response()["error"] == "Server not found: none"
