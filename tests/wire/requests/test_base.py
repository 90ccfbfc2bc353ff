"""What every request record has in common."""

import json
import types
from collections.abc import Callable
from typing import Any, ClassVar

import attrs
import pytest

from claude_control.errors import OptionsError
from claude_control.wire import requests
from claude_control.wire.requests.base import SHORT, EmptyReply, Request, encode_body, newest
from claude_control.wire.support import CURRENT, OLDEST


def test_unmeasured_request_needs_the_current_program() -> None:
    """A request of a subtype that was never measured is kept from the programs that would not answer it."""

    @attrs.frozen
    class Plain(Request[EmptyReply]):
        subtype: ClassVar[str] = "plain"

    assert Plain().needs() == ("plain", CURRENT)
    assert Plain().reply({"a": 1}).raw == {"a": 1}


def test_newest_part_is_named() -> None:
    """What a request needs is that of its newest part; what is None or False is no part of it."""
    assert newest({"subtype": "rewind_files", "user_message_id": "u"}) == ("rewind_files", "2.0.75")
    assert newest({"subtype": "rewind_files", "dry_run": True}) == ("rewind_files(dry_run=True)", "2.1.7")
    assert newest({"subtype": "rewind_files", "dry_run": False}) == ("rewind_files", "2.0.75")
    assert newest({"subtype": "interrupt", "cancel_queued": [1]}) == ("interrupt(cancel_queued=…)", CURRENT)
    assert newest({"subtype": "set_max_thinking_tokens", "thinking_display": None})[1] == OLDEST
    long = {"subtype": "set_max_thinking_tokens", "thinking_display": "x" * (SHORT + 1)}
    assert newest(long)[0] == "set_max_thinking_tokens(thinking_display=…)"
    assert newest({"subtype": "get_status"}) == ("get_status", CURRENT)


def test_records_are_frozen_values() -> None:
    """Requests are equal by their fields, hashable and unchangeable."""
    assert requests.SetModel("a") == requests.SetModel("a") != requests.SetModel("b")
    assert len({requests.Interrupt(), requests.Interrupt()}) == 1
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        requests.SetModel("a").model = "b"  # type: ignore[misc]


def test_defaults_are_not_sent() -> None:
    """A field is sent under its wire name unless it has its default; mappings are sent as dicts."""
    assert requests.MCPToggle("lab", False).body() == {"subtype": "mcp_toggle", "serverName": "lab", "enabled": False}
    assert requests.ReadFile("a", encoding="base64").body() == {
        "subtype": "read_file",
        "path": "a",
        "encoding": "base64",
    }
    settings = types.MappingProxyType({"model": None})
    assert type(requests.ApplyFlagSettings(settings).body()["settings"]) is dict


@pytest.mark.parametrize(
    "request_",
    [
        requests.MCPStatus(),
        requests.Interrupt(),
        requests.Interrupt(cancel_queued=True),
        requests.SetModel(None),
        requests.RawRequest("mcp_status"),
        requests.RawRequest("from_the_future", {"a": 1}),
    ],
    ids=repr,
)
def test_encoded_body_is_the_body(request_: Request[Any]) -> None:
    """What is sent is the body as JSON, also where it is kept because a request without fields never changes."""
    for _ in range(2):
        assert json.loads(encode_body(request_)) == request_.body()
        assert request_.needs() == newest(request_.body())


def test_body_that_is_no_json_is_refused() -> None:
    """A value that JSON has no form for is an error of the request, which says where it stands."""
    with pytest.raises(OptionsError, match=r"\$\.settings\.model is a object"):
        encode_body(requests.ApplyFlagSettings({"model": object()}))


def test_subclass_reads_the_same_reply() -> None:
    """A request derived from another is answered by the same record."""

    @attrs.frozen
    class Ask(requests.GetPlan):
        pass

    assert isinstance(Ask().reply({"exists": True}), requests.GetPlanReply)


SECRET = "hunter2-hunter2"
ENVIRONMENT = {"env": {"MY_SERVICE": SECRET}}
HOLDING_SECRETS = [
    requests.ApplyFlagSettings(ENVIRONMENT),
    requests.UpdateSettings("userSettings", ENVIRONMENT),
    requests.MCPSetServers({"lab": {"command": "lab", **ENVIRONMENT}}),
    requests.MCPCall("mcp__lab__login", ENVIRONMENT),
    requests.Initialize(ENVIRONMENT),
    requests.RawRequest("of_tomorrow", ENVIRONMENT),
    requests.GetSettings().reply({"effective": ENVIRONMENT, "sources": [{"source": "a", "settings": ENVIRONMENT}]}),
    requests.MCPStatus().reply({"mcpServers": [{"name": "lab", "config": ENVIRONMENT}]}),
]


@pytest.mark.parametrize("record", HOLDING_SECRETS, ids=lambda record: type(record).__name__)
def test_secrets_are_not_shown(record: Any) -> None:
    """Settings, configurations and arguments are left out of the text that a log or a traceback shows."""
    assert SECRET in str(attrs.asdict(record))
    assert SECRET not in repr(record)


WRONG: Any = [SECRET]


@pytest.mark.parametrize(
    "make",
    [
        lambda: requests.RawRequest("of_tomorrow", WRONG),
        lambda: requests.RawRequest("of_tomorrow", {1: WRONG}),  # type: ignore[dict-item]
        lambda: requests.RawRequest("apply_flag_settings", {"settings": WRONG}).needs(),
        lambda: requests.MCPCall("mcp__lab__login", WRONG),
        lambda: requests.MCPSetServers({"lab": WRONG}),
        lambda: requests.RenameSession({"api_key": SECRET}),  # type: ignore[arg-type]
    ],
)
def test_refused_secrets_are_not_repeated(make: Callable[[], object]) -> None:
    """An error about a field shows nothing of a value that may hold secrets."""
    with pytest.raises(OptionsError) as caught:
        make()
    assert SECRET not in str(caught.value)


def test_refused_values_are_repeated_in_short() -> None:
    """However long a wrong value is, the error stays readable."""
    long: Any = ["x" * 9999]
    for make in (lambda: requests.ReadFile(long), lambda: requests.ReloadPlugins(add_plugins=long)):
        with pytest.raises(OptionsError) as caught:
            make()
        assert len(str(caught.value)) < 300
