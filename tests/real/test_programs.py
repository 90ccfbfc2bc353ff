"""The scripted model server is enough for the real programs: raw pipes, no SDK."""

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import IO, Any

import attrs
import pytest

from claude_control.deadline import Deadline
from claude_control.testing import ModelServer, script
from claude_control.testing.model_script import Text, ToolCall
from tests.real.conftest import Program

pytestmark = pytest.mark.real

FLAGS = ["--output-format", "stream-json", "--input-format", "stream-json", "--verbose"]
ASKING = ["--permission-prompt-tool", "stdio"]

Frame = dict[str, Any]


@attrs.frozen
class Raw:
    """A running program: frames in, frames out."""

    stdin: IO[bytes]
    frames: SimpleQueue[Frame]

    def put(self, frame: Frame) -> None:
        self.stdin.write(json.dumps(frame).encode() + b"\n")
        self.stdin.flush()

    def ask(self, prompt: str) -> None:
        self.put({"type": "user", "message": {"role": "user", "content": prompt}, "parent_tool_use_id": None})

    def wait_for(self, kind: str) -> Frame:
        """Return the next frame of a type; those before it are passed over."""
        deadline = Deadline(40)
        while True:
            frame = self.frames.get(timeout=deadline.remaining())
            if frame["type"] == kind:
                return frame


def pump(lines: IO[bytes], frames: SimpleQueue[Frame]) -> None:
    """Hand the frames over until the output ends."""
    for line in lines:
        frames.put(json.loads(line))


@contextmanager
def running(program: Program, environment: dict[str, str], cwd: Path) -> Iterator[Raw]:
    """Run a program, and end it by closing its input."""
    process = subprocess.Popen(
        [*program.command, *FLAGS, *ASKING],
        env=os.environ | environment,
        cwd=cwd,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    raw = Raw(process.stdin, SimpleQueue())
    reader = Thread(target=pump, args=(process.stdout, raw.frames))
    reader.start()
    try:
        yield raw
        process.stdin.close()
        assert process.wait(10) == 0
    finally:
        process.kill()  # without effect on one that has ended
        process.wait()
        reader.join()
        process.stdin.close()
        process.stdout.close()


def test_text_turn(
    program: Program, model_server: ModelServer, real_environment: dict[str, str], workspace: Path
) -> None:
    """A prompt is answered with the text of its script."""
    with running(program, real_environment, workspace) as raw:
        raw.ask(script(Text("Hello, offline world.")))
        assert raw.wait_for("assistant")["message"]["content"] == [{"type": "text", "text": "Hello, offline world."}]
        result = raw.wait_for("result")
    assert (result["subtype"], result["result"]) == ("success", "Hello, offline world.")
    assert model_server.wait_for_request().tools


def test_tool_turn(
    program: Program, model_server: ModelServer, real_environment: dict[str, str], workspace: Path
) -> None:
    """A scripted Bash call is asked for, runs once it is allowed, and its result goes to the model."""
    prompt = script(ToolCall("Bash", command="touch made", description="Make a file"), Text("done"))
    with running(program, real_environment, workspace) as raw:
        raw.ask(prompt)
        asked = raw.wait_for("control_request")
        assert asked["request"]["tool_name"] == "Bash"
        allow = {"behavior": "allow", "updatedInput": asked["request"]["input"]}
        answer = {"subtype": "success", "request_id": asked["request_id"], "response": allow}
        raw.put({"type": "control_response", "response": answer})
        assert raw.wait_for("result")["result"] == "done"
    assert (workspace / "made").exists()
    second = model_server.wait_for_request(prompt, count=2)
    assert "tool_result" in json.dumps(second.messages)
