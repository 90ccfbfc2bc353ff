"""What becomes of the real programs when their host is killed, exits, or is interrupted."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from claude_control import Allow
from claude_control.testing.model_prompt import script
from claude_control.testing.model_script import Text, ToolCall
from tests.real.conftest import Opener, Program
from tests.waiting import wait_until

pytestmark = pytest.mark.real

TAG = "CLAUDE_CONTROL_TEST_TAG"

# A host of its own: it opens a session, starts a turn whose Bash call goes on, and says so on its stdout.
HOST = """
import json, sys
from claude_control import Allow, Session
told = json.load(open(sys.argv[1]))
session = Session(cli_path=told["command"], cwd=told["cwd"], env=told["env"], can_use_tool=lambda *_: Allow()).open()
turn = session.ask(told["prompt"])
for message in turn:
    if "tool_use" in str(message.raw.get("message")):
        print("tool", flush=True)
        break
if told["exits"]:
    sys.exit(0)
turn.result()
"""

# A host whose session is at rest, with no guard.
UNGUARDED = """
import json, sys
from claude_control import Session
told = json.load(open(sys.argv[1]))
session = Session(cli_path=told["command"], cwd=told["cwd"], env=told["env"], orphan_guard=False).open()
print("open", flush=True)
sys.stdin.read()
"""


def carriers(tag: str) -> list[int]:
    """The processes, zombies aside, whose environment has the tag; this one aside."""
    entry = f"{TAG}={tag}".encode()
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if entry in (path / "environ").read_bytes().split(b"\0"):
                found.append(int(path.name))
        except OSError:  # it ended meanwhile, or is a zombie
            continue
    return found


def _start_host(
    program: Program,
    workspace: Path,
    environment: dict[str, str],
    tmp_path: Path,
    tag: str,
    *,
    exits: bool = False,
    code: str = HOST,
) -> "subprocess.Popen[str]":
    prompt = script(ToolCall("Bash", command="tail -f /dev/null & tail -f /dev/null", description="wait"), Text("done"))
    told: dict[str, Any] = {
        "command": program.command,
        "cwd": str(workspace),
        "env": {**environment, TAG: tag},
        "prompt": prompt,
        "exits": exits,
    }
    (tmp_path / "told.json").write_text(json.dumps(told))
    (tmp_path / "host.py").write_text(code)
    arguments = [sys.executable, str(tmp_path / "host.py"), str(tmp_path / "told.json")]
    return subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def _tails(tag: str) -> list[int]:
    def command(pid: int) -> bytes:
        try:
            return Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            return b""

    return [pid for pid in carriers(tag) if command(pid).startswith(b"tail\0")]


@pytest.mark.parametrize("end", ["SIGKILL", "exit"])
def test_nothing_survives_its_host(
    program: Program, workspace: Path, real_environment: dict[str, str], tmp_path: Path, end: str
) -> None:
    """A host that is killed, or exits, in mid Bash call leaves neither program nor call alive after 5 seconds."""
    tag = os.urandom(8).hex()
    host = _start_host(program, workspace, real_environment, tmp_path, tag, exits=end == "exit")
    try:
        assert host.stdout is not None
        assert host.stdout.readline() == "tool\n"
        if end == "SIGKILL":
            wait_until(lambda: len(_tails(tag)) == 2, timeout=20)
            host.send_signal(signal.SIGKILL)
        host.wait(20)
        wait_until(lambda: not carriers(tag), timeout=5)
    finally:
        _end(host, tag)


def test_program_without_a_prompt_needs_no_guard(
    program: Program, workspace: Path, real_environment: dict[str, str], tmp_path: Path
) -> None:
    """A program that nothing was asked of ends by itself when its host is killed: the guard may come just behind it."""
    tag = os.urandom(8).hex()
    host = _start_host(program, workspace, real_environment, tmp_path, tag, code=UNGUARDED)
    try:
        assert host.stdout is not None
        assert host.stdout.readline() == "open\n"
        assert len(carriers(tag)) >= 1
        host.kill()
        wait_until(lambda: not carriers(tag), timeout=20)
    finally:
        _end(host, tag)


def _end(host: "subprocess.Popen[str]", tag: str) -> None:
    host.kill()
    host.communicate()
    for pid in carriers(tag):
        os.kill(pid, signal.SIGKILL)


def test_ctrl_c_in_the_middle_of_a_4_mib_prompt(open_session: Opener) -> None:
    """Ctrl-C while the real program has read half of a 4 MiB prompt leaves a session whose next turn works."""
    from tests.session.test_ctrl_c import _is_writing, pressing_ctrl_c

    session = open_session(can_use_tool=lambda *_: Allow(), interrupt_grace=0.3)
    pid: int = session._live().transport.pid  # type: ignore[attr-defined]  # a subprocess has one
    os.kill(pid, signal.SIGSTOP)
    with pressing_ctrl_c(lambda: _is_writing(session)), pytest.raises(KeyboardInterrupt):
        # four bytes each on the wire, but few tokens by the program's estimate: its context must not overflow
        session.ask(script(Text("never mind")) + "\N{SLIGHTLY SMILING FACE}" * (1 << 20)).result()
    os.kill(pid, signal.SIGCONT)
    following = session.ask(script(Text("and on")))
    following.result(timeout=40)  # 2.1.7 compacts the conversation first, so the text may be another one
    assert following.outcome == "completed"
