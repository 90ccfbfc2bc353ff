"""A real pseudo-terminal with the command at its other end, and a command with pipes at its ends."""

import codecs
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from tests import sources

CTRL_C, CTRL_D = "\x03", "\x04"

COMMAND = [sys.executable, "-m", "claude_control"]

# The child makes the terminal its controlling one, as a shell's job control would, so that Ctrl-C is a signal.
_TAKE = "import fcntl, os, sys, termios; fcntl.ioctl(2, termios.TIOCSCTTY, 0); os.execv(sys.executable, sys.argv[1:])"


def environment(changes: Mapping[str, str | None] | None = None) -> dict[str, str]:
    """Return the variables for the command: no colours, no size, nothing of the machine's that would change it."""
    given = {"NO_COLOR": "1", "TERM": "xterm-256color", "PYTHONPATH": str(sources.ROOT), **(changes or {})}
    hidden = {"COLUMNS", "LINES", "FORCE_COLOR", "NO_COLOR", "PYTHONIOENCODING", "PYTHONUNBUFFERED"}
    kept = {name: value for name, value in os.environ.items() if name not in hidden}
    return {name: value for name, value in {**kept, **given}.items() if value is not None}


def piped(
    *arguments: str,
    given: str = "",
    timeout: float = 30.0,
    variables: Mapping[str, str | None] | None = None,
    cwd: Path | None = None,
) -> "subprocess.CompletedProcess[str]":
    """Run the command without any terminal; returns what it printed and its exit code."""
    return subprocess.run(
        [*COMMAND, *arguments],
        input=given,
        env=environment(variables),
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=timeout,
        start_new_session=True,  # no controlling terminal either, whatever the tests run in
        check=False,
    )


class Terminal:
    """The command in a pseudo-terminal; `stdin` or `stdout` may be something else instead."""

    def __init__(
        self,
        *arguments: str,
        columns: int = 80,
        command: Sequence[str] = (*COMMAND,),
        stdin: int | None = None,
        stdout: int | None = None,
        variables: Mapping[str, str | None] | None = None,
    ) -> None:
        self.master, self._slave = pty.openpty()
        fcntl.ioctl(self._slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        self.output = ""
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._seen = 0
        self.process = subprocess.Popen(
            [sys.executable, "-c", _TAKE, *command, *arguments],
            stdin=self._slave if stdin is None else stdin,
            stdout=self._slave if stdout is None else stdout,
            stderr=self._slave,
            env=environment(variables),
            start_new_session=True,
        )
        os.close(self._slave)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(15)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        os.close(self.master)

    def expect(self, text: str, timeout: float = 30.0) -> str:
        """Wait for a text behind the one expected last; returns what came up to its end."""
        end = time.monotonic() + timeout
        while text not in self.output[self._seen :]:
            if not self._read(end):
                raise AssertionError(f"no {text!r} in {self.output[self._seen :]!r}")
        place = self.output.index(text, self._seen) + len(text)
        found, self._seen = self.output[self._seen : place], place
        return found

    def type(self, text: str) -> None:
        """Type keys, such as `CTRL_C`."""
        os.write(self.master, text.encode())

    def press_until(self, key: str, text: str) -> None:
        """Press a key until a text comes.

        For Ctrl-C at a prompt: CPython's readline sees a signal that comes just before it waits only with the next key.
        """
        for _ in range(5):
            self.type(key)
            end = time.monotonic() + 2.0
            while text not in self.output[self._seen :] and self._read(end):
                continue
            if text in self.output[self._seen :]:
                break
        self.expect(text, timeout=0)

    def send_signal(self, number: signal.Signals) -> None:
        """Send a signal to the command."""
        self.process.send_signal(number)

    def finish(self, timeout: float = 20.0) -> int:
        """Read to the end; returns the exit code."""
        end = time.monotonic() + timeout
        while self._read(end):
            continue
        return self.process.wait(max(end - time.monotonic(), 0.1))

    @property
    def screen(self) -> str:
        """What a terminal would show in the end: what was erased is gone, codes of colours are left out."""
        return rendered(self.output)

    def _read(self, end: float) -> bool:
        """Read what there is, waiting until `end`; False when the time is up or the output has ended."""
        ready, _, _ = select.select([self.master], [], [], max(end - time.monotonic(), 0))
        if not ready:
            return False
        try:
            data = os.read(self.master, 65536)
        except OSError:  # Linux: the other end is closed
            return False
        self.output += self._decoder.decode(data)
        return bool(data)


def rendered(output: str) -> str:
    """Return the lines that a terminal shows in the end, for what the command uses of a terminal's language."""
    lines = []
    for line in output.replace("\r\n", "\n").split("\n"):
        shown, column = "", 0
        for part in re.split(r"(\r|\x1b\[K)", re.sub(r"\x1b\[[0-9;?]*[a-zA-JL-Z]", "", line)):
            if part == "\r":
                column = 0
            elif part == "\x1b[K":
                shown = shown[:column]
            else:
                shown = shown[:column] + part + shown[column + len(part) :]
                column += len(part)
        lines.append(shown.rstrip())
    return "\n".join(lines)
