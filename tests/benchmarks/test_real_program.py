"""The row with the real program runs, with a script and a home of its own for each run."""

import os

import attrs
import pytest

from benchmarks.preparing import PreparationError
from benchmarks.real_program import VERSION, prompts, serve
from benchmarks.rows import REAL
from benchmarks.running import Pythons, run_row
from tests import sources
from tests.real import provision


def test_missing_program_is_told(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the program the message says how to get it."""
    monkeypatch.setenv("CLAUDE_CONTROL_TEST_CACHE", str(tmp_path_factory.mktemp("empty")))
    with pytest.raises(PreparationError, match=r"provision\.py"), serve():
        pass


def test_each_prompt_is_another_script() -> None:
    """A script answers once, so no two prompts carry the same one."""
    made = [prompt for _ in range(2) for kind in prompts(3).values() for prompt in kind]
    assert len(set(made)) == len(made) == 18


@pytest.mark.real
def test_row_runs_on_the_real_program() -> None:
    """Our side of the row opens a session on the real program and completes every kind of turn."""
    if VERSION not in provision.installed():
        told = f"Claude Code {VERSION} is not there: run tests/real/provision.py"
        if os.environ.get("CI") == "true":
            pytest.fail(told)
        pytest.skip(told)
    (row,) = REAL
    (figures,) = run_row(attrs.evolve(row, sides=("ours",)), Pythons(sources.ROOT, None), 1)
    assert set(figures["ours"]) == {"open", "word", "permission", "deltas"}
    assert figures["ours"]["permission"] > 0
