"""What a `Session` needs beside its own module, in one place: the first session loads all of it at once."""

from typing import Any
from uuid import uuid4

from claude_control.errors import OptionsError
from claude_control.options import merge_options
from claude_control.process.bounded import call_bounded
from claude_control.session.capabilities import Capabilities
from claude_control.session.closing import close_connections
from claude_control.session.idle import wait_idle, wait_tasks
from claude_control.session.opening import Opening
from claude_control.session.stats import read_stats
from claude_control.session.turn import Turn
from claude_control.wire import messages, requests
from claude_control.wire.prompts import check_prompt

__all__ = [
    "Capabilities",
    "Opening",
    "Turn",
    "as_request",
    "call_bounded",
    "check_prompt",
    "close_connections",
    "merge_options",
    "read_stats",
    "uuid4",
    "wait_idle",
    "wait_tasks",
]

messages.preload()  # the classes of the first messages too, which would hold up what comes behind them


def as_request(request: Any, fields: dict[str, Any] | None) -> requests.Request[Any]:
    """Return the record of what `Session.request()` was given; raises `OptionsError`."""
    if isinstance(request, requests.Request):
        if fields:
            raise OptionsError("a request record carries its own fields", field="fields")
        return request
    if isinstance(request, str):
        return requests.RawRequest(request, fields or {})
    raise OptionsError(
        f"a request is a record of claude_control.requests or a subtype, not {type(request).__name__}", field="request"
    )
