"""What every test runs in: no account of the developer's, a temporary folder of its own, and a check for leaks."""

import importlib
import os
import pkgutil
import signal
import sys
import tempfile
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

import claude_control

pytest_plugins = ["claude_control.testing.pytest_plugin", "pytester"]

# What is needed late is imported in a thread that no trace function sees; for coverage it is imported here.
_IMPORTED_LATE = ("options", "process", "session", "tools", "wire")
if sys.gettrace() is not None:
    for module in pkgutil.walk_packages(claude_control.__path__, "claude_control."):
        if module.name.split(".")[1] in _IMPORTED_LATE:
            importlib.import_module(module.name)

# Variables of a Claude Code that these tests may be running in, or that would lead them to an account.
_FOREIGN = ("ANTHROPIC_", "CLAUDE_CODE_")
_FOREIGN_NAMES = ("CLAUDECODE", "CLAUDE_CONFIG_DIR", "CLAUDE_CONTROL_CLI")

# A busy machine makes any example slow; what never ends is ended by the tests' own time limit.
settings.register_profile("unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("unhurried")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Check every test for leaks; `leaks_allowed(reason)` takes one out."""
    for item in items:
        item.add_marker("no_leaks")


@pytest.fixture(scope="session", autouse=True)
def _clean_environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Hide the developer's Claude Code, and keep temporary files apart from those of other runs on this machine."""
    with pytest.MonkeyPatch.context() as patch:
        for name in list(os.environ):
            if name.startswith(_FOREIGN) or name in _FOREIGN_NAMES:
                patch.delenv(name)
        folder = str(tmp_path_factory.mktemp("tmp"))
        patch.setenv("TMPDIR", folder)
        patch.setattr(tempfile, "tempdir", folder)
        yield


@pytest.fixture(scope="session", autouse=True)
def _default_signals() -> Iterator[None]:
    """Undo what `nohup` and a shell's `&` do to whoever runs the tests: children would ignore these signals too."""
    before = {
        signal.SIGINT: signal.signal(signal.SIGINT, signal.default_int_handler),
        signal.SIGHUP: signal.signal(signal.SIGHUP, signal.SIG_DFL),
    }
    yield
    for number, handler in before.items():
        signal.signal(number, handler)
