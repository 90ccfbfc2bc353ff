"""A session on the real program for probes: past the gate, with everything at hand that an effect shows in."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from claude_control import Allow, Message, PermissionContext, Session, Turn
from claude_control.errors import ControlRequestError, ProcessExitedError
from claude_control.testing import ModelRequest, ModelServer
from claude_control.testing.model_prompt import script
from claude_control.testing.model_script import Step, Text, ToolCall
from tests.real.conformance.probes import IGNORED, Probe
from tests.waiting import wait_until

PATIENCE = 15.0
"""Seconds that an answer or an effect may take on a busy machine."""


class Lab:
    """One session of one topic, opened when it is first used."""

    def __init__(
        self,
        *,
        version: str,
        server: ModelServer,
        home: Path,
        workspace: Path,
        open_session: Callable[..., Session],
        options: Mapping[str, Any],
    ) -> None:
        self.version = version
        self.server = server
        self.home = home
        self.workspace = workspace
        self.asked: list[tuple[str, Mapping[str, Any]]] = []
        self.messages: list[Message] = []
        self._open = open_session
        self._options = options
        self._session: Session | None = None

    @property
    def session(self) -> Session:
        """The session; nothing that is sent in it passes the gate."""
        if self._session is None:
            options = {"control_timeout": PATIENCE, "can_use_tool": self._allow, **self._options}
            self._session = past_the_gate(self._open(**options))
            self._session.subscribe(self.messages.append)
        return self._session

    def _allow(self, tool: str, tool_input: dict[str, Any], _context: PermissionContext) -> Allow:
        self.asked.append((tool, tool_input))
        return Allow()

    def measure(self, probe: Probe) -> str:
        """Make one probe and return its verdict."""
        try:
            seen = probe.check(self)
        except ControlRequestError as error:
            return f"error: {error.text}"
        except ProcessExitedError:
            return "ends the program"
        if isinstance(seen, str):
            return seen
        return probe.verdict if seen else IGNORED

    # -- conversations -------------------------------------------------------------------------------------------------

    def ask(self, *steps: Step) -> ModelRequest:
        """Let one turn play these steps; return its first request to the model."""
        prompt = script(*(steps or (Text("done"),)))
        self.session.ask(prompt).result(PATIENCE * 2, check=False)
        return self.request_of(prompt)

    def request_of(self, prompt: str) -> ModelRequest:
        """Return the first request that a prompt led to."""
        # Older programs also ask a small model for a title, without any tools.
        found = [request for request in self.server.requests if request.answers(prompt)]
        return max(found, key=lambda request: (len(request.tools), len(request.system)))

    def reached_model(self, prompt: str) -> bool:
        """Tell whether a prompt has come to the model."""
        return any(request.answers(prompt) for request in self.server.requests)

    def start(self, *steps: Step) -> Turn:
        """Begin a turn and return when it has reached the model."""
        prompt = script(*steps)
        turn = self.session.ask(prompt)
        self.server.wait_for_request(prompt, timeout=PATIENCE)
        return turn

    def asks_about(self, call: ToolCall) -> bool:
        """Let the model call a tool; tell whether the permission callback was asked about it."""
        before = len(self.asked)
        self.ask(call, Text("done"))
        return len(self.asked) > before

    def wait_for_message(self, kind: type[Message], since: int, **fields: Any) -> Any:
        """Return the first message of a kind that came after the number `since` and has these fields."""

        def find() -> list[Message]:
            return [
                message
                for message in self.messages[since:]
                if isinstance(message, kind) and all(getattr(message, name) == value for name, value in fields.items())
            ]

        wait_until(find, PATIENCE)
        return find()[0]


def past_the_gate(session: Session) -> Session:
    """Let a session send what the gate would keep back."""
    session._live().calls._check = lambda _request: False
    return session


def text_of(request: ModelRequest) -> str:
    """Return everything that the model was told."""
    return json.dumps(dict(request.body))
