"""Asks the user's callback whether a tool may run, and turns whatever happens into one answer."""

import os
from collections.abc import Callable, Mapping
from typing import Any

import attrs

from claude_control import log
from claude_control.abort import AbortSignal
from claude_control.errors import OptionsError
from claude_control.options import Options
from claude_control.process import forks
from claude_control.session.answers import OpenRequest
from claude_control.session.running import Runner, own_copy, said
from claude_control.wire.inbound import PermissionRequest
from claude_control.wire.permissions import Allow, Deny, PermissionUpdate, answer_permission, deny

__all__ = ["PendingAnswer", "PermissionContext", "Permissions"]

_log = log.get(__name__)

CanUseTool = Callable[[str, dict[str, Any], "PermissionContext"], Allow | Deny | None]


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


class Permissions:
    """Answers every `can_use_tool` request of one session."""

    def __init__(self, runner: Runner, options: Options, stopping: Callable[[str | None], None]) -> None:
        self._runner = runner
        self._can_use_tool: CanUseTool | None = options.can_use_tool
        self._allow_bypass = options.allow_bypass
        self._stopping = stopping  # called before a denial that ends the turn is written

    def start(self, request: PermissionRequest) -> None:
        """Begin to answer a request. Called by the reader: runs nothing of the user's here."""
        open_request = self._runner.open(request.request_id, self._can_use_tool, deny, is_permission=True)
        if open_request is not None:
            self._runner.submit(open_request, lambda: self._run(request, open_request))

    def _run(self, request: PermissionRequest, open_request: OpenRequest) -> None:
        later: list[PendingAnswer] = []
        context = self._context(request, open_request, later)
        try:
            if self._can_use_tool is None:
                raise OptionsError("this session has no can_use_tool callback, so nobody can allow this")
            decision = self._can_use_tool(request.tool_name, own_copy(request.input), context)
            if later:
                return
            self._decide(request, open_request, decision)
        except (
            BaseException
        ) as error:  # an unanswered request hangs the turn: SystemExit and KeyboardInterrupt deny too
            _log.warning("permission.failed", function=open_request.function_name, error=repr(error))
            self._runner.answers.answer(open_request, deny(f"The permission callback failed: {said(error)}"))

    def _context(
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
        if response.get("interrupt") and self._runner.answers.is_open(open_request):  # a late one ends nothing
            self._stopping(None)
        return self._runner.answers.answer(open_request, response)
