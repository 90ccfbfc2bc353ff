"""What every request record has in common."""

from typing import Any, ClassVar

import attrs
import pytest

from claude_control.errors import ProtocolError
from claude_control.wire import requests
from claude_control.wire.requests.base import EmptyReply, Request, read_count, read_list, read_text, read_texts
from claude_control.wire.support import OLDEST


def test_list_is_read() -> None:
    """A list is itself, a missing or null one is empty, anything else is an error with the payload."""
    assert read_list({"a": [1]}, "a", "s") == [1]
    assert read_list({}, "a", "s") == read_list({"a": None}, "a", "s") == []
    wrongs: list[Any] = ["text", {}, 0, False]
    for wrong in wrongs:
        payload = {"a": wrong}
        with pytest.raises(ProtocolError) as caught:
            read_list(payload, "a", "s")
        assert caught.value.raw is payload


def test_texts_are_read() -> None:
    """Of a list of texts what is no text is left out."""
    assert read_texts({"a": ["x", None, 5, ["y"], "z"]}, "a", "s") == ("x", "z")


@pytest.mark.parametrize("wrong", [None, 5, [], {}, True], ids=repr)
def test_text_is_read(wrong: Any) -> None:
    """A text is itself, also an empty one; anything else is None."""
    assert read_text({"a": ""}, "a") == ""
    assert read_text({}, "a") is read_text({"a": wrong}, "a") is None


@pytest.mark.parametrize("wrong", [None, "5", 5.0, [], True, False], ids=repr)
def test_count_is_read(wrong: Any) -> None:
    """A whole number is itself, also 0; anything else, truth values among them, is None."""
    assert read_count({"a": 0}, "a") == 0
    assert read_count({}, "a") is read_count({"a": wrong}, "a") is None


def test_request_needs_the_oldest_program() -> None:
    """A request without special fields is known to every measured program."""

    @attrs.frozen
    class Plain(Request[EmptyReply]):
        subtype: ClassVar[str] = "plain"

    assert Plain().needs() == ("plain", OLDEST)
    with pytest.raises(NotImplementedError):
        Plain().body()
    with pytest.raises(NotImplementedError):
        Plain().reply({})


def test_records_are_frozen_values() -> None:
    """Requests are equal by their fields, hashable and unchangeable."""
    assert requests.SetModel("a") == requests.SetModel("a") != requests.SetModel("b")
    assert len({requests.Interrupt(), requests.Interrupt()}) == 1
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        requests.SetModel("a").model = "b"  # type: ignore[misc]


def test_package_exports_every_record() -> None:
    """Every request with a record of its own, and its reply, is found in the package."""
    assert {"Interrupt", "InterruptReply", "SetModel", "RewindFiles", "MCPStatus", "RawRequest"} <= set(
        requests.__all__
    )
    assert all(getattr(requests, name) is not None for name in requests.__all__)
