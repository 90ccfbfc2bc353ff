"""The records that scripted CLIs leave, read while they run."""

import json
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import attrs

__all__ = ["Run", "RunReader"]

Event = Mapping[str, Any]


@attrs.frozen(kw_only=True)
class Run:
    """One process of a scripted CLI, as far as its record reaches."""

    pid: int
    argv: tuple[str, ...]
    cwd: str
    environment: Mapping[str, str]
    events: tuple[Event, ...] = attrs.field(repr=False)

    @property
    def received(self) -> list[dict[str, Any]]:
        """The frames that it read from stdin, in order."""
        return [event["frame"] for event in self.named("received")]

    @property
    def exit_code(self) -> int | None:
        """Its exit code, as it meant it: negative for a signal of its own, None while it runs or if it was killed."""
        return next((event["code"] for event in self.named("exit")), None)

    @property
    def is_probe(self) -> bool:
        """Whether it only printed its version."""
        return "--version" in self.argv

    @property
    def problem(self) -> str | None:
        """What the SDK did against the script, or what is wrong with the script; None if all is well."""
        for event in self.events:
            if event["event"] == "mismatch":
                return str(event["reason"])
            if event["event"] == "defect":
                return str(event["trace"])
        return None

    def named(self, event: str) -> list[Event]:
        """The events of one name: `received`, `step`, `asked`, `tool`, `left_child`, `note`, `eof`, `exit`, …."""
        return [found for found in self.events if found["event"] == event]


class RunReader:
    """Reads the files of one folder of runs, each line once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._events: dict[Path, list[Event]] = {}
        self._offsets: dict[Path, int] = {}
        self._lock = threading.Lock()  # guards both; several threads of a test may look

    def runs(self) -> list[Run]:
        """Every run, in the order of their starts."""
        with self._lock:
            for path in self._folder.glob("*.jsonl"):
                self._events.setdefault(path, []).extend(self._news(path))
            begun = [tuple(events) for events in self._events.values() if events]
        begun.sort(key=lambda events: float(events[0]["at"]))
        return [_run(events) for events in begun]

    def _news(self, path: Path) -> Iterator[Event]:
        """Yield the events written since the last look; a line that is still being written waits."""
        offset = self._offsets.get(path, 0)
        with path.open("rb") as file:
            file.seek(offset)
            data = file.read()
        whole = data[: data.rfind(b"\n") + 1]
        self._offsets[path] = offset + len(whole)
        for line in whole.splitlines():
            yield json.loads(line)


def _run(events: tuple[Event, ...]) -> Run:
    start = events[0]
    return Run(
        pid=start["pid"],
        argv=tuple(start["argv"]),
        cwd=start["cwd"],
        environment=start["environment"],
        events=events,
    )
