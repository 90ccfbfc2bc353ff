"""The loopback server is reached only from this machine, and its stop is bounded whatever its connections do."""

import socket
import socketserver
import threading
from collections.abc import Callable
from typing import Any

import pytest

from claude_control.testing.loopback import LoopbackServer
from tests.waiting import wait_until


class Echo(socketserver.BaseRequestHandler):
    """Sends back what comes, and fails when it is told to."""

    def handle(self) -> None:
        while data := self.request.recv(100):
            if data == b"fail":
                raise KeyError("told to fail")
            if data == b"flood":
                while True:
                    self.request.sendall(b"x" * 65536)
            self.request.sendall(data)


def connected(server: LoopbackServer) -> socket.socket:
    """Return a connection that is being served."""
    client = socket.create_connection(("127.0.0.1", server.port), timeout=10)
    client.sendall(b"hello")
    assert client.recv(100) == b"hello"
    return client


@pytest.fixture
def server() -> LoopbackServer:
    """A server that echoes; the test stops it."""
    made = LoopbackServer("echo", Echo)
    made.start()
    return made


def test_many_connections_at_once(server: LoopbackServer) -> None:
    """Connections do not wait for each other."""
    clients = [connected(server) for _ in range(20)]
    for client in reversed(clients):
        client.sendall(b"again")
        assert client.recv(100) == b"again"
        client.close()
    assert server.stop(5) == ()
    assert server.failures == []


@pytest.mark.parametrize("last_words", [b"", b"flood"])
def test_stop_cuts_connections(server: LoopbackServer, last_words: bytes) -> None:
    """A connection that says nothing, or that is not read, ends when the server stops."""
    with connected(server) as client:
        client.sendall(last_words)
        assert server.stop(10) == ()
        while client.recv(1 << 20):
            pass


def test_stopped_server_takes_no_connection(server: LoopbackServer) -> None:
    """After the stop nobody listens on the port."""
    port = server.port
    server.stop(5)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), timeout=5)


def test_client_that_leaves_is_no_failure(server: LoopbackServer) -> None:
    """A client that hangs up in the middle is quietly forgotten."""
    with connected(server) as client:
        client.sendall(b"flood")
        client.recv(100)
    assert server.stop(5) == ()
    assert server.failures == []


def test_failure_is_kept(server: LoopbackServer, capfd: pytest.CaptureFixture[str]) -> None:
    """What a handler raises is kept for the owner and not printed."""
    with connected(server) as client:
        client.sendall(b"fail")
        assert client.recv(100) == b""
    server.stop(5)
    assert [repr(failure) for failure in server.failures] == ["KeyError('told to fail')"]
    assert capfd.readouterr() == ("", "")


def test_thread_that_does_not_end_is_named() -> None:
    """A stop that cannot end a thread is over in time all the same, and says which thread it is."""
    release: list[Callable[[], None]] = []

    class Stubborn(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            ours, theirs = socket.socketpair()
            release.append(theirs.close)
            self.request.sendall(b"!")
            with ours:
                ours.recv(1)

    server = LoopbackServer("stubborn", Stubborn)
    server.start()
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as client:
        assert client.recv(1) == b"!"
        (name,) = server.stop(0.2)
        assert name.startswith("stubborn-")
    release[0]()


def test_thread_whose_connection_is_closed_is_waited_for() -> None:
    """A thread that has nothing left to serve is not gone yet: the stop waits for its end, too."""
    closed, release = threading.Event(), threading.Event()

    class Slow(LoopbackServer):
        def shutdown_request(self, request: Any) -> None:
            super().shutdown_request(request)
            closed.set()
            release.wait(10)

    server = Slow("slow", Echo)
    server.start()
    connected(server).close()
    assert closed.wait(10)
    (name,) = server.stop(0.1)
    assert name.startswith("slow-")
    release.set()


def test_threads_that_ended_are_not_kept(server: LoopbackServer) -> None:
    """The table holds the threads of open connections, and not of all that there ever were."""
    for _ in range(50):
        connected(server).close()

    def connections_after_another() -> int:
        connected(server).close()
        with server._connections_lock:
            return len(server._connections)

    wait_until(lambda: connections_after_another() == 1)  # the threads before it need their time to end
    assert server.stop(5) == ()
