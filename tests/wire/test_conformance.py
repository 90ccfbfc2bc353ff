"""What was measured of requests on the three programs: the page, the gate's tables and the records say the same."""

import attrs
import pytest

from claude_control.wire.conformance import FIELDS, SUBTYPES
from claude_control.wire.requests import RECORDS
from claude_control.wire.requests.base import wire_fields
from claude_control.wire.support import CURRENT, MEASURED, OLDEST, Program
from tests.real.conformance import table
from tests.real.conformance.probes import ANSWERS, WORKS, Probe
from tests.real.conformance.rows import LINES, PROBES

PAGE = table.PAGE.read_text(encoding="utf-8")
CELLS = table.read_page(PAGE)


def test_versions_are_measured_ones() -> None:
    """The tables speak of programs that were measured, and of fields that are newer than their request."""
    assert set(SUBTYPES.values()) <= set(MEASURED)
    for (subtype, _), version in FIELDS.items():
        assert MEASURED.index(version) > MEASURED.index(SUBTYPES[subtype])


def test_old_programs_answer_nine_subtypes() -> None:
    """What 2.0.75 and 2.1.7 answer is what was seen; anything else is met with silence."""
    assert {subtype for subtype, version in SUBTYPES.items() if version == OLDEST} == {
        *("initialize", "interrupt", "mcp_message", "mcp_set_servers", "mcp_status"),
        *("rewind_files", "set_max_thinking_tokens", "set_model", "set_permission_mode"),
    }


def test_every_request_was_measured_on_every_program() -> None:
    """The page has a verdict for each request that can be sent, and each row of the run, on the three programs."""
    labels = [line.label for line in LINES]
    assert len(labels) == len(set(labels))
    assert set(CELLS) == {(label, version) for label in labels for version in MEASURED}
    assert {probe.label for probe in PROBES if not probe.field} == {*RECORDS, "mcp_message"}
    assert all(CELLS.values())


def test_fields_of_what_old_programs_know_were_measured() -> None:
    """Whatever can be left out of a request that old programs answer has a row of its own: they may overlook it."""
    measured = {(probe.label.partition(": ")[0], probe.field.partition("=")[0]) for probe in PROBES if probe.field}
    optional = {
        (subtype, name)
        for subtype in RECORDS
        if SUBTYPES[subtype] == OLDEST and subtype != "initialize"  # options fill it, and say what needs what
        for name, field in wire_fields(RECORDS[subtype]).items()
        if field.default is not attrs.NOTHING
    }
    assert optional
    assert optional <= measured


def test_page_is_made_from_its_own_verdicts() -> None:
    """The page names the methods, records and checks that there are, and the gate's tables are what it says."""
    assert table.page(LINES, CELLS) == PAGE
    assert table.module(CELLS) == table.MODULE.read_text(encoding="utf-8")
    assert table.support(CELLS) == (SUBTYPES, FIELDS)


def test_current_program_does_all() -> None:
    """On the current program every request does what its row looks at, and none is only said to be answered."""
    whole = [probe for probe in PROBES if not probe.field]
    assert {probe.verdict for probe in whole} == {WORKS, ANSWERS}
    assert all(CELLS[probe.label, CURRENT] == probe.verdict for probe in whole)


# Rows about a circumstance, which the request itself does not show, are for other checks.
GATED = [probe for probe in PROBES if probe.sample.subtype in RECORDS and " " not in probe.field]


@pytest.mark.parametrize("version", MEASURED)
@pytest.mark.parametrize("probe", GATED, ids=lambda probe: probe.label)
def test_gate_lets_through_what_works(probe: Probe, version: str) -> None:
    """What a program does as asked passes the gate, and what it meets with silence or overlooks does not."""
    verdict = CELLS[probe.label, version]
    _, needs = probe.sample.needs()
    assert Program(version, modern=version == CURRENT).knows(needs) == verdict.startswith((WORKS, ANSWERS))
