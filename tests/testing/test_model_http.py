"""The model server over real HTTP: what it answers to whom, and how it misbehaves when the script says so."""

import http.client
import json
import socket
from urllib.parse import urlsplit

import pytest

from claude_control.testing import ModelServer, script
from claude_control.testing.model_script import (
    Answer,
    Delay,
    Drop,
    Gate,
    HttpError,
    LongText,
    Step,
    StreamError,
    Text,
    Thinking,
    ToolCall,
    Words,
)
from tests.testing.api import Client, assistant, events, request, tool_result, user


def test_script_answers_a_whole_conversation(model_server: ModelServer) -> None:
    """A text and a tool call are streamed, and the request with the tool's result gets the next answer."""
    prompt = script(Answer(Thinking("hm"), Text("I look."), ToolCall("Bash", command="ls")), Text("Done."))
    with Client(model_server) as client:
        first = client.stream(prompt)
        second = client.stream(prompt, assistant(), user(tool_result()))
        third = client.stream(prompt, assistant(), user(tool_result()), assistant(), "And now?")
    blocks = [event["content_block"]["type"] for event in first.events if event["type"] == "content_block_start"]
    assert blocks == ["thinking", "text", "tool_use"]
    assert first.headers["content-type"] == "text/event-stream"
    assert (second.text, third.text) == ("Done.", "Hello from the model server.")


@pytest.mark.parametrize("step", [Text("short"), Words(2000), LongText(3_000_000)])
def test_texts_of_every_size_arrive_whole(model_server: ModelServer, step: Text | Words | LongText) -> None:
    """Streamed or not, the text is the script's."""
    prompt = script(step)
    with Client(model_server) as client:
        streamed = client.stream(prompt).text
        assert client.post(request(prompt)).json["content"] == [{"type": "text", "text": streamed}]
    expected = {Text: 5, Words: 2000 * 6 - 1110 - 1, LongText: 3_000_000}[type(step)]
    assert len(streamed) == expected


def test_slow_text_comes_in_time(model_server: ModelServer) -> None:
    """The first word of a slow text is there long before the last one."""
    with Client(model_server) as client:
        response = client.begin(
            "POST", "/v1/messages", json.dumps(request(script(Words(9, pause=30)), stream=True)).encode()
        )
        kinds = [next(stream)["type"] for stream in [events(response)] for _ in range(3)]
    assert kinds == ["message_start", "content_block_start", "content_block_delta"]


@pytest.mark.parametrize("status", [400, 401, 403, 429, 500, 529])
def test_http_errors_happen_as_often_as_they_say(model_server: ModelServer, status: int) -> None:
    """An error is answered with its status so many times, then the conversation goes on."""
    prompt = script(HttpError(status, times=2, retry_after=1.5), Text("at last"))
    with Client(model_server) as client:
        failed = [client.stream(prompt) for _ in range(2)]
        assert client.stream(prompt).text == "at last"
    assert [reply.status for reply in failed] == [status, status]
    assert failed[0].json["type"] == "error"
    assert failed[0].headers["retry-after"] == "1.5"


def test_error_within_a_stream(model_server: ModelServer) -> None:
    """A stream that fails has begun well; a request without a stream gets the error as its status; then all is well."""
    prompt = script(Answer(Text("half"), StreamError("overloaded_error", times=2), Text("whole")))
    with Client(model_server) as client:
        streamed = client.stream(prompt)
        whole = client.post(request(prompt))
        third = client.stream(prompt)
    assert (streamed.status, streamed.text) == (200, "half")
    assert streamed.events[-1]["error"]["type"] == "overloaded_error"
    assert (whole.status, whole.json["error"]["type"]) == (529, "overloaded_error")
    assert third.text == "halfwhole"


