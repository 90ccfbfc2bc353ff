"""The real program, with the scripted model server of `claude_control.testing` behind it."""

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.preparing import PreparationError
from claude_control.testing import ModelServer, script
from claude_control.testing.model_script import Step, Text, ToolCall, Words
from tests.real import provision

VERSION = "2.1.332"
"""The newest of the tested programs; the official SDK of the comparison brings the same one along."""

DELTAS = 1000
"""Text deltas of the long turn."""


def prompts(count: int) -> dict[str, list[str]]:
    """Return `count` prompts for each kind of turn; a script serves once, so they are made anew for each run."""
    kinds: dict[str, tuple[Step, ...]] = {
        "word": (Text("yes"),),
        "permission": (ToolCall("Bash", command="touch made", description="make a file"), Text("done")),
        "deltas": (Words(DELTAS),),
    }
    return {name: [script(*steps) for _ in range(count)] for name, steps in kinds.items()}


@contextmanager
def serve() -> Iterator[Callable[[], dict[str, Any]]]:
    """Start the model server; yields a function that returns the parameters of one run, with a home of its own."""
    command = provision.installed().get(VERSION)
    if command is None:
        raise PreparationError(f"Claude Code {VERSION} is not there: run python tests/real/provision.py")
    with ModelServer() as server, tempfile.TemporaryDirectory(prefix="claude-benchmark-") as scratch:
        runs = iter(range(1_000_000))

        def parameters() -> dict[str, Any]:
            place = Path(scratch) / str(next(runs))
            home, workspace = place / "home", place / "workspace"
            home.mkdir(parents=True)
            workspace.mkdir()
            env = server.environment(home) | ({"IS_SANDBOX": "1"} if os.getuid() == 0 else {})
            return {"command": command[0], "env": env, "cwd": str(workspace), "prompts": prompts(4)}

        yield parameters
