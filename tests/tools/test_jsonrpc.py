"""Messages are told apart by the letter of JSON-RPC, and ids come back as they came."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claude_control.tools import jsonrpc
from claude_control.tools.jsonrpc import Notification, Refused, Request

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
KEYS = st.sampled_from(["jsonrpc", "id", "method", "params", "result", "error", "x"])


def code(answer: Any) -> int:
    """Return the code of an error."""
    found: int = answer["error"]["code"]
    return found


@pytest.mark.parametrize("request_id", [0, -1, 2**70, 1.5, "", "a-1", None], ids=repr)
def test_id_is_echoed_as_it_came(request_id: object) -> None:
    """A text, a number of any size and null are ids, and a response carries the very same."""
    read = jsonrpc.read({"jsonrpc": "2.0", "id": request_id, "method": "ping"})
    assert read == Request(request_id, "ping", {})
    assert jsonrpc.result(request_id, {})["id"] is request_id
    assert jsonrpc.error(request_id, Refused(1, "x"))["id"] is request_id


@pytest.mark.parametrize("request_id", [True, {}, [1]], ids=repr)
def test_impossible_id_is_refused(request_id: object) -> None:
    """What is neither a text nor a number is no id, and none is echoed."""
    answer = jsonrpc.read({"id": request_id, "method": "ping"})
    assert isinstance(answer, dict)
    assert (answer["id"], code(answer)) == (None, -32600)


@pytest.mark.parametrize("message", [[], [{"id": 1, "method": "ping"}], 3, "ping", None, True], ids=repr)
def test_what_is_no_object_is_refused(message: object) -> None:
    """Batches, scalars and null are one error with a null id."""
    answer = jsonrpc.read(message)
    assert isinstance(answer, dict)
    assert (answer["id"], code(answer)) == (None, -32600)


def test_notification_has_no_id() -> None:
    """What has no id is a notification whatever else it holds, and is never answered with an error."""
    assert jsonrpc.read({"method": "notifications/initialized"}) == Notification("notifications/initialized", {})
    assert jsonrpc.read({"method": "x", "params": [1]}) == Notification("x", {})
    assert isinstance(jsonrpc.read({}), Notification)


@pytest.mark.parametrize("body", [{"result": {}}, {"error": {"code": 1, "message": "x"}}, {"id": 4, "result": {}}])
def test_response_wants_nothing(body: dict[str, Any]) -> None:
    """A response is taken for one: answering it could go on for ever."""
    assert jsonrpc.read(body) is None


def test_request_without_method_is_refused() -> None:
    """A request that names no method is answered under its own id."""
    answer = jsonrpc.read({"id": 7})
    assert isinstance(answer, dict)
    assert (answer["id"], code(answer)) == (7, -32600)


@pytest.mark.parametrize("params", [[1], "x", 3, True], ids=repr)
def test_parameters_are_an_object(params: object) -> None:
    """Parameters of any other kind are invalid; null is as good as none."""
    answer = jsonrpc.read({"id": 7, "method": "ping", "params": params})
    assert isinstance(answer, dict)
    assert code(answer) == -32602
    assert jsonrpc.read({"id": 7, "method": "ping", "params": None}) == Request(7, "ping", {})


def test_notification_of_ours_has_no_id() -> None:
    """What the server sends by itself is a notification, with parameters where there are some."""
    assert jsonrpc.notification("a") == {"jsonrpc": "2.0", "method": "a"}
    assert jsonrpc.notification("a", {"b": 1}) == {"jsonrpc": "2.0", "method": "a", "params": {"b": 1}}


@given(st.one_of(JSON, st.dictionaries(KEYS, JSON)))
def test_any_json_is_taken_apart(message: object) -> None:
    """No JSON value raises: it is a request, a notification, a response or an error."""
    read = jsonrpc.read(message)
    assert read is None or isinstance(read, Request | Notification) or "error" in read
