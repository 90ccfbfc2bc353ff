"""`import claude_control` stays light, and so does what a session loads, measured in a fresh interpreter."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from claude_control.testing import ScriptedCLIFactory
from tests import sources

# Each costs every script tens of milliseconds at start, and most scripts never need it.
HEAVY = (
    "asyncio",
    "click",
    "concurrent.futures.process",
    "docstring_parser",
    "http.server",
    "msgspec",
    "rich",
    "structlog",
)

# What only a program that makes a session pays for.
LATE = (
    *("attr", "attrs", "difflib", "inspect", "ipaddress", "orjson", "pathlib", "platform", "random", "shutil"),
    *("signal", "subprocess", "tempfile", "urllib", "uuid", "zoneinfo"),
    *("claude_control.options", "claude_control.session.connection", "claude_control.wire.record"),
)

# What not even a session needs, but for a few.
RARE = (
    *("difflib", "random", "shutil", "tempfile", "zoneinfo"),
    *("claude_control.tools", "claude_control.wire.hook_inputs"),
)

OPENING = """
import json, sys
before = set(sys.modules)
from claude_control import Session
session = Session(cli_path=json.loads(sys.argv[1]))
made = set(sys.modules)
session.open()
opened = set(sys.modules)
session.close()
print(json.dumps([sorted(made - before), sorted(opened - made)]))
"""

PROBE = """
import json, sys, time
before = set(sys.modules)
start = time.perf_counter()
{statement}
seconds = time.perf_counter() - start
print(json.dumps({{"seconds": seconds, "modules": sorted(set(sys.modules) - before)}}))
"""


def probe(statement: str) -> tuple[float, set[str]]:
    """Return the seconds that an import took in a fresh interpreter, and all that it loaded."""
    answer = run_fresh(PROBE.format(statement=statement))
    return answer["seconds"], set(answer["modules"])


def run_fresh(code: str, *arguments: str) -> Any:
    """Run code in a fresh interpreter, and return what it printed as JSON."""
    # Coverage starts itself in child processes by this variable, and would load modules of its own.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_PROCESS")}
    environment["PYTHONPATH"] = str(sources.ROOT)
    command = [sys.executable, "-c", code, *arguments]
    return json.loads(subprocess.run(command, env=environment, check=True, capture_output=True, timeout=50).stdout)


def test_import_loads_nothing_heavy(record_property: Callable[[str, object], None]) -> None:
    """The package is imported without an event loop, a server, a process pool or any library that starts slowly."""
    seconds, loaded = probe("import claude_control")
    record_property("import_seconds", seconds)
    print(f"import claude_control: {seconds * 1000:.0f} ms, {len(loaded)} modules loaded in all")
    assert "claude_control" in loaded
    assert loaded.isdisjoint(HEAVY)


@pytest.mark.parametrize("module", ["asyncio", "http.server", "concurrent.futures.process", "structlog"])
def test_probe_sees_what_is_loaded(module: str) -> None:
    """A heavy module that is imported is seen, so the check above can fail."""
    assert module in probe(f"import {module}")[1]


def test_session_is_imported_without_what_it_is_made_of(record_property: Callable[[str, object], None]) -> None:
    """`from claude_control import Session` loads neither attrs nor orjson, and a dozen modules of ours."""
    seconds, loaded = probe("from claude_control import Session")
    record_property("import_seconds", seconds)
    assert "claude_control.session.session" in loaded
    assert loaded.isdisjoint((*HEAVY, *LATE))
    assert len([name for name in loaded if name.startswith("claude_control")]) < 16


def test_open_loads_nothing_more(scripted_cli: ScriptedCLIFactory) -> None:
    """Making a session loads what opening it needs, and not what few sessions need."""
    made, opened = run_fresh(OPENING, json.dumps(scripted_cli().command))
    assert {"attrs", "orjson", "claude_control.session.connection"} <= set(made)
    assert set(made).isdisjoint((*HEAVY, *RARE))
    assert opened == []
