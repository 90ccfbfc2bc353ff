"""A server in use by one peer: every request gets one response, and every call of a tool ends.

Whose threads these are is said by who connects: messages come from a reader that must not wait, tools run where `run`
takes them, and time limits end on the watch's thread. Nothing here waits for anything.
"""

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import attrs

from claude_control import log
from claude_control.abort import AbortSignal
from claude_control.errors import OptionsError
from claude_control.process.watch import call_later
from claude_control.tools import jsonrpc, methods
from claude_control.tools.context import ToolContext
from claude_control.tools.gate import Gate
from claude_control.tools.jsonrpc import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    Notification,
    Refused,
    Request,
)
from claude_control.tools.results import error_text, failure

if TYPE_CHECKING:
    from claude_control.tools.server import ToolServer

__all__ = ["Connection"]

NOT_FOUND = -32002
"""MCP's own code: there is no such resource."""

Run = Callable[[Callable[[], None]], bool | None]
Send = Callable[[dict[str, Any]], object]
Reply = Callable[[dict[str, Any] | None], object]
Perform = Callable[[ToolContext], dict[str, Any]]

_log = log.get(__name__)


@attrs.define(eq=False)
class _Call:
    """A request that runs the user's code and has no response yet."""

    request: Request
    reply: Reply
    name: str
    perform: Perform
    signal: AbortSignal
    timeout: float | None
    gate: Gate
    timer: Any = None
    begun: bool = False

    def result(self, value: dict[str, Any]) -> dict[str, Any]:
        return jsonrpc.result(self.request.id, value)

    def failed(self, text: str) -> dict[str, Any]:
        """Return the response that says so: for a tool a result, which the model reads."""
        if self.request.method == "tools/call":
            return self.result(failure(text))
        return jsonrpc.error(self.request.id, Refused(INTERNAL_ERROR, text))


