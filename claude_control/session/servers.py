"""The tool servers in this process: the program's messages to them, and theirs to the program."""

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar

import attrs

from claude_control import log
from claude_control.abort import AbortSignal
from claude_control.errors import ClaudeControlError, ConcurrencyError, OptionsError
from claude_control.log import error_text
from claude_control.options.servers import ToolServerLike, external, in_process
from claude_control.records import frozen
from claude_control.session.answers import Answers, Handler, OpenRequest
from claude_control.session.pool import CallbackPool
from claude_control.wire.inbound import MCPMessage
from claude_control.wire.requests.base import EmptyReply, Request

__all__ = ["ToolServers"]

_log = log.get(__name__)

_ACKNOWLEDGED = {"jsonrpc": "2.0", "result": {}}  # without it the program's handshake stalls (2.0.75, 2.1.7, 2.1.332)
_INTERNAL_ERROR = -32603


@frozen
class _ToProgram(Request[EmptyReply]):
    """A message of a server's own to the program: so far, how a call gets on."""

    subtype: ClassVar[str] = "mcp_message"

    server_name: str = ""
    message: Mapping[str, Any] = attrs.field(factory=dict)

    def body(self) -> dict[str, Any]:
        return {"subtype": self.subtype, "server_name": self.server_name, "message": dict(self.message)}


class ToolServers:
    """The servers of one session, by the names that the program knows them by."""

    def __init__(
        self,
        servers: Any,
        *,
        answers: Answers,
        pool: CallbackPool,
        post: Callable[[Request[Any]], None],
        session: Callable[[], Any],
        run_on_abort: Callable[[Callable[[], None]], None],
    ) -> None:
        self._answers = answers
        self._pool = pool
        self._post = post  # writes a request whose answer nobody waits for
        self._session = session
        self._run_on_abort = run_on_abort
        self._handler = Handler(None, lambda _request: None, _denial)  # the servers begin by themselves
        self._lock = threading.Lock()  # guards the four below
        self._setting: object = None  # whose call is replacing the set
        self._connections: dict[str, tuple[Any, Any]] = {}  # each with the server as it was given
        self._late_before = 0
        self._over: str | None = None
        given = in_process(servers)
        self._lasting = tuple(given)  # those of the options are there as long as the session
        for name, server in given.items():
            self._connect(name, server)

    def receive(self, request: MCPMessage) -> None:
        """Hand a message to its server. Called by the reader: the server runs nothing of the user's here."""
        connection = self._connections.get(request.server_name, (None, None))[1]
        open_request = OpenRequest(request.request_id, AbortSignal(self._run_on_abort), self._handler, request)
        if not self._answers.add(open_request):
            return

        def reply(message: dict[str, Any] | None) -> None:
            if self._answers.is_open(open_request):
                response = {"mcp_response": _ACKNOWLEDGED if message is None else message}
                self._answers.answer(open_request, response)

        if connection is None:
            reply(_failure(request.message, f"this session has no server {request.server_name!r}"))
            return
        try:
            connection.receive(request.message, reply, open_request.signal)
        except Exception as error:  # this is the reader, and a server may be of the user's own making
            _log.error("tools.broken", server=request.server_name, error=error_text(error))
            reply(_failure(request.message, f"the server {request.server_name} failed: {type(error).__name__}"))

    @contextmanager
    def replacing(self, servers: Any) -> Iterator[Any]:
        """Connect the servers in this process among these, and yield the complete set as the program is to get it.

        Those of the options go along: on every measured program the set takes the place of all (2.0.75, 2.1.7 and
        2.1.332). Those that an earlier set had brought are let go of at the end, if nothing was raised. Raises
        `ConcurrencyError` while another call is at it.
        """
        if not isinstance(servers, Mapping):
            yield servers  # the request says what is wrong
            return
        added = in_process(servers)
        inside = {name: {"type": "sdk", "name": name} for name in (*self._lasting, *added)}
        new: list[str] = []
        mine = object()
        try:
            self._begin_set(mine, servers, added)
            for name, server in added.items():
                if self._connect(name, server):
                    new.append(name)
            yield {**external(servers), **inside}
        except BaseException:
            self._let_go(new)
            raise
        else:
            self._let_go(set(self._connections) - set(inside))
        finally:
            if self._setting is mine:
                self._setting = None

    def _begin_set(self, mine: object, servers: Mapping[str, Any], added: Mapping[str, Any]) -> None:
        with self._lock:
            for name in servers:
                known = self._connections.get(name)
                if known is not None and known[0] is not added.get(name):
                    text = f"servers has {name!r}, which is a server in this process already; give it another name"
                    raise OptionsError(text, field="servers")
            if self._setting is not None:  # at the end of two at once nobody knows whose set the program has
                raise ConcurrencyError("another call is setting this session's servers; call again when it is done")
            self._setting = mine

    def check_kept(self, servers: Any) -> None:
        """Raise `OptionsError` if a set of servers, as on the wire, lacks one that is connected here."""
        kept = servers if isinstance(servers, Mapping) else {}
        gone = [repr(name) for name in list(self._connections) if name not in kept]
        if gone:
            text = f"this would take {', '.join(gone)} away, served by this process; use session.set_mcp_servers()"
            raise OptionsError(text, field="servers")

    def end(self, reason: str) -> None:
        """Stop every call that runs, and take no more."""
        with self._lock:
            self._over = reason
        for name, (_, connection) in list(self._connections.items()):
            _close(name, connection, reason)

    @property
    def late(self) -> int:
        """Results that came after their call was cancelled, timed out or closed."""
        now = [int(connection.late) for _, connection in list(self._connections.values())]
        return self._late_before + sum(now)

    def _connect(self, name: str, server: Any) -> bool:
        """Connect a server, unless one of this name is; returns whether it did."""
        if name in self._connections:
            return False
        made = server if isinstance(server, ToolServerLike) else _bridged(server)
        connection = made.connect(self._pool.submit, lambda message: self._send(name, message), self._session)
        with self._lock:  # not before: a server may be of the user's own making
            fits = name not in self._connections and self._over is None
            if fits:
                self._connections[name] = server, connection
        if not fits:
            _close(name, connection, "closed")
        return fits

    def _let_go(self, names: Iterable[str]) -> None:
        with self._lock:
            gone = {name: self._connections.pop(name)[1] for name in names if name in self._connections}
        for name, connection in gone.items():
            _close(name, connection, "closed")
            self._late_before += connection.late

    def _send(self, name: str, message: dict[str, Any]) -> None:
        """Write a message of a server's own, from a tool's thread."""
        try:
            self._post(_ToProgram(name, message))
        except ClaudeControlError as error:  # a program that is gone needs no news; the tool learns it by its signal
            _log.debug("tools.unsent", server=name, error=str(error))


def _close(name: str, connection: Any, reason: str) -> None:
    try:
        connection.close(reason)
    except Exception as error:  # a server may be of the user's own making, and the others must still be told
        _log.error("tools.broken", server=name, error=error_text(error))


def _bridged(server: Any) -> ToolServerLike:
    from claude_control.tools.bridging import bridge  # here: most sessions have no such server

    return bridge(server)


def _denial(request: OpenRequest, text: str) -> dict[str, Any]:
    return {"mcp_response": _failure(request.asked.message, text)}


def _failure(message: Any, text: str) -> dict[str, Any]:
    """Return the response to a message that no server will answer; an acknowledgement, if it wants none."""
    if not isinstance(message, Mapping) or "id" not in message:
        return _ACKNOWLEDGED
    return {"jsonrpc": "2.0", "id": message["id"], "error": {"code": _INTERNAL_ERROR, "message": text}}
