"""The envelopes of the control protocol: what a frame is, and how ours are built.

Both directions ask (`control_request`), answer (`control_response`) and withdraw (`control_cancel_request`); request
ids of the two directions are separate name spaces (2.0.75, 2.1.7 and 2.1.332).
"""

from typing import Any

import attrs

from claude_control.errors import ProtocolError

__all__ = ["Reply", "cancel", "failure", "pending_requests", "read_reply", "request", "success", "user_message"]


_PENDING = ("permission", "user_dialog", "elicitation")


@attrs.frozen
class Reply:
    """The program's answer to one of our requests.

    `response` is the payload: `{}` when a success has none (the key is then absent on the wire). `error` is None on
    success, else the program's text; `code` its snake_case code (2.1.332).
    """

    request_id: str
    response: Any
    error: str | None
    code: str | None
    raw: dict[str, Any]


def request(request_id: str, body: dict[str, Any]) -> dict[str, Any]:
    """Build a request of ours; `body` has the `subtype` and its fields."""
    return {"type": "control_request", "request_id": request_id, "request": body}


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


def read_reply(frame: dict[str, Any]) -> Reply | None:
    """Read a `control_response` frame; None if it carries no request id to match it by."""
    body = frame.get("response")
    if not isinstance(body, dict) or not isinstance(body.get("request_id"), str):
        return None
    error = None
    if body.get("subtype") != "success":
        error = str(body.get("error") or "the program gave no reason")
    response = body.get("response")
    code = body.get("error_code")
    return Reply(
        body["request_id"], {} if response is None else response, error, code if isinstance(code, str) else None, frame
    )


def pending_requests(frame: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the questions to a person that an answer to initialize lists as not answered yet, as whole frames."""
    body = frame.get("response")
    if not isinstance(body, dict):
        return []
    lists = (body.get(f"pending_{kind}_requests") for kind in _PENDING)
    return [item for listed in lists if isinstance(listed, list) for item in listed if isinstance(item, dict)]


def expect_dict(reply: Any, subtype: str) -> dict[str, Any]:
    """Return the payload if it is a JSON object; else raise `ProtocolError` with it."""
    if not isinstance(reply, dict):
        raise ProtocolError(f"the answer to {subtype} is not a JSON object but {type(reply).__name__}", raw=reply)
    return reply
