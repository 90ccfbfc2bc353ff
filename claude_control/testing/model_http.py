"""HTTP around the scripted model: requests in, answers out, on one connection."""

import json
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler
from typing import Any

from claude_control.testing import model_stream
from claude_control.testing.model_backend import MESSAGES_PATH, DroppedError, Exchange, Model
from claude_control.testing.model_gates import GateTimeoutError, StoppedError
from claude_control.testing.model_script import Delay, Drop, Gate, HttpError, StreamError

__all__ = ["ModelHandler"]

# The largest prompts that tests send are some MiB; a longer body is a mistake, not worth the memory.
_MOST_BODY = 256 * 1024 * 1024
_BREAKS_OFF = "The script breaks the answer off."


class ModelHandler(BaseHTTPRequestHandler):
    """One connection to the scripted model, in a thread of its own."""

    protocol_version = "HTTP/1.1"  # the program keeps connections open and wants chunked streams
    # Small events on loopback would otherwise wait for acknowledgements, 40 ms each.
    disable_nagle_algorithm = True

    def __init__(self, model: Model, *arguments: Any) -> None:
        self._model = model
        super().__init__(*arguments)

    def log_message(self, format: str, *args: Any) -> None:
        """Write nothing: what was asked is in the request log."""

    def do_GET(self) -> None:
        """Answer every GET with an empty list, which is what a list of models may be."""
        self._receive({})
        self._send_json(200, {"data": [], "has_more": False})

    def do_HEAD(self) -> None:
        """Say yes to every HEAD: the program asks whether the API is there."""
        self._receive({})
        self._send_json(200, None)

    def do_POST(self) -> None:
        """Answer a request to the API; those to other paths get an empty object."""
        body = self._read_body()
        if body is None:
            return
        try:
            exchange = self._receive(body)
        except ValueError as error:
            self._send_json(400, model_stream.error(400, f"the model script cannot be read: {error}"))
            return
        path = self._path()
        if path == MESSAGES_PATH:
            self._answer(exchange, stream=bool(body.get("stream")))
        elif path == f"{MESSAGES_PATH}/count_tokens":
            # About four characters a token, as with English text.
            self._send_json(200, {"input_tokens": len(json.dumps(body)) // 4})
        else:
            self._send_json(200, {})

    # Private: reading

    def _path(self) -> str:
        """Return the path without the query string."""
        return self.path.partition("?")[0]

    def _receive(self, body: Mapping[str, Any]) -> Exchange:
        """Record the request and return what answers it."""
        headers = {name.lower(): value for name, value in self.headers.items()}
        return self._model.receive(self.command, self._path(), headers, body)

    def _read_body(self) -> dict[str, Any] | None:
        """Return the JSON object that came, or None after having refused it."""
        length = self.headers.get("content-length", "")
        if not length.isdecimal() or int(length) > _MOST_BODY:
            self.close_connection = True  # what follows cannot be told from the next request
            status = 413 if length.isdecimal() else 411
            self._send_json(status, model_stream.error(status, "the length of the body is missing or too large"))
            return None
        try:
            body = json.loads(self.rfile.read(int(length)))
        except ValueError:
            body = None
        if not isinstance(body, dict):
            self._send_json(400, model_stream.error(400, "the body is not a JSON object"))
            return None
        return body

    # Private: answering

    def _answer(self, exchange: Exchange, *, stream: bool) -> None:
        """Do what the script wants: wait, fail, break off or answer."""
        try:
            if self._fails_before(exchange):
                return
            if stream:
                self._send_stream(exchange)
            else:
                self._send_whole(exchange)
        except (StoppedError, DroppedError):
            self.close_connection = True  # a reader takes the missing end for what it is, a broken answer
        except GateTimeoutError as error:
            # Not a status that the program retries: the test shall see the reason at once.
            self._send_json(400, model_stream.error(400, str(error)))

    def _fails_before(self, exchange: Exchange) -> bool:
        """Do what stands before the answer; return whether an error was sent in its place."""
        for step in exchange.before:
            if not isinstance(step, HttpError):
                exchange.perform(step)
            elif exchange.fault_due(step):
                more = {} if step.retry_after is None else {"retry-after": f"{step.retry_after:g}"}
                more |= step.headers
                text = step.text or f"The script answers with status {step.status}."
                self._send_json(step.status, model_stream.error(step.status, text), more)
                return True
        return False

    def _send_whole(self, exchange: Exchange) -> None:
        """Send an answer as one JSON object, after the waits and faults of all its parts."""
        for part in exchange.answer.parts:
            if isinstance(part, Delay | Gate | Drop):
                exchange.perform(part)
            elif isinstance(part, StreamError) and exchange.fault_due(part):
                self._send_json(529, model_stream.error(529, _BREAKS_OFF, kind=part.kind))
                return
        message = model_stream.message(exchange.answer, message_id=exchange.message_id, model=exchange.model_name)
        exchange.note_sent(message["usage"], whole=True)
        self._send_json(200, message, exchange.answer.headers)

    def _send_stream(self, exchange: Exchange) -> None:
        """Send an answer as server-sent events, with its waits and faults in their places.

        Events that no wait parts are sent in one piece: what a program makes of an error may depend on what it reads
        together with it.
        """
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        for name, value in exchange.answer.headers.items():
            self.send_header(name, value)
        self.end_headers()
        piece = bytearray()

        def send() -> None:
            self.wfile.write(piece)
            piece.clear()

        try:
            for item in model_stream.play(exchange.answer, message_id=exchange.message_id, model=exchange.model_name):
                if isinstance(item, Delay | Gate | Drop):
                    send()
                    exchange.perform(item)
                elif not isinstance(item, StreamError):
                    if item["type"] == "message_delta":  # with which it is noted as sent whole
                        send()
                    self._note_usage(exchange, item)
                    piece += _event(item)
                elif exchange.fault_due(item):
                    piece += _event(model_stream.error(529, _BREAKS_OFF, kind=item.kind))
                    break
        except GateTimeoutError as error:
            piece += _event(model_stream.error(400, str(error)))
        piece += _chunk(b"")
        send()

    def _note_usage(self, exchange: Exchange, event: Mapping[str, Any]) -> None:
        """Note the token counts that an event of a stream tells."""
        if event["type"] == "message_start":
            exchange.note_sent(event["message"]["usage"], whole=False)
        elif event["type"] == "message_delta":
            exchange.note_sent(model_stream.usage(exchange.answer), whole=True)

    def _send_json(self, status: int, body: Mapping[str, Any] | None, headers: Mapping[str, str] | None = None) -> None:
        """Send a whole answer; None is no body at all."""
        data = b"" if body is None else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)


def _event(event: Mapping[str, Any]) -> bytes:
    """Return one event of a stream as a piece of a chunked body."""
    return _chunk(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())


def _chunk(data: bytes) -> bytes:
    """Return one piece of a chunked body; an empty one ends it."""
    return b"%x\r\n%b\r\n" % (len(data), data)
