"""Measures every request on every program, and compares that with what is written down.

`CLAUDE_CONTROL_WRITE_MATRIX=1` writes it down instead: the page of the documentation, and what the gate reads.
"""

import os
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from claude_control.testing import ModelServer
from claude_control.wire.support import CURRENT, MEASURED
from tests.real.conformance import fatal, survey, table
from tests.real.conformance.lab import Lab
from tests.real.conformance.probes import SILENCE, Topic
from tests.real.conformance.rows import LINES, PROBES, TOPICS
from tests.real.conformance.table import Cells
from tests.real.conftest import Opener, Program

pytestmark = [pytest.mark.real, pytest.mark.timeout(120)]

WRITE = os.environ.get("CLAUDE_CONTROL_WRITE_MATRIX") == "1"


def agree(measured: Mapping[tuple[str, str], str], cells: Cells) -> None:
    """Keep what was measured, and compare it with what is written down."""
    cells.update(measured)
    if not WRITE:
        written = table.read_page(table.PAGE.read_text(encoding="utf-8"))
        assert measured == {row: written.get(row) for row in measured}


@pytest.fixture
def silent(program: Program, open_session: Opener, cells: Cells) -> frozenset[str]:
    """The rows that the program meets with silence; found out once for each old program."""
    if program.version == CURRENT:
        return frozenset()
    version = program.version
    if not any(key[1] == version and verdict == SILENCE for key, verdict in cells.items()):
        answered = survey.answered(open_session(control_timeout=15), PROBES)
        cells.update({(p.label, version): SILENCE for p in PROBES if p.label not in answered})
    return frozenset(label for (label, of), verdict in cells.items() if of == version and verdict == SILENCE)


@pytest.fixture
def make_lab(
    program: Program, open_session: Opener, model_server: ModelServer, home: Path, workspace: Path
) -> Callable[[Topic], Lab]:
    """Return a function that makes the lab of a topic."""

    def make(topic: Topic) -> Lab:
        return Lab(
            version=program.version,
            server=model_server,
            home=home,
            workspace=workspace,
            open_session=open_session,
            options=topic.options,
        )

    return make


@pytest.mark.parametrize("topic", TOPICS, ids=str)
def test_requests_do_what_is_written(
    topic: Topic, program: Program, silent: frozenset[str], make_lab: Callable[[Topic], Lab], cells: Cells
) -> None:
    """Each request has the effect, the answer or the silence that the documentation says of this program."""
    lab = make_lab(topic)
    measured = {
        (probe.label, program.version): SILENCE if probe.label in silent else lab.measure(probe)
        for probe in topic.probes
    }
    agree(measured, cells)


def test_fatal_frames_end_what_is_written(program: Program, open_session: Opener, cells: Cells) -> None:
    """What must not be written to a program ends the programs that the documentation says."""
    agree({(label, program.version): verdict for label, verdict in fatal.verdicts(open_session).items()}, cells)


def test_run_makes_what_is_written(cells: Cells, request: pytest.FixtureRequest) -> None:
    """This run measured every row on every program, and makes the very page and module that are there."""
    wanted = {(line.label, version) for line in LINES for version in MEASURED}
    measuring = (test_requests_do_what_is_written.__name__, test_fatal_frames_end_what_is_written.__name__)
    run = [item for item in request.session.items if item.name.startswith(measuring)]
    if len(run) < (len(TOPICS) + 1) * len(MEASURED):
        pytest.skip("only a part of the matrix was run")
    assert set(cells) == wanted
    made = {table.PAGE: table.page(LINES, cells), table.MODULE: table.module(cells)}
    if WRITE:
        for path, text in made.items():
            path.write_text(text, encoding="utf-8")
    assert made == {path: path.read_text(encoding="utf-8") for path in made}
