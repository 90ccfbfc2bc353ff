"""The model server's life: start, many clients, requests for the test to see, and a stop that nothing delays."""

import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from claude_control.errors import WaitTimeoutError
from claude_control.testing import ModelServer, script
from claude_control.testing.model_script import Answer, Delay, Drop, Gate, LongText, Step, Text, Words
from tests.testing.api import Client, request


def test_many_clients_at_once_get_their_own_answers(model_server: ModelServer) -> None:
    """Scripts travel in the prompts: none of many concurrent conversations gets another's answer."""

    def ask(number: int) -> str:
        with Client(model_server) as client:
            return client.stream(script(Text(f"answer {number}", pause=0.001))).text

    with ThreadPoolExecutor(32) as pool:
        answers = list(pool.map(ask, range(100)))
    assert answers == [f"answer {number}" for number in range(100)]
    assert len(model_server.requests) == 100
    assert model_server.requests_dropped == 0


@pytest.mark.parametrize(
    "steps",
    [
        [Gate("never")],
        [Answer(Text("a"), Gate("never"), Text("b"))],
        [Delay(1000)],
        [Answer(Delay(1000), Text("a"))],
        [Words(9, pause=1000)],
        [LongText(100_000_000)],
        [Text("answered")],
    ],
)
def test_nothing_delays_the_stop(steps: list[Step]) -> None:
    """A stop is quick and leaves no thread, whatever the script waits for and whether the client reads or not."""
    threads = threading.active_count()
    body = request(script(*steps), stream=True)
    with ModelServer() as server, Client(server) as client:
        client.send(body)
        server.wait_for_request()
        started = time.monotonic()
        server.stop()
        assert time.monotonic() - started < 10
        assert threading.active_count() == threads


def test_stop_is_idempotent_and_start_is_not() -> None:
    """A server may be stopped before the start, and twice; it starts once."""
    server = ModelServer()
    server.stop()
    with server:
        pass
    server.stop()
    with pytest.raises(RuntimeError, match="starts once"):
        server.start()


def test_address_is_loopback_and_known_only_after_the_start() -> None:
    """The server listens on 127.0.0.1, on a port of its own, once it has been started."""
    with pytest.raises(RuntimeError, match="not started"):
        _ = ModelServer().url
    with ModelServer() as one, ModelServer() as other:
        assert urlsplit(one.url).hostname == "127.0.0.1"
        assert one.url != other.url


def test_environment_leads_to_the_server_and_a_home_of_its_own(model_server: ModelServer, tmp_path: Path) -> None:
    """The variables point to this server and keep the program out of the user's files and accounts."""
    environment = model_server.environment(tmp_path)
    assert environment["ANTHROPIC_BASE_URL"] == model_server.url
    assert environment["HOME"] == os.fspath(tmp_path)
    assert environment["CLAUDE_CONFIG_DIR"] == str(tmp_path / ".claude")
    assert environment["CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC"] == environment["DISABLE_AUTOUPDATER"] == "1"
    assert environment["ANTHROPIC_API_KEY"].startswith("sk-ant-")


@pytest.mark.parametrize("default", [Text("by default"), Answer(Text("by default"))])
def test_default_answers_what_no_script_does(default: Text | Answer) -> None:
    """Plain prompts get the server's default answer."""
    with ModelServer(default=default) as server, Client(server) as client:
        assert client.stream("hello").text == "by default"
        assert client.stream(script()).text == "by default"


def test_requests_can_be_waited_for_by_prompt(model_server: ModelServer) -> None:
    """A test waits for any request, for one that it describes, or for those of its prompt."""
    prompt = script(Drop(times=None))
    with ThreadPoolExecutor() as pool, Client(model_server) as client:
        asked = pool.submit(client.stream, prompt)
        assert model_server.wait_for_request(prompt).step == 0
        assert asked.exception(10) is not None
    with Client(model_server) as client:
        client.stream("hello")
        client.call("GET", "/v1/models")
    assert model_server.wait_for_request(count=2).script_id is None
    assert model_server.wait_for_request(lambda found: found.method == "GET").path == "/v1/models"
    with pytest.raises(WaitTimeoutError):
        model_server.wait_for_request(prompt, count=2, timeout=0.01)


def test_failure_of_its_own_is_raised_at_the_end() -> None:
    """A server that failed lets the test fail, but does not hide another error."""
    nonsense = {"messages": [7], "tools": [{"name": "Bash"}]}
    with (
        pytest.raises(RuntimeError, match="failed while it answered"),
        ModelServer() as server,
        Client(server) as client,
        pytest.raises(OSError),
    ):
        client.post(nonsense)
    with pytest.raises(KeyError, match="mine"), ModelServer() as server:
        with Client(server) as client, pytest.raises(OSError):
            client.post(nonsense)
        raise KeyError("mine")


def test_nothing_is_printed(model_server: ModelServer, capfd: pytest.CaptureFixture[str]) -> None:
    """Requests, errors and lost clients leave no word on stdout or stderr."""
    with Client(model_server) as client:
        client.call("GET", "/")
        client.call("BREW", "/")
    with Client(model_server) as client:
        client.send(request(script(Words(10**5)), stream=True))
        model_server.wait_for_request()
    model_server.stop()
    assert capfd.readouterr() == ("", "")


def test_repr_shows_the_state() -> None:
    """A server says whether it runs, where, and how much it was asked."""
    server = ModelServer()
    assert repr(server) == "<ModelServer new, 0 requests>"
    with server, Client(server) as client:
        client.stream("hello")
        assert repr(server) == f"<ModelServer {server.url}, 1 requests>"
    assert repr(server) == "<ModelServer stopped, 1 requests>"
