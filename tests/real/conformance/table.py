"""The matrix as it is kept: a page of the documentation, and the tables that the gate reads. Both ways."""

import inspect
import re
from collections.abc import Iterable
from typing import Any

import attrs

from claude_control.session.control import Control
from claude_control.session.session import Session
from claude_control.wire.requests import RECORDS
from claude_control.wire.support import MEASURED
from tests.real.conformance.probes import ANSWERS, WORKS
from tests.sources import ROOT

Cells = dict[tuple[str, str], str]

PAGE = ROOT / "docs" / "reference" / "control-requests.md"
MODULE = ROOT / "claude_control" / "wire" / "conformance.py"

_DOES = (WORKS, ANSWERS)
_KNOWS = (*_DOES, "error: ")  # what answers with an error is no silence

_PAGE = """\
# Control requests

Every request that the SDK can send to a running program, and what became of it on three measured programs. The test
`tests/real/conformance` writes this page: no cell of it was typed in. What the SDK checks before it writes a request is
made from the same run.

* **works**: the effect was seen outside of the answer.
* **answers**: the answer was checked; it is all that there is, or the effect shows nowhere.
* **silence**: no answer within 6 seconds, while a later request was answered. The SDK raises
  `NotSupportedError` instead.
* **ignored**: answered, but without the effect.
* **error**: the program refused, with this text.

Versions between two measured ones count as the older of them, unless they report capabilities at the start; newer ones
are taken to know all that the newest measured one knows.

## Requests

`session.request(…)` sends any of them; `requests` is `claude_control.requests`.

{requests}

## Fields and values

Fields, values and circumstances that were measured by themselves. A request is refused with `NotSupportedError` if a
field of it needs a newer program than the request does.

{fields}

## What ends a program

What the SDK never writes to a program that it would end. The program was given it, then a prompt: **lives** says that
the turn went well and a request after it was answered.

{fatal}
"""

_MODULE = '''\
"""Which measured program answers which control request, and obeys which of its fields.

Measured on {measured}. The two older programs meet any other subtype with silence.

Written by the tests in `tests/real/conformance`, as `docs/reference/control-requests.md` is; not by hand.
"""

from typing import Final

__all__ = ["FIELDS", "SUBTYPES"]

SUBTYPES: Final[dict[str, str]] = {{
{subtypes}
}}
"""Each subtype, and the oldest measured program that answers it."""

FIELDS: Final[dict[tuple[str, str], str]] = {{
{fields}
}}
"""Each field (as on the wire, or with a value) that is newer than its subtype, and the oldest program that obeys it."""
'''


@attrs.frozen
class Line:
    """One row of a table: its first column, what is said last, and in which table it stands."""

    label: str
    told: str
    fatal: bool = False

    @property
    def is_field(self) -> bool:
        """Whether it is about a field of a request."""
        return ": " in self.label


def page(lines: Iterable[Line], cells: Cells) -> str:
    """Return the page of the documentation."""
    rows = sorted(lines, key=lambda line: line.label)
    whole = [(line, [f"`{line.label}`", _sender(line.label)]) for line in rows if not line.is_field and not line.fatal]
    fields = [(line, [f"`{line.label}`"]) for line in rows if line.is_field]
    fatal = [(line, [f"`{line.label}`"]) for line in rows if line.fatal]
    return _PAGE.format(
        requests=_table(["Request", "Sent by"], whole, cells),
        fields=_table(["Field"], fields, cells),
        fatal=_table(["Written"], fatal, cells),
    )


def _table(heads: list[str], rows: list[tuple[Line, list[str]]], cells: Cells) -> str:
    told = any(line.told for line, _ in rows)
    made = [[*heads, *MEASURED, *(["What was looked at"] if told else [])]]
    made.append(["---"] * len(made[0]))
    for line, first in rows:
        verdicts = [cells[line.label, version].replace("|", "\\|").replace("\n", " ") for version in MEASURED]
        made.append([*first, *verdicts, *([line.told] if told else [])])
    return "\n".join(f"| {' | '.join(row)} |" for row in made)


def _sender(subtype: str) -> str:
    """Return the method of a session that sends a request, else its record."""
    special = {
        "initialize": "`session.open()`",
        "interrupt": "`session.interrupt()`",
        "mcp_message": "the tool servers",
    }
    if subtype in special:
        return special[subtype]
    record = RECORDS[subtype].__name__
    return next((f"`session.{name}()`" for name in _methods(record)), f"`requests.{record}`")


def _methods(record: str) -> list[str]:
    """Return the control methods that make this record."""
    methods: dict[str, Any] = {**vars(Control), **vars(Session)}
    return [
        name
        for name, method in methods.items()
        if inspect.isfunction(method)
        and not name.startswith("_")
        and re.search(rf"\brequests\.{record}\(", inspect.getsource(method))
    ]


def read_page(text: str) -> Cells:
    """Return the verdicts that a page says."""
    cells: Cells = {}
    versions: list[str] = []
    for line in text.splitlines():
        columns = [column.strip().replace("\\|", "|") for column in re.split(r"(?<!\\)\|", line)[1:-1]]
        if not columns or columns[0] == "---":
            continue
        if not columns[0].startswith("`"):
            versions = columns
            continue
        label = columns[0].strip("`")
        cells.update({(label, head): columns[at] for at, head in enumerate(versions) if head in MEASURED})
    return cells


def module(cells: Cells) -> str:
    """Return the module that the gate reads."""
    subtypes, fields = support(cells)
    return _MODULE.format(
        measured=f"{', '.join(MEASURED[:-1])} and {MEASURED[-1]}",
        subtypes="\n".join(f'    "{subtype}": "{version}",' for subtype, version in subtypes.items()),
        fields="\n".join(f'    ("{subtype}", "{field}"): "{version}",' for (subtype, field), version in fields.items()),
    )


def support(cells: Cells) -> tuple[dict[str, str], dict[tuple[str, str], str]]:
    """Return the oldest program that knows each subtype, and each field that is newer than its subtype."""
    labels = sorted({label for label, _ in cells})
    subtypes = {label: _oldest(cells, label, _KNOWS) for label in labels if label in RECORDS or label == "mcp_message"}
    fields = {}
    for label in labels:
        subtype, is_field, field = label.partition(": ")
        if is_field and MEASURED.index(needs := _oldest(cells, label, _DOES)) > MEASURED.index(subtypes[subtype]):
            fields[subtype, field] = needs
    return subtypes, fields


def _oldest(cells: Cells, label: str, verdicts: tuple[str, ...]) -> str:
    """Return the oldest program with one of these verdicts."""
    return next(version for version in MEASURED if cells[label, version].startswith(verdicts))
