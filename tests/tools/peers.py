"""A peer of a ToolServer for tests: it asks, and keeps every answer to each question."""

import itertools
import json
import threading
from collections.abc import Callable
from typing import Any

from claude_control.session.pool import CallbackPool
from claude_control.tools import ToolServer
from claude_control.tools.connection import Connection
from tests.waiting import wait_until


class Exchange:
    """One message and what was answered; `answers` has one entry when all is well, and never more."""

    def __init__(self, message: object) -> None:
        self.message = message
        self.answers: list[dict[str, Any] | None] = []

    def reply(self, answer: dict[str, Any] | None) -> None:
        """Keep an answer."""
        json.dumps(answer)  # on the wire it would have to be JSON
        self.answers.append(answer)

    def wait(self) -> Any:
        """Return the answer once it is there; there must be no second one."""
        wait_until(lambda: self.answers)
        (answer,) = self.answers
        return answer

    def result(self) -> dict[str, Any]:
        """Return the result of a request that succeeded, with the id of the request."""
        answer = self.wait()
        assert isinstance(self.message, dict)
        assert {"jsonrpc": answer["jsonrpc"], "id": answer["id"]} == {"jsonrpc": "2.0", "id": self.message["id"]}
        result: dict[str, Any] = answer["result"]
        return result

    def error(self) -> tuple[int, str]:
        """Return the code and the text of the error."""
        found = self.wait()["error"]
        return found["code"], found["message"]

    def text(self) -> str:
        """Return the text of a tool's result, whether it failed or not."""
        return "".join(block["text"] for block in self.result()["content"])


class Peer:
    """A connection to a server whose calls run on a pool like a session's."""

    def __init__(self, server: ToolServer, pool: CallbackPool, **more: Any) -> None:
        self.sent: list[dict[str, Any]] = []
        self._ids = itertools.count()
        self.connection: Connection = server.connect(pool.submit, self.sent.append, **more)

    def send(self, message: object) -> Exchange:
        """Send any message."""
        exchange = Exchange(message)
        self.connection.receive(message, exchange.reply)
        return exchange

    def ask(self, method: str, params: object = None, **more: Any) -> Exchange:
        """Send a request with a fresh id."""
        given = {} if params is None else {"params": params}
        return self.send({"jsonrpc": "2.0", "id": next(self._ids), "method": method, **given, **more})

    def call(self, tool: str, arguments: dict[str, Any] | None = None, **meta: Any) -> Exchange:
        """Call a tool as the program does."""
        return self.ask("tools/call", {"name": tool, "arguments": arguments or {}, "_meta": meta})

    def cancel(self, exchange: Exchange) -> Exchange:
        """Withdraw a call as the program does when it is interrupted."""
        assert isinstance(exchange.message, dict)
        params = {"requestId": exchange.message["id"], "reason": "AbortError: remote-cancel"}
        return self.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})


class Latch:
    """Holds up a tool until the test lets it go, and says how many it holds."""

    def __init__(self) -> None:
        self._open = threading.Event()
        self._lock = threading.Lock()
        self.inside = 0
        self.most = 0
        self.open: Callable[[], None] = self._open.set

    def hold(self) -> None:
        """Wait until it is open."""
        with self._lock:
            self.inside += 1
            self.most = max(self.most, self.inside)
        try:
            assert self._open.wait(20)
        finally:
            with self._lock:
                self.inside -= 1
