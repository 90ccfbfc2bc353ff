"""The control methods on the scripted CLI: what they send, what they return, and whom they are kept from."""

import threading
from collections.abc import Callable
from typing import Any

import pytest

from claude_control import Allow, Deny, HookMatcher, NotSupportedError, OptionsError, Session
from claude_control.testing.scripted_cli import ScriptedCLI, ScriptedCLIFactory
from claude_control.testing.steps import answer, ask_permission, call_hook, on_request, reply, wait_gate
from claude_control.wire import requests
from tests.session.conftest import OpenScripted
from tests.waiting import wait_until

OLD = pytest.mark.parametrize("program", ["2.0.75", "2.1.7"])
LAB = {"lab": {"command": "lab", "args": []}}
Call = Callable[[Session], Any]

# Each method, what it sends, and what it returns; those that the oldest program knows are in test_session.py.
CALLS: list[tuple[str, Call, dict[str, Any], type]] = [
    ("mcp_set_servers", lambda s: s.set_mcp_servers(LAB), {"servers": LAB}, requests.MCPSetServersReply),
    ("list_models", lambda s: s.list_models(), {}, requests.ListModelsReply),
    (
        "apply_flag_settings",
        lambda s: s.apply_flag_settings({"model": None}),
        {"settings": {"model": None}},
        requests.EmptyReply,
    ),
    ("get_settings", lambda s: s.get_settings(), {}, requests.GetSettingsReply),
    (
        "update_settings",
        lambda s: s.update_settings("localSettings", {"outputStyle": "default"}),
        {"source": "localSettings", "settings": {"outputStyle": "default"}},
        requests.EmptyReply,
    ),
    ("list_permission_rules", lambda s: s.list_permission_rules(), {}, requests.ListPermissionRulesReply),
    (
        "cancel_async_message",
        lambda s: s.cancel_async_message("u"),
        {"message_uuid": "u"},
        requests.CancelAsyncMessageReply,
    ),
    ("rename_session", lambda s: s.rename_session("t"), {"title": "t", "source": "host"}, requests.EmptyReply),
    ("get_context_usage", lambda s: s.get_context_usage(), {}, requests.GetContextUsageReply),
    (
        "get_context_usage",
        lambda s: s.get_context_usage(detail="summary"),
        {"detail": "summary"},
        requests.GetContextUsageReply,
    ),
    ("get_session_cost", lambda s: s.get_session_cost(), {}, requests.GetSessionCostReply),
    ("get_usage", lambda s: s.get_usage(skip_behaviors=True), {"skip_behaviors": True}, requests.GetUsageReply),
    ("stop_task", lambda s: s.stop_task("t"), {"task_id": "t"}, requests.EmptyReply),
    ("background_tasks", lambda s: s.background_tasks(), {}, requests.BackgroundTasksReply),
    ("background_tasks", lambda s: s.background_tasks("u"), {"tool_use_id": "u"}, requests.BackgroundTasksReply),
    ("mcp_reconnect", lambda s: s.reconnect_mcp_server("lab"), {"serverName": "lab"}, requests.EmptyReply),
    (
        "mcp_toggle",
        lambda s: s.toggle_mcp_server("lab", False),
        {"serverName": "lab", "enabled": False},
        requests.EmptyReply,
    ),
    (
        "reload_plugins",
        lambda s: s.reload_plugins(refuse_if_busy=True),
        {"refuse_if_busy": True},
        requests.ReloadPluginsReply,
    ),
    ("reload_skills", lambda s: s.reload_skills(), {}, requests.ReloadSkillsReply),
    ("initialize", lambda s: s.reinitialize(), {}, requests.InitializeReply),
]
ANSWERED_BY_SCRIPT: list[tuple[str, Call, dict[str, Any], dict[str, Any], Any]] = [
    (
        "mcp_call",
        lambda s: s.call_mcp_tool("mcp__lab__echo", {"a": 1}, soft_error_result=True).content,
        {"tool": "mcp__lab__echo", "arguments": {"a": 1}, "soft_error_result": True},
        {"content": [{"type": "text", "text": "hi"}]},
        [{"type": "text", "text": "hi"}],
    ),
    (
        "mcp_call",
        lambda s: s.call_mcp_tool("mcp__lab__echo", check_permissions=True).is_error,
        {"tool": "mcp__lab__echo", "arguments": {}, "check_permissions": True},
        {"content": "no", "isError": True},
        True,
    ),
    (
        "get_task_output",
        lambda s: s.get_task_output("t").output,
        {"task_id": "t"},
        {"output": "line\n", "total_bytes": 5, "truncated": False},
        "line\n",
    ),
]


