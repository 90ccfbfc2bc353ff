"""The stand-in's entry: the version, the flags that it refuses, signals, and the record of the run."""

from __future__ import annotations

import json
import os
import signal
import sys

from .journal import Journal
from .launch import Launch
from .program import Program
from .steps import STEPS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType

    from . import Frame

DEFECT = 98
"""The exit code when the stand-in itself or its script is wrong; the trace is in the record."""


def main(arguments: list[str]) -> int:
    """Run a script file with the SDK's arguments behind it; returns the exit code."""
    path, *argv = arguments
    with open(path, "rb") as file:
        script: Frame = json.load(file)
    journal = Journal(os.path.join(script["folder"], "runs"))
    journal.note("start", pid=os.getpid(), argv=argv, cwd=os.getcwd(), environment=_environment(script["environment"]))
    code = DEFECT
    try:
        code = _run(script, Launch(argv), journal)
    except SystemExit as end:  # raised by the signal handlers
        code = end.code if isinstance(end.code, int) else 1
    except Exception:
        import traceback  # only here: it starts slowly

        journal.note("defect", trace=traceback.format_exc())
    journal.note("exit", code=code)
    sys.stderr.flush()
    return code


def _run(script: Frame, launch: Launch, journal: Journal) -> int:
    """Print the version, refuse a flag, or play the script."""
    if launch.has("--version"):
        os.write(1, f"{script['version']} (Claude Code)\n".encode())
        return 0
    refused = launch.rejected(script["profile"]["rejected_flags"])
    if refused is not None:
        os.write(2, f"error: unknown option '{refused}'\n".encode())
        return 1
    signal.signal(signal.SIGTERM, _leave)
    signal.signal(signal.SIGINT, _leave)
    return Program(script, launch, journal, STEPS).run()


def _leave(number: int, frame: FrameType | None) -> None:
    """End at once: with 143 on SIGTERM and 0 on SIGINT, as the real programs do."""
    raise SystemExit(143 if number == signal.SIGTERM else 0)


def _environment(names: list[str]) -> dict[str, str]:
    """The variables to record: those that begin with CLAUDE, secrets left out, and those that the test names."""
    chosen = {}
    for name, value in os.environ.items():
        secret = name.endswith(("TOKEN", "KEY", "SECRET"))
        if name in names or (name.startswith("CLAUDE") and not secret):
            chosen[name] = value
    return chosen
