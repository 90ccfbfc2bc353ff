"""The scripted model behind the HTTP server: it chooses the answers and remembers what it was asked."""

import itertools
import secrets
import threading
from collections import Counter
from collections.abc import Mapping
from typing import Any

from claude_control.testing.model_choice import Choice, choose
from claude_control.testing.model_gates import Gates
from claude_control.testing.model_prompt import Turn
from claude_control.testing.model_requests import ModelRequest, RequestLog, SentAnswer
from claude_control.testing.model_script import Answer, Before, Delay, Drop, Gate, HttpError, StreamError

__all__ = ["MESSAGES_PATH", "DroppedError", "Exchange", "Model"]

MESSAGES_PATH = "/v1/messages"
"""Where requests for an answer go."""


class DroppedError(Exception):
    """The script wants the connection to break here."""


class Model:
    """What all connections of one server share; safe for many threads."""

    def __init__(self, default: Answer, gate_timeout: float) -> None:
        self.default = default
        self.gates = Gates(gate_timeout)
        self.log = RequestLog()
        # Tool call ids stay unique when one conversation goes on against another server.
        self._token = secrets.token_hex(4)
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()  # guards the two below
        self._faults: Counter[object] = Counter()  # how often each fault happened
        self._sent: dict[str, SentAnswer] = {}  # by message id; as small as they are, all of them are kept

    def message_id(self) -> str:
        """Return a message id that no other message has."""
        return f"msg_{self._token}{next(self._numbers):06d}"

    def receive(self, method: str, path: str, headers: Mapping[str, str], body: Mapping[str, Any]) -> "Exchange":
        """Record a request and return what answers it; raises ValueError for a script that cannot be read."""
        choice = Choice(Turn((), None))
        try:
            if path == MESSAGES_PATH:
                choice = choose(body, self.default)
        finally:
            self.log.add(
                ModelRequest(
                    method=method, path=path, headers=headers, body=body, script_id=choice.script_id, step=choice.step
                )
            )
        return Exchange(self, body, choice)

    def count_fault(self, fault: object, times: int | None) -> bool:
        """Tell whether a fault shall happen now, and count it if so."""
        with self._lock:
            due = times is None or self._faults[fault] < times
            self._faults[fault] += due
        return due

    def note_sent(self, answer: SentAnswer) -> None:
        """Keep what was sent, in place of what was known of the same message."""
        with self._lock:
            self._sent[answer.message_id] = answer

    def sent(self) -> tuple[SentAnswer, ...]:
        """Return all answers that were begun, oldest first."""
        with self._lock:
            return tuple(self._sent.values())


class Exchange:
    """One request and what the script has for it; its waits and faults are done by `perform`."""

    def __init__(self, model: Model, body: Mapping[str, Any], choice: Choice) -> None:
        self.model_name = str(body.get("model", "unknown"))
        self.message_id = model.message_id()
        self.before: tuple[Before, ...] = choice.turn.before
        self.answer = choice.turn.answer or model.default
        self._model = model
        # The same for each retry, which repeats the conversation, and for no other request: the program's metadata
        # holds its session id, and a prompt that is asked again comes later in the conversation.
        self._key = (str(body.get("metadata")), len(body.get("messages") or ()), choice.script_id, choice.step)
        self._faults_met = 0

    def perform(self, part: Delay | Gate | Drop) -> None:
        """Wait, or raise `DroppedError` if the connection is to break now."""
        if isinstance(part, Delay):
            self._model.gates.sleep(part.seconds)
        elif isinstance(part, Gate):
            self._model.gates.pass_through(part.name)
        elif self.fault_due(part):
            raise DroppedError

    def fault_due(self, fault: Drop | StreamError | HttpError) -> bool:
        """Tell whether this fault shall happen; to be asked for each fault, in the order of the script."""
        self._faults_met += 1
        return self._model.count_fault((*self._key, self._faults_met), fault.times)

    def note_sent(self, usage: Mapping[str, int], *, whole: bool) -> None:
        """Note how much of the answer was sent, before it goes out: the program may be quicker than this thread."""
        answer = SentAnswer(message_id=self.message_id, model=self.model_name, usage=usage, whole=whole)
        self._model.note_sent(answer)
