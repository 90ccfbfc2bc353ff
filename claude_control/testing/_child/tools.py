"""Tool uses: the hooks and the permission that a program asks for before a tool runs, and the result behind it."""

from __future__ import annotations

import os
import re

from .frames import fresh_id
from .loop import Wait
from .turns import TurnInterrupted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from . import Frame, Play
    from .playing import ScriptRun

_INVALID = "The canUseTool callback returned an invalid permission result. Expected {behavior"
_INVALID_OLD = "Tool permission request failed: ["
_NO_PROMPT = "This tool needs permission, and there is no permission prompt tool."


class Denied(Exception):
    """The tool does not run; the text is the tool's error."""


def await_answers(run: ScriptRun, asked: list[str], timeout: float | None) -> Play:
    """Wait until all are answered; what is not within `timeout` seconds is cancelled."""
    program = run.program
    yield Wait(lambda: all(request_id in program.answers for request_id in asked), timeout)
    for request_id in asked:
        if request_id not in program.answers:
            program.cancel(request_id)


def permission_request(run: ScriptRun, tool: str, tool_input: Frame, tool_use_id: str) -> Frame:
    """The `can_use_tool` request for a tool use."""
    request: Frame = {"subtype": "can_use_tool", "tool_name": tool, "input": tool_input, "tool_use_id": tool_use_id}
    if run.program.frames.modern:
        request |= {"display_name": tool, "requires_user_interaction": False, "permission_suggestions": []}
    return request


def call_hooks(run: ScriptRun, event: str, given: Frame, callback_id: str | None = None) -> list[str]:
    """Send a request to each callback that is registered for an event; returns their ids."""
    program = run.program
    common = {
        "session_id": program.frames.session_id,
        "transcript_path": os.path.join(os.getcwd(), f"{program.frames.session_id}.jsonl"),
        "cwd": os.getcwd(),
        "permission_mode": program.frames.mode,
        "hook_event_name": event,
    }
    tool_use_id = given.get("tool_use_id") or fresh_id()
    callbacks = [callback_id] if callback_id else list(_registered(run, event, given.get("tool_name")))
    requests = [
        {"subtype": "hook_callback", "callback_id": name, "input": {**common, **given}, "tool_use_id": tool_use_id}
        for name in callbacks
    ]
    return [program.ask(request) for request in requests]


def _registered(run: ScriptRun, event: str, tool: str | None) -> list[str]:
    """The callbacks for an event whose matcher takes this tool, in the order of their registration."""
    found: list[str] = []
    for matcher in run.program.replies.hooks.get(event, []):
        pattern = matcher.get("matcher")
        if tool is None or pattern in (None, "", "*") or _matches(pattern, tool):
            found += matcher["hookCallbackIds"]
    return found


def _matches(pattern: object, tool: str) -> bool:
    try:
        return isinstance(pattern, str) and re.fullmatch(pattern, tool) is not None
    except re.error:
        return False  # such a matcher takes no tool


def use_tool(run: ScriptRun, step: Frame) -> Play:
    """Play a tool use from the assistant's message to the tool's result."""
    program, turn = run.program, run.turn
    block = {
        "type": "tool_use",
        "id": step["tool_use_id"] or f"toolu_{fresh_id()[:8]}",
        "name": step["tool"],
        "input": run.fill(step["input"]),
    }
    program.say(program.frames.assistant([block], turn.names() if turn else []))
    if turn:
        turn.tool = block
    used: Frame = dict(block)
    try:
        yield from _decide(run, step, used)
        text, failed = str(step["output"]), False
    except Denied as denied:
        text, failed = str(denied), True
        if turn:
            turn.denials.append({"tool_name": used["name"], "tool_use_id": used["id"], "tool_input": used["input"]})
    if turn:
        turn.tool = None
    outcome = "denied" if failed else "ran"
    program.journal.note("tool", name=used["name"], input=used["input"], outcome=outcome, text=text)
    result = {"type": "tool_result", "tool_use_id": used["id"], "content": text, "is_error": failed}
    program.say(program.frames.user([result]))
    if not failed:
        after = {"tool_name": used["name"], "tool_input": used["input"], "tool_use_id": used["id"]}
        asked = call_hooks(run, "PostToolUse", {**after, "tool_response": {"stdout": text}})
        yield from await_answers(run, asked, None)


def _decide(run: ScriptRun, step: Frame, used: Frame) -> Play:
    """Ask the hooks, then for permission; changes `used["input"]`, raises Denied."""
    about = {"tool_name": used["name"], "tool_input": used["input"], "tool_use_id": used["id"]}
    asked = call_hooks(run, "PreToolUse", about)
    yield from await_answers(run, asked, step["hook_timeout"])
    decision = _hooks_decision(run, asked, used)
    bypassed = run.program.frames.mode == "bypassPermissions"
    if decision == "allow" or (decision is None and (bypassed or not step["asks"])):
        return
    if run.program.launch.value("--permission-prompt-tool") != "stdio":
        raise Denied(_NO_PROMPT)
    request = permission_request(run, used["name"], used["input"], used["id"])
    request_id = run.program.ask(request)
    run.asked.append(request_id)
    yield run.program.answer_to(request_id)
    _permitted(run, run.program.answers[request_id], used)


def _hooks_decision(run: ScriptRun, asked: list[str], used: Frame) -> str | None:
    """What the hooks decided together: deny before ask before allow; raises Denied.

    An error is no decision, on all programs. A hook that was cancelled because it took too long blocks the tool on
    2.1.332 and does not on older ones.
    """
    decisions: list[object] = []
    for request_id in asked:
        answer = run.program.answers[request_id]
        if answer["subtype"] == "cancelled" and run.program.frames.modern:
            raise Denied("PreToolUse hook did not respond before its timeout")
        output = answer.get("response") if answer["subtype"] == "success" else None
        output = output if isinstance(output, dict) else {}
        if output.get("decision") == "block":
            raise Denied(_hook_error(run, used, output.get("reason")))
        specific = output.get("hookSpecificOutput")
        specific = specific if isinstance(specific, dict) else {}
        if specific.get("permissionDecision") == "deny":
            raise Denied(_hook_error(run, used, specific.get("permissionDecisionReason")))
        decisions.append(specific.get("permissionDecision"))
        if isinstance(specific.get("updatedInput"), dict):
            used["input"] = specific["updatedInput"]
    return next((decision for decision in ("ask", "allow") if decision in decisions), None)


def _hook_error(run: ScriptRun, used: Frame, reason: object) -> str:
    return f"PreToolUse:{used['name']} hook error: {reason}" if run.program.frames.modern else str(reason)


def _permitted(run: ScriptRun, answer: Frame, used: Frame) -> None:
    """Act on the answer to a permission request: change the input, raise Denied, or end the turn."""
    modern = run.program.frames.modern
    invalid = Denied(_INVALID if modern else _INVALID_OLD)
    if answer["subtype"] == "cancelled":
        raise Denied("Tool permission request failed: AbortError")
    if answer["subtype"] == "error":
        raise Denied(f"Tool permission request failed: Error: {answer.get('error')}")
    decision = answer.get("response")
    if not isinstance(decision, dict) or decision.get("behavior") not in ("allow", "deny"):
        raise invalid
    if decision["behavior"] == "deny":
        if decision.get("interrupt"):
            raise TurnInterrupted
        raise Denied(decision["message"]) if isinstance(decision.get("message"), str) else invalid
    changed = decision.get("updatedInput", {} if modern else None)
    if not isinstance(changed, dict):
        raise invalid
    used["input"] = changed or used["input"]
