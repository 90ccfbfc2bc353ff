"""Runs permission callbacks and hooks for the program's requests, and turns whatever happens into one answer."""

import copy
import os
from collections.abc import Callable, Mapping
from typing import Any

import attrs

from claude_control import log
from claude_control.abort import AbortSignal
from claude_control.errors import ConcurrencyError, OptionsError
from claude_control.options import Options
from claude_control.process import forks
from claude_control.process.watch import call_later
from claude_control.session.answers import Answers, OpenRequest
from claude_control.session.pool import CallbackPool
from claude_control.session.servers import ToolServers
from claude_control.wire.envelope import pending_requests
from claude_control.wire.hooks import Hook, answer_hook, failed_hook
from claude_control.wire.inbound import HookCallback, InboundRequest, MCPMessage, PermissionRequest, read_request
from claude_control.wire.permissions import Allow, Deny, PermissionUpdate, answer_permission, deny
from claude_control.wire.requests import Request

__all__ = ["Callbacks", "HookContext", "PendingAnswer", "PermissionContext"]

_log = log.get(__name__)

CanUseTool = Callable[[str, dict[str, Any], "PermissionContext"], Allow | Deny | None]


@attrs.frozen(eq=False)
class HookContext:
    """What a hook is told beside its input: `signal` fires when its answer is no longer wanted."""

    signal: AbortSignal
    event: str
    session: Any = attrs.field(repr=False)


@attrs.frozen(eq=False)
class PermissionContext:
    """What a permission callback is told beside the tool and its input.

    `suggestions` fit into `Allow(updated_permissions=…)`. `tool_use_id` names the call, `agent_id` the subagent that
    makes it. `signal` fires when the answer is no longer wanted: the program withdrew the request (an interrupt makes
    it do so), the session was closed or the program ended.
    """

    signal: AbortSignal
    suggestions: tuple[PermissionUpdate, ...]
    tool_use_id: str | None
    agent_id: str | None
    blocked_path: str | None
    decision_reason: str | None
    title: str | None
    display_name: str | None
    description: str | None
    raw: dict[str, Any] = attrs.field(repr=False)
    _later: Callable[[], "PendingAnswer"] = attrs.field(repr=False)

    def answer_later(self) -> "PendingAnswer":
        """Keep the request open after the callback returns, whatever it returns; no thread waits for the answer."""
        return self._later()


class PendingAnswer:
    """A permission request that a person, or another thread, answers later; it has no time limit."""

    def __init__(self, answer: Callable[[Allow | Deny], bool], signal: AbortSignal) -> None:
        self._answer = answer
        self.signal = signal
        """Fires when the answer is no longer wanted."""

    def allow(
        self,
        updated_input: Mapping[str, Any] | None = None,
        updated_permissions: "list[PermissionUpdate | Mapping[str, Any]] | None" = None,
    ) -> bool:
        """Let the tool run; returns True if the answer was accepted, False if it came too late.

        Raises `OptionsError` for a wrong update.
        """
        return self._answer(Allow(updated_input, updated_permissions))

    def deny(self, message: str = "", *, interrupt: bool = False) -> bool:
        """Keep the tool from running; returns True if the answer was accepted, False if it came too late."""
        return self._answer(Deny(message, interrupt))