def sent(cli: ScriptedCLI, subtype: str) -> dict[str, Any]:
    """Return the last request of a subtype that the program got."""
    bodies = [frame["request"] for frame in cli.received() if frame["type"] == "control_request"]
    body: dict[str, Any] = [body for body in bodies if body["subtype"] == subtype][-1]
    return body


def test_methods_send_their_request(scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted) -> None:
    """Each control method sends its request as it is on the wire, and returns the record of its answer."""
    cli = scripted_cli()
    session = open_scripted(cli)
    for subtype, call, fields, kind in CALLS:
        assert type(call(session)) is kind
        assert sent(cli, subtype) == {"subtype": subtype, **fields}


def test_methods_read_their_answer(scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted) -> None:
    """What a tool returned and a task wrote is in the reply."""
    for subtype, call, fields, payload, read in ANSWERED_BY_SCRIPT:
        cli = scripted_cli(reactions=[on_request(subtype, answer(payload))])
        assert call(open_scripted(cli)) == read
        assert sent(cli, subtype) == {"subtype": subtype, **fields}


@OLD
def test_old_programs_are_not_asked(
    scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted, program: str
) -> None:
    """What an old program would never answer is refused at once, with the version that knows it; nothing is sent."""
    cli = scripted_cli(program=program)
    session = open_scripted(cli)
    before = len(cli.received())
    for subtype, call, _, _ in CALLS:
        if subtype == "mcp_set_servers":
            continue
        with pytest.raises(NotSupportedError) as caught:
            call(session)
        assert caught.value.needs == "2.1.332"
        assert caught.value.what == {"initialize": "reinitialize()"}.get(subtype, subtype)
    assert session.set_mcp_servers({"lab": {"command": "lab"}}).added == ("lab",)
    assert len(cli.received()) == before + 1


def test_capabilities_say_what_is_supported(scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted) -> None:
    """Capabilities have the program's own words, more after the first turn, and know what was measured."""
    session = open_scripted(scripted_cli())
    capabilities = session.capabilities
    assert capabilities.turn_ids
    assert "reload_plugins_refuse_if_busy_v1" in capabilities
    assert "interrupt_receipt_v1" not in capabilities
    assert capabilities.supports("get_plan") and capabilities.supports(requests.RewindFiles("u", dry_run=True))
    session.ask("x").result()
    assert "interrupt_receipt_v1" in session.capabilities
    old = open_scripted(scripted_cli(program="2.1.7")).capabilities
    assert (old.names, old.turn_ids) == ((), False)
    assert old.supports("interrupt") and not old.supports("get_plan")
    assert not old.supports(requests.Interrupt(cancel_queued=True))


def test_server_info_is_known_without_asking(scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted) -> None:
    """`get_server_info()` is what the handshake told."""
    session = open_scripted(scripted_cli())
    assert session.get_server_info() is session.server_info


def test_fields_of_initialize_cannot_be_sent_again(
    scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted
) -> None:
    """Hooks of other ids would take the place of the session's own, so only a bare initialize is sent again."""
    session = open_scripted(scripted_cli())
    with pytest.raises(OptionsError, match="open"):
        session.request(requests.Initialize({"hooks": {}}))


