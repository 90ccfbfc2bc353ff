"""`import claude_control` stays light, measured in a fresh interpreter."""

import json
import os
import subprocess
import sys
from collections.abc import Callable

import pytest

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

PROBE = """
import json, sys, time
start = time.perf_counter()
import {module}
seconds = time.perf_counter() - start
print(json.dumps({{"seconds": seconds, "modules": sorted(sys.modules)}}))
"""


def probe(module: str) -> tuple[float, set[str]]:
    """Return the seconds that an import took in a fresh interpreter, and all that it had loaded then."""
    # Coverage starts itself in child processes by this variable, and would load modules of its own.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_PROCESS")}
    environment["PYTHONPATH"] = str(sources.ROOT)
    command = [sys.executable, "-c", PROBE.format(module=module)]
    done = subprocess.run(command, env=environment, check=True, capture_output=True, timeout=50)
    answer = json.loads(done.stdout)
    return answer["seconds"], set(answer["modules"])


def test_import_loads_nothing_heavy(record_property: Callable[[str, object], None]) -> None:
    """The package is imported without an event loop, a server, a process pool or any library that starts slowly."""
    seconds, loaded = probe("claude_control")
    record_property("import_seconds", seconds)
    print(f"import claude_control: {seconds * 1000:.0f} ms, {len(loaded)} modules loaded in all")
    assert "claude_control" in loaded
    assert loaded.isdisjoint(HEAVY)


@pytest.mark.parametrize("module", ["asyncio", "http.server", "concurrent.futures.process", "structlog"])
def test_probe_sees_what_is_loaded(module: str) -> None:
    """A heavy module that is imported is seen, so the check above can fail."""
    assert module in probe(module)[1]
