"""The frames that a program writes, in the shapes of its version."""

from __future__ import annotations

import os
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from . import Frame

_USAGE = {
    "input_tokens": 10,
    "cache_creation_input_tokens": 0,
    "cache_read_input_tokens": 0,
    "output_tokens": 5,
    "server_tool_use": {"web_search_requests": 0, "web_fetch_requests": 0},
    "service_tier": "standard",
    "cache_creation": {"ephemeral_1h_input_tokens": 0, "ephemeral_5m_input_tokens": 0},
}
_COST = 0.00014  # dollars that one turn costs
_HOST_ONLY = "CLAUDE_CODE_SDK_READS_SESSION_STATE"
_TO_ALL = "CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS"


def fresh_id() -> str:
    """Return a new random UUID."""
    digits = os.urandom(16).hex()
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-{digits[20:]}"


def now() -> str:
    """Return the time in the form of the `timestamp` fields."""
    return time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime())


class Frames:
    """Builds frames for one run; `session_id`, `model` and `mode` are what the next ones carry."""

    def __init__(self, profile: Frame, version: str, session_id: str) -> None:
        self.modern: bool = profile["modern"]
        self.session_id = session_id
        self.model: str = profile["model"]
        self.mode = "default"
        self._profile = profile
        self._version = version
        self._results = 0
        self._messages = 0
        self._streamed = False

    def init(self, uuids: list[str]) -> Frame:
        """The `system/init` that begins every turn."""
        frame = {
            "type": "system",
            "subtype": "init",
            "cwd": os.getcwd(),
            "session_id": self.session_id,
            "model": self.model,
            "permissionMode": self.mode,
            "claude_code_version": self._version,
            "uuid": fresh_id(),
            **self._profile["init"],
        }
        return self._named(frame, uuids, plural_only=True)

    def assistant(self, content: list[Frame], uuids: list[str], **extra: Any) -> Frame:
        """An assistant message with these blocks; `uuids` are set on the first one of a turn alone (2.1.332)."""
        self._messages += not self._streamed  # a streamed one got its id with its first event
        ends = "tool_use" if any(block.get("type") == "tool_use" for block in content) else "end_turn"
        message = {
            "id": f"msg_{self._messages:06}",
            "type": "message",
            "role": "assistant",
            "model": self.model,
            "content": content,
            "stop_reason": None if self.modern else ends,
            "stop_sequence": None,
            "usage": {"input_tokens": 10, "output_tokens": 1 if self.modern else 5},
            "context_management": None,
        }
        frame: Frame = {"type": "assistant", "message": message, "parent_tool_use_id": None, **self._ids()}
        if self.modern:
            frame["timestamp"] = now()
        return self._named({**frame, **extra}, uuids)

    def user(self, content: object, **extra: Any) -> Frame:
        """A user message that the program writes: a tool result, a notice, an echo (`isReplay`)."""
        frame: Frame = {"type": "user", "message": {"role": "user", "content": content}, "parent_tool_use_id": None}
        if self.modern:
            frame["timestamp"] = now()
        return {**frame, **self._ids(), **extra}

    def result(self, text: str, uuids: list[str], **extra: Any) -> Frame:
        """The result of a turn; fields given replace those of a success, and an error has no `result`."""
        spent = _COST * (self._results + 1)
        frame: Frame = {
            "type": "result",
            "subtype": "success",
            "is_error": False,
            "duration_ms": 20,
            "duration_api_ms": 10,
            "num_turns": 1,
            "result": text,
            "total_cost_usd": spent,
            "usage": _USAGE,
            "modelUsage": {self.model: {"inputTokens": 10, "outputTokens": 5, "costUSD": spent}},
            "permission_denials": [],
            **self._ids(),
        }
        if self.modern:
            ending = {"stop_reason": "end_turn", "terminal_reason": "completed", "queued_turn_count": 0}
            frame = self._named({**frame, **ending, "result_index": self._results}, uuids)
        self._results += 1
        if str(extra.get("subtype", "success")) != "success":
            del frame["result"]
            frame["errors"] = []
        return {**frame, **extra}

    def state(self, state: str) -> list[Frame]:
        """The change of the session's state: nothing, unless the environment asks for it (2.1.332)."""
        host_only = os.environ.get(_HOST_ONLY) in ("1", "true")
        if not self.modern or not (host_only or os.environ.get(_TO_ALL) in ("1", "true")):
            return []
        frame: Frame = {"type": "system", "subtype": "session_state_changed", "state": state}
        return [{**frame, **({"sdk_host_only": True} if host_only else {}), **self._ids()}]

    def lifecycle(self, uuids: list[str], state: str) -> list[Frame]:
        """What became of prompts: queued, started, completed or cancelled (2.1.332)."""
        kind = "command_lifecycle"
        return [{"type": kind, "command_uuid": uuid, "state": state, **self._ids()} for uuid in uuids if self.modern]

    def status(self, status: str | None, **extra: Any) -> list[Frame]:
        """A `system/status` frame (2.1.332)."""
        frame = {"type": "system", "subtype": "status", "status": status, **extra, **self._ids()}
        return [frame] if self.modern else []

    def system(self, subtype: str, **fields: Any) -> Frame:
        """A system message of a subtype."""
        return {"type": "system", "subtype": subtype, **fields, **self._ids()}

    def event(self, event: Frame) -> Frame:
        """A `stream_event` frame around one event of the Messages API."""
        named = {"api_message_id": f"msg_{self._messages:06}"} if self.modern else {}
        return {"type": "stream_event", "event": event, "parent_tool_use_id": None, **self._ids(), **named}

    def opening(self) -> list[Frame]:
        """The events before the first piece of a streamed text."""
        self._messages += 1
        self._streamed = True
        message: Frame = {"type": "message", "role": "assistant", "model": self.model, "content": []}
        return [
            self.event({"type": "message_start", "message": message}),
            self.event({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
        ]

    def piece(self, text: str) -> Frame:
        """The event of one piece of a streamed text."""
        return self.event({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}})

    def closing(self) -> list[Frame]:
        """The events behind the last piece; they come after the assistant message."""
        self._streamed = False
        ending = {"stop_reason": "end_turn", "stop_sequence": None}
        return [
            self.event({"type": "content_block_stop", "index": 0}),
            self.event({"type": "message_delta", "delta": ending, "usage": {"output_tokens": 5}}),
            self.event({"type": "message_stop"}),
        ]

    def _ids(self) -> Frame:
        return {"session_id": self.session_id, "uuid": fresh_id()}

    def _named(self, frame: Frame, uuids: list[str], plural_only: bool = False) -> Frame:
        """Return the frame with the prompts that it belongs to; older programs never name them."""
        if not self.modern or not uuids:
            return frame
        single = {} if plural_only else {"user_message_uuid": uuids[-1]}
        return {**frame, **single, "user_message_uuids": uuids}
