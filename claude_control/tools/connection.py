"""A server in use by one peer: every request gets one response, and every call of a tool ends.

Whose threads these are is said by who connects: messages come from a reader that must not wait, tools run where `run`
takes them, and time limits end on the watch's thread. Nothing here waits for anything.
"""

import threading
from collections.abc import Callable
from typing import Any

from claude_control import log
from claude_control.abort import AbortSignal
from claude_control.errors import OptionsError
from claude_control.log import error_text
from claude_control.process.watch import call_later
from claude_control.records import define
from claude_control.tools import jsonrpc
from claude_control.tools.context import ToolContext
from claude_control.tools.finding import Found, Handed
from claude_control.tools.jsonrpc import INTERNAL_ERROR, Notification, Refused, Request
from claude_control.tools.results import failure

__all__ = ["Connection"]

Run = Callable[[Callable[[], None]], bool | None]
Send = Callable[[dict[str, Any]], object]
Reply = Callable[[dict[str, Any] | None], object]
Find = Callable[[Request], "dict[str, Any] | Found | Handed | Refused"]

_log = log.get(__name__)


@define(eq=False)
class _Call:
    """A request that runs the user's code and has no response yet."""

    request: Request
    reply: Reply
    name: str
    signal: AbortSignal
    timer: Any = None
    begun: bool = False

    def result(self, value: dict[str, Any]) -> dict[str, Any]:
        return jsonrpc.result(self.request.id, value)

    def failed(self, text: str) -> dict[str, Any]:
        """Return the response that says so: for a tool a result, which the model reads."""
        if self.request.method == "tools/call":
            return self.result(failure(text))
        return jsonrpc.error(self.request.id, Refused(INTERNAL_ERROR, text))

    def response(self, outcome: dict[str, Any] | Refused) -> dict[str, Any]:
        """Return the response for a result, or for why there is none."""
        return self.result(outcome) if isinstance(outcome, dict) else jsonrpc.error(self.request.id, outcome)


class Connection:
    """One peer's connection to a server; `ToolServer.connect` makes it.

    `find` returns the answer to a request, or what is to be run for it, and does so at once.
    """

    def __init__(
        self, name: str, find: Find, run: Run, send: Send | None = None, session: Callable[[], Any] | None = None
    ) -> None:
        self._name = name
        self._find = find
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
            self._notice(read)
            reply(None)
            return
        reply(read)

    def notify(self, method: str) -> None:
        """Send the peer a notification without parameters, unless the connection is closed."""
        if self._send is not None and self._closed is None:
            self._send(jsonrpc.notification(method))

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
        return f"<Connection to {self._name}: {len(self)} calls open, {self.late} late>"

    # -- requests ------------------------------------------------------------------------------------------------------

    def _serve(self, request: Request, reply: Reply, signal: AbortSignal) -> None:
        found = self._find(request)
        answer = self._start(request, reply, signal, found) if isinstance(found, Found | Handed) else found
        if isinstance(answer, Refused):
            reply(jsonrpc.error(request.id, answer))
        elif answer is not None:
            reply(jsonrpc.result(request.id, answer))

    def _start(self, request: Request, reply: Reply, signal: AbortSignal, found: Found | Handed) -> Refused | None:
        """Begin what runs the user's code; returns why it cannot."""
        call = _Call(request, reply, found.name, signal)
        with self._lock:
            if self._closed is not None:
                return Refused(INTERNAL_ERROR, f"the connection to {self._name} was {self._closed}")
            self._open.add(call)
            self._by_id[call.request.id] = call  # ids begin anew with every handshake: the last one counts
        if found.timeout is not None:
            self._set_timer(call, found.timeout)
        if isinstance(found, Handed):
            self._hand_over(call, found)
        else:
            found.gate.enter(lambda: self._begin(call, found))
        return None

    def _hand_over(self, call: _Call, handed: Handed) -> None:
        call.begun = True

        def dropped() -> None:  # by whoever carries the messages, and then no answer comes that would end the call
            self._take(call)

        call.signal.on_abort(dropped)
        try:
            handed.begin(self._context(call), lambda outcome: self._answer(call, call.response(outcome)))
        except Exception as error:  # no thread is to be had, or the library is not as it was
            _log.warning("tool.failed", tool=call.name, error=error_text(error))
            self._answer(call, call.failed(f"{call.name} failed: {error_text(error)}"))

    def _notice(self, notification: Notification) -> None:
        """Take a notification; the reader must not wait here."""
        if notification.method == "notifications/cancelled":
            self._cancel(notification.params.get("requestId"))

    def _set_timer(self, call: _Call, seconds: float) -> None:
        try:
            call.timer = call_later(seconds, lambda: self._time_out(call, seconds))
        except RuntimeError as error:  # the system has no more threads: better without a limit than not at all
            _log.warning("tool.no_timer", tool=call.name, error=str(error))
        if call not in self._open:  # it was closed meanwhile, and its timer not seen
            self._stop_timer(call)

    def _begin(self, call: _Call, found: Found) -> bool:
        if call not in self._open:  # it ended while it waited for its turn
            return False
        call.begun = True
        if self._run(lambda: self._perform(call, found)) is False:
            self._answer(call, call.failed(f"{call.name} was not run: the session is closing."))
            return False
        return True

    # -- on the host's threads -----------------------------------------------------------------------------------------

    def _perform(self, call: _Call, found: Found) -> None:
        try:
            if call in self._open:
                self._answer(call, self._outcome(call, found))
        finally:
            found.gate.leave()

    def _outcome(self, call: _Call, found: Found) -> dict[str, Any]:
        try:
            return call.result(found.perform(self._context(call)))
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
