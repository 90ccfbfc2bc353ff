"""One client's connection to a server of the `mcp` library, 1.x or 2.x, that runs on a portal's loop.

Nothing here waits: a request is handed over, and the server's answer comes on its loop. All that differs between the
versions of the library is in this module.
"""

import asyncio
import itertools
import math
import threading
from collections.abc import Callable
from typing import Any

from claude_control import log
from claude_control.log import error_text
from claude_control.tools import jsonrpc
from claude_control.tools.context import ToolContext
from claude_control.tools.finding import Answer
from claude_control.tools.jsonrpc import INTERNAL_ERROR, METHOD_NOT_FOUND, Refused
from claude_control.tools.portal import spawn

__all__ = ["Link"]

_log = log.get(__name__)

Message = dict[str, Any]


class Link:
    """A server at work for one client; `on_notification` gets what it says by itself, on the loop."""

    def __init__(self, server: Any, name: str, on_notification: Callable[[Message], None]) -> None:
        self._server = server
        self._name = name
        self._on_notification = on_notification
        self._numbers = itertools.count(1)  # the client's own ids begin anew with every handshake
        self._lock = threading.Lock()  # guards the two below
        self._waiting: dict[int, tuple[ToolContext, Answer]] = {}
        self._over: str | None = None
        self._task: asyncio.Task[None] | None = None  # this and the next two belong to the loop
        self._read, self._wrap = _reader()
        self._incoming, self._received = _stream()
        self._portal = spawn(server, name, self._run)

    @property
    def over(self) -> bool:
        """Whether the server runs no more for this client."""
        return self._over is not None

    def request(self, method: str, params: Message, context: ToolContext, answer: Answer) -> None:
        """Ask the server; it answers on its loop, unless the signal fires first. Progress goes to the context."""
        number = next(self._numbers)
        with self._lock:
            if self._over is None:
                self._waiting[number] = context, answer
        if number not in self._waiting:
            answer(self._why_not())
            return
        self._send({"id": number, "method": method, "params": _with_token(params, number)})
        # Not before: the signal may have been fired, and the server would be told of a call that it does not have yet.
        context.signal.on_abort(lambda: self._give_up(number, method, context.signal.reason))

    def notify(self, method: str, params: Message) -> None:
        """Tell the server something. Never waits."""
        self._send({"method": method, "params": params})

    def close(self, reason: str) -> None:
        """Have the server end its work for this client. Never waits."""
        self._end(reason)
        self._portal.call(self._cancel)

    # -- any thread ----------------------------------------------------------------------------------------------------

    def _send(self, message: Message) -> None:
        self._portal.call(lambda: self._feed({"jsonrpc": "2.0", **message}))

    def _give_up(self, number: int, method: str, reason: str | None) -> None:
        if self._pop(number) is not None and method != "initialize":  # MCP forbids to cancel that one
            self.notify("notifications/cancelled", {"requestId": number, "reason": reason})

    def _pop(self, number: int) -> tuple[ToolContext, Answer] | None:
        with self._lock:
            return self._waiting.pop(number, None)

    def _end(self, reason: str) -> None:
        with self._lock:
            self._over = self._over or reason
            waiting, self._waiting = list(self._waiting.values()), {}
        for context, answer in waiting:
            if not context.signal.aborted:
                answer(self._why_not())

    def _why_not(self) -> Refused:
        return Refused(INTERNAL_ERROR, f"{self._name} does not run any more: {self._over}")

    # -- the loop ------------------------------------------------------------------------------------------------------

    async def _run(self) -> None:
        self._task = asyncio.current_task()
        try:
            await self._serve()
        except asyncio.CancelledError:
            self._end("it was cancelled")
        except BaseException as error:  # what a lifespan raised; 2.x also stumbles over its own end when cancelled
            if self._over is None:
                _log.warning("mcp.failed", server=self._name, error=error_text(_innermost(error)))
            self._end(f"it failed: {error_text(_innermost(error))}")
        finally:
            self._end("it has ended")

    async def _serve(self) -> None:
        from mcp.server.lowlevel import NotificationOptions

        options = self._server.create_initialization_options(NotificationOptions(tools_changed=True))
        async with self._incoming, self._received:
            if self._over is None:
                await self._server.run(self._received, _Writer(self._take), options)

    def _feed(self, message: Message) -> None:
        try:
            self._incoming.send_nowait(self._wrap(self._read(message)))
        except Exception as error:  # a message that the library refuses, or a server that reads no more
            _log.warning("mcp.unread", server=self._name, error=error_text(error))
            self._take(jsonrpc.error(message.get("id"), Refused(jsonrpc.INVALID_PARAMS, error_text(error))))

    def _cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()

    def _take(self, message: Message) -> None:
        """Take a message of the server's."""
        method, number = message.get("method"), message.get("id")
        if method is None:
            waiting = self._pop(number) if isinstance(number, int) else None
            if waiting is not None:
                waiting[1](_outcome(message))
        elif method == "notifications/progress":
            self._report(message["params"])
        elif number is None:
            self._on_notification(message)
        else:  # the program would refuse it too: it says at the handshake that it can do nothing for a server
            refused = Refused(METHOD_NOT_FOUND, f"the client of {self._name} does not answer {method}")
            self._feed(jsonrpc.error(number, refused))

    def _report(self, said: Message) -> None:
        waiting = self._waiting.get(said["progressToken"])
        if waiting is not None:
            waiting[0].progress(said["progress"], said.get("total"), said.get("message"))


class _Writer:
    """Where a server writes: what both versions of the library ask of a stream."""

    def __init__(self, take: Callable[[Message], None]) -> None:
        self._take = take

    async def send(self, item: Any) -> None:
        try:
            self._take(item.message.model_dump(by_alias=True, mode="json", exclude_unset=True))
        except Exception as error:  # a message of an odd form must not end the server
            _log.warning("mcp.unusable", error=error_text(error))

    async def aclose(self) -> None:
        """Nothing is held."""

    async def __aenter__(self) -> "_Writer":
        return self

    async def __aexit__(self, *_error: object) -> None:
        """Nothing is held."""


def _reader() -> tuple[Callable[[Message], Any], Callable[[Any], Any]]:
    """Return what makes a message of the library's out of a dict, and what wraps it for a stream."""
    from mcp import types
    from mcp.shared.message import SessionMessage

    adapter = getattr(types, "jsonrpc_message_adapter", None)  # since 2.0; before, a model of its own
    if adapter is not None:
        return adapter.validate_python, SessionMessage
    model: Any = types.JSONRPCMessage
    return model.model_validate, SessionMessage


def _stream() -> tuple[Any, Any]:
    """Return the two ends of what the server reads: writing to it never waits."""
    import anyio

    return anyio.create_memory_object_stream[Any](math.inf)


def _with_token(params: Message, number: int) -> Message:
    """Return the parameters of a request with our number as its progress token, if it has one."""
    meta = params.get("_meta")
    if not isinstance(meta, dict) or "progressToken" not in meta:
        return params
    return {**params, "_meta": {**meta, "progressToken": number}}


def _outcome(message: Message) -> Message | Refused:
    if "error" not in message:
        result: Message = message["result"]
        return result
    error = message["error"]
    return Refused(error["code"], error["message"], error.get("data"))


def _innermost(error: BaseException) -> BaseException:
    """Return the first error inside of groups, which say nothing themselves."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