def test_events_without_a_wait_between_arrive_together(model_server: ModelServer) -> None:
    """What a reader gets with the words of a stream has the error that follows them at once."""
    body = json.dumps(request(script(Answer(Text("half"), StreamError())), stream=True)).encode()
    head = b"POST /v1/messages HTTP/1.1\r\nhost: localhost\r\ncontent-length: %d\r\n\r\n" % len(body)
    address = urlsplit(model_server.url)
    with socket.create_connection((address.hostname, address.port), timeout=20) as connection:
        connection.sendall(head + body)
        reads = iter(lambda: connection.recv(1 << 16), b"")
        assert b"overloaded_error" in next(data for data in reads if b"half" in data)


def test_connection_dropped_within_a_stream(model_server: ModelServer) -> None:
    """A dropped stream ends without its end, and the next connection gets the whole answer."""
    prompt = script(Answer(Text("half"), Drop(), Text("whole")))
    with Client(model_server) as client, pytest.raises(http.client.IncompleteRead) as broken:
        client.stream(prompt)
    assert b"half" in broken.value.partial
    assert b"whole" not in broken.value.partial
    with Client(model_server) as client:
        assert client.stream(prompt).text == "halfwhole"


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("steps", [[Drop(), Text("a")], [Answer(Drop(), Text("a"))]])
def test_connection_dropped_without_an_answer(model_server: ModelServer, steps: list[Step], stream: bool) -> None:
    """A drop before the answer leaves the client with nothing, once."""
    prompt = script(*steps)
    broken = (http.client.RemoteDisconnected, http.client.IncompleteRead)
    with Client(model_server) as client, pytest.raises(broken):
        client.post(request(prompt, stream=stream))
    with Client(model_server) as client:
        assert client.post(request(prompt, stream=stream)).status == 200


def test_gate_before_and_within_an_answer(model_server: ModelServer) -> None:
    """A request waits at each gate until the test opens it; what comes before the gate is sent before."""
    prompt = script(Gate("headers"), Answer(Text("first"), Gate("middle"), Text("second")))
    address = model_server.url.removeprefix("http://").split(":")
    body = json.dumps(request(prompt, stream=True))
    with socket.create_connection((address[0], int(address[1])), timeout=10) as client, client.makefile("rb") as answer:
        client.sendall(f"POST /v1/messages HTTP/1.1\r\ncontent-length: {len(body)}\r\n\r\n{body}".encode())
        model_server.wait_for_gate("headers")
        client.setblocking(False)
        with pytest.raises(BlockingIOError):
            client.recv(1, socket.MSG_PEEK)
        client.settimeout(10)
        model_server.release("headers")
        while b"first" not in answer.readline():
            pass
        model_server.wait_for_gate("middle")
        model_server.release("middle")
        while b"second" not in answer.readline():
            pass


@pytest.mark.parametrize("stream", [True, False])
def test_gate_that_stays_shut_is_an_error_that_names_it(stream: bool) -> None:
    """A forgotten gate shows itself in the answer, before the headers and after them."""
    with ModelServer(gate_timeout=0.01) as server, Client(server) as client:
        before = client.post(request(script(Gate("early")), stream=stream))
        within = client.post(request(script(Answer(Gate("late"), Text("a"))), stream=stream))
    assert before.status == 400
    assert "'early' was not released" in before.json["error"]["message"]
    assert b"'late' was not released" in within.body


def test_delay_stands_before_or_within_an_answer(model_server: ModelServer) -> None:
    """Delays hold an answer up and change nothing about it."""
    with Client(model_server) as client:
        assert client.stream(script(Delay(0.01), Answer(Delay(0.01), Text("a")))).text == "a"
        assert client.post(request(script(Answer(Delay(0.01), Text("a"))))).json["content"][0]["text"] == "a"


def test_stop_reason_and_usage(model_server: ModelServer) -> None:
    """The stop reason and the token counts of the script are in the answer."""
    prompt = script(Answer(Text("no"), stop_reason="refusal", usage={"input_tokens": 4321}))
    with Client(model_server) as client:
        reply = client.post(request(prompt)).json
    assert (reply["stop_reason"], reply["usage"]["input_tokens"]) == ("refusal", 4321)


