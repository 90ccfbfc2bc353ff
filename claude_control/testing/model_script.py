"""The words of a model script: what the scripted model server answers, and how it misbehaves.

A script is a row of steps. The blocks (`Text`, `Words`, `LongText`, `Thinking`, `ToolCall`) are answers by themselves,
or parts of one `Answer`. `Delay`, `Gate` and `Drop` act between the parts of an answer, or, as steps, before its HTTP
headers.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, TypeAlias

import attrs
from attrs import validators

__all__ = [
    "Answer",
    "Delay",
    "Drop",
    "Gate",
    "HttpError",
    "LongText",
    "Step",
    "StreamError",
    "Text",
    "Thinking",
    "ToolCall",
    "Words",
]

# A script that asks for more is a slip of the pen: the largest texts that tests send are a few MiB.
_MOST_CHARACTERS = 256 * 1024 * 1024
_MOST_WORDS = 1_000_000


def _check_seconds(_: object, attribute: "attrs.Attribute[float]", value: float) -> None:
    """Refuse a time before now."""
    if value < 0:
        raise ValueError(f"{attribute.name} is a number of seconds, not {value}")


def _check_times(_: object, attribute: "attrs.Attribute[Any]", value: int | None) -> None:
    """Refuse a fault that never happens."""
    if value is not None and value < 1:
        raise ValueError(f"{attribute.name} is at least 1, or None for always, not {value}")


@attrs.frozen
class Text:
    """A text block, streamed word by word, with `pause` seconds between two words."""

    text: str
    pause: float = attrs.field(default=0.0, kw_only=True, validator=_check_seconds)


@attrs.frozen
class Words:
    """A text block of `count` words (`w0 w1 w2 ...`), one stream event each, with `pause` seconds between two words."""

    count: int = attrs.field(validator=[validators.ge(1), validators.le(_MOST_WORDS)])
    pause: float = attrs.field(default=0.0, kw_only=True, validator=_check_seconds)


@attrs.frozen
class LongText:
    """A text block of so many characters, without a blank, in large pieces."""

    characters: int = attrs.field(validator=[validators.ge(1), validators.le(_MOST_CHARACTERS)])


@attrs.frozen
class Thinking:
    """A thinking block; it stands before the other blocks of its answer."""

    text: str


@attrs.frozen(init=False)
class ToolCall:
    """A call of a tool: `ToolCall("Bash", command="ls")`.

    The model asks for it; the program runs it, after its own permission rules. The id of the call is the server's.
    """

    name: str
    input: Mapping[str, Any]

    def __init__(self, name: str, /, **input: Any) -> None:
        self.__attrs_init__(name, input)


@attrs.frozen
class Delay:
    """A wait of so many seconds; the server's stop ends it early."""

    seconds: float = attrs.field(validator=_check_seconds)


@attrs.frozen
class Gate:
    """A wait until the test calls `ModelServer.release(name)`; once released, a gate stays open.

    A gate that nobody opens within the server's `gate_timeout` turns the answer into an API error that names it.
    """

    name: str


@attrs.frozen
class Drop:
    """The loss of the connection, in the middle of an answer or before it.

    It happens to the first `times` requests that come to it (None: to all); later ones pass.
    """

    times: int | None = attrs.field(default=1, kw_only=True, validator=_check_times)


@attrs.frozen
class StreamError:
    """An error event inside the stream that ends it there; a request without streaming gets status 529.

    It happens to the first `times` requests that come to it (None: to all); later ones pass.
    """

    kind: str = "overloaded_error"
    times: int | None = attrs.field(default=1, kw_only=True, validator=_check_times)


@attrs.frozen
class HttpError:
    """An HTTP error instead of an answer, for the first `times` requests that come to it (None: for all).

    The program retries 429 and the 5xx ones by itself. `retry_after` (seconds) becomes the header of that name, and
    `headers` are added to it; `text` is what the error says.
    """

    status: int = attrs.field(validator=[validators.ge(400), validators.le(599)])
    times: int | None = attrs.field(default=1, kw_only=True, validator=_check_times)
    retry_after: float | None = attrs.field(default=None, kw_only=True)
    text: str | None = attrs.field(default=None, kw_only=True)
    headers: Mapping[str, str] = attrs.field(factory=dict, kw_only=True)


Block: TypeAlias = Text | Words | LongText | Thinking | ToolCall
Part: TypeAlias = Block | Delay | Gate | Drop | StreamError
Before: TypeAlias = Delay | Gate | Drop | HttpError


@attrs.frozen(init=False)
class Answer:
    """One answer of the model, from several parts: `Answer(Thinking("hm"), ToolCall(...), ToolCall(...))`.

    A block stays open until the next one begins, so a `Gate` after a `Text` waits in the middle of the stream. An
    answer may begin with a `Delay` or a `Gate`: the message has then started, and nothing of it has come.
    `stop_reason` is by default `tool_use` or `end_turn`, `stop_details` is what the API says with a refusal; `usage`
    holds token counts that replace the server's own, `headers` are added to the HTTP answer's.
    """

    parts: tuple[Part, ...]
    stop_reason: str | None
    usage: Mapping[str, int]
    stop_details: Mapping[str, Any] | None
    headers: Mapping[str, str]

    def __init__(
        self,
        *parts: Part,
        stop_reason: str | None = None,
        usage: Mapping[str, int] | None = None,
        stop_details: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        for part in parts:
            if not isinstance(part, Part):
                raise ValueError(f"an answer is made of blocks, Delay, Gate, Drop and StreamError, not {part!r}")
        if not any(isinstance(part, Block) for part in parts):
            raise ValueError("an answer has at least one block")
        counts, more = MappingProxyType(dict(usage or {})), MappingProxyType(dict(headers or {}))
        self.__attrs_init__(parts, stop_reason, counts, stop_details, more)


Step: TypeAlias = Answer | Block | Before
"""One step of a script: an answer, or what happens before the next one."""
