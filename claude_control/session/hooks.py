"""Runs the user's hooks, and turns whatever happens into one answer."""

from collections.abc import Callable, Mapping
from typing import Any

import attrs

from claude_control import log
from claude_control.abort import AbortSignal
from claude_control.process.watch import call_later
from claude_control.session.answers import OpenRequest
from claude_control.session.running import Runner, own_copy, said
from claude_control.wire.hooks import Hook, answer_hook, failed_hook
from claude_control.wire.inbound import HookCallback

__all__ = ["HookContext", "Hooks"]

_log = log.get(__name__)


@attrs.frozen(eq=False)
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
        *,
        allow_bypass: bool,
    ) -> None:
        self._runner = runner
        self._hooks = hooks
        self._session = session  # returns the Session, or None when it was dropped
        self._stopping = stopping  # called before an answer that ends the turn is written
        self._allow_bypass = allow_bypass

    def start(self, request: HookCallback) -> None:
        """Begin to answer a request. Called by the reader: runs nothing of the user's here."""
        hook = self._hooks.get(request.callback_id)
        if hook is None:  # registered by nobody: only an answer without an opinion is safe on every program
            _log.warning("hook.unknown", callback_id=request.callback_id)
            unknown = self._runner.open(request.request_id, None, lambda _text: {})
            if unknown is not None:
                self._runner.answers.answer(unknown, {})
            return
        open_request = self._runner.open(request.request_id, hook.function, lambda text: failed_hook(hook, text))
        if open_request is None:
            return
        if hook.timeout is not None:
            seconds = hook.timeout
            open_request.timer = call_later(seconds, lambda: self._timed_out(hook, open_request, seconds))
            if not self._runner.answers.is_open(open_request):  # it was closed meanwhile, and its timer not seen
                open_request.timer.cancel()
        self._runner.submit(open_request, lambda: self._run(hook, request, open_request))

    def _run(self, hook: Hook, request: HookCallback, open_request: OpenRequest) -> None:
        context = HookContext(open_request.signal, hook.event, self._session())
        try:
            output = hook.function(own_copy(request.input), request.tool_use_id, context)
            answer = answer_hook(hook.event, output, allow_bypass=self._allow_bypass)
            if _ends_turn(hook.event, answer) and self._runner.answers.is_open(open_request):
                self._stopping(hook.event)
            self._runner.answers.answer(open_request, answer)
        except BaseException as error:  # as above
            _log.warning("hook.failed", function=open_request.function_name, error=repr(error))
            self._runner.answers.answer(open_request, failed_hook(hook, f"The {hook.event} hook failed: {said(error)}"))

    def _timed_out(self, hook: Hook, open_request: OpenRequest, seconds: float) -> None:
        if self._runner.answers.time_out(
            open_request, f"The {hook.event} hook did not answer within {seconds:g} seconds."
        ):
            _log.warning("hook.timed_out", hook_event=hook.event, function=open_request.function_name, seconds=seconds)


def _ends_turn(event: str, answer: Mapping[str, Any]) -> bool:
    """Tell whether an answer ends a turn in a way that 2.0.75 and 2.1.7 do not tell."""
    halts = answer.get("continue") is False
    return (event == "Stop" and halts) or (event == "UserPromptSubmit" and (halts or answer.get("decision") == "block"))
