"""Scripted CLIs for the tests of scripted CLIs."""

from collections.abc import Callable
from pathlib import Path

import pytest

from claude_control.testing.scripted_cli import ScriptedCLI, ScriptedCLIFactory
from tests.testing.pipes import MEASURED


@pytest.fixture
def make(scripted_cli: ScriptedCLIFactory) -> Callable[..., ScriptedCLI]:
    """A function that makes scripted CLIs whose children are measured when this run is."""

    def made(*steps: object, **arguments: object) -> ScriptedCLI:
        return scripted_cli(list(steps), interpreter=MEASURED, **arguments)  # type: ignore[arg-type]

    return made


@pytest.fixture
def make_unchecked(tmp_path: Path) -> Callable[..., ScriptedCLI]:
    """As `make`, for scripts that are meant not to be followed."""

    def made(*steps: object, **arguments: object) -> ScriptedCLI:
        return ScriptedCLI(tmp_path, list(steps), interpreter=MEASURED, **arguments)  # type: ignore[arg-type]

    return made
