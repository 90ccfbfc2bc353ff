"""What is printed of a turn, for every order in which its pieces and its messages may come."""

import io
import json
from typing import Any

import pytest

from claude_control.cli.printing import DocumentPrinter, LinePrinter, TextPrinter
from claude_control.cli.terminal import Terminal
from claude_control.wire.messages import decode
from claude_control.wire.messages.gaps import OversizedLine


def event(kind: str, **fields: Any) -> dict[str, Any]:
    """Return the frame of one event of a stream."""
    return {"type": "stream_event", "event": {"type": kind, **fields}, "parent_tool_use_id": None}


def piece(text: str) -> dict[str, Any]:
    """Return the frame of a piece of text."""
    return event("content_block_delta", delta={"type": "text_delta", "text": text})


def whole(*texts: str, **fields: Any) -> dict[str, Any]:
    """Return the frame of a whole message."""
    content = [{"type": "text", "text": text} for text in texts]
    return {"type": "assistant", "message": {"model": "m", "content": content}, "parent_tool_use_id": None, **fields}


START, BLOCK, STOP, END = (
    event(f"{kind}") for kind in ("message_start", "content_block_start", "content_block_stop", "message_stop")
)
RESULT: dict[str, Any] = {"type": "result", "subtype": "success", "result": "last words", "is_error": False}
THINKING = event("content_block_delta", delta={"type": "thinking_delta", "thinking": "hm"})


def printed(*frames: dict[str, Any]) -> str:
    """Return what is printed of these frames as text."""
    out = io.StringIO()
    printer = TextPrinter(Terminal(out, io.StringIO(), {}))
    for frame in frames:
        printer.show(decode(frame))
    return out.getvalue()


@pytest.mark.parametrize(
    ("frames", "text"),
    [
        ([whole("one"), RESULT], "one\n"),
        ([whole("one\n"), whole("two"), RESULT], "one\n\ntwo\n"),
        ([whole("one", "two"), RESULT], "one\n\ntwo\n"),
        ([START, BLOCK, piece("o"), piece("ne"), whole("one"), STOP, END, RESULT], "one\n"),
        ([START, BLOCK, piece("one"), STOP, whole("one"), END, RESULT], "one\n"),
        (
            [START, BLOCK, piece("one"), STOP, BLOCK, piece("two"), STOP, END, whole("one"), whole("two")],
            "one\n\ntwo\n",
        ),
        (
            [START, BLOCK, piece("one"), STOP, END, whole("one"), START, BLOCK, piece("one"), whole("one")],
            "one\n\none\n",
        ),
        ([START, BLOCK, THINKING, STOP, BLOCK, piece("one"), whole("one")], "one\n"),
        ([START, BLOCK, piece("half"), whole("half and more"), RESULT], "half and more\n"),
        ([START, BLOCK, piece("half"), RESULT], "half\n"),
        ([START, BLOCK, piece("lost"), START, BLOCK, piece("found"), whole("found"), RESULT], "lost\n\nfound\n"),
        ([RESULT], "last words\n"),
        ([{**RESULT, "is_error": True}], ""),
        ([whole("Not logged in", error="authentication_failed"), {**RESULT, "is_error": True}], ""),
        (
            [whole("below", parent_tool_use_id="t"), {**piece("below"), "parent_tool_use_id": "t"}, whole("one")],
            "one\n",
        ),
        ([whole("")], ""),
    ],
)
def test_text_is_printed_once(frames: list[dict[str, Any]], text: str) -> None:
    """Each block is printed exactly once, on lines of its own, whether it comes in pieces, whole, or both."""
    assert printed(*frames) == text


def test_second_turn_is_set_apart() -> None:
    """What a second turn says is a block like any other, and its result is looked at anew."""
    assert printed(whole("one"), RESULT, whole("two"), RESULT, RESULT) == "one\n\ntwo\n\nlast words\n"


def test_document_is_the_first_result() -> None:
    """Only one document is printed, however many turns follow."""
    out = io.StringIO()
    printer = DocumentPrinter(Terminal(out, io.StringIO(), {}))
    for frame in (whole("one"), RESULT, {**RESULT, "result": "later"}):
        printer.show(decode(frame))
    assert json.loads(out.getvalue()) == RESULT


def test_line_of_the_sdk_itself_is_marked() -> None:
    """What the SDK says in a stream is a line too, and cannot be mistaken for the program's."""
    out = io.StringIO()
    LinePrinter(Terminal(out, io.StringIO(), {})).show(OversizedLine(size=70_000_000, head='{"type'))
    assert json.loads(out.getvalue()) == {
        "type": "claude_control",
        "subtype": "OversizedLine",
        "size": 70_000_000,
        "head": '{"type',
    }
