"""A raw driver of a scripted CLI: the pipes, one frame at a time, every wait with an end."""

import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Self

from claude_control.testing.scripted_cli import ScriptedCLI

Frame = dict[str, Any]

_SECONDS = 10.0
_STUBBORN = 2.0  # seconds after which a child is killed that SIGTERM did not end

# Coverage measures a child through `site`, which the bare interpreter of a scripted CLI leaves out.
MEASURED = [sys.executable] if {"COVERAGE_PROCESS_CONFIG", "COVERAGE_PROCESS_START"} & {*os.environ} else None


class Pipes:
    """One run of a scripted CLI; leaving the `with` block ends it."""

    def __init__(self, cli: ScriptedCLI, *flags: str, environment: Mapping[str, str] | None = None) -> None:
        self.process = subprocess.Popen(
            [*cli.command, *flags],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **(environment or {})},
            bufsize=0,
        )
        self._rest = b""
        self.chunks: list[bytes] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.process.terminate()
        try:
            self.process.wait(_STUBBORN)
        except subprocess.TimeoutExpired:
            self.process.kill()
        with self.process:  # closes the pipes and waits
            pass

    # -- writing --

    def write(self, data: bytes) -> None:
        """Write bytes to its stdin."""
        assert self.process.stdin is not None
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(self.process.stdin.fileno(), rest) :]

    def send(self, *frames: Frame) -> None:
        """Write frames, in one write."""
        self.write(b"".join(json.dumps(frame).encode() + b"\n" for frame in frames))

    def request(self, subtype: str, request_id: str = "r1", **fields: Any) -> None:
        """Send a control request."""
        request = {"subtype": subtype, **fields}
        self.send({"type": "control_request", "request_id": request_id, "request": request})

    def prompt(self, text: str, uuid: str | None = None) -> None:
        """Send a user frame."""
        frame: Frame = {"type": "user", "message": {"role": "user", "content": text}, "parent_tool_use_id": None}
        self.send(frame if uuid is None else {**frame, "uuid": uuid})

    def answer(self, request: Frame, payload: Any) -> None:
        """Answer a request of the program with a success."""
        response = {"subtype": "success", "request_id": request["request_id"], "response": payload}
        self.send({"type": "control_response", "response": response})

    def end(self) -> None:
        """Close its stdin."""
        assert self.process.stdin is not None
        self.process.stdin.close()

    # -- reading --

    def line(self) -> bytes | None:
        """Return the next line, None at the end of output; raises TimeoutError."""
        assert self.process.stdout is not None
        end = time.monotonic() + _SECONDS
        while b"\n" not in self._rest:
            ready = select.select([self.process.stdout], [], [], max(0.0, end - time.monotonic()))[0]
            if not ready:
                raise TimeoutError(f"no line from the scripted CLI; so far {self._rest!r}")
            chunk = os.read(self.process.stdout.fileno(), 1 << 16)
            if not chunk:
                return None
            self.chunks.append(chunk)
            self._rest += chunk
        line, self._rest = self._rest.split(b"\n", 1)
        return line

    def frame(self) -> Frame:
        """Return the next frame; the end of output is an error."""
        line = self.line()
        assert line is not None, f"output ended; stderr: {self.stderr()}"
        frame: Frame = json.loads(line)
        return frame

    def until(self, wanted: str | Callable[[Frame], bool]) -> Frame:
        """Skip frames up to one of a type, or for which the predicate holds, and return it."""
        return self.all_until(wanted)[-1]

    def all_until(self, wanted: str | Callable[[Frame], bool]) -> list[Frame]:
        """Return the frames up to one of a type, or for which the predicate holds, that one included."""
        frames = []
        while True:
            frames.append(self.frame())
            found = frames[-1].get("type") == wanted if isinstance(wanted, str) else wanted(frames[-1])
            if found:
                return frames

    def response(self, request_id: str = "r1") -> Frame:
        """Skip frames up to the answer to a request, and return what is inside."""
        found: Frame = self.until(
            lambda frame: frame["type"] == "control_response" and frame["response"].get("request_id") == request_id
        )["response"]
        return found

    def rest(self) -> list[Frame]:
        """Return all frames up to the end of output."""
        frames = []
        while (line := self.line()) is not None:
            frames.append(json.loads(line))
        return frames

    def stderr(self) -> str:
        """Return all of stderr, up to its end."""
        assert self.process.stderr is not None
        return self.process.stderr.read().decode()

    def code(self) -> int:
        """Return its exit code, once it has exited."""
        return self.process.wait(_SECONDS)


def shapes(frames: list[Frame]) -> list[str]:
    """Return frames as short texts: the type with its subtype or state."""
    return [" ".join(str(f[k]) for k in ("type", "subtype", "state") if k in f) for f in frames]
