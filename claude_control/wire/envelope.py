"""The envelopes of the control protocol: what a frame is, and how ours are built.

Both directions ask (`control_request`), answer (`control_response`) and withdraw (`control_cancel_request`); request
ids of the two directions are separate name spaces (2.0.75, 2.1.7 and 2.1.332).
"""

from typing import Any

from claude_control.errors import ProtocolError

__all__ = [
    "answered",
    "cancel",
    "failure",
    "odd_payload",
    "pending_requests",
    "read_reply",
    "request",
    "rest_of_request",
    "success",
    "user_message",
]

_PENDING = ("pending_permission_requests", "pending_user_dialog_requests", "pending_elicitation_requests")
_NO_PENDING = frozenset(_PENDING).isdisjoint


def request(request_id: str, rest: bytes) -> bytes:
    """Build the line of a request of ours; `rest` is what `rest_of_request` made."""
    # Put together as bytes: most requests are short, and encoding the envelope anew would cost as much as all else.
    return b'{"type":"control_request","request_id":"' + request_id.encode() + rest


def rest_of_request(body: bytes) -> bytes:
    """Build what follows the id in the line of a request; `body` is a line with the `subtype` and its fields."""
    return b'","request":%b}\n' % body[:-1]


def success(request_id: str, response: dict[str, Any]) -> dict[str, Any]:
    """Build our answer to a request of the program."""
    return {
        "type": "control_response",
        "response": {"subtype": "success", "request_id": request_id, "response": response},
    }


def failure(request_id: str, text: str) -> dict[str, Any]:
    """Build our answer that says that a request of the program failed."""
    return {"type": "control_response", "response": {"subtype": "error", "request_id": request_id, "error": text}}


def cancel(request_id: str) -> dict[str, Any]:
    """Build the withdrawal of a request of ours. Never for 2.0.75 and 2.1.7: it kills them."""
    return {"type": "control_cancel_request", "request_id": request_id}


def user_message(content: str | list[dict[str, Any]], uuid: str, **extra: Any) -> dict[str, Any]:
    """Build a prompt; `uuid` must be fresh, for a repeated one gets no result (2.0.75, 2.1.7 and 2.1.332)."""
    message = {"role": "user", "content": content}
    return {"type": "user", "message": message, "parent_tool_use_id": None, "session_id": "", "uuid": uuid, **extra}


def answered(frame: dict[str, Any]) -> str | None:
    """Return the id of the request that a `control_response` frame answers; None if it carries none to match it by."""
    body = frame.get("response")
    request_id = body.get("request_id") if body.__class__ is dict else None
    return request_id if request_id.__class__ is str else None


def read_reply(frame: dict[str, Any]) -> tuple[Any, str | None, str | None]:
    """Read a `control_response` frame that has a request id; returns its payload, its error and the error's code.

    The payload is `{}` when a success has none (the key is then absent on the wire). The error is None on success, else
    the program's text; the code is in snake_case (2.1.332).
    """
    body = frame["response"]
    response = body.get("response")
    if response is None:
        response = {}
    if body.get("subtype") == "success":
        return response, None, None
    code = body.get("error_code")
    error = str(body.get("error") or "the program gave no reason")
    return response, error, code if isinstance(code, str) else None


def pending_requests(frame: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the questions to a person that an answer to initialize lists as not answered yet, as whole frames."""
    body = frame.get("response")
    if not isinstance(body, dict) or _NO_PENDING(body):
        return []
    lists = (body.get(key) for key in _PENDING)
    return [item for listed in lists if isinstance(listed, list) for item in listed if isinstance(item, dict)]


def odd_payload(payload: Any, subtype: str) -> ProtocolError:
    """Return the error for an answer whose payload is no JSON object."""
    return ProtocolError(f"the answer to {subtype} is not a JSON object but {type(payload).__name__}", raw=payload)
