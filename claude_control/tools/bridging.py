"""Servers of the `mcp` library and of FastMCP in a session, beside our own; the extra `mcp` has the library.

Nothing of it is imported here: whoever has such a server has imported it.
"""

import importlib.util
import threading
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import attrs

from claude_control import log
from claude_control.errors import OptionsError
from claude_control.log import error_text
from claude_control.options.servers import lowlevel
from claude_control.tools.connection import Connection, Run, Send
from claude_control.tools.context import ToolContext
from claude_control.tools.finding import Answer, Handed
from claude_control.tools.jsonrpc import INTERNAL_ERROR, Notification, Refused, Request

if TYPE_CHECKING:
    from claude_control.tools.link import Link

__all__ = ["HANDSHAKE_TIMEOUT", "BridgedServer", "bridge"]

HANDSHAKE_TIMEOUT = 10.0
"""Seconds that a bridged server has for the handshake and for each list: the program's first turn waits for it, and
would wait for 60 (2.1.332)."""

MAX_REPORTS = 1000
"""How many reports of progress wait for a program that does not read; those beyond are dropped."""

_log = log.get(__name__)

_CALLS = ("tools/call", "resources/read", "prompts/get", "completion/complete")
"""What runs the server's own functions, and may take its time."""


def bridge(
    server: Any, *, timeout: float | None = None, handshake_timeout: float | None = HANDSHAKE_TIMEOUT
) -> "BridgedServer":
    """Make a server of the `mcp` library, 1.x or 2.x, or of FastMCP one for a session, with settings.

    `mcp_servers={"lab": bridge(server, timeout=30)}`; without settings `{"lab": server}` will do. `timeout`, in
    seconds, is for each call of a tool, each reading of a resource and each prompt, `handshake_timeout` for everything
    else that the program waits for; None is no limit. Raises `OptionsError` for what is no such server, and where the
    library is missing.
    """
    return BridgedServer(server, timeout=timeout, handshake_timeout=handshake_timeout)


class BridgedServer:
    """A server of the `mcp` library, as a session sees it; `bridge` makes it."""

    def __init__(
        self, server: Any, *, timeout: float | None = None, handshake_timeout: float | None = HANDSHAKE_TIMEOUT
    ) -> None:
        found = lowlevel(server)
        if found is None:
            text = f"{type(server).__name__} is no server of the mcp library or of FastMCP"
            raise OptionsError(f"{text}; a ToolServer needs no bridge", field="mcp_servers")
        if importlib.util.find_spec("mcp") is None:
            text = "a server of the mcp library needs the library: pip install 'claude-control-sdk[mcp]'"
            raise OptionsError(text, field="mcp_servers")
        for field, seconds in (("timeout", timeout), ("handshake_timeout", handshake_timeout)):
            if seconds is not None and not (isinstance(seconds, int | float) and 0 < seconds < float("inf")):
                raise OptionsError(f"{field} must be seconds above 0, or None, not {seconds!r}", field=field)
        self.name = str(found.name)
        self.server = found
        self.timeout = timeout
        self.handshake_timeout = handshake_timeout

    def manifest(self) -> None:
        """Return None: what there is only the running server knows, so the program shakes hands with it."""
        return

    def connect(self, run: Run, send: Send | None = None, session: Callable[[], Any] | None = None) -> Connection:
        """Serve one session; the server starts with its first message."""
        return _BridgedConnection(self, run, send, session)

    def __repr__(self) -> str:
        return f"<BridgedServer {self.name}: {type(self.server).__module__}.{type(self.server).__name__}>"


class _BridgedConnection(Connection):
    """Hands every request on to the server, and leaves answers, time limits and cancelling to what it inherits."""

    def __init__(self, server: BridgedServer, run: Run, send: Send | None, session: Callable[[], Any] | None) -> None:
        # Not above: asyncio takes its time, and few need it. Not with the first message either: the reader takes that.
        from claude_control.tools.link import Link

        super().__init__(server.name, self._look_up, run, send, session)
        self._bridged = server
        self._make_link: Callable[..., Link] = Link
        self._guard = threading.Lock()  # guards the four below
        self._link: Link | None = None
        self._ended: str | None = None
        self._due: deque[Callable[[], object]] = deque()
        self._speaking = False

    def close(self, reason: str = "closed") -> None:
        """Fail every open call and have the server end its work. Idempotent."""
        super().close(reason)
        with self._guard:
            self._ended = self._ended or reason
            link = self._link
        if link is not None:
            link.close(reason)

    def _look_up(self, request: Request) -> Handed:
        is_call = request.method in _CALLS
        name = request.params.get("name") if request.method == "tools/call" else None
        return Handed(
            name if isinstance(name, str) else f"{request.method} of {self._name}",
            lambda context, answer: self._ask(request, context, answer),
            self._bridged.timeout if is_call else self._bridged.handshake_timeout,
        )

    def _ask(self, request: Request, context: ToolContext, answer: Answer) -> None:
        if context.signal.aborted:  # mcp 1.x cannot cancel what it has only just got
            return
        link = self._current()
        if link is not None:

            def report(*said: Any) -> None:
                if len(self._due) < MAX_REPORTS:
                    self._soon(lambda: context.progress(*said))

            told = attrs.evolve(context, progress=report)
            link.request(request.method, request.params, told, lambda outcome: self._in_turn(answer, outcome))
        else:
            answer(Refused(INTERNAL_ERROR, f"the connection to {self._name} was {self._ended}"))

    def _current(self) -> "Link | None":
        """Return what runs the server, which starts now if it does not run; None once this is closed."""
        with self._guard:
            if self._ended is not None:
                return None
            if self._link is None or self._link.over:
                self._link = self._make_link(self._bridged.server, self._name, self._pass_on)
            return self._link

    def _notice(self, notification: Notification) -> None:
        if notification.method == "notifications/cancelled":
            super()._notice(notification)  # the call's signal makes its link tell the server
        elif self._link is not None:
            self._link.notify(notification.method, notification.params)

    def _pass_on(self, message: dict[str, Any]) -> None:
        """Take what the server says by itself; on its loop."""
        if message["method"].endswith("/list_changed"):
            self._soon(lambda: self.notify(message["method"]))
        else:
            _log.debug("mcp.said", server=self._name, method=message["method"])

    def _in_turn(self, answer: Answer, outcome: dict[str, Any] | Refused) -> None:
        """Answer at once, which waits for nothing; but after the reports that are due, which may wait."""
        with self._guard:
            if self._speaking:
                self._due.append(lambda: answer(outcome))
                return
        _say(lambda: answer(outcome), self._name)

    def _soon(self, function: Callable[[], object]) -> None:
        """Have the program told something, in order, elsewhere: the loop, which others share, must not wait for it."""
        with self._guard:
            self._due.append(function)
            if self._speaking:
                return
            self._speaking = True
        if self._run(self._speak) is False:
            self._speaking = False

    def _speak(self) -> None:
        while True:
            with self._guard:
                if not self._due:
                    self._speaking = False
                    return
                function = self._due.popleft()
            _say(function, self._name)


def _say(function: Callable[[], object], name: str) -> None:
    try:
        function()
    except Exception as error:  # others are due all the same
        _log.warning("mcp.unsaid", server=name, error=error_text(error))
