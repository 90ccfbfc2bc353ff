"""What the tests of hooks on the real programs share: a book of what was called, and prompts that have it called."""

import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from claude_control import HookContext, HookMatcher, Message, Session
from claude_control.testing.model_prompt import script
from claude_control.testing.model_script import Step, Text, ToolCall
from claude_control.wire.hook_inputs import HOOK_INPUTS

MAKE = ToolCall("Bash", command="touch made", description="make a file")
"""A command that every program asks about."""
FAIL = ToolCall("Bash", command="ls /nowhere", description="look")

Answers = Mapping[str, Any]
"""What the hooks of each event answer: an output, or a function that is called like a hook."""


class Book:
    """Hooks for events, which note what they were told and answer as they are told to."""

    def __init__(self, answers: Answers | None = None) -> None:
        self.answers = dict(answers or {})
        self.inputs: list[dict[str, Any]] = []
        self._lock = threading.Lock()  # guards inputs

    def hook(self, event_input: dict[str, Any], tool_use_id: str | None, context: HookContext) -> Any:
        """Note an input, and answer."""
        with self._lock:
            self.inputs.append(event_input)
        assert event_input["hook_event_name"] == context.event
        answer = self.answers.get(context.event)
        return answer(event_input, tool_use_id, context) if callable(answer) else answer

    def hooks(self, events: Iterable[str] = HOOK_INPUTS, **fields: Any) -> dict[str, list[HookMatcher]]:
        """Return the option that registers the hook for events."""
        return {event: [HookMatcher(hooks=[self.hook], **fields)] for event in events}

    @property
    def events(self) -> list[str]:
        """The events that happened, in order."""
        return [event_input["hook_event_name"] for event_input in self.inputs]

    def of(self, event: str) -> list[dict[str, Any]]:
        """Return the inputs of an event."""
        return [event_input for event_input in self.inputs if event_input["hook_event_name"] == event]


def delegate(*steps: Step) -> ToolCall:
    """A call that has a subagent answer with these steps, and waits for it."""
    told = {"description": "sub", "prompt": script(*steps), "subagent_type": "general-purpose"}
    return ToolCall("Task", **told, run_in_background=False)


def ask(session: Session, *steps: Step | str) -> list[Message]:
    """Have a turn, whose prompt is a script or, alone, a slash command, and return its messages."""
    (first, *_) = steps
    prompt = first if isinstance(first, str) else script(*(step for step in steps if not isinstance(step, str)))
    return list(session.ask(prompt))


def tool_results(messages: Iterable[Message]) -> list[str]:
    """Return what the model was told about each tool call of a turn."""
    contents = [message.raw["message"]["content"] for message in messages if message.raw.get("type") == "user"]
    blocks = [block for content in contents if isinstance(content, list) for block in content]
    return [str(block.get("content")) for block in blocks if block.get("type") == "tool_result"]


def furnish(workspace: Path) -> None:
    """Put into a working directory what some events need: a command, a skill with a shell command, instructions."""
    files = {
        "CLAUDE.md": "# Rules\n",
        ".claude/settings.json": "{}",
        ".claude/commands/greet.md": "Say hello to $ARGUMENTS\n",
        ".claude/skills/shout/SKILL.md": "---\nname: shout\ndescription: shouts\n---\nIt says: !`echo shouted`\n",
        "sub/x": "",
    }
    for name, text in files.items():
        (workspace / name).parent.mkdir(parents=True, exist_ok=True)
        (workspace / name).write_text(text)


def story(session: Session) -> None:
    """Have most events happen that every program has: a tool, a tool that fails, a subagent, a compaction."""
    ask(session, MAKE, Text("made"))
    ask(session, FAIL, delegate(Text("sub answer")), Text("told"))
    ask(session, "/compact")
