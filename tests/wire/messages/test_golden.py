"""Decoding against what the real programs wrote."""

from typing import Any

import attrs
import pytest

from claude_control.wire.content import UnknownBlock
from claude_control.wire.fields import WHOLE, wire_name
from claude_control.wire.messages import SystemMessage, UnknownMessage, decode
from claude_control.wire.messages.catalogue import SUBTYPES, TYPES
from claude_control.wire.record import WireRecord
from tests.wire.messages.samples import Sample, samples

# Keys that no field stands for, by class; "type" is said by the class itself. A key that a new program adds is neither
# here nor a field, and fails the test below.
RAW_ONLY: dict[str, frozenset[str]] = {
    # internal to the program's own screens and caches
    "AssistantMessage": frozenset(
        ("message.container", "message.diagnostics", "message.role", "message.type", "thinking_display")
    ),
    # every field of a StreamEvent is paid for ten thousand times a second
    "StreamEvent": frozenset(("abandoned_blocks", "owed_rows", "thinking_display")),
    "UserMessage": frozenset(("message.role",)),
}

VERSIONS = {"2.1.332", "2.1.7", "2.0.75"}


def unmapped(record: WireRecord, raw: dict[str, Any]) -> set[str]:
    """Return the keys of an object that no field of its record stands for."""
    names = {wire_name(type(record), field.name) for field in attrs.fields(type(record))}
    parents = {name.partition(".")[0] for name in names if "." in name and name != WHOLE} - names
    keys = {key for key in raw if key not in parents}
    keys |= {f"{key}.{inner}" for key in parents & set(raw) for inner in raw[key]}
    return keys - names - {"type"} - RAW_ONLY.get(type(record).__name__, frozenset())


def lost(record: WireRecord, raw: dict[str, Any]) -> list[str]:
    """Return the fields that did not take over their wire value: their annotation is wrong."""
    found = []
    for field in attrs.fields(type(record)):
        value: Any = raw
        path = wire_name(type(record), field.name)
        for key in [] if path == WHOLE else path.split("."):
            value = value.get(key) if isinstance(value, dict) else None
        taken = getattr(record, field.name)
        is_made = bool(field.metadata) or isinstance(taken, WireRecord)
        if value is not None and not is_made and taken != value:
            found.append(field.name)
    return found


def test_all_versions_are_there() -> None:
    """Samples of every measured program are found, and of every type that a text turn has."""
    names = {(sample.version, sample.name) for sample in samples()}
    common = ("assistant", "result_success", "stream_event", "system_init", "user")
    assert names >= {(version, name) for version in VERSIONS for name in common}


@pytest.mark.parametrize("sample", samples(), ids=str)
def test_sample_has_a_class_of_its_own(sample: Sample) -> None:
    """Every message that a real program wrote decodes to the class that the catalogue names."""
    message, raw = decode(sample.raw), sample.raw
    known = SUBTYPES if raw["type"] == "system" else TYPES
    assert type(message).__name__ == known[raw["subtype" if raw["type"] == "system" else "type"]]
    assert not isinstance(message, UnknownMessage)
    assert type(message) is not SystemMessage
    assert message.raw == raw


@pytest.mark.parametrize("sample", samples(), ids=str)
def test_sample_has_no_unmapped_key(sample: Sample) -> None:
    """Every key of a real message has a field or is listed as kept in `raw` only."""
    assert unmapped(decode(sample.raw), sample.raw) == set()


@pytest.mark.parametrize("sample", samples(), ids=str)
def test_sample_loses_no_value(sample: Sample) -> None:
    """Every value of a real message fits the annotation of its field."""
    assert lost(decode(sample.raw), sample.raw) == []


@pytest.mark.parametrize("sample", samples(), ids=str)
def test_sample_has_known_blocks(sample: Sample) -> None:
    """Every content block of a real message has a class, and no key of it goes unmapped."""
    blocks = getattr(decode(sample.raw), "content", "")
    for block in blocks if isinstance(blocks, list) else []:
        assert not isinstance(block, UnknownBlock)
        assert unmapped(block, block.raw) == set()
        assert lost(block, block.raw) == []


def test_raw_only_lists_nothing_that_has_a_field() -> None:
    """The list of keys without a field names none that has one, and none that no sample has."""
    seen: dict[str, set[str]] = {}
    for sample in samples():
        message = decode(sample.raw)
        keys = seen.setdefault(type(message).__name__, set())
        keys |= set(sample.raw) | {f"message.{key}" for key in sample.raw.get("message", ())}
        names = {wire_name(type(message), field.name) for field in attrs.fields(type(message))}
        assert not names & RAW_ONLY.get(type(message).__name__, frozenset())
    assert all(listed <= seen[name] for name, listed in RAW_ONLY.items())


def test_new_keys_are_noticed() -> None:
    """A key that a later program adds, at the top or inside of the message, is reported."""
    raw = {"type": "assistant", "novel": 1, "message": {"role": "assistant", "content": [], "fresh": 2}}
    assert unmapped(decode(raw), raw) == {"novel", "message.fresh"}
