"""The request log keeps what was asked, and lets tests wait for it."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from claude_control.errors import WaitTimeoutError
from claude_control.testing.model_prompt import script, scripts_in
from claude_control.testing.model_requests import ModelRequest, RequestLog
from claude_control.testing.model_script import Text


def made(body: dict[str, Any] | None = None, **more: Any) -> ModelRequest:
    """Return a request with this body."""
    return ModelRequest(method="POST", path="/v1/messages", headers={}, body=body or {}, **more)


def test_request_reads_its_body() -> None:
    """The parts of a body that tests ask about are there under their names."""
    body = {
        "model": "m",
        "stream": True,
        "messages": [{"role": "user", "content": "hi"}],
        "tools": [{"name": "Bash"}, {"name": "Read"}],
        "system": [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}],
    }
    request = made(body)
    assert (request.model, request.stream, request.tools, request.system) == ("m", True, ("Bash", "Read"), "one\ntwo")
    assert request.messages[0]["content"] == "hi"
    assert made({"system": "plain"}).system == "plain"


def test_empty_body_has_empty_parts() -> None:
    """A request without a body has no model, messages, tools or system prompt."""
    request = made()
    assert (request.model, request.stream, request.tools, request.system) == (None, False, (), "")
    assert request.messages == ()


def test_request_knows_whose_script_answered() -> None:
    """A request belongs to the prompt whose script was in force, and to no other."""
    prompt, other = script(Text("a")), script(Text("a"))
    ((_, _, found),) = scripts_in(prompt)
    request = made(script_id=found.id, step=0)
    assert request.answers(prompt)
    assert not request.answers(other)
    assert not made().answers("no script")


def test_repr_shows_no_headers() -> None:
    """The API key in the headers is not shown when an assertion fails."""
    request = ModelRequest(method="POST", path="/", headers={"x-api-key": "sk-ant-hidden"}, body={})
    assert "sk-ant-hidden" not in repr(request)


def test_wait_returns_the_match_of_that_number() -> None:
    """A wait for the second match passes over the first and over all that do not match."""
    log = RequestLog()
    for model in ("a", "b", "a"):
        log.add(made({"model": model, "number": len(log.all())}))
    assert log.wait(lambda request: request.model == "a", 2, 1).body["number"] == 2


def test_wait_sees_what_comes_later() -> None:
    """A wait ends as soon as the request is there."""
    log = RequestLog()
    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(log.wait, lambda request: request.model == "late", 1, 10)
        log.add(made({"model": "early"}))
        log.add(made({"model": "late"}))
        assert waiting.result(10).model == "late"


def test_wait_has_an_end() -> None:
    """A wait for what never comes says how many came instead."""
    log = RequestLog()
    log.add(made())
    with pytest.raises(WaitTimeoutError, match="1 of 2 such requests came"):
        log.wait(lambda _: True, 2, 0.01)


def test_oldest_requests_are_dropped_and_counted() -> None:
    """The log is bounded, and says how much it forgot."""
    log = RequestLog()
    for number in range(1005):
        log.add(made({"number": number}))
    assert log.dropped == 5
    assert [log.all()[0].body["number"], log.all()[-1].body["number"]] == [5, 1004]
