"""A pytest plugin: a scripted CLI, a scripted model server, and a check that tests leave nothing behind.

It is found by itself where the package is installed; elsewhere `-p claude_control.testing.pytest_plugin` loads it. What
its fixtures need is imported when they are used.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from claude_control.testing.model_server import ModelServer
    from claude_control.testing.scripted_cli import ScriptedCLIFactory

__all__ = [
    "GRACE_OPTION",
    "INI_OPTION",
    "model_server",
    "no_leaks",
    "pytest_addoption",
    "pytest_configure",
    "scripted_cli",
]

INI_OPTION = "claude_control_no_leaks"
"""The setting that checks every test, in the ini file of pytest."""


GRACE_OPTION = "claude_control_leaks_grace"
"""The setting of how many seconds things have to end."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the settings of the check for leaks."""
    told = "check that every test leaves no thread, descriptor, child or temporary file behind"
    parser.addini(INI_OPTION, told, "bool", False)
    parser.addini(GRACE_OPTION, "seconds that what a test started has to end before it is called a leak", default="2")


def pytest_configure(config: pytest.Config) -> None:
    """Add the markers."""
    config.addinivalue_line("markers", "no_leaks: check that this test leaves nothing behind")
    config.addinivalue_line("markers", "leaks_allowed(reason): do not check what this test leaves behind")


@pytest.fixture(autouse=True)
def _checked_for_leaks(request: pytest.FixtureRequest) -> None:
    """Use `no_leaks` where the setting or a marker asks for it: before all other fixtures, so that it ends last."""
    node = request.node
    wanted = request.config.getini(INI_OPTION) or node.get_closest_marker("no_leaks")
    if wanted and not node.get_closest_marker("leaks_allowed"):
        request.getfixturevalue("no_leaks")


@pytest.fixture
def no_leaks(pytestconfig: pytest.Config) -> Iterator[None]:
    """Fail the test if it leaves a thread, descriptor, child process or temporary file behind.

    What was there when the test began, fixtures of a wider scope among it, does not count.
    """
    from claude_control.testing.leaks import LeakCheck

    with LeakCheck(grace=float(pytestconfig.getini(GRACE_OPTION))):
        yield


@pytest.fixture
def scripted_cli(tmp_path: Path) -> Iterator[ScriptedCLIFactory]:
    """A function that makes scripted CLIs: `scripted_cli([steps], program=…)`, with all arguments of `ScriptedCLI`.

    At the end their processes are killed, and the test fails if the SDK did what a script did not expect.
    """
    from claude_control.testing.scripted_cli import ScriptedCLIFactory

    with ScriptedCLIFactory(tmp_path) as factory:
        yield factory


@pytest.fixture
def model_server() -> Iterator[ModelServer]:
    """A scripted model server that listens; the test fails if it failed."""
    from claude_control.testing.model_server import ModelServer

    with ModelServer() as server:
        yield server
