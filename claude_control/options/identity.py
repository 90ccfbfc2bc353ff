"""Which conversation a session is: a new one, a resumed one, or a fork; and what must not be said together."""

import uuid
from typing import TYPE_CHECKING, Any, NoReturn

import attrs

from claude_control import log
from claude_control.errors import OptionsError
from claude_control.options.checks import reject
from claude_control.options.reach import obstacles

if TYPE_CHECKING:
    from claude_control.options.options import Options

__all__ = ["check_together", "check_uuid"]

_log = log.get(__name__)


def check_uuid(_instance: Any, attribute: "attrs.Attribute[Any]", value: Any) -> None:
    """Take a UUID in its usual form; the program refuses every other one."""
    if value is None:
        return
    try:
        usual = isinstance(value, str) and str(uuid.UUID(value)) == value.lower()
    except ValueError:
        usual = False
    if not usual:
        reject(attribute.name, value, "a UUID such as str(uuid.uuid4())")


def check_together(options: "Options") -> None:
    """Raise `OptionsError` for options that contradict each other."""
    _check_conversation(options)
    _check_permissions(options)
    if options.max_buffer_size is not None and options.max_buffer_size != options.max_line_bytes:
        _refuse("max_buffer_size", "is an alias of max_line_bytes; give one of the two")


def _check_conversation(options: "Options") -> None:
    if options.resume is not None and options.continue_conversation:
        _refuse("resume", "names a conversation and continue_conversation takes the latest; give one of the two")
    continued = options.resume is not None or options.continue_conversation
    if options.session_id is not None and continued and not options.fork_session:
        text = "cannot be chosen for a conversation that goes on under its own; leave it out, or add fork_session=True"
        _refuse("session_id", text)
    if options.resume_session_at is not None and options.resume is None:
        _refuse("resume_session_at", "needs resume, the conversation that it is a place in")
    if options.resume_drops_turn is not None and options.resume_session_at is None:
        _refuse("resume_drops_turn", "needs resume_session_at, after which the turn is dropped")


def _check_permissions(options: "Options") -> None:
    if options.permission_mode == "bypassPermissions" and not options.allow_bypass:
        _refuse("permission_mode", "'bypassPermissions' lets every tool run unasked; it also needs allow_bypass=True")
    callbacks = [name for name in ("can_use_tool", "on_question", "on_plan") if getattr(options, name) is not None]
    if callbacks and options.permission_prompt_tool_name not in (None, "stdio"):
        _refuse("permission_prompt_tool_name", f"and {callbacks[0]} exclude each other: only one can be asked")
    if not callbacks and options.permission_prompt_tool_name == "stdio":
        _refuse("permission_prompt_tool_name", "'stdio' means can_use_tool, which is not set")
    for obstacle in obstacles(options):
        if options.strict:
            _refuse(obstacle.field, f"{obstacle.text} (strict=False makes this a warning)")
        _log.warning("options.callback_unreachable", field=obstacle.field, reason=obstacle.text)


def _refuse(field: str, text: str) -> NoReturn:
    raise OptionsError(f"{field} {text}", field=field)
