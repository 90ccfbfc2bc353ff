"""Asks the user's callbacks whether a tool may run, and turns whatever happens into one answer.

Two tools are questions to a person: `AskUserQuestion`, which `on_question` answers, and `ExitPlanMode`, which `on_plan`
judges. Everything else, and those two without a callback of their own, goes to `can_use_tool`.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs

from claude_control import log
from claude_control.abort import AbortSignal
from claude_control.log import error_text
from claude_control.options import Options
from claude_control.process import forks
from claude_control.session.answers import OpenRequest
from claude_control.session.asking import LateAnswer
from claude_control.session.running import Runner, own_copy
from claude_control.wire.inbound import PermissionRequest
from claude_control.wire.permission_details import PermissionDetails
from claude_control.wire.permissions import Allow, Deny, PermissionUpdate, answer_permission, deny
from claude_control.wire.questions import PLAN_TOOL, QUESTION_TOOL, decide_questions, read_plan, read_questions

__all__ = ["PendingAnswer", "PermissionContext", "Permissions"]

_log = log.get(__name__)


@attrs.frozen(eq=False, repr=False, kw_only=True)
class PermissionContext(PermissionDetails):
    """What a permission callback is told beside the tool and its input: the program's details, and what is ours.

    `signal` fires when the answer is no longer wanted: the program withdrew the request (an interrupt makes it do so),
    the session was closed or the program ended. `session` is the session that asks; control calls on it work.
    """

    signal: AbortSignal
    session: Any = attrs.field(repr=False)
    _later: Callable[[], "PendingAnswer"] = attrs.field(repr=False)

    def answer_later(self) -> "PendingAnswer":
        """Keep the request open after the callback returns, whatever it returns; no thread waits for the answer."""
        return self._later()


class PendingAnswer(LateAnswer):
    """A permission request that a person, or another thread, answers later; it has no time limit."""

    def allow(
        self,
        updated_input: Mapping[str, Any] | None = None,
        updated_permissions: Sequence[PermissionUpdate | Mapping[str, Any]] | None = None,
    ) -> bool:
        """Let the tool run: `answer(Allow(…))`."""
        return self.answer(Allow(updated_input, updated_permissions))

    def deny(self, message: str = "", *, interrupt: bool = False) -> bool:
        """Keep the tool from running: `answer(Deny(…))`."""
        return self.answer(Deny(message, interrupt))


@attrs.frozen
class _Callback:
    """One of the user's callbacks: what it is called with before its context, and how what it returns is read.

    `read` is given that and the tool's input. It returns a decision for `answer_permission`, and raises `OptionsError`
    for what cannot be one.
    """

    option: str
    function: Callable[..., Any] | None
    arguments: Callable[[PermissionRequest], tuple[Any, ...]]
    read: Callable[[object, Mapping[str, Any]], object] = lambda decision, _input: decision


class Permissions:
    """Answers every `can_use_tool` request of one session."""

    def __init__(
        self,
        runner: Runner,
        options: Options,
        session: Callable[[], Any],
        stopping: Callable[[str | None], None],
    ) -> None:
        self._runner = runner
        self._allow_bypass = options.allow_bypass
        self._session = session  # returns the Session, or None when it was dropped
        self._stopping = stopping  # called before a denial that ends the turn is written
        self._callbacks: dict[str, _Callback] = {}
        if options.on_question is not None:
            self._callbacks[QUESTION_TOOL] = _Callback(
                "on_question",
                options.on_question,
                lambda request: (read_questions(own_copy(request.input)),),
                decide_questions,
            )
        if options.on_plan is not None:
            self._callbacks[PLAN_TOOL] = _Callback(
                "on_plan", options.on_plan, lambda request: (read_plan(request.input),)
            )
        self._for_others = _Callback(
            "can_use_tool",
            options.can_use_tool,
            lambda request: (request.tool_name, own_copy(request.input)),
        )

    def start(self, request: PermissionRequest) -> None:
        """Begin to answer a request. Called by the reader: runs nothing of the user's here."""
        callback = self._callbacks.get(request.tool_name, self._for_others)
        open_request = self._runner.open(request.request_id, callback.function, deny, asks_person=True)
        if open_request is not None:
            self._runner.submit(open_request, lambda: self._run(request, callback, open_request))

    def _run(self, request: PermissionRequest, callback: _Callback, open_request: OpenRequest) -> None:
        if callback.function is None:
            _log.warning("permission.nobody_asked", tool=request.tool_name)
            text = f"Nobody can be asked about {request.tool_name}: this session has no {callback.option} callback."
            self._runner.answers.answer(open_request, deny(text))
            return
        later: list[PendingAnswer] = []
        try:
            context = self._context(request, callback, open_request, later)
            returned = callback.function(*callback.arguments(request), context)
            if not later:
                self._decide(request, callback, open_request, returned)
        except BaseException as error:
            # An unanswered request hangs the turn, so SystemExit and KeyboardInterrupt deny too.
            text = error_text(error)
            _log.warning("permission.failed", option=callback.option, function=open_request.function_name, error=text)
            self._runner.answers.answer(open_request, deny(f"The {callback.option} callback failed: {text}"))

    def _context(
        self, request: PermissionRequest, callback: _Callback, open_request: OpenRequest, later: list[PendingAnswer]
    ) -> PermissionContext:
        owner = os.getpid()

        def answer(value: object) -> bool:
            forks.require_owner(owner, "this request")
            return self._decide(request, callback, open_request, value)

        def answer_later() -> PendingAnswer:
            later.append(PendingAnswer(answer, open_request.signal))
            return later[-1]

        told = {field.name: getattr(request.details, field.name) for field in attrs.fields(PermissionDetails)}
        return PermissionContext(**told, signal=open_request.signal, session=self._session(), later=answer_later)

    def _decide(
        self, request: PermissionRequest, callback: _Callback, open_request: OpenRequest, value: object
    ) -> bool:
        decision = callback.read(value, request.input)
        response = answer_permission(decision, request.input, allow_bypass=self._allow_bypass)
        if response.get("interrupt") and self._runner.answers.is_open(open_request):  # a late one ends nothing
            self._stopping(None)
        return self._runner.answers.answer(open_request, response)
