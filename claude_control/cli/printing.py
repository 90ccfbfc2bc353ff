"""What a turn's messages become on stdout: the answer as text, one document, or a line for each message."""

from typing import Any, Protocol

import attrs

from claude_control.cli.plain import json_line
from claude_control.cli.terminal import Terminal
from claude_control.wire.content import TextBlock
from claude_control.wire.messages import AssistantMessage, Message, ResultMessage, StreamEvent

__all__ = ["DocumentPrinter", "LinePrinter", "Printer", "TextPrinter"]

_OWN_WORDS = "<synthetic>"  # the model of messages that the program wrote itself, such as errors of the API


class Printer(Protocol):
    """Shows the messages of turns as they come."""

    def show(self, message: Message) -> None:
        """Show one message, or nothing of it."""


class TextPrinter:
    """Writes what the model says, piece by piece where pieces come.

    Each block ends its line, and a blank line stands between two. What subagents say and what the program itself says
    is no part of the answer, unless nothing else was said: that of a local command, such as `/cost`, is in its result.
    """

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal
        self._streamed: list[str] = []  # the texts of blocks that came in pieces, until their whole message comes
        self._is_open = False  # whether a block is being written
        self._blocks = 0
        self._said = False  # in this turn
        self._last = ""  # character written last

    def show(self, message: Message) -> None:
        """Write the text of a message."""
        if isinstance(message, StreamEvent):
            if message.parent_tool_use_id is None:
                self._piece(message)
        elif isinstance(message, AssistantMessage):
            if message.parent_tool_use_id is None:
                self._whole(message)
        elif isinstance(message, ResultMessage):
            self._end(message)

    def _piece(self, event: StreamEvent) -> None:
        kind = event.event.get("type")
        if kind == "message_start":
            self._close()
            self._streamed = []
        elif kind in ("content_block_start", "content_block_stop"):
            self._close()
        elif event.text:
            if not self._is_open:
                self._open()
                self._streamed.append("")
            self._streamed[-1] += event.text
            self._write(event.text)

    def _whole(self, message: AssistantMessage) -> None:
        if message.model == _OWN_WORDS or message.error is not None:
            return
        for block in message.content:
            if isinstance(block, TextBlock) and block.text:
                self._rest_of(block.text)

    def _rest_of(self, text: str) -> None:
        """Write what has not come in pieces of a whole text."""
        came = next((one for one in self._streamed if one and text.startswith(one)), "")
        if came:
            self._streamed.remove(came)
        rest = text[len(came) :]
        if rest:
            if not came:
                self._close()
                self._open()
            self._write(rest)
        self._close()

    def _end(self, result: ResultMessage) -> None:
        self._close()
        if not self._said and result.result and not result.is_error:
            self._open()
            self._write(result.result)
            self._close()
        self._streamed, self._said = [], False

    def _open(self) -> None:
        if self._blocks:
            self._write("\n")
        self._blocks += 1
        self._is_open = self._said = True

    def _close(self) -> None:
        if self._is_open and self._last != "\n":
            self._write("\n")
        self._is_open = False

    def _write(self, text: str) -> None:
        self._last = text[-1]
        self._terminal.answer(text)


class DocumentPrinter:
    """Writes the result as one JSON document: the program's own frame."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal
        self._done = False

    def show(self, message: Message) -> None:
        """Write the first result; those behind it are of turns that the program began itself."""
        if isinstance(message, ResultMessage) and not self._done:
            self._done = True
            self._terminal.data(json_line(message.raw))


class LinePrinter:
    """Writes every message as a line of JSON: the program's own frame."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal

    def show(self, message: Message) -> None:
        """Write a message."""
        self._terminal.data(json_line(message.raw or _own_frame(message)))


def _own_frame(message: Message) -> dict[str, Any]:
    """Return a frame for what the SDK itself says, such as that a line was too long."""
    fields = attrs.asdict(message, filter=lambda field, value: field.name != "raw" and value is not None)
    return {"type": "claude_control", "subtype": type(message).__name__, **fields}
