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
from claude_control.session.answers import OpenRequest
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


def _told(
    raw: dict[str, Any], signal: AbortSignal, session: Any, later: Callable[[], "PendingAnswer"]
) -> PermissionContext:
    """Return the context of a request; `__init__` of so large a frozen record takes many times as long."""
    context = object.__new__(_Open)
    context.raw = raw
    context.signal = signal
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
        self._answers = runner.answers
        self._allow_bypass = options.allow_bypass
        self._session = session  # returns the Session, or None when it was dropped
        self._stopping = stopping  # called before a denial that ends the turn is written
        self._owner = os.getpid()
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
        open_request = self._runner.open(request.request_id, callback.function, deny, True)
        if open_request is not None:
            self._runner.submit(open_request, self._run, (request, callback))

    def _run(self, open_request: OpenRequest) -> None:
        if not self._answers.is_open(open_request):
            return
        request, callback = open_request.about
        if callback.function is None:
            _log.warning("permission.nobody_asked", tool=request.tool_name)
            text = f"Nobody can be asked about {request.tool_name}: this session has no {callback.option} callback."
            self._answers.answer(open_request, deny(text))
            return
        later: list[PendingAnswer] = []
        try:
            answer_later = partial(self._answer_later, open_request, later)
            context = _told(request.raw, open_request.signal, self._session(), answer_later)
            returned = callback.function(*callback.arguments(request), context)
            if not later:
                self._decide(open_request, returned)
        except BaseException as error:
            # An unanswered request hangs the turn, so SystemExit and KeyboardInterrupt deny too.
            text = error_text(error)
            name = name_of(callback.function)
            _log.warning("permission.failed", option=callback.option, function=name, error=text)
            self._answers.answer(open_request, deny(f"The {callback.option} callback failed: {text}"))

    def _answer_later(self, open_request: OpenRequest, later: list[PendingAnswer]) -> PendingAnswer:
        def answer(value: object) -> bool:
            forks.require_owner(self._owner, "this request")
            return self._decide(open_request, value)

        later.append(PendingAnswer(answer, open_request.signal))
        return later[-1]

    def _decide(self, open_request: OpenRequest, value: object) -> bool:
        request, callback = open_request.about
        decision = callback.read(value, request.input)
        response = answer_permission(decision, request.input, allow_bypass=self._allow_bypass)
        if response.get("interrupt") and self._answers.is_open(open_request):  # a late one ends nothing
            self._stopping(None)
        return self._answers.answer(open_request, response)
