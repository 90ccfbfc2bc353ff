"""The demo's story: what is called, and what comes of it."""

import os
import threading
import time
from typing import Any

from claude_control.cli.demo.stages import SHOP, Stage
from claude_control.cli.status import summary
from claude_control.cli.terminal import Terminal
from claude_control.session.hooks import HookContext
from claude_control.session.permissions import PermissionContext
from claude_control.session.session import Session
from claude_control.session.turn import Turn
from claude_control.tools import ToolServer
from claude_control.wire.hooks import HookMatcher
from claude_control.wire.messages import StreamEvent
from claude_control.wire.permissions import Allow

__all__ = ["tell"]

_HEARD = 5  # pieces of an answer before something is done about it
_LABEL = 12  # columns


def tell(stage: Stage, terminal: Terminal) -> None:
    """Play every scene on a stage; raises what the library raises if one goes wrong."""
    _Story(stage, terminal).play()


class _Story:
    def __init__(self, stage: Stage, terminal: Terminal) -> None:
        self._stage = stage
        self._terminal = terminal
        self._lock = threading.Lock()  # callbacks speak from threads of their own
        self._mid_line = False
        self._scenes = 0

    def play(self) -> None:
        began = time.monotonic()
        self._terminal.say(self._stage.cast)
        self._scene("Open a session, with a function that decides and a hook that guards")
        self._code('session = Session(can_use_tool=decide, hooks={"PreToolUse": [HookMatcher(hooks=[guard])]})')
        hooks = {"PreToolUse": [HookMatcher(matcher="Bash", hooks=[self._guard])]}
        session = Session(can_use_tool=self._decide, hooks=hooks, include_partial_messages=True, **self._stage.options)
        with session:
            self._line("session", session.state)
            self._permission(session)
            self._hook(session)
            self._tool(session)
            self._model(session)
            self._interrupt(session)
            pid = session.server_info.pid
            self._scene("Close: nothing is left running")
            self._code("session.close()")
        self._line("session", f"{session.state}, {time.monotonic() - began:.1f} s in all")
        if pid is not None:  # older programs do not say it
            self._line("program", "still there" if _is_alive(pid) else "gone")

    # -- the scenes ----------------------------------------------------------------------------------------------------

    def _permission(self, session: Session) -> None:
        self._scene("It asks before it acts: your function answers")
        self._read(self._ask(session, "Make a note."))

    def _hook(self, session: Session) -> None:
        self._scene("A hook sees every tool, and can refuse")
        self._read(self._ask(session, "What is in .env?"))

    def _tool(self, session: Session) -> None:
        self._scene("Give it a tool: a function of yours")

        def stock(item: str) -> int:
            """Say how many pieces of an article there are."""
            self._line("stock()", f"{item} -> 12")
            return 12

        self._code(f'session.set_mcp_servers({{"{SHOP}": ToolServer("{SHOP}", [stock])}})')
        session.set_mcp_servers({SHOP: ToolServer(SHOP, [stock])})
        self._read(self._ask(session, "How many A-17 are left?"))

    def _model(self, session: Session) -> None:
        self._scene("Change the model while it writes")
        turn = self._ask(session, "Write a line about it.")
        self._read(turn, pieces=_HEARD)
        self._code('session.set_model("haiku")')
        reply = session.set_model("haiku")
        self._line("answered", f"{reply.model or 'haiku'}, and the turn is {turn.state}")
        self._read(turn)

    def _interrupt(self, session: Session) -> None:
        self._scene("Interrupt, and go on")
        turn = self._ask(session, "Count to 400.")
        self._read(turn, pieces=_HEARD)
        self._code("session.interrupt()")
        session.interrupt()
        turn.result()
        self._line("turn", str(turn.outcome))
        self._read(self._ask(session, "Are you still there?"))

    # -- what is called ------------------------------------------------------------------------------------------------

    def _ask(self, session: Session, prompt: str) -> Turn:
        self._code(f'turn = session.ask("{prompt}")')
        return session.ask(self._stage.prompts[prompt])

    def _read(self, turn: Turn, pieces: int | None = None) -> None:
        """Show the text of a turn to its end, or so many pieces of it."""
        for message in turn:
            if isinstance(message, StreamEvent) and message.text:
                self._piece(message.text)
                pieces = None if pieces is None else pieces - 1
                if pieces == 0:
                    return
        turn.result()  # raises if it failed

    def _decide(self, tool: str, tool_input: dict[str, Any], _context: PermissionContext) -> Allow:
        self._line("decide()", f"{summary(tool, tool_input)} -> Allow()")
        return Allow()

    def _guard(self, event: dict[str, Any], _tool_use_id: str | None, _context: HookContext) -> dict[str, Any]:
        about = summary(event["tool_name"], event["tool_input"])
        if ".env" not in about:
            self._line("guard()", f"{about} -> no objection")
            return {}
        self._line("guard()", f"{about} -> deny")
        reason = "Secrets stay closed."
        return {"hookSpecificOutput": {"permissionDecision": "deny", "permissionDecisionReason": reason}}

    # -- telling -------------------------------------------------------------------------------------------------------

    def _scene(self, title: str) -> None:
        self._scenes += 1
        self._say(f"\n{self._scenes}. {title}", "bold")

    def _code(self, call: str) -> None:
        self._say(f"   >>> {call}", "cyan")

    def _line(self, label: str, text: str) -> None:
        self._say(f"   {label.ljust(_LABEL)} {text}")

    def _say(self, text: str, style: str = "") -> None:
        with self._lock:
            if self._mid_line:
                self._terminal.say()
                self._mid_line = False
            self._terminal.say(text, style)

    def _piece(self, text: str) -> None:
        with self._lock:
            if not self._mid_line:
                text = f"   {'Claude'.ljust(_LABEL)} {text.lstrip()}"
                self._mid_line = True
            self._terminal.answer(text)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
