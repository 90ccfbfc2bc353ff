"""The stand-in speaks the program's protocol, and the benchmarks run on it."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import attrs
import pytest

from benchmarks import preparing
from benchmarks.__main__ import measure
from benchmarks.rows import ROWS
from benchmarks.running import Pythons, run_row
from claude_control import Allow, AssistantMessage, HookMatcher, Session, StreamEvent
from tests import sources

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler: install one that is called cc")


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty cache directory of the benchmarks'."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def peer(cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The compiled stand-in."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    return preparing.build_peer()


def dumped(peer: Path, script: str) -> list[dict[str, object]]:
    """The messages of a script, written without protocol."""
    environment = {**os.environ, "PEER_DUMP": f"bench: {script}"}
    done = subprocess.run([str(peer)], env=environment, capture_output=True, check=True, timeout=30)
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_stand_in_is_compiled_once(peer: Path) -> None:
    """A stand-in that is there is used again."""
    before = peer.stat().st_mtime_ns
    assert preparing.build_peer() == peer
    assert peer.stat().st_mtime_ns == before


def test_missing_compiler_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a compiler the message says what to install."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(preparing.PreparationError, match="install"):
        preparing.build_peer()


@pytest.mark.parametrize("kind", ["delta", "assistant", "stamp"])
@pytest.mark.parametrize("size", [1, 60, 1024, 1024 * 1024])
def test_messages_are_sound(peer: Path, kind: str, size: int) -> None:
    """Every line is JSON of the asked size, and no two are the same."""
    messages = dumped(peer, f"n=3 kind={kind} size={size}")
    assert len({message["uuid"] for message in messages}) == 3
    assert all(size <= len(json.dumps(message)) <= size * 1.1 + 1024 for message in messages)


def test_turn_of_messages(peer: Path) -> None:
    """A scripted turn brings its messages and a result."""
    with Session(cli_path=peer) as session:
        deltas = list(session.ask("bench: n=200 kind=delta size=60"))
        assert sum(isinstance(message, StreamEvent) for message in deltas) == 200
        texts = list(session.ask("bench: n=2 kind=assistant size=100000"))
        assert [len(message.text) > 90_000 for message in texts if isinstance(message, AssistantMessage)] == [True] * 2


def test_turn_of_questions(peer: Path) -> None:
    """A scripted turn asks the callbacks as often as it was told, one by one and at once."""
    asked: list[str] = []

    def hook(*_: object) -> dict[str, object]:
        asked.append("hook")
        return {}

    def permit(*_: object) -> Allow:
        asked.append("permission")
        return Allow()

    with Session(cli_path=peer, can_use_tool=permit, hooks={"PreToolUse": [HookMatcher(hooks=[hook])]}) as session:
        session.ask("bench: asks=20 ask=permission mode=seq").result()
        session.ask("bench: asks=30 ask=hook mode=burst").result()
    assert (asked.count("permission"), asked.count("hook")) == (20, 30)


def test_turn_of_tool_calls(peer: Path) -> None:
    """Both of our kinds of servers are called as often as the stand-in was told, after its handshake."""
    (row,) = (row for row in ROWS if row.name == "tools")
    row = attrs.evolve(row, sides=("ours",), parameters={"n": 40})
    (figures,) = (pair["ours"] for pair in run_row(row, Pythons(peer, None), 1))
    named = {f"{server}_{mode}" for server in ("own", "low", "high") for mode in ("seq", "burst")}
    assert named <= figures.keys()
    assert all(value > 0 for value in figures.values())


def test_control_is_answered_during_a_turn(peer: Path) -> None:
    """The stand-in answers control requests while it streams, and knows the reply of the one that is measured."""
    with Session(cli_path=peer) as session:
        turn = session.ask("bench: n=20000 kind=delta size=60")
        assert [server.name for server in session.get_mcp_status().servers] == ["files"]
        turn.result()


@pytest.mark.parametrize("name", ["control", "callbacks", "delivery", "deltas", "growth-count"])
def test_row_runs_beside_its_floor(peer: Path, name: str) -> None:
    """A row measures both of its own sides in each round."""
    (row,) = (row for row in ROWS if row.name == name)
    small = {"n": 640, "gap": 50, "points": {"10k": {"n": 300}}}
    row = attrs.evolve(row, sides=("ours", "floor"), parameters={**row.parameters, **small}, rounds=1)
    rounds = run_row(row, Pythons(peer, None), 2)
    assert [sorted(figures) for figures in rounds] == [["floor", "ours"]] * 2
    assert all(value > 0 for figures in rounds for side in figures.values() for value in side.values())


def test_failing_row_leaves_the_others(peer: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A row that cannot be run is named, and costs nobody the others."""
    (backlog,) = (row for row in ROWS if row.name == "backlog")
    small = attrs.evolve(backlog, parameters={**backlog.parameters, "n": 300})
    broken = attrs.evolve(small, name="broken", work="nothing")
    measured, failed = measure([broken, small], 1, quick=False)
    assert ([one.row.name for one in measured], failed) == (["backlog"], ["broken"])
    assert "broken: ours nothing ended with 1" in capsys.readouterr().err.replace("benchmarks.sides.", "")


def test_command_writes_both_reports(cache: Path, tmp_path: Path) -> None:
    """`python -m benchmarks` prints the table and writes it, with every figure as JSON beside it."""
    document, table = tmp_path / "report.json", tmp_path / "report.md"
    command = [sys.executable, "-m", "benchmarks", "--quick", "--only", "backlog", "--pairs", "1"]
    command += ["--json", str(document), "--markdown", str(table)]
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache)}
    done = subprocess.run(
        command, cwd=sources.ROOT, env=environment, check=False, capture_output=True, text=True, timeout=50
    )
    assert done.returncode in {0, 1}, done.stderr
    assert table.read_text() == done.stdout
    assert "| metric | must | stretch | measured |" in done.stdout
    written = json.loads(document.read_text())
    (row,) = written["rows"]
    assert row["pairs"][0]["ours"]["p50"] > 0
    assert {metric["verdict"] for metric in row["metrics"]} <= {"missed", "must", "stretch"}