class Gatekeeper:
    """A permission callback that waits to be told."""

    def __init__(self, release_at_once: bool = False) -> None:
        self.asked: list[str] = []
        self.go = threading.Event()
        if release_at_once:
            self.go.set()

    def __call__(self, _tool: str, tool_input: dict[str, Any], _context: Any) -> Allow:
        self.asked.append(tool_input["command"])
        assert self.go.wait(10)
        return Allow()


def test_reinitialize_does_not_ask_twice(scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted) -> None:
    """A permission request that is open here goes to the callback once, however often the program lists it."""
    cli = scripted_cli(prompts=[[ask_permission("Bash", {"command": "ls"}), reply("done")]])
    keeper = Gatekeeper()
    session = open_scripted(cli, can_use_tool=keeper)
    turn = session.ask("x")
    wait_until(lambda: keeper.asked == ["ls"])
    for _ in range(3):
        listed = session.submit(requests.Initialize())
        listed.result()
    keeper.go.set()
    turn.result()
    answers = [frame for frame in cli.received() if frame["type"] == "control_response"]
    assert (keeper.asked, len(answers)) == (["ls"], 1)


def listing(request_id: str, command: str) -> dict[str, Any]:
    """A permission request as an answer to initialize lists it."""
    body = {"subtype": "can_use_tool", "tool_name": "Bash", "input": {"command": command}, "tool_use_id": "toolu_1"}
    return {"type": "control_request", "request_id": request_id, "request": body}


def test_reinitialize_delivers_what_got_lost(scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted) -> None:
    """A listed request that never came here goes to the callback, once, also when it is listed again just after."""
    pending = [listing("lost-1", "one"), listing("lost-2", "two"), {"request_id": 5}, None]
    answered = answer({"capabilities": []}, pending_permission_requests=pending)
    cli = scripted_cli(reactions=[on_request("initialize", answered)])
    keeper = Gatekeeper(release_at_once=True)
    session = open_scripted(cli, can_use_tool=keeper)
    session.reinitialize()
    wait_until(lambda: len([f for f in cli.received() if f["type"] == "control_response"]) == 2)
    session.reinitialize()
    assert session.get_settings() is not None  # what came before is dealt with
    assert sorted(keeper.asked) == ["one", "two"]
    assert len([f for f in cli.received() if f["type"] == "control_response"]) == 2


def test_reinitialize_keeps_hooks(scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted) -> None:
    """Hooks stay registered, for nothing of them is sent again."""
    called: list[str] = []

    def hook(hook_input: dict[str, Any], _id: str | None, _context: Any) -> dict[str, Any]:
        called.append(hook_input["tool_name"])
        return {}

    cli = scripted_cli(prompts=[[call_hook("PreToolUse", {"tool_name": "Bash"}), reply("done")]])
    session = open_scripted(cli, hooks={"PreToolUse": [HookMatcher(hooks=[hook])]}, can_use_tool=lambda *_: Deny("no"))
    session.reinitialize()
    assert sent(cli, "initialize") == {"subtype": "initialize"}
    session.ask("x").result()
    assert called == ["Bash"]


def test_side_question_tells_its_progress(scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted) -> None:
    """A side question is answered, and its progress comes with the messages, under the request's id."""
    session = open_scripted(scripted_cli())
    asked = session.submit(requests.SideQuestion("what?"))
    assert asked.result().response
    progress = next(session.messages())
    assert progress.raw["subtype"] == "control_request_progress"
    assert progress.raw["request_id"] == asked.request_id


def test_control_works_in_mid_turn(scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted) -> None:
    """Control methods are answered while a turn runs."""
    cli = scripted_cli(prompts=[[wait_gate("go"), reply("done")]])
    session = open_scripted(cli)
    turn = session.ask("x")
    wait_until(lambda: session.state == "running")
    assert session.get_context_usage(detail="summary").total_tokens == 2500
    assert turn.state == "running"
    cli.open_gate("go")
    turn.result()
