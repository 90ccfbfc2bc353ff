"""Runs the user's hooks, and turns whatever happens into one answer."""

import threading
import time
from collections import deque
from collections.abc import Callable, Hashable, Mapping
from functools import partial
from typing import Any

import attrs

from claude_control import log
from claude_control.abort import AbortSignal
from claude_control.log import error_text
from claude_control.records import frozen
from claude_control.session.answers import OpenRequest
from claude_control.session.limits import TimeLimit
from claude_control.session.running import Runner, name_of
from claude_control.wire.hook_answers import answer_hook, needed_program
from claude_control.wire.hooks import Hook, failed_hook
from claude_control.wire.inbound import HookCallback

__all__ = ["HookContext", "Hooks"]

TOGETHER = 0.5
"""Seconds within which the program has asked every callback of one event; the same again later is another event."""

_log = log.get(__name__)


@frozen(eq=False)
class HookContext:
    """What a hook is told beside its input: `signal` fires when its answer is no longer wanted."""

    signal: AbortSignal
    event: str
    session: Any = attrs.field(repr=False)


class Hooks:
    """Answers every `hook_callback` request of one session."""

    def __init__(
        self,
        runner: Runner,
        hooks: Mapping[str, Hook],
        session: Callable[[], Any],
        stopping: Callable[[str | None], None],
        require: Callable[[str, str], None],
        *,
        allow_bypass: bool,
    ) -> None:
        self._runner = runner
        self._answers = runner.answers
        self._hooks = hooks
        self._session = session  # returns the Session, or None when it was dropped
        self._stopping = stopping  # called before an answer that ends the turn is written
        self._require = require  # raises NotSupportedError if the program is too old for what is named
        self._allow_bypass = allow_bypass
        self._denials = {name: partial(failed_hook, hook) for name, hook in hooks.items()}
        self._rows = Rows()
        self._limits = {
            name: TimeLimit(hook.timeout, self._answers.is_open, partial(self._timed_out, hook))
            for name, hook in hooks.items()
            if hook.timeout is not None
        }

    def start(self, request: HookCallback) -> None:
        """Begin to answer a request. Called by the reader: runs nothing of the user's here."""
        hook = self._hooks.get(request.callback_id)
        if hook is None:  # registered by nobody: only an answer without an opinion is safe on every program
            _log.warning("hook.unknown", callback_id=request.callback_id)
            unknown = self._runner.open(request.request_id, None, lambda _text: {})
            if unknown is not None:
                self._answers.answer(unknown, {})
            return
        open_request = self._runner.open(request.request_id, hook.function, self._denials[request.callback_id])
        if open_request is None:
            return
        # What happens once is told to each callback with the same input; the request's own id may differ (2.1.332).
        row = None if hook.row is None else (hook.row, _text_of(request.input))
        asked = time.monotonic()
        open_request.row, limit = row, self._limits.get(request.callback_id)
        if limit is not None:
            limit.start(open_request, asked)
        if row is None:
            self._runner.submit(open_request, self._run, (hook, request))
        elif self._rows.add(row, Waiting(hook, request, open_request, asked)):
            self._runner.pool.submit(lambda: self._run_row(row))

    def end(self) -> None:
        """Stop the clocks."""
        for limit in self._limits.values():
            limit.end()

    def _run_row(self, row: Hashable) -> None:
        while (waiting := self._rows.next(row)) is not None:
            waiting.open_request.about = waiting.hook, waiting.request
            self._run(waiting.open_request)

    def _run(self, open_request: OpenRequest) -> None:
        if not self._answers.is_open(open_request):
            return
        hook, request = open_request.about
        context = HookContext(open_request.signal, hook.event, self._session())
        try:
            # Nobody else has the input, nor looks at it afterwards.
            output = hook.function(request.input, request.tool_use_id, context)
            answer = answer_hook(hook.event, output, allow_bypass=self._allow_bypass)
            if answer:  # else it has no opinion, which every program takes
                self._require(*needed_program(hook.event, answer))
            self._note_end(hook, open_request, answer)
            self._answers.answer(open_request, answer)
        except (
            BaseException
        ) as error:  # an unanswered request hangs the turn: SystemExit and KeyboardInterrupt fail too
            _log.warning("hook.failed", function=name_of(open_request.function), error=error_text(error))
            failed = failed_hook(hook, f"The {hook.event} hook failed: {error_text(error)}")
            self._note_end(hook, open_request, failed)
            self._answers.answer(open_request, failed)

    def _note_end(self, hook: Hook, open_request: OpenRequest, answer: Mapping[str, Any]) -> None:
        if _ends_turn(hook.event, answer) and self._answers.is_open(open_request):  # a late one ends nothing
            self._stopping(hook.event)

    def _timed_out(self, hook: Hook, open_request: OpenRequest, asked: float) -> None:
        # Those that wait for their turn have the same time. They go first: the signal may end the one that runs.
        late = [waiting.open_request for waiting in self._rows.take(open_request.row, asked + TOGETHER)]
        for request in (*late, open_request):
            self._note_end(hook, request, failed_hook(hook, ""))
            if self._answers.time_out(
                request, f"The {hook.event} hook did not answer within {hook.timeout:g} seconds."
            ):
                _log.warning(
                    "hook.timed_out", hook_event=hook.event, function=name_of(request.function), seconds=hook.timeout
                )


@frozen(eq=False)
class Waiting:
    """A callback that waits for its turn."""

    hook: Hook
    request: HookCallback
    open_request: OpenRequest
    asked: float  # on the monotonic clock


class Rows:
    """The callbacks that wait for their turn, in rows: whoever runs a row takes one after the other."""

    def __init__(self) -> None:
        self._lock = threading.Lock()  # guards _rows
        self._rows: dict[Hashable, deque[Waiting]] = {}

    def add(self, row: Hashable, waiting: Waiting) -> bool:
        """Put one at the end of a row; True if the row is new, so that somebody must run it."""
        with self._lock:
            is_new = row not in self._rows
            self._rows.setdefault(row, deque()).append(waiting)
        return is_new

    def next(self, row: Hashable) -> Waiting | None:
        """Return whose turn it is; None at the end of the row, which is then gone."""
        with self._lock:
            if self._rows[row]:
                return self._rows[row].popleft()
            del self._rows[row]
        return None

    def take(self, row: Hashable, until: float) -> list[Waiting]:
        """Take those out of a row, and return them in order, that were asked before `until`."""
        with self._lock:
            waiting = list(self._rows.get(row, ()))
            taken = [each for each in waiting if each.asked < until]
            if taken:
                self._rows[row] = deque(each for each in waiting if each.asked >= until)
        return taken


def _text_of(value: object) -> str:
    """Return what tells one input from another; those too deep for that stand in one row."""
    try:
        return repr(value)
    except RecursionError:  # on the reader: the request would be left without an answer
        return ""


def _ends_turn(event: str, answer: Mapping[str, Any]) -> bool:
    """Tell whether an answer ends a turn in a way that 2.0.75 and 2.1.7 do not tell."""
    halts = answer.get("continue") is False
    return (event == "Stop" and halts) or (event == "UserPromptSubmit" and (halts or answer.get("decision") == "block"))
