"""Prompts and the turns that answer them, in the order of frames of the program's version."""

from __future__ import annotations

import json
import os

from .frames import fresh_id
from .loop import Wait
from .playing import ScriptRun

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from . import Frame, Play
    from .program import Program

_INTERRUPTED = "[Request interrupted by user]"
_INTERRUPTED_TOOL = "[Request interrupted by user for tool use]"
_NOTICE = "<task-notification>\n<status>completed</status>\n</task-notification>"
_REJECTED = "The user doesn't want to proceed with this tool use. The tool use was rejected."
_REJECTED_OLD = "Tool permission request failed: AbortError"


class TurnInterrupted(Exception):
    """Raised inside of a turn's script that ends its turn as an interrupt would."""


class Prompt:
    """One user frame."""

    __slots__ = ("content", "uuid")

    def __init__(self, frame: Frame) -> None:
        self.content = frame["message"].get("content")
        self.uuid: str | None = frame.get("uuid")

    @property
    def text(self) -> str:
        """Its text, blocks joined."""
        if not isinstance(self.content, list):
            return str(self.content)
        return "".join(str(block.get("text", "")) for block in self.content if isinstance(block, dict))


class Turn:
    """One turn: the prompts that it answers, the script of the answer, and what was already written of it."""

    def __init__(self, program: Program, prompts: list[Prompt], script: Frame) -> None:
        self.program = program
        self.prompts = prompts
        self.uuids = [prompt.uuid for prompt in prompts if prompt.uuid is not None]
        self.text = "\n".join(prompt.text for prompt in prompts)
        self.bare = bool(script.get("bare"))
        self.own = not prompts  # begun by the program itself, for a task that ended in the background
        self.interruptible = bool(script.get("interruptible", True))
        self.run = ScriptRun(program, script["steps"], "turn", turn=self)
        self.task: Play | None = None
        self.partial = ""  # of a text that is being streamed
        self.reply = ""
        self.tool: Frame | None = None  # the tool use that has no result yet
        self.denials: list[Frame] = []
        self.resulted = False
        self._named = False
        self._echoed = False

    def play(self) -> Play:
        """Write the turn from its first frame to its last."""
        if not self.bare:
            self._open()
        try:
            yield from self.run.play()
        except TurnInterrupted:
            self.task = None  # it is this very script, which ends by itself
            self.abort()
            return
        if not self.bare:
            if not self.resulted:
                self.result()
            self.program.say(*self.program.frames.lifecycle(self.uuids, "completed"))
        self.program.turns.ended()

    def _open(self) -> None:
        """Write what comes before the answer."""
        program, frames = self.program, self.program.frames
        if program.replay and frames.modern:
            program.say(*(self._echo(prompt.content, prompt.uuid) for prompt in self.prompts[:-1]))
        program.say(*frames.lifecycle(self.uuids, "started"), frames.init(self.uuids))
        if program.partials:
            named = {"user_message_uuids": self.uuids} if self.uuids else {}
            program.say(*frames.status("requesting", **named))

    def echo(self) -> None:
        """Repeat the prompt once, if that was asked for: before the turn's first answer, or when it is aborted."""
        program, due = self.program, not (self._echoed or self.bare)
        self._echoed = True
        if not due or not program.replay:
            return
        if not self.own:
            last = self.prompts[-1]
            program.say(self._echo(last.content if len(self.prompts) == 1 else self.text, last.uuid))
        elif not program.frames.modern:
            program.say(self._echo(_NOTICE, None))

    def _echo(self, content: object, uuid: str | None) -> Frame:
        return self.program.frames.user(content, uuid=uuid or fresh_id(), isReplay=True)

    def names(self) -> list[str]:
        """The prompts to name on the next assistant message: only the first one of a turn names them."""
        named, self._named = self._named, True
        return [] if named else self.uuids

    def result(self, **extra: object) -> None:
        """Write the result."""
        self.resulted = True
        frames = self.program.frames
        denied = {"permission_denials": self.denials} if self.denials else {}
        origin = {"origin": {"kind": "task-notification"}} if self.own and frames.modern else {}
        self.program.say_result(frames.result(self.reply, self.uuids, **{**denied, **origin, **extra}))

    def abort(self) -> None:
        """End the turn as the program does on an interrupt."""
        program, frames, tool = self.program, self.program.frames, self.tool
        if self.task is not None:
            program.loop.stop(self.task)
        self.echo()
        if frames.modern and self.partial:
            content = [{"type": "text", "text": self.partial}]
            program.say(frames.assistant(content, self.names(), aborted=True))
        if tool is not None:
            rejected = _REJECTED if frames.modern else _REJECTED_OLD
            block = {"type": "tool_result", "content": rejected, "is_error": True, "tool_use_id": tool["id"]}
            program.say(frames.user([block]))
        program.say(frames.user([{"type": "text", "text": _INTERRUPTED_TOOL if tool else _INTERRUPTED}]))
        if not self.resulted:
            self.result(subtype="error_during_execution", **self._ending())
        program.say(*frames.lifecycle(self.uuids, "cancelled"))
        program.turns.ended()

    def _ending(self) -> Frame:
        """The fields of an interrupted turn's result: no error on older programs, and no reason."""
        if not self.program.frames.modern:
            return {"is_error": False, "errors": []}
        reason = "aborted_tools" if self.tool else "aborted_streaming"
        told = "[ede_diagnostic] result_type=user last_content_type=n/a stop_reason=null"
        return {"is_error": True, "errors": [told], "terminal_reason": reason, "stop_reason": None}


