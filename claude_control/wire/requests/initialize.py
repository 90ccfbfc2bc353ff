"""The handshake: the first request of every session."""

from collections.abc import Mapping
from typing import Any, ClassVar

import attrs

from claude_control.records import frozen
from claude_control.wire.requests.base import Request
from claude_control.wire.requests.replying import ReplyRecord
from claude_control.wire.support import Program

__all__ = ["Initialize", "InitializeReply"]


@frozen(repr=False)
class InitializeReply(ReplyRecord):
    """What the program says of itself at the start.

    2.0.75 and 2.1.7 send commands, output styles, models and account only: `version`, `pid` and `capabilities` are then
    None, None and empty, and so is what comes after `session_state`.
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
    user_output_styles_dir: str | None = None
    hooks_applied: bool | None = None
    plugins_applied: bool | None = None
    mcp_servers_applied: bool | None = None
    sdk_mcp_manifests_parked: dict[str, str] = attrs.field(factory=dict)
    sandbox_enabled: bool | None = None
    fast_mode_state: str | None = None
    fast_mode_disabled_reason: str | None = None

    @property
    def program(self) -> Program:
        """What the answer tells of the program's version."""
        version = self.version
        return Program(version, "capabilities" in self.raw or version is not None)


@attrs.frozen
class Initialize(Request[InitializeReply]):
    """Opens the control protocol; `fields` are the wire's own: hooks, agents, systemPrompt and so on.

    Sent again to 2.1.332 it tells the present state, and keeps what it does not name. `hooks` then replaces the hooks,
    and one that is just being asked counts as failed, so that its tool does not run.
    """

    subtype: ClassVar[str] = "initialize"

    fields: Mapping[str, Any] = attrs.field(factory=dict, repr=False)

    def body(self) -> dict[str, Any]:
        """Return the wire form."""
        return {"subtype": self.subtype, **self.fields}
