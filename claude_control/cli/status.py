"""The status line: how long it has taken, which tool runs, what it has cost. On a terminal only."""

import threading
import time
from types import TracebackType
from typing import Any, Self

from claude_control.cli.plain import clip
from claude_control.cli.terminal import Terminal
from claude_control.wire.content import ToolResultBlock, ToolUseBlock
from claude_control.wire.messages import AssistantMessage, BackgroundTasksMessage, Message, ResultMessage, UserMessage

__all__ = ["Status", "price", "summary"]

_TICK = 0.5  # seconds between two drawings: the seconds shown are never late by more
_SHOWN_SOON = 0.3  # seconds: a person does not notice, and a thread that shows messages takes a hundredth
_SUMMARY = 60  # characters of a tool's input: more does not fit beside the rest
# The fields of the built-in tools that say most about a call, and of those of MCP servers that mimic them.
_TELLING = ("command", "file_path", "path", "pattern", "url", "query", "description", "prompt")


class Status:
    """Keeps the status line while a `with` block runs; `see` every message in it."""

    def __init__(self, terminal: Terminal) -> None:
        self.terminal = terminal
        self._began = time.monotonic()
        self._tools: dict[str, str] = {}
        self._used: set[str] = set()  # ids of all tool uses so far
        self._news = threading.Condition()  # guards the set, and tells of additions
        self._tasks = 0
        self.cost = 0.0
        """Dollars that the session has cost so far; the program says it at the end of each turn."""
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        self._began = time.monotonic()
        self._tools.clear()
        self._stopped.clear()
        if self.terminal.is_watched:
            self._thread = threading.Thread(target=self._draw, name="claude-status", daemon=True)
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopped.set()
        if self._thread is not None:
            self._thread.join(_TICK * 4)
        self.terminal.erase()
        self.terminal.end_line()

    @property
    def seconds(self) -> float:
        """Seconds since the block was entered."""
        return time.monotonic() - self._began

    @property
    def tasks(self) -> int:
        """How many background tasks run, as the program said last (2.1.332; older ones do not say)."""
        return self._tasks

    def see(self, message: Message) -> None:
        """Take over what a message tells."""
        if isinstance(message, AssistantMessage):
            for block in message.content:
                if isinstance(block, ToolUseBlock):
                    self._tools = {**self._tools, block.id: summary(block.name, block.input)}
                    self.terminal.end_line()
                    self._note_use(block.id)
        elif isinstance(message, UserMessage) and isinstance(message.content, list):
            ended = {block.tool_use_id for block in message.content if isinstance(block, ToolResultBlock)}
            self._tools = {key: value for key, value in self._tools.items() if key not in ended}
        elif isinstance(message, BackgroundTasksMessage):
            self._tasks = len(message.tasks)
        elif isinstance(message, ResultMessage):
            self.cost = message.total_cost_usd or self.cost

    def wait_for_use(self, tool_use_id: str | None) -> None:
        """Wait until the message that uses a tool has been shown, and with it everything that was said before it.

        A question about a tool and the messages before it are taken up by different threads; not for long, for a tool
        may be used without a message, by a subagent say.
        """
        with self._news:
            self._news.wait_for(lambda: tool_use_id in self._used, _SHOWN_SOON)

    def _note_use(self, tool_use_id: str) -> None:
        with self._news:
            self._used.add(tool_use_id)
            self._news.notify_all()

    def text(self) -> str:
        """Return the line as it is now."""
        waiting = f"{self._tasks} background task{'s' * (self._tasks != 1)}" if self._tasks else ""
        tool = next(iter(self._tools.values()), waiting)
        parts = [f"{int(self.seconds)} s", tool, price(self.cost) if self.cost else ""]
        return "  ".join(part for part in parts if part)

    def _draw(self) -> None:
        while not self._stopped.wait(_TICK):
            self.terminal.draw(self.text())


def summary(tool: str, tool_input: dict[str, Any]) -> str:
    """Return a tool and the gist of its input, on one short line."""
    values = (tool_input.get(key) for key in _TELLING)
    gist = next((value for value in values if isinstance(value, str) and value.strip()), "")
    return f"{tool}: {clip(' '.join(gist.split()), _SUMMARY)}" if gist else tool


def price(dollars: float) -> str:
    """Return an amount of dollars in as many digits as it deserves."""
    return f"${dollars:.2f}" if dollars >= 1 else f"${dollars:.4f}"
