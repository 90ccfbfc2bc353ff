"""The program's environment: the parent's, without what an outer Claude Code put there for its own children."""

import math
import os
from collections.abc import Iterable, Mapping

from claude_control.errors import OptionsError
from claude_control.options import Options
from claude_control.process.orphans import MARKER_VARIABLE

__all__ = ["OUTER_SESSION", "build_environment", "initialize_timeout"]

OUTER_SESSION = frozenset(
    """
    AI_AGENT CLAUDECODE CLAUDE_AGENT_SDK_DERIVED_CLIENT_APP CLAUDE_AGENT_SDK_VERSION CLAUDE_CODE_CHILD_NOTES_DIR
    CLAUDE_CODE_CHILD_SESSION CLAUDE_CODE_ENTRYPOINT CLAUDE_CODE_EXECPATH CLAUDE_CODE_HOST_AUTH_ASK_AT_START
    CLAUDE_CODE_LAUNCHED_BY_SESSION_IDS CLAUDE_CODE_MESSAGING_SOCKET CLAUDE_CODE_MESSAGING_TOKEN
    CLAUDE_CODE_SDK_HAS_HOST_AUTH_REFRESH CLAUDE_CODE_SDK_HAS_OAUTH_REFRESH CLAUDE_CODE_SDK_HAS_SESSIONS_OAUTH_REFRESH
    CLAUDE_CODE_SDK_READS_SESSION_STATE CLAUDE_CODE_SDK_READS_STARTUP_MARKS CLAUDE_CODE_SESSION_ATTENDED
    CLAUDE_CODE_SESSION_ID CLAUDE_CODE_SESSION_KIND CLAUDE_CODE_SSE_PORT CLAUDE_CODE_STARTER_MAY_HOLD_CONNECTOR_FILE
    CLAUDE_EFFORT CLAUDE_ENV_FILE CLAUDE_PID CLAUDE_PLUGIN_DATA CLAUDE_PLUGIN_ROOT CLAUDE_PROJECT_DIR
    """.split()
)
"""What a Claude Code sets for its tools, hooks and servers, and what its host says of itself: true of that session,
wrong for ours (2.1.332 as a "child session" keeps no transcript). What users set, such as CLAUDE_CONFIG_DIR, is not
among them."""

ENTRYPOINT = "sdk-py"
"""What we say we are. Any unknown name adds an agent and its description to each request (all three measured
programs)."""

# What was in os.environ, as bytes, and what of it is passed on, as texts.
_read_before: tuple[dict[bytes, bytes], dict[str, str]] = ({}, {})

_READS_STATE = "CLAUDE_CODE_SDK_READS_SESSION_STATE"
_STREAM_CLOSE = "CLAUDE_CODE_STREAM_CLOSE_TIMEOUT"


def build_environment(options: Options, parent: Mapping[str, str], *, marker: str | None) -> dict[str, str]:
    """Return the program's whole environment: `parent`'s, then ours, then `options.env`, in which None takes one away.

    `marker` is what the orphan guard knows the session's processes by; nothing in `options` changes it.
    """
    made = {**_inherited(parent), "CLAUDE_CODE_ENTRYPOINT": ENTRYPOINT, _READS_STATE: "1"}
    if options.enable_file_checkpointing:
        made["CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING"] = "true"
    if options.cwd is not None:
        made["PWD"] = os.path.abspath(os.fspath(options.cwd))  # as a shell spells it; programs allow that spelling too
    for name, value in options.env.items():
        if value is None:
            made.pop(name, None)
        else:
            made[name] = value
    if options.client_app is not None:
        made["CLAUDE_AGENT_SDK_CLIENT_APP"] = options.client_app
    made.pop(MARKER_VARIABLE, None)
    if marker is not None:
        made[MARKER_VARIABLE] = marker
    return made


def _inherited(parent: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of the parent, as they are now, but for what an outer session put there.

    os.environ decodes each of them whenever it is read, which took a tenth of the processor time of an open(): while
    the bytes that it keeps are the same, so are the texts.
    """
    global _read_before
    raw = getattr(parent, "_data", None) if parent is os.environ else None  # not promised, so there may be none
    if type(raw) is not dict:
        return _without_outer(parent.items())
    known, texts = _read_before
    if raw != known:
        known = raw.copy()
        texts = _without_outer((os.fsdecode(name), os.fsdecode(value)) for name, value in known.items())
        _read_before = known, texts
    return texts


def _without_outer(variables: Iterable[tuple[str, str]]) -> dict[str, str]:
    return {name: value for name, value in variables if name not in OUTER_SESSION}


def initialize_timeout(options: Options, environ: Mapping[str, str]) -> float | None:
    """Return the seconds for the handshake: the option's, or those of CLAUDE_CODE_STREAM_CLOSE_TIMEOUT if more.

    The variable is in milliseconds; `options.env` goes before `environ`. Raises `OptionsError` if it is no number.
    """
    seconds: float | None = options.initialize_timeout
    told = options.env.get(_STREAM_CLOSE, environ.get(_STREAM_CLOSE))
    if not told or seconds is None:
        return seconds
    try:
        milliseconds = float(told)
    except ValueError:
        milliseconds = math.nan
    if not math.isfinite(milliseconds):
        raise OptionsError(f"{_STREAM_CLOSE} must be a number of milliseconds, not {told!r}", field="env")
    return max(seconds, milliseconds / 1000)
