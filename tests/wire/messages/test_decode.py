"""`decode`: any object in, a message out."""

import pickle
import subprocess
import sys
from typing import Any

import attrs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from claude_control.wire import messages
from claude_control.wire.messages import Message, SystemMessage, UnknownMessage, decode
from claude_control.wire.messages.catalogue import SUBTYPES, TYPES
from tests.wire.messages.samples import Sample, altered, json_values, samples

ANY_OBJECT = settings(deadline=None, database=None, max_examples=300, suppress_health_check=[HealthCheck.too_slow])

# Objects that begin like a message we know, and go on as they like.
half_known = st.dictionaries(
    st.sampled_from(["message", "event", "patch", "uuid", "subtype", "content", "deferred_tool_use", "rate_limit_info"])
    | st.text(),
    json_values | st.fixed_dictionaries({"content": st.lists(json_values | st.just({"type": "text"}))}),
)


def use(message: Message) -> None:
    """Read everything that a message offers."""
    assert isinstance(message, Message)
    for name in dir(message):
        if not name.startswith("__"):
            getattr(message, name)
    assert repr(message)


@ANY_OBJECT
@given(raw=st.dictionaries(st.text(), json_values))
def test_any_object_decodes(raw: dict[str, Any]) -> None:
    """No JSON object makes decoding fail, and what comes out keeps the object and can be read to the end."""
    message = decode(raw)
    use(message)
    assert message.raw is raw


@ANY_OBJECT
@given(
    kind=st.sampled_from([*TYPES, "system"]) | json_values,
    subtype=st.sampled_from(list(SUBTYPES)) | json_values,
    rest=half_known,
)
def test_any_object_of_a_known_type_decodes(kind: Any, subtype: Any, rest: dict[str, Any]) -> None:
    """No object with a known type makes decoding fail, whatever its other keys hold."""
    raw = {**rest, "type": kind, "subtype": subtype}
    message = decode(raw)
    use(message)
    assert message.raw is raw


@ANY_OBJECT
@given(raw=altered())
def test_altered_sample_decodes(raw: dict[str, Any]) -> None:
    """A real message in which any one thing, at any depth, is replaced by any JSON value still decodes."""
    message = decode(raw)
    use(message)
    assert message.raw is raw


@pytest.mark.parametrize("sample", samples(), ids=str)
def test_message_survives_pickling(sample: Sample) -> None:
    """Every message compares equal to its pickled copy, and to a second decoding."""
    message = decode(sample.raw)
    assert pickle.loads(pickle.dumps(message)) == message == decode(sample.raw)


@pytest.mark.parametrize("sample", samples(), ids=str)
def test_message_is_frozen(sample: Sample) -> None:
    """No field of a decoded message can be set."""
    message = decode(sample.raw)
    for field in attrs.fields(type(message)):
        with pytest.raises(attrs.exceptions.FrozenInstanceError):
            setattr(message, field.name, None)
    assert not hasattr(message, "__dict__")


@pytest.mark.parametrize("sample", samples(), ids=str)
def test_decoded_message_equals_a_constructed_one(sample: Sample) -> None:
    """A decoded message is the same as one constructed by keyword with its fields."""
    message = decode(sample.raw)
    fields = {field.name: getattr(message, field.name) for field in attrs.fields(type(message))}
    assert type(message)(**fields) == message


@pytest.mark.parametrize(
    ("raw", "kind"),
    [({}, ""), ({"type": "hologram"}, "hologram"), ({"type": None}, ""), ({"type": []}, ""), ({"type": 5}, "")],
)
def test_unknown_type_is_kept(raw: dict[str, Any], kind: str) -> None:
    """An object of no known type is an UnknownMessage that names the type and has the object."""
    assert decode(raw) == UnknownMessage(kind, raw)


@pytest.mark.parametrize("subtype", [{}, {"subtype": "novel"}, {"subtype": None}, {"subtype": []}])
def test_unknown_subtype_is_a_plain_system_message(subtype: dict[str, Any]) -> None:
    """A system message of no known subtype is a SystemMessage whose data is the whole object."""
    raw = {"type": "system", "uuid": "u", **subtype}
    message = decode(raw)
    assert type(message) is SystemMessage
    assert message.data is raw
    assert message.uuid == "u"
    assert message.subtype == ("novel" if subtype.get("subtype") == "novel" else "")


@pytest.mark.parametrize("kind", TYPES)
def test_bare_type_is_all_defaults(kind: str) -> None:
    """An object that has nothing but a type is a message of that type, all defaults."""
    message = decode({"type": kind})
    assert message == type(message)(raw={"type": kind})
    assert type(message).__name__ == TYPES[kind]


@pytest.mark.parametrize("subtype", SUBTYPES)
def test_bare_subtype_is_all_defaults(subtype: str) -> None:
    """An object that has nothing but a subtype is a message of that subtype, all defaults."""
    raw = {"type": "system", "subtype": subtype}
    message = decode(raw)
    assert isinstance(message, SystemMessage)
    assert message == type(message)(subtype, raw, raw=raw)
    assert type(message).__name__ == SUBTYPES[subtype]


def test_names_are_found_late() -> None:
    """Every offered name is there, shown by `dir()`, and an unknown one raises AttributeError."""
    assert set(dir(messages)) >= set(messages.__all__)
    assert all(getattr(messages, name) for name in messages.__all__)
    with pytest.raises(AttributeError, match="no_such_message"):
        _ = messages.no_such_message


IMPORTS = """
import sys
from claude_control.wire import messages
def built():
    return sorted(name.rpartition(".")[2] for name in sys.modules if name.startswith("claude_control.wire.messages."))
print(*built())
messages.decode({"type": "system", "subtype": "task_started"})
print(*built())
"""


def test_classes_are_built_when_needed() -> None:
    """Importing builds the base only, and decoding what arrives."""
    lines = subprocess.run([sys.executable, "-c", IMPORTS], check=True, capture_output=True, text=True).stdout
    first, last = (set(line.split()) for line in lines.splitlines())
    assert first == {"catalogue", "message"}
    assert last == first | {"system", "tasks"}