class Turns:
    """The queue of prompts, and the turn that runs."""

    def __init__(self, program: Program, folder: str, default: Frame) -> None:
        self.current: Turn | None = None
        self.queue: list[Prompt] = []
        self.own: list[Frame] = []  # scripts of turns that the program begins itself
        self._program = program
        self._folder = folder
        self._default = default
        self.seen: set[str] = set()
        self.count = 0

    def add(self, frame: Frame) -> None:
        """Take a prompt: begin its turn, or queue it behind the one that runs."""
        program, prompt = self._program, Prompt(frame)
        if self.current is None:
            program.say(*program.frames.state("running"))
        if prompt.uuid is not None and prompt.uuid in self.seen:
            self._repeated(prompt)
            return
        self.queue.append(prompt)
        if prompt.uuid is not None:
            self.seen.add(prompt.uuid)
            program.say(*program.frames.lifecycle([prompt.uuid], "queued"))
        self._begin()

    def add_own(self, script: Frame) -> None:
        """Take the script of a turn of the program's own.

        2.1.332 begins it when it is idle. On 2.1.7 it comes behind a running turn or before the next prompt's, and
        2.0.75 ends there.
        """
        self.own.append(script)
        if self.current is None and self._program.frames.modern:
            self._program.say(*self._program.frames.state("running"))
            self._begin()

    def _begin_own(self) -> None:
        """Begin the next turn of the program's own."""
        program, script = self._program, self.own.pop(0)
        told = program.script["profile"].get("background_error")
        if told is not None:
            failed = {"subtype": "error_during_execution", "is_error": True, "errors": [told]}
            program.say_result(program.frames.result("", [], **failed))
            program.end(1)
            return
        self._start(Turn(program, [], script))

    def _repeated(self, prompt: Prompt) -> None:
        """Answer a prompt whose uuid was used before: it is echoed, and never gets a turn or a result."""
        program = self._program
        if program.replay:
            program.say(program.frames.user(prompt.content, uuid=prompt.uuid, isReplay=True))
        if self.current is None:
            program.say(*program.frames.state("idle"))

    def _begin(self) -> None:
        """Begin the next turn, if none runs: 2.1.332 merges what is queued, older programs take one prompt."""
        if self.current is not None:
            return
        if self.own:
            self._begin_own()
            return
        if not self.queue:
            return
        count = len(self.queue) if self._program.frames.modern else 1
        taken, self.queue = self.queue[:count], self.queue[count:]
        self._start(Turn(self._program, taken, self._script()))

    def _start(self, turn: Turn) -> None:
        self.current = turn
        turn.task = self._program.loop.start(turn.play())

    def _script(self) -> Frame:
        """The script of the next turn: the test's file for it, or what every turn says."""
        self.count += 1
        try:
            with open(os.path.join(self._folder, f"{self.count:06}.json"), "rb") as file:
                script: Frame = json.load(file)
        except FileNotFoundError:
            return self._default
        return script

    def ended(self) -> None:
        """Go on behind a turn: with the next one, or idle."""
        self.current = None
        self._begin()
        if self.current is None:
            self._program.say(*self._program.frames.state("idle"))

    def drop(self, chosen: Callable[[Prompt], bool]) -> list[str]:
        """Drop queued prompts; returns the uuids of those that had one."""
        dropped = [prompt.uuid for prompt in self.queue if chosen(prompt) and prompt.uuid is not None]
        self.queue = [prompt for prompt in self.queue if not chosen(prompt)]
        self._program.say(*self._program.frames.lifecycle(dropped, "cancelled"))
        return dropped

    def interrupt(self) -> None:
        """Abort the turn that runs, if it can be."""
        if self.current is not None and self.current.interruptible:
            self.current.abort()

    def over(self) -> Wait:
        """Wait until no turn runs and none is queued."""
        return Wait(lambda: self.current is None and not self.queue)
