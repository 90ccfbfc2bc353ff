"""The least that a host with a reader thread does: no SDK, no errors dealt with, nothing kept.

What it takes is what threads, pipes and orjson cost on this machine, so that no SDK of this shape can be faster.
"""

import os
import subprocess
import threading
from queue import SimpleQueue
from types import TracebackType
from typing import Any, Self

import orjson

__all__ = ["BareHost"]


class BareHost:
    """Talks with the stand-in: one thread reads and decodes, one answers what it asks; who waits has a lock each."""

    def __init__(self, command: str) -> None:
        self._peer = subprocess.Popen([command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        assert self._peer.stdin is not None and self._peer.stdout is not None
        self._source, self._sink = self._peer.stdout.fileno(), self._peer.stdin.fileno()
        self._waiting: dict[str, threading.Lock] = {}
        self._asked, self._messages = SimpleQueue[dict[str, Any]](), SimpleQueue[dict[str, Any]]()
        self._threads = [threading.Thread(target=run, daemon=True) for run in (self._read, self._answer)]

    def submit(self, request_id: str, subtype: str = "mcp_status") -> threading.Lock:
        """Send a control request; the lock can be taken once it is answered."""
        answered = threading.Lock()
        answered.acquire()
        self._waiting[request_id] = answered
        self._write({"type": "control_request", "request_id": request_id, "request": {"subtype": subtype}})
        return answered

    def ask(self, script: str) -> None:
        """Send a prompt."""
        self._write({"type": "user", "message": {"role": "user", "content": script}, "uuid": "a-prompt"})

    def next(self) -> dict[str, Any]:
        """Wait for a message and return it."""
        return self._messages.get()

    def result(self) -> dict[str, Any]:
        """Wait for the end of a turn and return its result."""
        while (message := self.next())["type"] != "result":
            pass
        return message

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._peer.stdin is not None and self._peer.stdout is not None
        self._peer.stdin.close()
        for thread in self._threads:
            thread.join()
        self._peer.wait()
        self._peer.stdout.close()

    def _write(self, record: dict[str, Any]) -> None:
        os.write(self._sink, orjson.dumps(record) + b"\n")

    def _read(self) -> None:
        rest = b""
        while chunk := os.read(self._source, 64 * 1024):
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                frame = orjson.loads(line)
                if frame["type"] == "control_response":
                    self._waiting.pop(frame["response"]["request_id"]).release()
                elif frame["type"] == "control_request":
                    self._asked.put(frame)
                else:
                    self._messages.put(frame)
        self._asked.put({})

    def _answer(self) -> None:
        while frame := self._asked.get():
            request = frame["request"]
            asks_permission = request["subtype"] == "can_use_tool"
            answer = {"behavior": "allow", "updatedInput": request["input"]} if asks_permission else {}
            response = {"subtype": "success", "request_id": frame["request_id"], "response": answer}
            self._write({"type": "control_response", "response": response})
