"""Lines of stdin, and which of them a program dies of.

The texts and the exit code 1 are those of the three programs. 2.0.75 and 2.1.7 die of much that 2.1.332 ignores.
"""

from __future__ import annotations

import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from . import Frame

_OLD_TYPES = ("user", "control_request", "control_response", "keep_alive")


class FatalLineError(Exception):
    """A line that ends the program; the text is what it leaves on stderr."""


class Lines:
    """Cuts what is read into lines."""

    __slots__ = ("_rest",)

    def __init__(self) -> None:
        self._rest = bytearray()

    def feed(self, data: bytes) -> list[bytes]:
        """Return the lines that `data` completes, without their newline."""
        start = len(self._rest)
        self._rest += data
        if self._rest.find(b"\n", start) < 0:
            return []
        *lines, rest = self._rest.split(b"\n")
        self._rest = rest
        return [bytes(line) for line in lines]

    def end(self) -> bytes:
        """Return what stood behind the last newline when input ended: a torn line, or nothing."""
        return bytes(self._rest)


def parse(line: bytes, modern: bool) -> Frame | None:
    """Return the frame of a line, None for one that the program ignores; raises FatalLineError."""
    text = line.removesuffix(b"\r").decode("utf-8", "replace")
    if modern:
        text = text.removeprefix("\ufeff")
        if not text.strip():
            return None
    try:
        frame = json.loads(text)
    except ValueError as error:
        raise FatalLineError(_unparsed(text, modern, "SyntaxError", str(error))) from None
    if frame is None:
        raise FatalLineError(_unparsed(text, modern, "TypeError", "Cannot read properties of null (reading 'type')"))
    return _checked(frame if isinstance(frame, dict) else {}, text, modern)


def _checked(frame: Frame, text: str, modern: bool) -> Frame | None:
    """Return the frame if the program would take it, None if it would ignore it."""
    kind = frame.get("type")
    if kind == "control_request" and not isinstance(frame.get("request"), dict):
        raise FatalLineError("Error: Missing request on control_request")
    if kind == "user":
        _check_role(frame.get("message"), text, modern)
    if modern:
        return frame if isinstance(kind, str) else None
    if kind not in _OLD_TYPES:
        named = kind if isinstance(kind, str) else "undefined"
        raise FatalLineError(f"Error: Expected message type 'user' or 'control', got '{named}'")
    if kind == "control_response" and not isinstance(frame.get("response"), dict):
        reason = "Cannot read properties of undefined (reading 'request_id')"
        raise FatalLineError(_unparsed(text, modern, "TypeError", reason))
    return frame


def _check_role(message: object, text: str, modern: bool) -> None:
    """Raise for a user frame without a message or with another role."""
    if not isinstance(message, dict) and not modern:
        reason = "Cannot read properties of undefined (reading 'role')"
        raise FatalLineError(_unparsed(text, modern, "TypeError", reason))
    role = message.get("role", "undefined") if isinstance(message, dict) else "undefined"
    if role != "user":
        raise FatalLineError(f"Error: Expected message role 'user', got '{role}'")


def _unparsed(text: str, modern: bool, kind: str, reason: str) -> str:
    """Return what a program says about a line that it cannot parse; 2.1.332 does not repeat the line."""
    if not modern:
        return f"Error parsing streaming input line: {text}: {kind}: {reason}"
    named = "user" if '"type":"user"' in text.replace(" ", "") else "unknown"
    return f"Error parsing streaming input line (type={named}, {len(text)} chars): {kind}"
