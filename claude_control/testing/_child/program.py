"""The stand-in itself: what one run knows, and what becomes of each frame that it reads."""

from __future__ import annotations

import os
import select

from .frames import Frames, fresh_id
from .loop import Loop, Wait
from .matching import difference
from .outbox import Outbox, encode, give_up
from .playing import Mismatch, ScriptRun
from .reading import FatalLineError, Lines, parse
from .replies import Replies
from .turns import Turns

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from . import Frame, Play
    from .journal import Journal
    from .launch import Launch

MISMATCH = 97
"""The exit code after a frame that the script did not expect."""

_CHUNK = 1 << 16  # bytes read at a time: what a pipe holds
_CLOSED = "Tool permission stream closed before response received"


class Ended(Exception):
    """The program ends with this exit code."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class Program:
    """One run: input, output, the scripts, and the default behaviour of a program of its version."""

    def __init__(
        self,
        script: Frame,
        launch: Launch,
        journal: Journal,
        steps: dict[str, Callable[[ScriptRun, Frame], Play]],
    ) -> None:
        self.script = script
        self.launch = launch
        self.journal = journal
        self.steps = steps
        self.replay = launch.has("--replay-user-messages")
        self.partials = launch.has("--include-partial-messages")
        self.loop = Loop()
        self.outbox = Outbox(1, journal)
        self.frames = Frames(script["profile"], script["version"], launch.session_id or fresh_id())
        self.frames.mode = launch.mode
        self.turns = Turns(self, os.path.join(script["folder"], "prompts"), script["default_turn"])
        self.replies = Replies(self)
        self.runs: list[ScriptRun] = []
        self.asked: dict[str, Frame] = {}  # requests that the SDK owes an answer
        self.answers: dict[str, Frame] = {}
        self.reading = True
        self.ended = False  # of input
        self.failed = False  # the last result was an error
        self._lines = Lines()
        self._reactions: list[Frame] = script["reactions"]
        self._matched = [0] * len(self._reactions)

    # -- the run --------------------------------------------------------------------------------------------------

    def run(self) -> int:
        """Play until the program ends; returns its exit code, with everything written."""
        try:
            self.loop.start(ScriptRun(self, self.script["steps"], "main").play())
            while True:
                self.loop.advance()
                self._end_if_over()
                self._wait()
        except Ended as end:
            code = end.code
        except FatalLineError as error:
            os.write(2, f"{error}\n".encode("utf-8", "replace"))
            code = 1
        except Mismatch as error:
            self.journal.note("mismatch", reason=str(error))
            code = MISMATCH
        self.outbox.drain()
        return code

    def _wait(self) -> None:
        """Wait for input, for room in the output, or for the next script's time."""
        poller = select.poll()
        if self.reading and not self.ended:
            poller.register(0, select.POLLIN)
        if self.outbox.waiting:
            poller.register(1, select.POLLOUT)
        pause = self.loop.pause()
        for descriptor, _ in poller.poll(None if pause is None else pause * 1000):
            if descriptor == 1:
                self.outbox.flush()
            else:
                self._read()

    def _read(self) -> None:
        data = os.read(0, _CHUNK)
        for line in self._lines.feed(data):
            self._take(line)
        if not data:
            self.end_input()

    def _take(self, line: bytes) -> None:
        """Act on one line, and let every script act on it before the next one."""
        try:
            frame = parse(line, self.frames.modern)
        except FatalLineError as error:
            self.journal.note("fatal_line", line=line[:1000].decode("utf-8", "replace"), error=str(error))
            raise
        if frame is None:
            self.journal.note("ignored_line", line=line[:1000].decode("utf-8", "replace"))
            return
        self.receive(frame)
        self.loop.advance()

    def end_input(self) -> None:
        """Note the end of input: what still waits for an answer is told that there will be none."""
        if self.ended:
            return
        self.ended = True
        self.journal.note("eof")
        torn = self._lines.end()
        if torn:
            self._take(torn)
        for request_id in list(self.asked):
            self.resolve(request_id, {"subtype": "error", "error": _CLOSED})

    def close_input(self) -> None:
        """Give stdin up, so that the SDK's next write fails."""
        give_up(0, os.O_RDONLY)
        self.reading = False

    def _end_if_over(self) -> None:
        """End the run when input has ended, no turn runs, and no script has something to do about it."""
        if not self.ended or self.turns.current is not None:
            return
        for run in self.runs:
            expected = run.expects()
            if expected is not None:
                raise Mismatch(f"input ended, but the {run.name} script expects {expected!r}")
        if not any(run.waits_for_end() for run in self.runs):
            raise Ended(1 if self.failed else 0)

    # -- what is read ---------------------------------------------------------------------------------------------

    def receive(self, frame: Frame) -> None:
        """Record a frame and pass it to the script that expects it, to a reaction, or to the default behaviour."""
        self.journal.note("received", frame=frame)
        if frame["type"] == "control_request" and frame["request"].get("subtype") == "initialize":
            self.replies.learn_hooks(frame["request"].get("hooks"))
        if frame["type"] == "control_response":
            self._answered(frame)
        if any(run.claim(frame) for run in self.runs) or self._reacted(frame):
            return
        self.default(frame)

    def default(self, frame: Frame) -> None:
        """Do what a program of this version does with a frame."""
        if frame["type"] == "user":
            self.turns.add(frame)
        elif frame["type"] == "control_request":
            self.replies.answer(frame)

    def _reacted(self, frame: Frame) -> bool:
        """Start the first reaction that fits; returns whether it takes the place of the default behaviour."""
        for index, reaction in enumerate(self._reactions):
            times = reaction["times"]
            if difference(reaction["when"], frame) or (times is not None and self._matched[index] >= times):
                continue
            self._matched[index] += 1
            self.loop.start(ScriptRun(self, reaction["steps"], f"reaction {index}", frame=frame).play())
            return not reaction["also_default"]
        return False

    def _answered(self, frame: Frame) -> None:
        """Take the SDK's answer to a request of ours."""
        response = frame.get("response")
        if not isinstance(response, dict):
            return
        if self.replay:
            self.say(frame)  # with this flag all programs repeat the SDK's answers
        request_id = response.get("request_id")
        if request_id in self.asked:
            self.resolve(request_id, response)
        else:
            self.journal.note("unwanted_answer", request_id=request_id)

    # -- what is written ------------------------------------------------------------------------------------------

    def say(self, *frames: Frame) -> None:
        """Write frames, one line each."""
        for frame in frames:
            self.before(frame)
            self.outbox.put(encode(frame))

    def before(self, frame: Frame) -> None:
        """Write what comes before a frame: the echo of the prompt before its first answer.

        Events of a streamed answer count as such on 2.1.332, and not on older programs.
        """
        begins = ("assistant", "stream_event") if self.frames.modern else ("assistant",)
        if self.turns.current is not None and frame.get("type") in begins:
            self.turns.current.echo()

    def say_result(self, frame: Frame) -> None:
        """Write a result, which decides the exit code."""
        self.failed = bool(frame.get("is_error"))
        self.say(frame)

    def ask(self, request: Frame, request_id: str | None = None) -> str:
        """Send a request of ours; returns its id."""
        request_id = request_id or fresh_id()
        self.asked[request_id] = request
        if request.get("subtype") == "can_use_tool":
            self.say(*self.frames.state("requires_action"))
        self.say({"type": "control_request", "request_id": request_id, "request": request})
        self.journal.note("asked", request_id=request_id, request=request)
        return request_id

    def answer_to(self, request_id: str) -> Wait:
        """Wait for the answer to a request of ours."""
        return Wait(lambda: request_id in self.answers)

    def resolve(self, request_id: str, response: Frame) -> None:
        """Settle a request of ours with an answer."""
        request = self.asked.pop(request_id)
        self.answers[request_id] = response
        prompts = any(other.get("subtype") == "can_use_tool" for other in self.asked.values())
        if request.get("subtype") == "can_use_tool" and not prompts:
            self.say(*self.frames.state("running"))

    def cancel(self, request_id: str) -> None:
        """Tell the SDK that a request of ours needs no answer any more."""
        self.say({"type": "control_cancel_request", "request_id": request_id})
        self.asked.pop(request_id, None)
        self.answers[request_id] = {"subtype": "cancelled"}

    def die_of_parameters(self) -> None:
        """End without an answer, as the older programs do on parameters that they cannot read."""
        self.end(*self.script["profile"]["unreadable"])

    def end(self, code: int, seconds: float = 0.0) -> None:
        """End with an exit code, after so many seconds."""
        self.loop.start(self._end_later(code, seconds))

    def _end_later(self, code: int, seconds: float) -> Play:
        yield Wait(seconds=seconds)
        raise Ended(code)
