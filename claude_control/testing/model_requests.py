"""What the model server was asked: one record for each request, kept for the assertions of a test."""

import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs

from claude_control.deadline import Deadline
from claude_control.errors import WaitTimeoutError
from claude_control.testing.model_prompt import scripts_in

__all__ = ["ModelRequest", "RequestLog", "SentAnswer"]

# A request holds a whole conversation, often 100 kB with the program's tools; no test looks further back.
_KEPT = 1000


@attrs.frozen(kw_only=True)
class ModelRequest:
    """One request that the model server received.

    `path` has no query string, header names are lower case, `body` is the JSON object that came ({} if none did).
    `script_id` and `step` tell which answer of which script was chosen; None for one that no script answers.
    """

    method: str
    path: str
    headers: Mapping[str, str] = attrs.field(repr=False)  # the API key is among them
    body: Mapping[str, Any] = attrs.field(repr=False)
    script_id: str | None = None
    step: int | None = None

    @property
    def model(self) -> str | None:
        """The model that was asked for."""
        return self.body.get("model")

    @property
    def messages(self) -> Sequence[Mapping[str, Any]]:
        """The conversation so far, oldest message first, as the API has it."""
        return self.body.get("messages") or ()

    @property
    def tools(self) -> tuple[str, ...]:
        """The names of the tools that the model may call."""
        return tuple(str(tool.get("name")) for tool in self.body.get("tools") or ())

    @property
    def system(self) -> str:
        """The system prompt, its blocks joined by newlines."""
        system = self.body.get("system") or ""
        return system if isinstance(system, str) else "\n".join(str(block.get("text", "")) for block in system)

    @property
    def stream(self) -> bool:
        """Whether the answer was to be a stream."""
        return bool(self.body.get("stream"))

    def answers(self, prompt: str) -> bool:
        """Tell whether the script of this prompt (made by `script`) was in force for the request."""
        return self.script_id is not None and any(found.id == self.script_id for _, _, found in scripts_in(prompt))


@attrs.frozen(kw_only=True)
class SentAnswer:
    """What an answer of the model says of itself: the tokens in `usage` are what the API would bill.

    `whole` is False while the answer is not at its end, and stays so if it broke off; its output tokens are then those
    that its beginning says, 1.
    """

    message_id: str
    model: str
    usage: Mapping[str, int]
    whole: bool


class RequestLog:
    """The newest requests in order of arrival, and a way to wait for more; safe for many threads."""

    def __init__(self) -> None:
        self._changed = threading.Condition()  # guards the two fields below
        self._kept: deque[ModelRequest] = deque(maxlen=_KEPT)
        self._total = 0

    @property
    def dropped(self) -> int:
        """How many of the oldest requests were forgotten."""
        with self._changed:
            return self._total - len(self._kept)

    def add(self, request: ModelRequest) -> None:
        """Keep a request and wake those who wait."""
        with self._changed:
            self._kept.append(request)
            self._total += 1
            self._changed.notify_all()

    def all(self) -> tuple[ModelRequest, ...]:
        """Return what is kept, oldest first."""
        with self._changed:
            return tuple(self._kept)

    def wait(self, matching: Callable[[ModelRequest], bool], count: int, timeout: float | None) -> ModelRequest:
        """Return the match number `count`, waiting for it; raises `WaitTimeoutError` after `timeout` seconds."""
        deadline = Deadline(timeout)
        while True:
            with self._changed:
                seen, total = tuple(self._kept), self._total
            # Without the lock: the caller's function may take long, or look at the server itself.
            matches = [request for request in seen if matching(request)]
            if len(matches) >= count:
                return matches[count - 1]
            if deadline.expired():
                raise WaitTimeoutError(f"{len(matches)} of {count} such requests came within {timeout} s")
            with self._changed:
                if self._total == total:
                    self._changed.wait(deadline.slice())