class Callbacks:
    """Everything that the program may ask of the user's code."""

    def __init__(
        self,
        *,
        answers: Answers,
        pool: CallbackPool,
        options: Options,
        hooks: Mapping[str, Hook],
        post: Callable[[Request[Any]], None],
        session: Callable[[], Any],
        stopping: Callable[[str | None], None],
    ) -> None:
        self._answers = answers
        self._pool = pool
        self._can_use_tool: CanUseTool | None = options.can_use_tool
        self._hooks = hooks
        self._allow_bypass = options.allow_bypass
        self._stopping = stopping  # called before an answer that ends the turn is written: a denial's, or a hook's
        self._session = session  # returns the Session, or None when it was dropped
        self.servers = ToolServers(
            options.mcp_servers,
            answers=answers,
            pool=pool,
            post=post,
            session=session,
            run_on_abort=self._run_on_abort,
        )
        answers.on_end = self.servers.end

    def start(self, request: InboundRequest) -> None:
        """Begin to answer a request. Called by the reader: runs nothing of the user's here."""
        if isinstance(request, PermissionRequest):
            self._start_permission(request)
        elif isinstance(request, HookCallback):
            self._start_hook(request)
        elif isinstance(request, MCPMessage):
            self.servers.receive(request)
        else:
            _log.warning("request.unknown", subtype=request.subtype)
            self._answers.refuse(
                request.request_id, f"claude_control does not answer {request.subtype or 'this'} requests"
            )

    def resume(self, frame: dict[str, Any]) -> None:
        """Begin to answer the permission requests that an answer to initialize lists as open, and that are not here."""
        for listed in pending_requests(frame):
            request = read_request(listed)
            if isinstance(request, PermissionRequest) and not self._answers.knows(request.request_id):
                self.start(request)

    # -- permissions ---------------------------------------------------------------------------------------------------

    def _start_permission(self, request: PermissionRequest) -> None:
        open_request = OpenRequest(
            request.request_id,
            AbortSignal(self._run_on_abort),
            denial=deny,
            is_permission=True,
            function_name=_name_of(self._can_use_tool),
        )
        if self._answers.add(open_request):
            self._submit(open_request, lambda: self._run_permission(request, open_request))

    def _run_permission(self, request: PermissionRequest, open_request: OpenRequest) -> None:
        later: list[PendingAnswer] = []
        context = self._permission_context(request, open_request, later)
        try:
            if self._can_use_tool is None:
                raise OptionsError("this session has no can_use_tool callback, so nobody can allow this")
            decision = self._can_use_tool(request.tool_name, _own_copy(request.input), context)
            if later:
                return
            self._decide(request, open_request, decision)
        except (
            BaseException
        ) as error:  # an unanswered request hangs the turn: SystemExit and KeyboardInterrupt deny too
            self._failed("permission.failed", open_request, error)
            self._answers.answer(open_request, deny(f"The permission callback failed: {_said(error)}"))

    def _permission_context(
        self, request: PermissionRequest, open_request: OpenRequest, later: list[PendingAnswer]
    ) -> PermissionContext:
        owner = os.getpid()

        def answer(decision: Allow | Deny) -> bool:
            forks.require_owner(owner, "this request")
            return self._decide(request, open_request, decision)

        def answer_later() -> PendingAnswer:
            later.append(PendingAnswer(answer, open_request.signal))
            return later[-1]

        return PermissionContext(
            signal=open_request.signal,
            suggestions=request.suggestions,
            tool_use_id=request.tool_use_id,
            agent_id=request.agent_id,
            blocked_path=request.blocked_path,
            decision_reason=request.decision_reason,
            title=request.title,
            display_name=request.display_name,
            description=request.description,
            raw=request.raw,
            later=answer_later,
        )

    def _decide(self, request: PermissionRequest, open_request: OpenRequest, decision: object) -> bool:
        response = answer_permission(decision, request.input, allow_bypass=self._allow_bypass)
        if response.get("interrupt") and self._answers.is_open(open_request):  # a late one ends nothing
            self._stopping(None)
        return self._answers.answer(open_request, response)

    # -- hooks ---------------------------------------------------------------------------------------------------------

    def _start_hook(self, request: HookCallback) -> None:
        hook = self._hooks.get(request.callback_id)
        if hook is None:  # registered by nobody: only an answer without an opinion is safe on every program
            _log.warning("hook.unknown", callback_id=request.callback_id)
            open_request = OpenRequest(request.request_id, AbortSignal(), denial=lambda _text: {})
            if self._answers.add(open_request):
                self._answers.answer(open_request, {})
            return
        open_request = OpenRequest(
            request.request_id,
            AbortSignal(self._run_on_abort),
            denial=lambda text: failed_hook(hook, text),
            function_name=_name_of(hook.function),
        )
        if not self._answers.add(open_request):
            return
        if hook.timeout is not None:
            seconds = hook.timeout
            open_request.timer = call_later(seconds, lambda: self._hook_timed_out(hook, open_request, seconds))
            if not self._answers.is_open(open_request):  # it was closed meanwhile, and its timer not seen
                open_request.timer.cancel()
        self._submit(open_request, lambda: self._run_hook(hook, request, open_request))

    def _run_hook(self, hook: Hook, request: HookCallback, open_request: OpenRequest) -> None:
        context = HookContext(open_request.signal, hook.event, self._session())
        try:
            output = hook.function(_own_copy(request.input), request.tool_use_id, context)
            answer = answer_hook(hook.event, output, allow_bypass=self._allow_bypass)
            if _ends_turn(hook.event, answer) and self._answers.is_open(open_request):
                self._stopping(hook.event)
            self._answers.answer(open_request, answer)
        except BaseException as error:  # as above
            self._failed("hook.failed", open_request, error)
            self._answers.answer(open_request, failed_hook(hook, f"The {hook.event} hook failed: {_said(error)}"))

    def _hook_timed_out(self, hook: Hook, open_request: OpenRequest, seconds: float) -> None:
        if self._answers.time_out(open_request, f"The {hook.event} hook did not answer within {seconds:g} seconds."):
            _log.warning("hook.timed_out", hook_event=hook.event, function=open_request.function_name, seconds=seconds)

    # -- both ----------------------------------------------------------------------------------------------------------

    def _submit(self, open_request: OpenRequest, function: Callable[[], None]) -> None:
        def run() -> None:
            if self._answers.is_open(open_request):  # it may have been cancelled while it waited for a thread
                function()

        self._pool.submit(run)

    def _run_on_abort(self, function: Callable[[], None]) -> None:
        def run() -> None:
            try:
                function()
            except BaseException as error:  # there is nobody to raise to
                _log.warning("on_abort.failed", function=_name_of(function), error=repr(error))

        if not self._pool.submit(run):
            _log.debug("on_abort.skipped", function=_name_of(function))

    def _failed(self, event: str, open_request: OpenRequest, error: BaseException) -> None:
        _log.warning(event, function=open_request.function_name, error=repr(error))


def _ends_turn(event: str, answer: Mapping[str, Any]) -> bool:
    """Tell whether an answer ends a turn in a way that 2.0.75 and 2.1.7 do not tell."""
    halts = answer.get("continue") is False
    return (event == "Stop" and halts) or (event == "UserPromptSubmit" and (halts or answer.get("decision") == "block"))


def _own_copy(value: dict[str, Any]) -> dict[str, Any]:
    """Return a copy for the user to change: "allow" must echo what was asked, not what the callback did to it."""
    return copy.deepcopy(value)


def _name_of(function: Any) -> str:
    return str(getattr(function, "__qualname__", None) or type(function).__name__)


def _said(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def forbid_waiting(pool: CallbackPool) -> None:
    """Raise `ConcurrencyError` in a callback: the turn it would wait for waits for the callback itself."""
    if pool.owns_this_thread():
        raise ConcurrencyError(
            "a callback cannot wait for a turn of its own session, because the turn waits for the callback; "
            "control calls such as set_model() work here"
        )
