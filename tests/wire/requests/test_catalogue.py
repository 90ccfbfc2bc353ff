"""Everything that can be asked of the program has its record, its reply, its sample and its place."""

import importlib
import inspect
import subprocess
import sys
import typing
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from claude_control.errors import OptionsError, ProtocolError
from claude_control.session.control import Control
from claude_control.session.session import Session
from claude_control.wire import requests
from claude_control.wire.conformance import SUBTYPES
from claude_control.wire.record import WireRecord
from claude_control.wire.requests import MODULES, RECORDS, Request
from tests.sources import ROOT
from tests.wire.messages.samples import json_values
from tests.wire.requests.replies import exchanges

# The control requests that the type declarations of the official SDK 0.3.332 know.
UNION = frozenset(
    """
    interrupt can_use_tool initialize set_permission_mode set_model set_max_thinking_tokens rename_session set_color
    mcp_status get_context_usage get_session_cost list_models get_usage get_binary_version mcp_call file_suggestions
    hook_callback mcp_message rewind_files cancel_async_message read_file seed_read_state mcp_set_servers
    register_repo_root reload_plugins reload_skills reload_output_styles mcp_reconnect mcp_toggle set_has_subscribers
    stop_task background_tasks get_task_output apply_flag_settings get_settings get_hooks_listing update_settings
    elicitation request_user_dialog list_permission_rules mcp_read_resource
    """.split()
)
INBOUND = frozenset(("can_use_tool", "hook_callback", "elicitation", "request_user_dialog"))
REFUSED = frozenset(("set_color",))  # print mode does not know it (2.1.332)
ELSEWHERE = frozenset(("mcp_message",))  # tool servers send it
# What 2.1.332 answers although the declarations do not have it.
BEYOND = frozenset(
    """
    end_session generate_session_title side_question get_plan get_status export_conversation get_workspace_diff set_cwd
    fork_conversation
    """.split()
)

FIELD_NAMES = sorted({name for one in exchanges() if one.reply.error is None for name in one.reply.response})

# The method of a session for each request that has one.
METHODS = {
    "interrupt": "interrupt",
    "set_permission_mode": "set_permission_mode",
    "set_model": "set_model",
    "set_max_thinking_tokens": "set_max_thinking_tokens",
    "rewind_files": "rewind_files",
    "mcp_status": "get_mcp_status",
    "mcp_set_servers": "set_mcp_servers",
    "mcp_reconnect": "reconnect_mcp_server",
    "mcp_toggle": "toggle_mcp_server",
    "mcp_call": "call_mcp_tool",
    "stop_task": "stop_task",
    "background_tasks": "background_tasks",
    "get_task_output": "get_task_output",
    "get_context_usage": "get_context_usage",
    "get_session_cost": "get_session_cost",
    "get_usage": "get_usage",
    "list_models": "list_models",
    "initialize": "reinitialize",
    "apply_flag_settings": "apply_flag_settings",
    "get_settings": "get_settings",
    "update_settings": "update_settings",
    "list_permission_rules": "list_permission_rules",
    "rename_session": "rename_session",
    "reload_plugins": "reload_plugins",
    "reload_skills": "reload_skills",
    "cancel_async_message": "cancel_async_message",
}


def test_every_name_is_offered() -> None:
    """The package offers what its modules do, each name from the module that has it."""
    for module, names in MODULES.items():
        assert set(importlib.import_module(f"{requests.__name__}.{module}").__all__) == set(names)
    offered = {name for names in MODULES.values() for name in names}
    assert offered | {"EmptyReply", "Request"} == set(requests.__all__) <= set(dir(requests))
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = requests.no_such_name


def test_records_are_built_when_they_are_asked_for() -> None:
    """A session can be imported without the records that it may never send."""
    loaded = (
        "import sys, claude_control; claude_control.Session; print('claude_control.wire.requests.usage' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", loaded], capture_output=True, check=True, timeout=50, cwd=ROOT)
    assert done.stdout.strip() == b"False"


def test_every_outbound_request_has_a_record() -> None:
    """All that can be sent has a record, and a row in the table of what was measured."""
    outbound = UNION - INBOUND - REFUSED - ELSEWHERE
    assert set(RECORDS) == outbound | BEYOND
    assert set(SUBTYPES) == outbound | BEYOND | ELSEWHERE


@pytest.mark.parametrize("subtype", sorted(RECORDS))
def test_record_has_a_reply_and_a_sample(subtype: str) -> None:
    """Every record reads its answers into a frozen record that keeps them whole, and 2.1.332 answered one."""
    answered = [one for one in exchanges() if one.request["subtype"] == subtype and one.reply.error is None]
    assert "2.1.332" in {one.version for one in answered}
    kind = RECORDS[subtype]
    reply = Request.reply(object.__new__(kind), {"novel": 1})  # no field is looked at
    assert isinstance(reply, WireRecord)
    assert reply.raw == {"novel": 1}
    assert getattr(requests, kind.__name__) is kind
    assert getattr(requests, type(reply).__name__) is type(reply)
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        reply.raw = {}  # type: ignore[misc]