class Connection:
    """One peer's connection to a `ToolServer`; `ToolServer.connect` makes it."""

    def __init__(self, server: "ToolServer", run: Run, send: Send | None, session: Callable[[], Any] | None) -> None:
        self._server = server
        self._run = run
        self._send = send
        self._session = session
        self._lock = threading.Lock()  # guards the four below
        self._open: set[_Call] = set()
        self._by_id: dict[Any, _Call] = {}
        self._closed: str | None = None
        self.late = 0
        """Results that came after their call was cancelled, timed out or closed; they are dropped."""

    def receive(self, message: object, reply: Reply, signal: AbortSignal | None = None) -> None:
        """Take a message. `reply` is called once, now or later, on any thread.

        It gets the response, or None where none is due: for a notification, and for a call that was cancelled. If it
        raises `OptionsError`, because a result has no form in JSON, it is called again with a failure. `signal` is the
        one that the tool gets, where whoever carries the message may want to fire it too.
        """
        read = jsonrpc.read(message)
        if isinstance(read, Request):
            self._serve(read, reply, signal or AbortSignal(self._run_on_abort))
            return
        if isinstance(read, Notification):
            if read.method == "notifications/cancelled":
                self._cancel(read.params.get("requestId"))
            reply(None)
            return
        reply(read)

    def close(self, reason: str = "closed") -> None:
        """Fail every open call, firing its signal with the reason, and all that come later. Idempotent."""
        with self._lock:
            self._closed = self._closed or reason
            calls, self._open, self._by_id = list(self._open), set(), {}
        for call in calls:
            self._stop_timer(call)
            try:
                call.reply(call.failed(f"{call.name} was stopped: the connection to its server was {reason}."))
            except Exception as error:  # whoever carries answers may be gone; the other tools must still be told
                _log.debug("tool.unanswered", tool=call.name, error=error_text(error))
            call.signal.fire(reason)

    def __len__(self) -> int:
        return len(self._open)

    def __repr__(self) -> str:
        return f"<Connection to {self._server.name}: {len(self)} calls open, {self.late} late>"

    # -- requests ------------------------------------------------------------------------------------------------------

    def _serve(self, request: Request, reply: Reply, signal: AbortSignal) -> None:
        answer = methods.answer(self._server, request)
        if answer is None:
            found = _CALLS.get(request.method)
            absent = Refused(METHOD_NOT_FOUND, f"{self._server.name} has no method {request.method}")
            answer = absent if found is None else self._start(request, reply, signal, found)
        if isinstance(answer, Refused):
            reply(jsonrpc.error(request.id, answer))
        elif answer is not None:
            reply(jsonrpc.result(request.id, answer))

    def _start(self, request: Request, reply: Reply, signal: AbortSignal, find: "_Find") -> Refused | None:
        """Begin what runs the user's code; returns why it cannot."""
        found = find(self._server, request.params)
        if isinstance(found, Refused):
            return found
        call = _Call(request, reply, found.name, found.perform, signal, found.timeout, found.gate)
        with self._lock:
            if self._closed is not None:
                return Refused(INTERNAL_ERROR, f"the connection to {self._server.name} was {self._closed}")
            self._open.add(call)
            self._by_id[request.id] = call  # ids begin anew with every handshake: the last one counts
        if call.timeout is not None:
            self._set_timer(call, call.timeout)
        call.gate.enter(lambda: self._begin(call))
        return None

    def _set_timer(self, call: _Call, seconds: float) -> None:
        try:
            call.timer = call_later(seconds, lambda: self._time_out(call, seconds))
        except RuntimeError as error:  # the system has no more threads: better without a limit than not at all
            _log.warning("tool.no_timer", tool=call.name, error=str(error))
        if call not in self._open:  # it was closed meanwhile, and its timer not seen
            self._stop_timer(call)

    def _begin(self, call: _Call) -> bool:
        if call not in self._open:  # it ended while it waited for its turn
            return False
        call.begun = True
        if self._run(lambda: self._perform(call)) is False:
            self._answer(call, call.failed(f"{call.name} was not run: the session is closing."))
            return False
        return True

    # -- on the host's threads -----------------------------------------------------------------------------------------

    def _perform(self, call: _Call) -> None:
        try:
            if call in self._open:
                self._answer(call, self._outcome(call))
        finally:
            call.gate.leave()

    def _outcome(self, call: _Call) -> dict[str, Any]:
        try:
            return call.result(call.perform(self._context(call)))
        except BaseException as error:  # of a resource or a prompt; tools see to their own
            said = error_text(error)
            _log.warning("tool.failed", tool=call.name, error=said)
            return call.failed(f"{call.name} failed: {said}")

    def _context(self, call: _Call) -> ToolContext:
        meta = call.request.params.get("_meta")
        meta = dict(meta) if isinstance(meta, dict) else {}
        token, tool_use_id = meta.get("progressToken"), meta.get("claudecode/toolUseId")

        def progress(done: float, total: float | None, message: str | None) -> None:
            if token is None or self._send is None or call not in self._open:
                return
            extra = {name: value for name, value in (("total", total), ("message", message)) if value is not None}
            said = {"progressToken": token, "progress": done, **extra}
            self._send(jsonrpc.notification("notifications/progress", said))

        return ToolContext(
            tool_name=call.name,
            signal=call.signal,
            tool_use_id=tool_use_id if isinstance(tool_use_id, str) else None,
            meta=meta,
            session=None if self._session is None else self._session(),
            progress=progress,
        )

    def _run_on_abort(self, function: Callable[[], None]) -> None:
        def run() -> None:
            try:
                function()
            except BaseException as error:  # there is nobody to raise to
                _log.warning("on_abort.failed", error=error_text(error))

        self._run(run)

    # -- the end of a call ---------------------------------------------------------------------------------------------

    def _answer(self, call: _Call, message: dict[str, Any]) -> None:
        if not self._take(call):
            with self._lock:
                self.late += 1
            _log.debug("tool.late", tool=call.name, reason=call.signal.reason)
            return
        try:
            call.reply(message)
        except OptionsError as error:
            _log.warning("tool.unusable_result", tool=call.name, error=str(error))
            call.reply(call.failed(f"{call.name} ran, but what it returned cannot be sent: {error}"))

    def _cancel(self, request_id: object) -> None:
        with self._lock:
            call = self._by_id.get(request_id) if isinstance(request_id, str | int | float) else None
        if call is not None and self._take(call):
            call.reply(None)
            call.signal.fire("cancelled")

    def _time_out(self, call: _Call, seconds: float) -> None:
        """On the watch's thread."""
        if not self._take(call):
            return
        what = "did not answer" if call.begun else "could not begin, because earlier calls of it still run,"
        _log.warning("tool.timed_out", tool=call.name, seconds=seconds, begun=call.begun)
        call.reply(call.failed(f"{call.name} {what} within {seconds:g} seconds."))
        call.signal.fire("timeout")

    def _take(self, call: _Call) -> bool:
        """Whether the caller is the one to answer: the first that asks is."""
        with self._lock:
            mine = call in self._open
            self._open.discard(call)
            if self._by_id.get(call.request.id) is call:
                del self._by_id[call.request.id]
        if mine:
            self._stop_timer(call)
        return mine

    def _stop_timer(self, call: _Call) -> None:
        if call.timer is not None:
            call.timer.cancel()


