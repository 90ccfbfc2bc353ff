"""The table of wire names."""

import attrs

from claude_control.wire import messages, requests
from claude_control.wire.content import TextBlock
from claude_control.wire.dialogs import DialogRequest
from claude_control.wire.elicitation import ElicitationRequest
from claude_control.wire.fields import WHOLE, WIRE_NAMES, wire_name
from claude_control.wire.messages.catalogue import MODULES
from claude_control.wire.permission_details import PermissionDetails
from claude_control.wire.questions import Question


def records() -> list[type]:
    """Return every message class, request of either side, reply and part of one."""
    found = [getattr(messages, name) for names in MODULES.values() for name in names]
    found += [getattr(requests, name) for name in requests.__all__]
    found += [DialogRequest, ElicitationRequest, PermissionDetails, Question]
    return [value for value in found if isinstance(value, type) and attrs.has(value)]


def test_name_without_a_row_is_the_same() -> None:
    """A field that the table does not list is called the same on the wire."""
    assert wire_name(TextBlock, "text") == "text"


def test_name_with_a_row_is_the_wires() -> None:
    """A listed field is called what its row says, by every record that has it."""
    assert wire_name(messages.InitMessage, "permission_mode") == "permissionMode"
    assert wire_name(messages.StatusMessage, "permission_mode") == "permissionMode"


def test_row_of_a_record_comes_first() -> None:
    """A row for one record wins over the row for all."""
    assert wire_name(messages.RateLimitInfo, "error_code") == "errorCode"
    assert wire_name(messages.SessionWritesLostMessage, "error_code") == "error_code"


def test_row_of_a_record_holds_for_subclasses() -> None:
    """A subclass calls a field what its base calls it."""
    assert wire_name(messages.SystemMessage, "data") == WHOLE
    assert wire_name(messages.InitMessage, "data") == WHOLE


def test_every_row_is_used() -> None:
    """No row of the table speaks of a field that no record has."""
    used = set()
    for record in records():
        names = [field.name for field in attrs.fields(record)]
        used |= {f"{base.__name__}.{name}" for base in record.__mro__ for name in names} | set(names)
    assert set(WIRE_NAMES) <= used


def test_no_two_fields_share_a_wire_name() -> None:
    """Within a record every wire value has one field, but for the object as a whole."""
    for record in records():
        names = [wire_name(record, field.name) for field in attrs.fields(record)]
        assert len(set(names) - {WHOLE}) == len([name for name in names if name != WHOLE]), record
