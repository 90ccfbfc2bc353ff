"""Loggers that cost nothing until the first record, and the one redactor for everything that leaves the process.

Records go through structlog into the standard `logging` tree below "claude_control", which is silent until the user
configures it; where the user has configured structlog, they go through the user's own chain. structlog itself is
imported when the first record passes the level check (it costs 100 ms and imports asyncio).
"""

import logging
import re
import sys
import traceback
from collections.abc import Mapping, MutableMapping
from typing import Any

__all__ = ["Logger", "error_text", "get", "redact"]

_ROOT = logging.getLogger("claude_control")
_ROOT.addHandler(logging.NullHandler())

_HIDDEN = "[redacted]"
_SECRET_NAME = re.compile(
    r"(?i)(api[-_]?key|token|authorization|password|passwd|secret|cookie|credential|private[-_]?key)"
)
_COUNTED_TOKENS = re.compile(r"(?i)tokens$")  # input_tokens, max_thinking_tokens: counts, not secrets
_SECRET_TEXT = re.compile(r"sk-ant-[A-Za-z0-9_-]{4,}|(?i:bearer)\s+[A-Za-z0-9._~+/=-]{8,}")
# What follows a name that says so: headers, and an environment that was printed.
_SECRET_VALUE = re.compile(
    r"((?i:authorization[\"']?\s*[:=]\s*[\"']?(?:basic|digest|negotiate|token)\s+)"
    r"|(?i:x-api-key[\"']?\s*[:=]\s*[\"']?)"
    r"|\b[A-Z][A-Z0-9_]*(?:KEY|TOKEN|SECRET|PASSWORD)(?:_[A-Z0-9_]*)?=)[^\s\"']+"
)
_MAX_DEPTH = 8  # deeper structures are cut: a log record is for people
_MAX_ITEMS = 100
# Attributes of every LogRecord, and parameters on the way there: a field of such a name would raise.
_RECORD_KEYS = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "stacklevel", "method_name"}


def redact(value: Any, depth: int = 0) -> Any:
    """Return `value` with everything that looks like a secret replaced.

    Mappings lose the values of keys that name a secret, texts lose keys of the API and bearer tokens, at any depth;
    what is deeper than 8 levels or longer than 100 items is cut.
    """
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    if isinstance(value, str):
        return _SECRET_VALUE.sub(rf"\1{_HIDDEN}", _SECRET_TEXT.sub(_HIDDEN, value))
    if depth >= _MAX_DEPTH:
        return "…"
    if isinstance(value, Mapping):
        return {key: _redact_item(key, item, depth) for key, item in list(value.items())[:_MAX_ITEMS]}
    if isinstance(value, list | tuple | set | frozenset):
        return [redact(item, depth + 1) for item in list(value)[:_MAX_ITEMS]]
    return value


def _redact_item(key: Any, item: Any, depth: int) -> Any:
    if isinstance(key, str) and _SECRET_NAME.search(key) and not _COUNTED_TOKENS.search(key):
        return _HIDDEN
    return redact(item, depth + 1)


class Logger:
    """A named logger with the four methods that this package uses.

    An event is a dotted lower-case noun, the rest are fields.
    """

    __slots__ = ("_standard",)

    def __init__(self, name: str) -> None:
        self._standard = logging.getLogger(name)

    def debug(self, event: str, **fields: Any) -> None:
        """Log traffic."""
        self._log("debug", logging.DEBUG, event, fields)

    def info(self, event: str, **fields: Any) -> None:
        """Log the life cycle."""
        self._log("info", logging.INFO, event, fields)

    def warning(self, event: str, **fields: Any) -> None:
        """Log what was survived."""
        self._log("warning", logging.WARNING, event, fields)

    def error(self, event: str, **fields: Any) -> None:
        """Log a defect of this package, or lost data."""
        self._log("error", logging.ERROR, event, fields)

    def _log(self, method: str, level: int, event: str, fields: dict[str, Any]) -> None:
        if not _structlog_configured() and not (self._standard.isEnabledFor(level) and _heard(self._standard)):
            return
        try:
            getattr(_bound(self._standard), method)(event, **redact(_without_clashes(None, method, fields)))
        except (
            Exception
        ):  # a defect of the user's chain must not end a session: as the standard library has it, it is printed
            if logging.raiseExceptions:
                traceback.print_exc()


def error_text(error: BaseException) -> str:
    """Return an exception's type and text; one whose own methods fail still has its type."""
    try:
        text = str(error)
    except BaseException:  # whatever is raised here would leave a request without its answer
        text = ""
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def get(name: str) -> Logger:
    """Return the logger of a module, by its `__name__`."""
    return Logger(name)


def _without_clashes(_logger: Any, _method: str, fields: MutableMapping[str, Any]) -> dict[str, Any]:
    return {f"cc_{key}" if key in _RECORD_KEYS else key: item for key, item in fields.items()}


def _heard(logger: logging.Logger | None) -> bool:
    """Tell whether a handler other than our own silent one would see a record."""
    while logger is not None:
        if any(not isinstance(handler, logging.NullHandler) for handler in logger.handlers):
            return True
        logger = logger.parent if logger.propagate else None
    return False


def _structlog_configured() -> bool:
    # Never imported here: a user who configured it has imported it. Another thread may just be importing it.
    is_configured = getattr(sys.modules.get("structlog"), "is_configured", None)
    return is_configured is not None and bool(is_configured())


def _bound(standard: logging.Logger) -> Any:
    import structlog

    if structlog.is_configured():  # decided per record: applications configure it after they import us
        return structlog.get_logger(standard.name)
    return structlog.wrap_logger(
        standard,
        processors=[
            structlog.stdlib.filter_by_level,
            structlog.contextvars.merge_contextvars,
            _without_clashes,
            structlog.stdlib.render_to_log_kwargs,
        ],
        wrapper_class=structlog.stdlib.BoundLogger,
    )
