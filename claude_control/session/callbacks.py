"""Hands each request of the program to the part that answers it."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from claude_control import log
from claude_control.log import error_text
from claude_control.options import Options
from claude_control.session.answers import Answers
from claude_control.session.elicitations import Dialogs, Elicitations
from claude_control.session.hooks import Hooks
from claude_control.session.permissions import Permissions
from claude_control.session.pool import CallbackPool
from claude_control.session.running import Runner
from claude_control.session.servers import ToolServers
from claude_control.wire.envelope import pending_requests
from claude_control.wire.hooks import Hook
from claude_control.wire.inbound import (
    Elicitation,
    HookCallback,
    MCPMessage,
    PermissionRequest,
    UnknownRequest,
    UserDialog,
    read_request,
)
from claude_control.wire.requests import Request

__all__ = ["Callbacks"]

_log = log.get(__name__)


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
        require: Callable[[str, str], None],
    ) -> None:
        self._answers = answers
        self._pool = pool
        runner = Runner(answers, pool)
        permissions = Permissions(runner, options, session, stopping)
        self._hooks = Hooks(runner, hooks, session, stopping, require, allow_bypass=options.allow_bypass)
        elicitations = Elicitations(runner, options, session)
        dialogs = Dialogs(runner, options, session)
        self.servers = ToolServers(
            options.mcp_servers,
            answers=answers,
            pool=pool,
            post=post,
            session=session,
            run_on_abort=runner.run_on_abort,
        )
        answers.on_end = self._end
        self._starts: Mapping[type, Callable[[Any], Callable[[], None] | None]] = {
            PermissionRequest: permissions.start,
            HookCallback: self._hooks.start,
            MCPMessage: self.servers.receive,
            Elicitation: elicitations.start,
            UserDialog: dialogs.start,
            UnknownRequest: self._refuse,
        }

    def receive(self, frames: Sequence[dict[str, Any]]) -> None:
        """Begin to answer requests that came together. Called by the reader: runs nothing of the user's here."""
        try:
            work = list(filter(None, map(self._begin, frames)))
            if work:
                self._pool.submit(*work)
        except Exception as error:  # no thread is to be had, or this one was struck
            _log.error("request.broken", kind="", error=error_text(error))
            for request_id in [frame.get("request_id") for frame in frames]:
                if request_id.__class__ is str:
                    self._answers.deny(request_id, _could_not_ask(error))

    def _begin(self, frame: dict[str, Any]) -> Callable[[], None] | None:
        """Begin to answer a request; returns what is to run on the pool, if anything."""
        request = None
        try:
            request = read_request(frame)
            return None if request is None else self._starts[request.__class__](request)
        except Exception as error:  # a request without an answer hangs its turn, or lets a tool run
            _log.error("request.broken", kind=type(request).__name__, error=error_text(error))
            self._answers.fail(frame["request_id"], _could_not_ask(error))
        return None

    def _refuse(self, request: UnknownRequest) -> None:
        _log.warning("request.unknown", subtype=request.subtype)
        what = request.subtype or "this"
        self._answers.refuse(request.request_id, f"claude_control does not answer {what} requests")

    def _end(self, reason: str) -> None:
        """The session is over: nothing is waited for any more."""
        self._hooks.end()
        self.servers.end(reason)

    def resume(self, frame: dict[str, Any]) -> None:
        """Begin to answer the requests that an answer to initialize lists as open, and that are not here."""
        for listed in pending_requests(frame):
            request = read_request(listed)
            to_person = isinstance(request, PermissionRequest | Elicitation | UserDialog)
            if to_person and request is not None and not self._answers.knows(request.request_id):
                self.receive((listed,))


def _could_not_ask(error: Exception) -> str:
    return f"claude_control could not ask: {error_text(error)}"
