"""The catalogue of messages agrees with the modules."""

import importlib

import pytest

from claude_control.wire import messages
from claude_control.wire.messages.catalogue import COMMON, MODULES, SUBTYPES, TYPES


@pytest.mark.parametrize("module", MODULES)
def test_module_gives_what_is_listed(module: str) -> None:
    """Each module offers the names that the catalogue says, and readers of single fields besides."""
    offered = importlib.import_module(f"claude_control.wire.messages.{module}").__all__
    assert {name for name in offered if not name.startswith("read_")} == set(MODULES[module])


def test_package_gives_all_of_them() -> None:
    """The package offers every name of every module, and its three functions."""
    names = [name for names in MODULES.values() for name in names]
    assert sorted([*names, "decode", "decode_all", "preload"]) == sorted(messages.__all__)


def test_every_class_has_a_type() -> None:
    """Every class stands for a type or subtype, but for bases, parts and what the SDK itself says."""
    classes = {name for names in MODULES.values() for name in names if not name.isupper()}
    others = {"Message", "UnknownMessage", "SystemMessage", "DeferredToolUse", "RateLimitInfo", *MODULES["gaps"]}
    assert classes - others == {*TYPES.values(), *SUBTYPES.values()}


def test_common_messages_are_known() -> None:
    """What is preloaded are known messages."""
    for sample in COMMON:
        assert sample.get("subtype", "init") in SUBTYPES
        assert sample["type"] in {*TYPES, "system"}
