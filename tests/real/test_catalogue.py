"""Every request of the catalogue, sent to the real programs: 2.1.332 answers as its records say, older ones are spared.

What requests bring about is tested with the methods that send them; here their answers are held against the records,
so that a new program whose answers have changed is noticed.
"""

import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from claude_control import (
    Allow,
    ControlRequestError,
    HookContext,
    HookMatcher,
    NotSupportedError,
    PermissionContext,
    Session,
)
from claude_control.testing.model_prompt import script
from claude_control.testing.model_script import Text, ToolCall
from claude_control.wire import requests
from claude_control.wire.requests import RECORDS, Request
from claude_control.wire.support import CURRENT
from tests.real.conftest import Opener, Program
from tests.waiting import wait_until
from tests.wire.requests.replies import unread

pytestmark = pytest.mark.real

LAB = {"command": sys.executable, "args": [str(Path(__file__).with_name("lab_server.py"))]}
# What is sent by other tests, for it steers turns or ends the program.
ELSEWHERE = {"interrupt", "set_permission_mode", "set_model", "set_max_thinking_tokens", "end_session", "initialize"}


def sent_to(workspace: Path, uuid: str) -> Iterator[Request[Any]]:
    """Yield a request of every kind that can be sent to an idle session, in an order that makes sense."""
    yield requests.MCPStatus()
    yield requests.GetContextUsage("summary")
    yield requests.GetContextUsage()
    yield requests.GetSessionCost()
    yield requests.GetUsage(skip_behaviors=True)
    yield requests.ListModels()
    yield requests.GetBinaryVersion()
    yield requests.GetStatus()
    yield requests.SetHasSubscribers(None)
    yield requests.MCPCall("mcp__lab__echo", {"text": "hi"})
    yield requests.MCPCall("mcp__lab__count")
    yield requests.MCPCall("mcp__lab__fail", soft_error_result=True)
    yield requests.MCPReadResource("lab", "ui://lab/page")
    yield requests.MCPToggle("lab", False)
    yield requests.MCPToggle("lab", True)
    yield requests.MCPReconnect("lab")
    yield requests.MCPSetServers({"two": LAB, "bad": {"command": "/nonexistent"}})
    yield requests.MCPSetServers({})
    yield requests.FileSuggestions("")
    yield requests.ReadFile("a.txt")
    yield requests.ReadFile("a.txt", max_bytes=2, encoding="base64")
    yield requests.SeedReadState(str(workspace / "a.txt"), 1)
    yield requests.GetWorkspaceDiff()
    yield requests.RewindFiles(uuid, dry_run=True)
    yield requests.RewindFiles(uuid)
    yield requests.RegisterRepoRoot(str(workspace / "sub"))
    yield requests.SetCwd(str(workspace))
    yield requests.SetCwd("/nonexistent")
    yield requests.ReloadPlugins(refuse_if_busy=True, hold_on_cache_impact=True)
    yield requests.ReloadSkills()
    yield requests.ReloadOutputStyles()
    yield requests.ApplyFlagSettings({"permissions": {"deny": ["Bash(rm:*)"]}})
    yield requests.GetSettings()
    yield requests.ListPermissionRules()
    yield requests.UpdateSettings("localSettings", {"outputStyle": "default"})
    yield requests.GetHooksListing()
    yield requests.RenameSession("the title", "host")
    yield requests.GenerateSessionTitle("repair the test", persist=True)
    yield requests.SideQuestion("what?", [{"question": "a", "response": "b"}])
    yield requests.GetPlan()
    yield requests.ExportConversation()
    yield requests.ForkConversation()
    yield requests.CancelAsyncMessage(uuid)
    yield requests.BackgroundTasks()
    yield requests.BackgroundTasks("toolu_unknown")
    yield requests.StopTask("unknown")
    yield requests.GetTaskOutput("unknown")


def open_lab(open_session: Opener, workspace: Path) -> tuple[Session, str]:
    """Open a session that has an MCP server and a turn behind it which made a file; returns its prompt's uuid too."""
    (workspace / "sub").mkdir()
    session = open_session(
        can_use_tool=lambda *_: Allow(),
        enable_file_checkpointing=True,
        mcp_servers={"lab": LAB},
        strict_mcp_config=True,
    )
    write = ToolCall("Write", file_path=str(workspace / "made.txt"), content="new\n")
    turn = session.ask(script(write, Text("written")))
    turn.result()
    return session, turn.uuid


@pytest.mark.parametrize("program", [CURRENT], indirect=True)
def test_answers_are_as_recorded(open_session: Opener, workspace: Path) -> None:
    """The current program answers every request with what its reply record has fields for, and nothing besides."""
    session, uuid = open_lab(open_session, workspace)
    asked, left = set(ELSEWHERE), []
    for request in sent_to(workspace, uuid):
        try:
            reply = session.request(request)
        except ControlRequestError as error:
            assert request.subtype == "get_task_output", error
        else:
            left += [f"{request.subtype}: {said}" for said in unread(reply)]
        asked.add(request.subtype)
    assert left == []
    assert asked == set(RECORDS)
    assert session.request(requests.EndSession("done")).raw == {}
    wait_until(lambda: session.state == "failed", timeout=10)  # it ended by itself


def test_old_programs_are_spared(open_session: Opener, program: Program, workspace: Path) -> None:
    """What a program would never answer is refused here with the version that would, and the session goes on."""
    session = open_session()
    for request in sent_to(workspace, "u"):
        if session.capabilities.supports(request):
            continue
        assert program.version != CURRENT
        with pytest.raises(NotSupportedError) as caught:
            session.request(request)
        assert caught.value.needs in ("2.1.7", CURRENT)
    assert session.capabilities.supports("get_plan") == (program.version == CURRENT)
    assert session.get_mcp_status().servers == ()


def test_reinitialize_leaves_what_is_open(open_session: Opener, program: Program, workspace: Path) -> None:
    """While a hook and then a permission request wait here, initialize is sent anew: neither is asked or lost twice."""
    asked: list[str] = []
    again, go = threading.Event(), threading.Event()

    def hook(_input: dict[str, Any], _id: str | None, _context: HookContext) -> dict[str, Any]:
        asked.append("hook")
        assert again.wait(20)
        return {}

    def permit(_tool: str, _input: dict[str, Any], _context: PermissionContext) -> Allow:
        asked.append("permission")
        assert go.wait(20)
        return Allow()

    session = open_session(can_use_tool=permit, hooks={"PreToolUse": [HookMatcher(matcher="Bash", hooks=[hook])]})
    if program.version != CURRENT:
        with pytest.raises(NotSupportedError, match=r"reinitialize\(\)"):
            session.reinitialize()
        return
    turn = session.ask(script(ToolCall("Bash", command="touch made", description="make a file"), Text("done")))
    wait_until(lambda: asked == ["hook"], timeout=20)
    assert session.reinitialize().version == CURRENT
    again.set()
    wait_until(lambda: asked == ["hook", "permission"], timeout=20)
    for _ in range(2):
        session.reinitialize()
    go.set()
    turn.result()
    assert (workspace / "made").exists()
    assert asked == ["hook", "permission"]
