"""A bare client of the Messages API, for the tests of the model server."""

import http.client
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

import attrs

from claude_control.testing import ModelServer

Json = dict[str, Any]

TOOLS = [{"name": "Bash", "input_schema": {"type": "object"}}]
_SECONDS = 20.0


def user(*content: str | Json) -> Json:
    """Return a message of the user, of texts and other blocks."""
    return {"role": "user", "content": [{"type": "text", "text": c} if isinstance(c, str) else c for c in content]}


def assistant(text: str = "said") -> Json:
    """Return a message of the model."""
    return {"role": "assistant", "content": [{"type": "text", "text": text}]}


def tool_result(text: str = "out") -> Json:
    """Return the block that tells the model what a tool said."""
    return {"type": "tool_result", "tool_use_id": "toolu_1", "content": [{"type": "text", "text": text}]}


def request(*messages: Json | str, tools: Sequence[Json] = TOOLS, **more: Any) -> Json:
    """Return the body of a request; a plain str is a message of the user."""
    talk = [user(message) if isinstance(message, str) else message for message in messages]
    return {"model": "test-model", "messages": talk, "tools": list(tools), **more}


@attrs.frozen
class Reply:
    """An answer that has been read to its end."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)

    @property
    def events(self) -> list[Json]:
        """The events of a stream."""
        return [json.loads(part.split(b"data: ", 1)[1]) for part in self.body.split(b"\n\n") if part]

    @property
    def text(self) -> str:
        """The text of a streamed answer."""
        deltas = [event.get("delta", {}) for event in self.events if event["type"] == "content_block_delta"]
        return "".join(delta.get("text", "") for delta in deltas)


class Client:
    """One connection to a model server; used as a context manager."""

    def __init__(self, server: ModelServer) -> None:
        address = urlsplit(server.url)
        self._connection = http.client.HTTPConnection(str(address.hostname), address.port, timeout=_SECONDS)

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def send(self, body: Json) -> None:
        """Ask for an answer and do not read it."""
        self._connection.request("POST", "/v1/messages", json.dumps(body).encode())

    def begin(self, method: str, path: str, body: bytes | None = None, **headers: str) -> http.client.HTTPResponse:
        """Send a request and return the answer as soon as its headers are there."""
        self._connection.request(method, path, body, headers)
        return self._connection.getresponse()

    def call(self, method: str, path: str, body: bytes | None = None, **headers: str) -> Reply:
        """Send a request and read the whole answer."""
        response = self.begin(method, path, body, **headers)
        return Reply(response.status, dict(response.headers.items()), response.read())

    def post(self, body: Json, path: str = "/v1/messages?beta=true") -> Reply:
        """Ask for an answer and read it to its end."""
        return self.call("POST", path, json.dumps(body).encode(), **{"content-type": "application/json"})

    def stream(self, *messages: Json | str) -> Reply:
        """Ask for a streamed answer and read it to its end."""
        return self.post(request(*messages, stream=True))


def events(response: http.client.HTTPResponse) -> Iterator[Json]:
    """Yield the events of a stream as they come."""
    for line in response:
        if line.startswith(b"data: "):
            yield json.loads(line.removeprefix(b"data: "))
