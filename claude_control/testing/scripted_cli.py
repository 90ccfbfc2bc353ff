"""A real child process that stands in for Claude Code: it speaks the control protocol over its pipes, from a script."""

import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from claude_control.testing._profiles import PROFILES
from claude_control.testing._runs import Run, RunReader
from claude_control.testing.steps.records import Reaction, Step, TurnScript, as_turn, turn
from claude_control.testing.steps.turns import reply

__all__ = ["MISMATCH", "Run", "ScriptedCLI", "ScriptedCLIFactory"]

MISMATCH = 97
"""The exit code of a run to which the SDK sent something that its script did not expect."""

_LAUNCHER = Path(__file__).with_name("_cli_main.py")
_LOOK = 0.005  # seconds between two looks at the records: the child's reaction time is about as long


class ScriptedCLI:
    """A program for `Options(cli_path=cli.command)` that does what a script says, and records what it is sent.

    What the script does not say happens by default, in the manner of the program's version: requests are answered,
    prompts get a small turn, the end of input ends it with exit code 0, and what kills the real program kills it.
    One object may serve many processes at once; each plays the whole script and has a record of its own.

    Args:
        directory: where the script and the records go, in a new folder.
        steps: played from the start of the process.
        program: the version to behave like: "2.1.332", "2.1.7" or "2.0.75".
        version: the version to report, if it is another one.
        prompts: the scripts of the first turns, in order; later ones are answered by `every_prompt`.
        every_prompt: the script of all other turns; by default one reply that repeats the prompt.
        reactions: what is done when certain frames arrive; the first that fits counts.
        initialize: fields that are added to the version's answer to `initialize`, or replace its own.
        record_environment: names of variables to record besides those that begin with CLAUDE.
        interpreter: the Python to run it, with its switches; by default this one, bare, which starts in some 20 ms.
    """

    def __init__(
        self,
        directory: str | os.PathLike[str],
        steps: Sequence[Step] = (),
        *,
        program: str = "2.1.332",
        version: str | None = None,
        prompts: Iterable[TurnScript | Sequence[Step]] = (),
        every_prompt: TurnScript | Sequence[Step] | None = None,
        reactions: Sequence[Reaction] = (),
        initialize: Mapping[str, Any] | None = None,
        record_environment: Sequence[str] = (),
        interpreter: Sequence[str] | None = None,
    ) -> None:
        self.directory = Path(tempfile.mkdtemp(prefix="scripted-cli-", dir=directory))
        for name in ("runs", "gates", "prompts"):
            (self.directory / name).mkdir()
        script = {
            "folder": str(self.directory),
            "profile": PROFILES[program],
            "version": version or program,
            "steps": [step.to_json() for step in steps],
            "default_turn": (turn(reply()) if every_prompt is None else as_turn(every_prompt)).to_json(),
            "reactions": [reaction.to_json() for reaction in reactions],
            "initialize": dict(initialize or {}),
            "environment": list(record_environment),
        }
        path = self.directory / "script.json"
        path.write_text(json.dumps(script), encoding="utf-8")
        python = [sys.executable, "-I", "-S"] if interpreter is None else list(interpreter)
        self.command = [*python, str(_LAUNCHER), str(path)]
        self._prompts = 0
        self._reader = RunReader(self.directory / "runs")
        for script_of_turn in prompts:
            self.on_prompt(script_of_turn)

    def __repr__(self) -> str:
        runs = self.runs()
        running = sum(run.exit_code is None for run in runs)
        return f"<ScriptedCLI {self.directory.name}: {len(runs)} runs, {running} without an exit>"

    def on_prompt(self, script: TurnScript | Sequence[Step]) -> None:
        """Set the script of the next turn that has none; also while processes run, before that turn begins."""
        self._prompts += 1
        path = self.directory / "prompts" / f"{self._prompts:06}.json"
        unfinished = path.with_suffix(".new")
        unfinished.write_text(json.dumps(as_turn(script).to_json()), encoding="utf-8")
        unfinished.rename(path)

    def open_gate(self, name: str) -> None:
        """Let every script go on that waits, or will wait, at this gate."""
        (self.directory / "gates" / name).touch()

    # -- what happened ------------------------------------------------------------------------------------------------

    def runs(self) -> list[Run]:
        """The processes started so far, `--version` calls among them, in order."""
        return self._reader.runs()

    @property
    def sessions(self) -> list[Run]:
        """The processes that spoke the protocol, in order."""
        return [run for run in self.runs() if not run.is_probe]

    @property
    def run(self) -> Run:
        """The session started last; raises LookupError if there is none."""
        sessions = self.sessions
        if not sessions:
            raise LookupError("this scripted CLI was not started yet")
        return sessions[-1]

    @property
    def pids(self) -> list[int]:
        """The process ids of all sessions."""
        return [run.pid for run in self.sessions]

    @property
    def argv(self) -> tuple[str, ...]:
        """The arguments of the last session, as the SDK appended them to the command."""
        return self.run.argv

    @property
    def environment(self) -> Mapping[str, str]:
        """The recorded environment variables of the last session; names that end like a secret's are left out."""
        return self.run.environment

    @property
    def left_children(self) -> list[int]:
        """The pids of the processes that `leave_child` left behind."""
        return [event["pid"] for event in self.events("left_child")]

    def events(self, name: str, pid: int | None = None) -> list[Mapping[str, Any]]:
        """The events of one name from all sessions, or from one."""
        return [event for run in self._chosen(pid) for event in run.named(name)]

    def received(self, pid: int | None = None) -> list[dict[str, Any]]:
        """The frames that all sessions read from their stdin, session by session, or those of one."""
        return [event["frame"] for event in self.events("received", pid)]

    def wait_received(
        self, predicate: Callable[[dict[str, Any]], bool], timeout: float = 30.0, *, pid: int | None = None
    ) -> dict[str, Any]:
        """Wait until a frame was received for which the predicate holds, and return it.

        Raises TimeoutError after `timeout` seconds, and AssertionError at once if a run went wrong.
        """
        frame: dict[str, Any] = self.wait_event("received", timeout, lambda e: predicate(e["frame"]), pid=pid)["frame"]
        return frame

    def wait_event(
        self,
        name: str,
        timeout: float = 30.0,
        predicate: Callable[[Mapping[str, Any]], bool] = lambda _: True,
        *,
        pid: int | None = None,
    ) -> Mapping[str, Any]:
        """Wait until an event of a name is on record for which the predicate holds, and return it.

        Raises TimeoutError after `timeout` seconds, and AssertionError at once if a run went wrong, unless what is
        waited for is on record too.
        """
        end, seen = time.monotonic() + timeout, 0
        while True:
            found = self.events(name, pid)
            for event in found[seen:] if pid is not None else found:
                if predicate(event):
                    return event
            seen = len(found)
            self.check()
            if time.monotonic() >= end:
                raise TimeoutError(f"no {name!r} event that fits within {timeout} s; {seen} others")
            time.sleep(_LOOK)

    def _chosen(self, pid: int | None) -> Iterator[Run]:
        return (run for run in self.sessions if pid in (None, run.pid))

    # -- the end ------------------------------------------------------------------------------------------------------

    def check(self) -> None:
        """Raise AssertionError if the SDK sent to any run what its script did not expect, or if a script is wrong."""
        for run in self.runs():
            if run.problem:
                raise AssertionError(f"scripted CLI {run.pid}: {run.problem}")

    def close(self) -> None:
        """Kill what is still alive of its processes and of those that they left behind."""
        for run in self.runs():
            for pid in (run.pid, *(event["pid"] for event in run.named("left_child"))):
                if self._is_ours(pid):
                    os.kill(pid, signal.SIGKILL)

    def _is_ours(self, pid: int) -> bool:
        """Tell whether a process is one of this script; a pid may have been given to another one meanwhile."""
        ours = str(self.directory).encode()
        try:
            seen = Path(f"/proc/{pid}/cmdline").read_bytes() + Path(f"/proc/{pid}/environ").read_bytes()
        except OSError:
            return False  # gone, or a system without /proc, where it ends by itself
        return ours in seen


class ScriptedCLIFactory:
    """Makes scripted CLIs in one directory, and ends them all.

    Leaving a `with` block kills what is still alive of their processes, and raises AssertionError if the SDK did what a
    script did not expect.
    """

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        self.directory = Path(directory)
        self.made: list[ScriptedCLI] = []

    def __call__(self, steps: Sequence[Step] = (), **arguments: Any) -> ScriptedCLI:
        """Make one, with the arguments of `ScriptedCLI` but the directory."""
        cli = ScriptedCLI(self.directory, steps, **arguments)
        self.made.append(cli)
        return cli

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for cli in self.made:
            cli.close()
        for cli in self.made:
            cli.check()
