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
from claude_control.session.answers import Handler, OpenRequest
from claude_control.session.limits import TimeLimit
from claude_control.session.running import Runner, name_of
from claude_control.wire.hook_answers import answer_hook, needed_program
from claude_control.wire.hooks import Hook, failed_hook
from claude_control.wire.inbound import HookCallback
from claude_control.wire.reading import open_twin

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


_Open: Any = open_twin(HookContext)


def _told(signal: AbortSignal, event: str, session: Any) -> HookContext:
    """Return the context of a hook; `__init__` of a frozen record takes twice as long."""
    context = _Open.__new__(_Open)
    context.signal = signal
    context.event = event
    context.session = session
    context.__class__ = HookContext
    return context  # type: ignore[no-any-return]  # it is one now


@attrs.define(eq=False)
class _Callback(Handler):
    """One of the user's hooks."""

    hook: Hook = attrs.field(kw_only=True)
    limit: TimeLimit | None = attrs.field(kw_only=True)


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
        self._session = session  # returns the Session, or None when it was dropped
        self._stopping = stopping  # called before an answer that ends the turn is written
        self._require = require  # raises NotSupportedError if the program is too old for what is named
        self._allow_bypass = allow_bypass
        self._rows = Rows()
        self._callbacks = {name: self._callback(hook) for name, hook in hooks.items()}
        # Of what is registered by nobody: only an answer without an opinion is safe on every program.
        self._unknown = Handler(None, self._run, lambda _request, _text: {})

    def _callback(self, hook: Hook) -> _Callback:
        timed_out = partial(self._timed_out, hook)
        limit = None if hook.timeout is None else TimeLimit(hook.timeout, self._answers.is_open, timed_out)
        return _Callback(
            hook.function, self._run, lambda _request, text: failed_hook(hook, text), hook=hook, limit=limit
        )

    def start(self, request: HookCallback) -> Callable[[], None] | None:
        """Begin to answer a request; returns what is to run on the pool, if anything. Called by the reader."""
        callback = self._callbacks.get(request.callback_id)
        open_request = self._runner.open(request.request_id, callback or self._unknown, request)
        if open_request is None:
            return None
        if callback is None:
            _log.warning("hook.unknown", callback_id=request.callback_id)
            self._answers.answer(open_request, {})
            return None
        open_request.since, row = time.monotonic(), callback.hook.row
        if row is not None:
            # What happens once is told to each callback with the same input; the request's own id may differ (2.1.332).
            open_request.row = row, _text_of(request.input)
        if callback.limit is not None:
            callback.limit.start(open_request)
        if row is None:
            return open_request
        is_first = self._rows.add(open_request.row, open_request)
        return partial(self._run_row, open_request.row) if is_first else None

    def end(self) -> None:
        """Stop the clocks."""
        for callback in self._callbacks.values():
            if callback.limit is not None:
                callback.limit.end()

    def _run_row(self, row: Hashable) -> None:
        while (open_request := self._rows.next(row)) is not None:
            self._run(open_request)

    def _run(self, open_request: OpenRequest) -> None:
        if not self._answers.is_open(open_request):
            return
        hook, request = open_request.handler.hook, open_request.asked
        context = _told(open_request.signal, hook.event, self._session())
        try:
            # Nobody else has the input, nor looks at it afterwards.
            output = hook.function(request.input, request.tool_use_id, context)
            answer = answer_hook(hook.event, output, allow_bypass=self._allow_bypass)
            if answer:  # else it has no opinion, which every program takes, and ends nothing
                self._require(*needed_program(hook.event, answer))
                self._note_end(hook, open_request, answer)
            self._answers.answer(open_request, answer)
        except (
            BaseException
        ) as error:  # an unanswered request hangs the turn: SystemExit and KeyboardInterrupt fail too
            _log.warning("hook.failed", function=name_of(hook.function), error=error_text(error))
            failed = failed_hook(hook, f"The {hook.event} hook failed: {error_text(error)}")
            self._note_end(hook, open_request, failed)
            self._answers.answer(open_request, failed)

    def _note_end(self, hook: Hook, open_request: OpenRequest, answer: Mapping[str, Any]) -> None:
        if _ends_turn(hook.event, answer) and self._answers.is_open(open_request):  # a late one ends nothing
            self._stopping(hook.event)

    def _timed_out(self, hook: Hook, open_request: OpenRequest) -> None:
        # Those that wait for their turn have the same time. They go first: the signal may end the one that runs.
        late = self._rows.take(open_request.row, open_request.since + TOGETHER)
        for request in (*late, open_request):
            self._note_end(hook, request, failed_hook(hook, ""))
            if self._answers.time_out(
                request, f"The {hook.event} hook did not answer within {hook.timeout:g} seconds."
            ):
                function = name_of(request.handler.function)
                _log.warning("hook.timed_out", hook_event=hook.event, function=function, seconds=hook.timeout)


class Rows:
    """The hooks that wait for their turn, in rows: whoever runs a row takes one after the other."""

    def __init__(self) -> None:
        self._lock = threading.Lock()  # guards _rows
        self._rows: dict[Hashable, deque[OpenRequest]] = {}

    def add(self, row: Hashable, waiting: OpenRequest) -> bool:
        """Put one at the end of a row; True if somebody must run it: if it is new, or who added the same was struck."""
        with self._lock:
            others = self._rows.get(row)
            is_new = others is None or any(each.request_id == waiting.request_id for each in others)
            self._rows.setdefault(row, deque()).append(waiting)
        return is_new

    def next(self, row: Hashable) -> OpenRequest | None:
        """Return whose turn it is; None at the end of the row, which is then gone."""
        with self._lock:
            waiting = self._rows.get(row)  # gone, if two run it: see `add`
            if waiting:
                return waiting.popleft()
            self._rows.pop(row, None)
        return None

    def take(self, row: Hashable, until: float) -> list[OpenRequest]:
        """Take those out of a row, and return them in order, that were asked before `until`."""
        with self._lock:
            waiting = list(self._rows.get(row, ()))
            taken = [each for each in waiting if each.since < until]
            if taken:
                self._rows[row] = deque(each for each in waiting if each.since >= until)
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
