"""The conversation's messages: `decode` turns a decoded JSON object into the record that stands for it.

The module of a class is loaded when the first such message arrives, or when its name is asked for: most programs meet
a dozen. `catalogue` says which class is where.
"""

from operator import itemgetter
from typing import TYPE_CHECKING, Any

from claude_control import loading
from claude_control.wire.messages.catalogue import COMMON, MODULES, SUBTYPES, TYPES
from claude_control.wire.messages.message import Message, UnknownMessage
from claude_control.wire.reading import ManyReader, Reader, many_reader, reader

if TYPE_CHECKING:
    from claude_control.wire.messages.control import (
        AuthStatusMessage,
        CommandLifecycleMessage,
        ControlRequestProgressMessage,
        KeepAliveMessage,
        WorkerShuttingDownMessage,
    )
    from claude_control.wire.messages.conversation import AssistantMessage, UserMessage
    from claude_control.wire.messages.gaps import BadLine, MessagesDropped, OversizedLine
    from claude_control.wire.messages.limits import (
        APIRetryMessage,
        ModelRefusalMessage,
        RateLimitEvent,
        RateLimitInfo,
    )
    from claude_control.wire.messages.notices import (
        ActiveGoalMessage,
        InformationalMessage,
        LocalCommandOutputMessage,
        MemoryRecallMessage,
        NotificationMessage,
        PluginInstallMessage,
        PromptSuggestionMessage,
        ThinkingTokensMessage,
    )
    from claude_control.wire.messages.result import DeferredToolUse, ResultMessage
    from claude_control.wire.messages.session import (
        CommandsChangedMessage,
        CompactBoundaryMessage,
        ConversationResetMessage,
        InitMessage,
        SessionStateMessage,
        SessionTitleMessage,
        StatusMessage,
    )
    from claude_control.wire.messages.stream import StreamEvent
    from claude_control.wire.messages.system import SystemMessage
    from claude_control.wire.messages.tasks import (
        TERMINAL_TASK_STATUSES,
        BackgroundTasksMessage,
        TaskNotificationMessage,
        TaskProgressMessage,
        TaskStartedMessage,
        TaskUpdatedMessage,
    )
    from claude_control.wire.messages.tools import (
        ElicitationCompleteMessage,
        HookEventMessage,
        PermissionDeniedMessage,
        ToolProgressMessage,
        ToolUseSummaryMessage,
    )
    from claude_control.wire.messages.transcript import (
        FilesPersistedMessage,
        MirrorErrorMessage,
        SessionWritesLostMessage,
        TranscriptMirrorMessage,
    )

_TYPE = itemgetter("type")
_HOMES = {name: f"{__name__}.{module}" for module, names in MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(loading.import_module(home), name)
    globals()[name] = value  # the next access finds it at once
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def decode(raw: dict[str, Any]) -> Message:
    """Return the record that stands for a decoded JSON object; raises nothing, whatever the object holds.

    A type that is not known here becomes an `UnknownMessage`, an unknown subtype of "system" a plain `SystemMessage`.
    """
    try:
        read = _by_type[raw["type"]]
    except (KeyError, TypeError):  # new, unknown or missing; a list or dict in its place is a TypeError
        read = _first_of_type
    return read(raw)


def decode_all(raws: list[dict[str, Any]]) -> list[Message]:
    """Do as `decode` for every one; if they are all of one type, as most runs are, in a third of the time."""
    if len(raws) == 1:
        return [decode(raws[0])]
    try:
        (kind,) = set(map(_TYPE, raws))
        read = _many_by_type[kind]
    except (KeyError, TypeError, ValueError):  # several, or one that was not yet seen or is no type
        return [decode(raw) for raw in raws]
    return read(raws)


def preload() -> None:
    """Build the classes that every conversation needs, so that its first messages do not wait for them (some 15 ms).

    For a moment at which nothing runs yet.
    """
    for sample in COMMON:
        decode(dict(sample))


def _first_of_type(raw: dict[str, Any]) -> Message:
    kind = raw.get("type")
    if not isinstance(kind, str) or kind not in TYPES:
        return reader(UnknownMessage)(raw)
    record: type[Message] = __getattr__(TYPES[kind])
    _many_by_type[kind] = many_reader(record)
    read = _by_type[kind] = reader(record)
    return read(raw)


def _decode_system(raw: dict[str, Any]) -> Message:
    try:
        read = _by_subtype[raw["subtype"]]
    except (KeyError, TypeError):
        read = _first_of_subtype
    return read(raw)


def _first_of_subtype(raw: dict[str, Any]) -> Message:
    subtype = raw.get("subtype")
    if not isinstance(subtype, str) or subtype not in SUBTYPES:
        return _reader_of("SystemMessage")(raw)
    read = _by_subtype[subtype] = _reader_of(SUBTYPES[subtype])
    return read(raw)


def _reader_of(name: str) -> Reader[Message]:
    record: type[Message] = __getattr__(name)
    return reader(record)


# Filled as types arrive; two threads that meet a type at once set the same reader twice.
_by_type: dict[str, Reader[Message]] = {"system": _decode_system}
_by_subtype: dict[str, Reader[Message]] = {}
_many_by_type: dict[str, ManyReader[Message]] = {}

__all__ = [
    "TERMINAL_TASK_STATUSES",
    "APIRetryMessage",
    "ActiveGoalMessage",
    "AssistantMessage",
    "AuthStatusMessage",
    "BackgroundTasksMessage",
    "BadLine",
    "CommandLifecycleMessage",
    "CommandsChangedMessage",
    "CompactBoundaryMessage",
    "ControlRequestProgressMessage",
    "ConversationResetMessage",
    "DeferredToolUse",
    "ElicitationCompleteMessage",
    "FilesPersistedMessage",
    "HookEventMessage",
    "InformationalMessage",
    "InitMessage",
    "KeepAliveMessage",
    "LocalCommandOutputMessage",
    "MemoryRecallMessage",
    "Message",
    "MessagesDropped",
    "MirrorErrorMessage",
    "ModelRefusalMessage",
    "NotificationMessage",
    "OversizedLine",
    "PermissionDeniedMessage",
    "PluginInstallMessage",
    "PromptSuggestionMessage",
    "RateLimitEvent",
    "RateLimitInfo",
    "ResultMessage",
    "SessionStateMessage",
    "SessionTitleMessage",
    "SessionWritesLostMessage",
    "StatusMessage",
    "StreamEvent",
    "SystemMessage",
    "TaskNotificationMessage",
    "TaskProgressMessage",
    "TaskStartedMessage",
    "TaskUpdatedMessage",
    "ThinkingTokensMessage",
    "ToolProgressMessage",
    "ToolUseSummaryMessage",
    "TranscriptMirrorMessage",
    "UnknownMessage",
    "UserMessage",
    "WorkerShuttingDownMessage",
    "decode",
    "decode_all",
    "preload",
]
