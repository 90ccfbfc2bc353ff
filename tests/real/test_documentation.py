"""What the documentation shows works with the real programs too, where a scripted one would prove little."""

import json
import runpy
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from claude_control.testing import script
from claude_control.testing.model_script import Text, ToolCall
from tests import documents
from tests.documents import Block
from tests.real.conftest import Program

pytestmark = [pytest.mark.real, pytest.mark.usefixtures("_found")]

EXAMPLES = documents.DOCS / "examples"
BLOCKS = [block for block in documents.blocks() if block.info == "python real"]


@pytest.fixture
def _found(
    program: Program,
    real_environment: dict[str, str],
    workspace: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Let the program be found by those that do not say which one, with the scripted model behind it."""
    path = tmp_path / "claude"
    path.write_text(f'#!/bin/sh\nexec {shlex.join(program.command)} "$@"\n')
    path.chmod(0o755)
    for name, value in {**real_environment, "CLAUDE_CONTROL_CLI": str(path)}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(workspace)


@pytest.mark.parametrize("block", BLOCKS, ids=str)
def test_block_runs(block: Block, capsys: pytest.CaptureFixture[str]) -> None:
    """A block that needs the real program runs to its end, and prints something."""
    exec(compile(block.code, str(block), "exec"), {"__name__": "__main__"})
    assert capsys.readouterr().out.strip()


def test_service_goes_on_with_a_conversation() -> None:
    """The service answers, and a second question goes on with the same conversation."""
    answer: Any = runpy.run_path(str(EXAMPLES / "service.py"))["answer"]
    first = answer(script(Text("one")))
    second = answer(script(Text("two")), first["conversation"])
    assert [reply["answer"] for reply in (first, second)] == ["one", "two"]
    assert first["complete"]
    assert second["conversation"] == first["conversation"]


def test_batch_denies_what_nobody_allows(workspace: Path) -> None:
    """The batch answers each prompt, and what would change something does not run."""
    writes = script(ToolCall("Write", file_path=str(workspace / "new.txt"), content="x"), Text("tried"))
    prompts = "\n".join(" ".join(prompt.split()) for prompt in (script(Text("first")), writes))
    command = [sys.executable, str(EXAMPLES / "batch.py")]
    done = subprocess.run(command, check=False, input=prompts, text=True, capture_output=True, timeout=50)
    assert done.returncode == 0, done.stderr
    assert sorted(json.loads(line)["answer"] for line in done.stdout.splitlines()) == ["first", "tried"]
    assert not (workspace / "new.txt").exists()
