"""Asks the user's callbacks whether a tool may run, and turns whatever happens into one answer.

Two tools are questions to a person: `AskUserQuestion`, which `on_question` answers, and `ExitPlanMode`, which `on_plan`
judges. Everything else, and those two without a callback of their own, goes to `can_use_tool`.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import attrs

from claude_control import log
from claude_control.abort import AbortSignal
from claude_control.log import error_text
from claude_control.options import Options
from claude_control.process import forks
from claude_control.records import frozen
from claude_control.session.answers import Handler, OpenRequest
from claude_control.session.asking import LateAnswer
from claude_control.session.running import Runner, name_of
from claude_control.wire.copying import own_copy
from claude_control.wire.inbound import PermissionRequest
from claude_control.wire.permission_details import PermissionDetails
from claude_control.wire.permissions import Allow, Deny, PermissionUpdate, answer_permission, deny
from claude_control.wire.questions import PLAN_TOOL, QUESTION_TOOL, decide_questions, read_plan, read_questions
from claude_control.wire.reading import open_twin, reader

__all__ = ["PendingAnswer", "PermissionContext", "Permissions"]

_log = log.get(__name__)


@frozen(eq=False, repr=False, kw_only=True)
class PermissionContext(PermissionDetails):
    """What a permission callback is told beside the tool and its input: the program's details, and what is ours.

    `signal` fires when the answer is no longer wanted: the program withdrew the request (an interrupt makes it do so),
    the session was closed or the program ended. `session` is the session that asks; control calls on it work.
    """

    signal: AbortSignal
    session: Any = attrs.field(repr=False)
    _later: Callable[[], "PendingAnswer"] = attrs.field(repr=False)
    _details: PermissionDetails | None = attrs.field(default=None, repr=False, init=False)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Return one of the program's details: they are read when the first one is asked for, if ever."""
            if name not in _DETAILS:
                raise AttributeError(f"{type(self).__name__} has no attribute {name!r}", name=name, obj=self)
            if self._details is None:
                object.__setattr__(self, "_details", reader(PermissionDetails)(self.raw))
            return getattr(self._details, name)

    def answer_later(self) -> "PendingAnswer":
        """Keep the request open after the callback returns, whatever it returns; no thread waits for the answer."""
        return self._later()


_DETAILS = frozenset(PermissionDetails.__annotations__)
_Open: Any = open_twin(PermissionContext)


def _told(request: OpenRequest, session: Any, later: Callable[[], "PendingAnswer"]) -> PermissionContext:
    """Return the context of a request; `__init__` of so large a frozen record takes many times as long."""
    context = object.__new__(_Open)
    context.raw = request.asked.raw
    context.signal = request.signal
    context.session = session
    context._later = later
    context._details = None
    context.__class__ = PermissionContext
    return context  # type: ignore[no-any-return]  # it is one now


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


@attrs.define(eq=False)
class _Callback(Handler):
    """One of the user's callbacks: how it is asked about a request, and how its answer is made of what it returns.

    `answer` is given that and the tool's input, and raises `OptionsError` for what cannot be an answer.
    """

    option: str = attrs.field(kw_only=True)
    ask: Callable[[PermissionRequest, PermissionContext], object] = attrs.field(kw_only=True)
    answer: Callable[..., dict[str, Any]] = attrs.field(default=answer_permission, kw_only=True)


def _answer_questions(value: object, tool_input: dict[str, Any], *, allow_bypass: bool) -> dict[str, Any]:
    return answer_permission(decide_questions(value, tool_input), tool_input, allow_bypass=allow_bypass)


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
        self._answers = runner.answers
        self._allow_bypass = options.allow_bypass
        self._session = session  # returns the Session, or None when it was dropped
        self._stopping = stopping  # called before a denial that ends the turn is written
        self._owner = os.getpid()
        self._callbacks: dict[str, _Callback] = {}
        on_question, on_plan = options.on_question, options.on_plan
        can_use_tool: Any = options.can_use_tool  # asked only if there is one
        if on_question is not None:
            self._callbacks[QUESTION_TOOL] = self._callback(
                "on_question",
                on_question,
                lambda request, context: on_question(read_questions(own_copy(request.input)), context),
                answer=_answer_questions,
            )
        if on_plan is not None:
            self._callbacks[PLAN_TOOL] = self._callback(
                "on_plan", on_plan, lambda request, context: on_plan(read_plan(request.input), context)
            )
        self._for_others = self._callback(
            "can_use_tool",
            can_use_tool,
            lambda request, context: can_use_tool(request.tool_name, own_copy(request.input), context),
        )

    def _callback(self, option: str, function: Any, ask: Callable[..., object], **answer: Any) -> _Callback:
        return _Callback(function, self._run, _denial, True, option=option, ask=ask, **answer)

    def start(self, request: PermissionRequest) -> OpenRequest | None:
        """Begin to answer a request; returns what is to run on the pool, if anything. Called by the reader."""
        callback = self._callbacks.get(request.tool_name, self._for_others)
        return self._runner.open(request.request_id, callback, request)

    def _run(self, open_request: OpenRequest) -> None:
        if not self._answers.is_open(open_request):
            return
        request, callback = open_request.asked, open_request.handler
        if callback.function is None:
            _log.warning("permission.nobody_asked", tool=request.tool_name)
            text = f"Nobody can be asked about {request.tool_name}: this session has no {callback.option} callback."
            self._answers.answer(open_request, deny(text))
            return
        try:
            context = _told(open_request, self._session(), partial(self._answer_later, open_request))
            returned = callback.ask(request, context)
            if not open_request.is_kept:
                self._decide(open_request, returned)
        except BaseException as error:
            # An unanswered request hangs the turn, so SystemExit and KeyboardInterrupt deny too.
            text = error_text(error)
            name = name_of(callback.function)
            _log.warning("permission.failed", option=callback.option, function=name, error=text)
            self._answers.answer(open_request, deny(f"The {callback.option} callback failed: {text}"))

    def _answer_later(self, open_request: OpenRequest) -> PendingAnswer:
        def answer(value: object) -> bool:
            forks.require_owner(self._owner, "this request")
            return self._decide(open_request, value)

        pending = PendingAnswer(answer, open_request.signal)
        open_request.is_kept = True  # of the request, not of a context: that may be a copy
        return pending

    def _decide(self, open_request: OpenRequest, value: object) -> bool:
        response = open_request.handler.answer(value, open_request.asked.input, allow_bypass=self._allow_bypass)
        if response.get("interrupt") and self._answers.is_open(open_request):  # a late one ends nothing
            self._stopping(None)
        return self._answers.answer(open_request, response)


def _denial(_request: OpenRequest, text: str) -> dict[str, Any]:
    return deny(text)
