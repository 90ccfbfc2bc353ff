"""A loopback TCP server with a thread for each connection, and a stop that is bounded whatever the threads do."""

import socket
import socketserver
import threading
from collections.abc import Callable
from typing import Any

from claude_control import log
from claude_control.deadline import Deadline

__all__ = ["LoopbackServer"]

_log = log.get(__name__)

# How soon the accepting thread sees that it is to end.
_POLL_SECONDS = 0.05


class LoopbackServer(socketserver.TCPServer):
    """A server on 127.0.0.1, on a port that the system chooses; `name` begins the names of its threads.

    What a connection's handler raises is kept in `failures`, except that the other side went away, which is no failure.
    """

    address_family = socket.AF_INET
    request_queue_size = 128  # as many programs as a test may start at once

    def __init__(self, name: str, handler: Callable[..., socketserver.BaseRequestHandler]) -> None:
        super().__init__(("127.0.0.1", 0), handler)
        self.failures: list[Exception] = []
        self._name = name
        self._connections_lock = threading.Lock()
        self._connections: dict[threading.Thread, socket.socket | None] = {}  # None once served; guarded by the lock
        self._accepting = threading.Thread(target=self._accept, name=f"{name}-accept", daemon=True)

    @property
    def port(self) -> int:
        """The port that the server listens on."""
        return int(self.server_address[1])

    def start(self) -> None:
        """Start to accept connections."""
        self._accepting.start()

    def stop(self, timeout: float) -> tuple[str, ...]:
        """Stop accepting, cut all connections and wait for their threads; return the names of those that still run."""
        deadline = Deadline(timeout)
        self.shutdown()  # bounded by the poll: the accepting thread never does more than start a thread
        self._accepting.join(deadline.remaining())
        self.server_close()
        with self._connections_lock:
            threads = [self._accepting, *self._connections]
            for connection in self._connections.values():
                if connection is not None:
                    _cut(connection)
        for thread in threads:
            thread.join(deadline.remaining())
        return tuple(thread.name for thread in threads if thread.is_alive())

    def process_request(self, request: Any, client_address: Any) -> None:
        """Give a new connection a thread of its own; called by the accepting thread."""
        name = f"{self._name}-{client_address[1]}"
        thread = threading.Thread(target=self._serve, args=(request, client_address), name=name, daemon=True)
        with self._connections_lock:
            self._connections = {served: left for served, left in self._connections.items() if served.is_alive()}
            thread.start()  # it needs the lock before it ends, and is not in the table if it can't be started
            self._connections[thread] = request

    # Private

    def _accept(self) -> None:
        """Accept connections until the stop."""
        self.serve_forever(_POLL_SECONDS)

    def _serve(self, connection: socket.socket, address: Any) -> None:
        """Serve one connection to its end; the body of its thread."""
        try:
            self.finish_request(connection, address)
        except ConnectionError:
            _log.debug("connection.lost", server=self._name)  # a program that is interrupted hangs up
        except Exception as failure:
            self.failures.append(failure)
            _log.error("connection.failed", server=self._name, error=repr(failure))
        finally:
            # Out of the table before it is closed: the stop only touches sockets that are still open. The thread stays
            # there, for the stop waits for its end, too.
            with self._connections_lock:
                self._connections[threading.current_thread()] = None
            self.shutdown_request(connection)


def _cut(connection: socket.socket) -> None:
    """End both directions of a connection, which wakes whoever reads or writes there."""
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        return  # the other side was faster
