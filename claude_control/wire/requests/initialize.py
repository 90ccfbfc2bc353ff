"""The handshake: the first request of every session."""

from collections.abc import Mapping
from typing import Any, ClassVar

import attrs

from claude_control.wire.requests.base import Request, read_list, read_text, read_texts
from claude_control.wire.support import Program


@attrs.frozen
class InitializeReply:
    """What the program says of itself at the start.

    2.0.75 and 2.1.7 send commands, output styles, models and account only: `version`, `pid` and `capabilities` are then
    None, None and empty.
    """

    version: str | None = None
    pid: int | None = None
    capabilities: tuple[str, ...] = ()
    commands: tuple[dict[str, Any], ...] = ()
    agents: tuple[dict[str, Any], ...] = ()
    models: tuple[dict[str, Any], ...] = ()
    output_style: str | None = None
    available_output_styles: tuple[str, ...] = ()
    account: dict[str, Any] = attrs.field(factory=dict)
    permission_mode: str | None = None
    session_state: str | None = None
    raw: dict[str, Any] = attrs.field(factory=dict, repr=False)

    @property
    def program(self) -> Program:
        """What the answer tells of the program's version."""
        return Program(self.version, "capabilities" in self.raw or self.version is not None)


@attrs.frozen
class Initialize(Request[InitializeReply]):
    """Opens the control protocol; `fields` are the wire's own: hooks, agents, systemPrompt and so on."""

    subtype: ClassVar[str] = "initialize"

    fields: Mapping[str, Any] = attrs.field(factory=dict)

    def body(self) -> dict[str, Any]:
        """Return the wire form."""
        return {"subtype": self.subtype, **self.fields}

    def reply(self, response: dict[str, Any]) -> InitializeReply:
        """Read what the program says of itself."""
        account, pid = response.get("account"), response.get("pid")
        return InitializeReply(
            version=read_text(response, "claude_code_version"),
            pid=pid if isinstance(pid, int) else None,
            capabilities=read_texts(response, "capabilities", self.subtype),
            commands=_objects(response, "commands"),
            agents=_objects(response, "agents"),
            models=_objects(response, "models"),
            output_style=read_text(response, "output_style"),
            available_output_styles=read_texts(response, "available_output_styles", self.subtype),
            account=account if isinstance(account, dict) else {},
            permission_mode=read_text(response, "current_permission_mode"),
            session_state=read_text(response, "session_state"),
            raw=response,
        )


def _objects(response: dict[str, Any], name: str) -> tuple[dict[str, Any], ...]:
    return tuple(item for item in read_list(response, name, "initialize") if isinstance(item, dict))
