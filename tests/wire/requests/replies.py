"""The golden samples of control requests: what was asked of the real programs, and every answer that came."""

import functools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import attrs

from claude_control.wire.envelope import read_reply
from claude_control.wire.fields import wire_name
from claude_control.wire.record import WireRecord
from claude_control.wire.requests.replying import camel

GOLDEN = Path(__file__).resolve().parents[2] / "golden"

# What no field stands for, by record: said of the program's own screens and of Anthropic's own hosts.
RAW_ONLY: dict[str, frozenset[str]] = {
    "InitializeReply": frozenset(
        """
        hook_on_failure_supported hooks_when_unanswered_kept other_hook_ask_outranks_host feedback_mode
        analytics_disabled remote_control_auto_enable remote_control_auto_connect_default remote_control_available
        remote_control_auto_on_by_default ide_rc_auto_enable_gate
        """.split()
    )
}


class Reply(NamedTuple):
    """What an answer says."""

    response: Any
    error: str | None
    code: str | None


@attrs.frozen
class Exchange:
    """One request and its answers, from a program of this version; paths are scrubbed, long texts and lists are cut."""

    version: str
    name: str
    request: dict[str, Any]
    answers: tuple[dict[str, Any], ...]

    @property
    def reply(self) -> Reply:
        """The first answer: the old programs answer some requests twice, and only the first counts."""
        return Reply(*read_reply(self.answers[0]))

    def __str__(self) -> str:
        return f"{self.version}/{self.name}"


@functools.cache
def exchanges() -> tuple[Exchange, ...]:
    """Return all samples, of all versions."""
    return tuple(_read(file) for file in sorted(GOLDEN.glob("*/replies/*.json")))


def exchange(name: str) -> Exchange:
    """Return one sample by "version/name"."""
    return next(one for one in exchanges() if str(one) == name)


def _read(file: Path) -> Exchange:
    content = json.loads(file.read_text(encoding="utf-8"))
    return Exchange(file.parts[-3], file.stem, content["request"], tuple(content["answers"]))


def unread(record: WireRecord) -> Iterator[str]:
    """Yield the keys of a reply, and of its parts, that no field stands for or whose value no field took."""
    name = type(record).__name__
    keys: dict[str, str] = {}
    for field in attrs.fields(type(record)):
        wire = wire_name(type(record), field.name)
        keys |= {wire: field.name} if wire != field.name else {wire: field.name, camel(wire): field.name}
    for key, value in record.raw.items():
        if key in RAW_ONLY.get(name, ()):
            continue
        if key not in keys:
            yield f"{name} has no field for {key}"
        elif value is not None and plain(getattr(record, keys[key])) != value:
            yield f"{name}.{keys[key]} did not take {value!r}"
        else:
            yield from (said for part in parts(getattr(record, keys.get(key, "raw"))) for said in unread(part))


def plain(value: Any) -> Any:
    """Return a value of a record as JSON has it."""
    if isinstance(value, WireRecord):
        return value.raw
    return [plain(item) for item in value] if isinstance(value, tuple) else value


def parts(value: Any) -> list[WireRecord]:
    """Return the records that a value of a record is or holds."""
    if isinstance(value, WireRecord):
        return [value]
    return [part for item in value for part in parts(item)] if isinstance(value, tuple) else []
