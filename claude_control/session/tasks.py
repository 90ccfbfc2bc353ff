"""Background tasks: what the program's frames tell of shells and subagents that run beside a turn.

2.1.332 tells each start, change and end, and after every change lists all that run in the background; a listing stands
for itself and does not depend on the other frames, which may come in any order. 2.0.75 and 2.1.7 have no such frames:
there a start is read from the tool's own result, and an end, on 2.1.7, from the notification that comes with a later
turn.
"""

import re
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any

import attrs

from claude_control.records import frozen
from claude_control.wire.reset_time import is_time

__all__ = ["Task", "TaskBook"]

KEPT = 100
"""Tasks that are over and still told of; a long session starts thousands."""

_ENDED = {"completed": "completed", "failed": "failed", "stopped": "stopped", "killed": "stopped"}
# What a tool answers when it has started something in the background: 2.0.75 a shell, 2.1.7 a shell or a subagent.
_STARTED = re.compile(r"Command running in background with ID: ([\w-]+)|Async agent launched \w+\.\s+agentId: ([\w-]+)")
_TOLD = ("task-id", "status", "summary", "output-file")


@frozen
class Task:
    """One shell or subagent, as it was when it was looked at.

    `kind` is the program's word: "local_bash" for a shell, "local_agent" for a subagent, and others. `status` is
    "running", "completed", "failed", "stopped", or another word of the program's such as "paused"; None means unknown:
    the task was started, and the program does not tell its end (2.0.75, and 2.1.7 until its next turn), or it is gone
    and nobody said how. `background` tells it from one that its turn waits for. `ambient` ones only watch, and are not
    waited for. `started` and `ended` are seconds since the epoch. A task that is resumed keeps its id and gets a new
    `run_id`.
    """

    id: str
    kind: str | None = None
    description: str = ""
    status: str | None = "running"
    background: bool = True
    started: float | None = None
    ended: float | None = None
    tool_use_id: str | None = None
    summary: str | None = None
    output_file: str | None = None
    ambient: bool = False
    run_id: str | None = None

    @property
    def over(self) -> bool:
        """Whether it is known to have ended."""
        return self.ended is not None


