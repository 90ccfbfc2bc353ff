"""The forms of a dialog and of its answer, as the program's own declarations have them."""

from typing import Any

import pytest

from claude_control import DialogRequest
from claude_control.wire.dialogs import answer_dialog
from claude_control.wire.inbound import UserDialog, read_request


def test_dialog_is_read() -> None:
    """A dialog's kind, payload and tool use are read."""
    body = {"subtype": "request_user_dialog", "dialog_kind": "k", "payload": {"a": 1}, "tool_use_id": "t1", "new": 2}
    request = read_request({"type": "control_request", "request_id": "u1", "request": body})
    assert request == UserDialog("u1", DialogRequest(kind="k", payload={"a": 1}, tool_use_id="t1"))
    assert isinstance(request, UserDialog)
    assert request.request.raw == body


@pytest.mark.parametrize("body", [{}, {"dialog_kind": 5, "payload": []}])
def test_odd_dialog_is_read(body: dict[str, Any]) -> None:
    """A dialog without a kind is of the kind "", which nobody declares."""
    frame = {"type": "control_request", "request_id": "u1", "request": {"subtype": "request_user_dialog", **body}}
    assert read_request(frame) == UserDialog("u1", DialogRequest())


@pytest.mark.parametrize("result", ["retry_fallback", {"a": 1}, [], {}, False, 0, ""], ids=repr)
def test_result_completes(result: Any) -> None:
    """Any result but None completes the dialog, those that are false too."""
    assert answer_dialog(result) == {"behavior": "completed", "result": result}


def test_none_dismisses() -> None:
    """None is the word for a dialog that was closed without a choice."""
    assert answer_dialog(None) == {"behavior": "cancelled"}
