"""JSON-RPC 2.0 as MCP uses it: what a message is, and how ours are built.

Every id is echoed as it came. What is no request gets no response, whatever it holds, so that two peers can never
answer each other's errors for ever.
"""

from typing import Any

from claude_control.records import frozen

__all__ = ["Notification", "Refused", "Request", "error", "notification", "read", "result"]

INVALID_REQUEST = -32600
"""The message is no request."""

METHOD_NOT_FOUND = -32601
"""There is no such method here."""

INVALID_PARAMS = -32602
"""The method's parameters do not fit."""

INTERNAL_ERROR = -32603
"""The request was understood and failed."""


@frozen
class Request:
    """A message that wants a response; `id` is whatever the peer chose."""

    id: Any
    method: str
    params: dict[str, Any]


@frozen
class Notification:
    """A message that wants none."""

    method: str
    params: dict[str, Any]


@frozen
class Refused:
    """Why a request gets an error: one of the codes above and a text for people, and what a server adds to it."""

    code: int
    text: str
    data: Any = None


def read(message: object) -> Request | Notification | dict[str, Any] | None:
    """Take a message apart; a dict is the error to answer with, None a response, which wants nothing.

    A batch is refused as a whole: MCP has none since 2025-06-18, and its members could not be answered one by one.
    """
    if not isinstance(message, dict):
        kind = "a batch" if isinstance(message, list) else "not an object"
        return error(None, Refused(INVALID_REQUEST, f"the message is {kind}; send one request at a time"))
    method, params = message.get("method"), message.get("params")
    if method is None and ("result" in message or "error" in message):
        return None
    if "id" not in message:
        return Notification(str(method), params if isinstance(params, dict) else {})
    request_id = message["id"]
    if isinstance(request_id, bool | dict | list):
        return error(None, Refused(INVALID_REQUEST, "the id is neither a text nor a number"))
    if not isinstance(method, str):
        return error(request_id, Refused(INVALID_REQUEST, "the request has no method"))
    if params is not None and not isinstance(params, dict):
        return error(request_id, Refused(INVALID_PARAMS, f"the parameters of {method} are not an object"))
    return Request(request_id, method, params or {})


def result(request_id: Any, value: dict[str, Any]) -> dict[str, Any]:
    """Build the response to a request that succeeded."""
    return {"jsonrpc": "2.0", "id": request_id, "result": value}


def error(request_id: Any, refused: Refused) -> dict[str, Any]:
    """Build the response to a request that failed."""
    more = {} if refused.data is None else {"data": refused.data}
    return {"jsonrpc": "2.0", "id": request_id, "error": {"code": refused.code, "message": refused.text, **more}}


def notification(method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
    """Build a notification of ours."""
    return {"jsonrpc": "2.0", "method": method, **({} if params is None else {"params": params})}