def test_other_requests_of_the_program(model_server: ModelServer) -> None:
    """What the program asks besides answers is met with something harmless."""
    with Client(model_server) as client:
        counted = client.post(request("hello " * 100), path="/v1/messages/count_tokens?beta=true")
        assert counted.json["input_tokens"] > 100
        assert client.call("GET", "/v1/models").json == {"data": [], "has_more": False}
        head = client.call("HEAD", "/")
        assert (head.status, head.body) == (200, b"")
        assert client.post({"events": []}, path="/api/event_logging/batch").json == {}
    assert [found.path for found in model_server.requests][1:] == ["/v1/models", "/", "/api/event_logging/batch"]


@pytest.mark.parametrize("body", [b"", b"{", b"[1]", b"\xff"])
def test_body_that_is_no_object_is_refused(model_server: ModelServer, body: bytes) -> None:
    """A body that the API would not take is an error of the client's, and the connection goes on."""
    with Client(model_server) as client:
        refused = client.call("POST", "/v1/messages", body)
        assert (refused.status, refused.json["error"]["type"]) == (400, "invalid_request_error")
        assert client.stream("hello").status == 200


@pytest.mark.parametrize(("length", "status"), [("999999999999", 413), ("-1", 411), ("many", 411)])
def test_body_without_a_sound_length_is_refused(model_server: ModelServer, length: str, status: int) -> None:
    """A body that has no length, or too much of it, is not read."""
    with Client(model_server) as client:
        assert client.call("POST", "/v1/messages", b"", **{"content-length": length}).status == status


def test_broken_script_is_told_to_the_client(model_server: ModelServer) -> None:
    """A prompt whose script cannot be read gets an error that the program does not retry."""
    with Client(model_server) as client:
        refused = client.stream("model-script: ?")
    assert refused.status == 400
    assert "cannot be read" in refused.json["error"]["message"]


def test_headers_and_details_are_sent(model_server: ModelServer) -> None:
    """Headers that the script adds come with answers and errors, and a refusal with its details, streamed or not."""
    details = {"type": "refusal", "category": "cyber"}
    refusal = script(Answer(Text("no"), stop_reason="refusal", stop_details=details, headers={"x-limit": "near"}))
    error = script(HttpError(429, times=None, text="too much", retry_after=3, headers={"x-limit": "hit"}))
    with Client(model_server) as client:
        streamed, whole, failed = client.stream(refusal), client.post(request(refusal)), client.post(request(error))
    (delta,) = [event["delta"] for event in streamed.events if event["type"] == "message_delta"]
    assert (delta["stop_reason"], delta["stop_details"]) == ("refusal", details)
    assert (whole.json["stop_reason"], whole.json["stop_details"]) == ("refusal", details)
    assert (streamed.headers["x-limit"], whole.headers["x-limit"]) == ("near", "near")
    assert (failed.headers["x-limit"], failed.headers["retry-after"]) == ("hit", "3")
    assert failed.json["error"]["message"] == "too much"


def test_server_says_what_it_sent(model_server: ModelServer) -> None:
    """`answers` has the tokens of each answer, and of one that broke off those of its beginning."""
    counts = {"input_tokens": 70, "output_tokens": 80}
    with Client(model_server) as client:
        client.stream(script(Answer(Text("all of it"), usage=counts)))
        client.post(request(script(Answer(Text("at once"), usage=counts))))
        client.stream(script(Answer(Text("a part"), StreamError(), usage=counts)))
        client.post(request(script(HttpError(500), Text("never"))))
    told = [(sent.whole, sent.usage["input_tokens"], sent.usage["output_tokens"]) for sent in model_server.answers]
    assert told == [(True, 70, 80), (True, 70, 80), (False, 70, 1)]
    assert len({sent.message_id for sent in model_server.answers}) == 3


def test_answer_that_a_client_leaves_is_not_told_as_whole(model_server: ModelServer) -> None:
    """Of an answer whose client hangs up in the middle `answers` says that it broke off."""
    with Client(model_server) as client:
        body = request(script(LongText(30_000_000)), stream=True)
        client.begin("POST", "/v1/messages", json.dumps(body).encode())
    model_server.stop()
    assert [sent.whole for sent in model_server.answers] == [False]