@pytest.mark.parametrize(("subtype", "method"), sorted(METHODS.items()))
def test_method_returns_the_reply_of_its_request(subtype: str, method: str) -> None:
    """A session's method is annotated with the record that its request's answer is read into."""
    annotated = typing.get_type_hints(getattr(Session, method))["return"]
    reply = Request.reply(object.__new__(RECORDS[subtype]), {})
    assert annotated is type(reply)
    assert "timeout" in inspect.signature(getattr(Session, method)).parameters


def test_no_method_is_missing_here() -> None:
    """Every control method is that of a request, or tells what is known already."""
    named = {name for name in vars(Control) if not name.startswith("_")}
    assert named - set(METHODS.values()) == {"server_info", "get_server_info"}


WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("Interrupt", {"cancel_queued": 1}, "cancel_queued"),
    ("RewindFiles", {"user_message_id": "u", "dry_run": "yes"}, "dry_run"),
    ("CancelAsyncMessage", {"message_uuid": ""}, "message_uuid"),
    ("RenameSession", {"title": " "}, "title"),
    ("RenameSession", {"title": "x", "source": "me"}, "source"),
    ("GenerateSessionTitle", {"description": None}, "description"),
    ("SideQuestion", {"question": ""}, "question"),
    ("SideQuestion", {"question": "x", "history": [{"question": "y"}]}, "history"),
    ("SideQuestion", {"question": "x", "history": "y"}, "history"),
    ("GetContextUsage", {"detail": "some"}, "detail"),
    ("GetUsage", {"skip_behaviors": None}, "skip_behaviors"),
    ("SetHasSubscribers", {"has_subscribers": "no"}, "has_subscribers"),
    ("FileSuggestions", {"query": None}, "query"),
    ("ReadFile", {"path": "a", "max_bytes": 0}, "max_bytes"),
    ("ReadFile", {"path": "a", "max_bytes": True}, "max_bytes"),
    ("ReadFile", {"path": "a", "encoding": "latin-1"}, "encoding"),
    ("SeedReadState", {"path": "a", "mtime": 0.5}, "mtime"),
    ("RegisterRepoRoot", {"directory": None}, "directory"),
    ("SetCwd", {"path": ""}, "path"),
    ("MCPToggle", {"server_name": "lab", "enabled": "off"}, "enabled"),
    ("MCPReconnect", {"server_name": 5}, "server_name"),
    ("MCPCall", {"tool": "t", "arguments": [1]}, "arguments"),
    ("MCPCall", {"tool": "t", "arguments": {1: 2}}, "arguments"),
    ("MCPCall", {"tool": "t", "timeout_ms": -1}, "timeout_ms"),
    ("MCPReadResource", {"server_name": "lab", "uri": "file:///a"}, "uri"),
    ("ApplyFlagSettings", {"settings": None}, "settings"),
    ("UpdateSettings", {"source": "projectSettings", "settings": {}}, "source"),
    ("ReloadPlugins", {"add_plugins": [{"path": "relative"}]}, "add_plugins"),
    ("ReloadPlugins", {"add_plugins": {"path": "/a"}}, "add_plugins"),
    ("StopTask", {"task_id": None}, "task_id"),
    ("BackgroundTasks", {"tool_use_id": ""}, "tool_use_id"),
    ("GetTaskOutput", {"task_id": 7}, "task_id"),
    ("EndSession", {"reason": ""}, "reason"),
]


@pytest.mark.parametrize(("name", "fields", "field"), WRONG, ids=repr)
def test_wrong_argument_is_refused(name: str, fields: dict[str, Any], field: str) -> None:
    """A wrong argument is refused when the request is made, with the field's name and what it needs."""
    with pytest.raises(OptionsError, match=f"{field} must be") as caught:
        getattr(requests, name)(**fields)
    assert caught.value.field == field


def test_secrets_are_not_shown_in_errors() -> None:
    """What is refused among settings, arguments and servers is not shown."""
    for make in (
        lambda: requests.ApplyFlagSettings(["hush"]),  # type: ignore[arg-type]
        lambda: requests.MCPCall("t", "hush"),  # type: ignore[arg-type]
        lambda: requests.MCPSetServers({"lab": {"type": "http", "headers": {"k": "hush"}}}),
        lambda: requests.MCPSetServers({"lab": "hush"}),  # type: ignore[dict-item]
    ):
        with pytest.raises(OptionsError) as caught:
            make()
        assert "hush" not in str(caught.value)


@given(json_values, st.sampled_from(sorted(RECORDS)))
def test_no_answer_is_misread(value: Any, subtype: str) -> None:
    """Whatever the program answers is read into the record, or is a protocol error."""
    kind = RECORDS[subtype]
    payload = value if isinstance(value, dict) else dict.fromkeys(FIELD_NAMES, value)
    try:
        reply = Request.reply(object.__new__(kind), payload)
    except ProtocolError:
        return
    assert reply.raw is payload
