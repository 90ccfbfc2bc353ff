"""Steps that ask the SDK: permissions, hooks, any control request, and taking them back."""

from typing import Any

from claude_control.testing.steps.records import Frame, Step


def ask(request: Frame, *, request_id: str | None = None, wait: bool = True, timeout: float | None = None) -> Step:
    """Send a control request, and wait for its answer; after `timeout` seconds it is cancelled."""
    return Step("ask", {"request": request, "request_id": request_id, "wait": wait, "timeout": timeout})


def ask_permission(
    tool: str = "Bash",
    tool_input: Frame | None = None,
    *,
    request_id: str | None = None,
    tool_use_id: str | None = None,
    wait: bool = True,
    timeout: float | None = None,
    **extra: Any,
) -> Step:
    """Send a `can_use_tool` request, and wait for its answer; further fields are added to the request."""
    fields = {"tool": tool, "input": {"command": "ls"} if tool_input is None else tool_input, "extra": extra}
    waiting = {"request_id": request_id, "wait": wait, "timeout": timeout}
    return Step("ask_permission", {**fields, "tool_use_id": tool_use_id, **waiting})


def call_hook(
    event: str,
    hook_input: Frame | None = None,
    *,
    callback_id: str | None = None,
    wait: bool = True,
    timeout: float | None = None,
) -> Step:
    """Call every callback that the SDK registered for an event, all at once, and wait for the answers.

    If the input has a `tool_name`, the matchers decide; a `callback_id` of your own is called instead of the
    registered ones. What is not answered within `timeout` seconds is cancelled. Without a callback the record has a
    `no_hook` event.
    """
    fields = {"event": event, "input": hook_input or {}, "callback_id": callback_id}
    return Step("call_hook", {**fields, "wait": wait, "timeout": timeout})


def wait_answers() -> Step:
    """Wait until every request that this script made is answered or cancelled."""
    return Step("wait_answers")


def cancel(request_id: str | None = None) -> Step:
    """Send a `control_cancel_request`, by default for the request made last."""
    return Step("cancel", {"request_id": request_id})
