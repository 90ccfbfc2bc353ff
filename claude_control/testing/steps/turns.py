"""Steps of a turn: what a program does to answer a prompt."""

from typing import Any

from claude_control.testing.steps.records import Frame, Step, turn


def reply(text: str | None = None, *, pause: float | None = None) -> Step:
    """Write an assistant's message; without a text it repeats the prompt: "answer to: …".

    With a pause it takes that many seconds for each word. Where the SDK asked for partial messages, they come first.
    """
    return Step("reply", {"text": text, "pause": pause})


def result(**fields: Any) -> Step:
    """Write the turn's result now, with these fields in place of a success's."""
    return Step("result", {"fields": fields})


def use_tool(
    tool: str,
    tool_input: Frame,
    *,
    output: str = "",
    asks: bool = True,
    tool_use_id: str | None = None,
    hook_timeout: float | None = None,
) -> Step:
    """Play a tool use: the message, the PreToolUse hooks, the permission request, the result, the PostToolUse hooks.

    Hooks and answers have the effect that they have on the real program; a tool that runs gives `output`, and the
    record has a `tool` event with its input and outcome. With `asks=False` it needs no permission. Hooks that are not
    answered within `hook_timeout` seconds are cancelled.
    """
    fields = {"tool": tool, "input": tool_input, "output": output, "asks": asks}
    return Step("use_tool", {**fields, "tool_use_id": tool_use_id, "hook_timeout": hook_timeout})


def wait_idle() -> Step:
    """Wait until no turn runs and no prompt is queued."""
    return Step("wait_idle")


def background_turn(*steps: Step) -> Step:
    """Have the program begin a turn of its own, as it does for a task that ended in the background; do not wait for it.

    2.1.332 begins it as soon as it is idle. 2.1.7 puts it behind the turn that runs or before that of the next prompt,
    and 2.0.75 ends there with an error result, as they were measured to do.
    """
    return Step("background_turn", {"turn": turn(*steps).to_json()})
