"""The record of one run: a file of JSON lines, one per event, that the test reads while the run goes on."""

from __future__ import annotations

import json
import os
import time


class Journal:
    """Appends events to `<folder>/<pid>.jsonl`; each is on file before the stand-in acts on it."""

    __slots__ = ("_descriptor",)

    def __init__(self, folder: str) -> None:
        path = os.path.join(folder, f"{os.getpid()}.jsonl")
        self._descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def note(self, event: str, **fields: object) -> None:
        """Append one event with its fields and the clock's time in seconds."""
        line = json.dumps({"event": event, "at": time.monotonic(), **fields}) + "\n"
        os.write(self._descriptor, line.encode())