# -- what runs the user's code -----------------------------------------------------------------------------------------


@attrs.frozen
class _Found:
    """What a request wants to have run, and within which limits."""

    name: str
    perform: Perform
    timeout: float | None
    gate: Gate


_Find = Callable[["ToolServer", dict[str, Any]], _Found | Refused]


def _find_tool(server: "ToolServer", params: dict[str, Any]) -> _Found | Refused:
    name, arguments = params.get("name"), params.get("arguments")
    tool = server.tools.get(name) if isinstance(name, str) else None
    if tool is None:
        return Refused(
            INVALID_PARAMS, f"{server.name} has no tool {name!r}; it has {', '.join(server.tools) or 'none'}"
        )
    if not isinstance(arguments, dict | None):
        return Refused(INVALID_PARAMS, f"the arguments of {name} are not an object")
    given = arguments or {}
    timeout = server.timeout if tool.timeout is None else tool.timeout
    return _Found(tool.name, lambda context: tool.run(given, context), timeout, tool.gate)


def _find_resource(server: "ToolServer", params: dict[str, Any]) -> _Found | Refused:
    uri = params.get("uri")
    resource = server.resources.get(uri) if isinstance(uri, str) else None
    if resource is None:
        return Refused(NOT_FOUND if isinstance(uri, str) else INVALID_PARAMS, f"{server.name} has no resource {uri!r}")
    return _Found(resource.uri, lambda _context: resource.read(), server.timeout, Gate(None))


def _find_prompt(server: "ToolServer", params: dict[str, Any]) -> _Found | Refused:
    name, arguments = params.get("name"), params.get("arguments")
    prompt = server.prompts.get(name) if isinstance(name, str) else None
    if prompt is None:
        return Refused(INVALID_PARAMS, f"{server.name} has no prompt {name!r}")
    if not isinstance(arguments, dict | None):
        return Refused(INVALID_PARAMS, f"the arguments of {name} are not an object")
    given = arguments or {}
    if wrong := prompt.missing(given):
        return Refused(INVALID_PARAMS, f"the arguments of {name} do not fit: {', '.join(wrong)}")
    return _Found(prompt.name, lambda _context: prompt.get(given), server.timeout, Gate(None))


_CALLS: dict[str, _Find] = {
    "tools/call": _find_tool,
    "resources/read": _find_resource,
    "prompts/get": _find_prompt,
}