class TaskBook:
    """All tasks of a session. The reader learns, any thread looks; nothing here waits."""

    def __init__(self, clock: Callable[[], float] = time.time, steady: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._steady = steady
        self._lock = threading.Lock()  # guards all below
        self._tasks: dict[str, Task] = {}  # in the order in which they were started
        self._listed: frozenset[str] = frozenset()
        self._asked: dict[str, dict[str, Any]] = {}  # older programs: inputs of calls that start something, by call id
        self._quiet_since: float | None = None

    # -- looking -------------------------------------------------------------------------------------------------------

    def snapshot(self) -> tuple[Task, ...]:
        """Return all tasks that are not over, and the newest ones that are, oldest first."""
        with self._lock:
            return tuple(self._tasks.values())

    @property
    def listed(self) -> frozenset[str]:
        """The ids of the background tasks that run, as 2.1.332 lists them, without ambient ones."""
        return self._listed

    @property
    def unknown(self) -> tuple[str, ...]:
        """The ids of the tasks whose end the running program will not tell, or not by itself (2.0.75 and 2.1.7)."""
        with self._lock:
            return tuple(task.id for task in self._tasks.values() if task.status is None and not task.over)

    @property
    def quiet_since(self) -> float | None:
        """When the listing changed last, in monotonic seconds; None if there has been none."""
        return self._quiet_since

    # -- learning ------------------------------------------------------------------------------------------------------

    def learn(self, frame: dict[str, Any]) -> None:
        """Take over what a system frame of 2.1.332 tells of tasks."""
        subtype = frame.get("subtype")
        with self._lock:
            if subtype == "background_tasks_changed":
                self._list(frame.get("tasks"))
            elif isinstance(task_id := frame.get("task_id"), str) and not self._is_late(task_id, frame.get("run_id")):
                self._learn_one(task_id, subtype, frame)
            self._forget()

    def learn_old(self, frame: dict[str, Any]) -> None:
        """Take over what a message of 2.0.75 or 2.1.7 tells: a call that starts something, its result, an end."""
        with self._lock:
            for block in _blocks(frame):
                if block.get("type") == "tool_use" and isinstance(block.get("input"), dict):
                    if block["input"].get("run_in_background") and isinstance(block.get("id"), str):
                        self._asked[block["id"]] = block["input"]
                elif block.get("type") == "tool_result":
                    self._start_old(block)
                elif frame.get("isReplay") is True and isinstance(block.get("text"), str):
                    self._end_old(block["text"])
            self._forget()

    def _learn_one(self, task_id: str, subtype: object, frame: dict[str, Any]) -> None:
        if subtype == "task_started":
            told = _said(frame, tool_use_id="tool_use_id", kind="task_type", description="description")
            background = frame.get("is_backgrounded") is not False
            self._change(task_id, background=background, ambient=frame.get("ambient") is True, **told)
        elif subtype == "task_progress":
            self._change(task_id, **_said(frame, tool_use_id="tool_use_id"))
        elif subtype == "task_updated" and isinstance(patch := frame.get("patch"), dict):
            told = _said(patch, description="description")
            if isinstance(patch.get("is_backgrounded"), bool):
                told["background"] = patch["is_backgrounded"]
            self._change(task_id, patch.get("status"), patch.get("end_time"), **told)
        elif subtype == "task_notification":
            told = _said(frame, tool_use_id="tool_use_id", summary="summary", output_file="output_file")
            self._change(task_id, frame.get("status"), **told)

    def _change(self, task_id: str, status: object = None, end_time: Any = None, **told: Any) -> None:
        """Bring one record up to date; the first end of a run stands, whatever comes later."""
        task = self._tasks.get(task_id) or Task(task_id, started=self._clock())
        if isinstance(status, str) and not task.over:
            told["status"] = _ENDED.get(status, status)
            if status in _ENDED:
                told["ended"] = end_time / 1000 if is_time(end_time, unit=1000) else self._clock()
        elif isinstance(status, str) and task.status is None:
            told["status"] = _ENDED.get(status, status)  # it had left the listing before anybody said how
        self._tasks[task_id] = attrs.evolve(task, **told)

    def _is_late(self, task_id: str, run: object) -> bool:
        """Tell whether a frame speaks of an earlier run than the one shown; a newer run begins a new record."""
        task = self._tasks.get(task_id)
        if not isinstance(run, str) or (task is not None and task.run_id == run):
            return False
        if task is not None and task.run_id is not None:
            if run < task.run_id:
                return True
            del self._tasks[task_id]  # and so to the end of the order
        self._change(task_id, run_id=run)
        return False

    def _list(self, tasks: object) -> None:
        listed = {}
        for entry in tasks if isinstance(tasks, list) else ():
            if not isinstance(entry, dict) or not isinstance(entry.get("task_id"), str):
                continue
            task_id, ambient = entry["task_id"], entry.get("ambient") is True
            listed[task_id] = ambient
            if not self._is_late(task_id, entry.get("run_id")):
                told = _said(entry, kind="task_type", description="description")
                self._change(task_id, background=True, ambient=ambient, **told)
        for task in list(self._tasks.values()):
            if task.background and not task.over and task.id not in listed:
                self._tasks[task.id] = attrs.evolve(task, status=None, ended=self._clock())
        self._listed = frozenset(task_id for task_id, ambient in listed.items() if not ambient)
        self._quiet_since = self._steady()

    def _start_old(self, block: dict[str, Any]) -> None:
        call_id = block.get("tool_use_id")
        asked = self._asked.pop(call_id, {}) if isinstance(call_id, str) else {}
        started = _STARTED.match(_text_of(block.get("content")))
        if started is None:
            return
        shell, agent = started.groups()
        kind, told = "local_bash" if shell else "local_agent", _said(asked, description="description")
        task = Task(shell or agent, kind, status=None, started=self._clock(), tool_use_id=call_id, **told)
        self._tasks[task.id] = task

    def _end_old(self, text: str) -> None:
        if not text.startswith("<task-notification>"):
            return
        told = {tag: found.group(1) for tag in _TOLD if (found := re.search(f"<{tag}>(.*?)</{tag}>", text, re.DOTALL))}
        if "task-id" in told:
            more = {"summary": told.get("summary"), "output_file": told.get("output-file")}
            self._change(told["task-id"], told.get("status", "completed"), **more)

    def _forget(self) -> None:
        over = [task.id for task in self._tasks.values() if task.over]
        for task_id in over[: max(0, len(over) - KEPT)]:
            del self._tasks[task_id]


def _said(frame: dict[str, Any], **names: str) -> dict[str, Any]:
    """Return what a frame says as texts, under our names."""
    return {ours: value for ours, theirs in names.items() if isinstance(value := frame.get(theirs), str)}


def _blocks(frame: dict[str, Any]) -> Iterable[dict[str, Any]]:
    message = frame.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def _text_of(content: object) -> str:
    """Return what a tool's result, a text or a list of blocks, begins with."""
    first = content[0] if isinstance(content, list) and content else content
    text = first.get("text") if isinstance(first, dict) else first
    return text if isinstance(text, str) else ""
