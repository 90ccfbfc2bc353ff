"""The gallery of errors: each is provoked, and what a stranger sees of it stands in the documentation.

An exhibit is a function that runs into an error. What it shows is compared with docs/reference/errors.md;
`CLAUDE_CONTROL_WRITE_ERRORS=1 pytest tests/test_error_gallery.py` writes it there, and the same with
tests/real/test_error_gallery.py what the real program leads to.
"""

import os
import pickle
import re
import textwrap
import traceback
from collections.abc import Callable, Mapping
from typing import Any

from claude_control.errors import ClaudeControlError, ResultError
from tests import sources

PAGE = sources.ROOT / "docs" / "reference" / "errors.md"
WRITE = "CLAUDE_CONTROL_WRITE_ERRORS"

WIDTH = 110
MOST = 300  # characters of one field

_BLOCK = re.compile(r"^<!-- shown: (\w+) -->\n+```text\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# What differs from run to run.
_VARYING = (
    (re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"), "5f0c3a52-9f5e-4d0b-8a6e-3c1f6b0d2e77"),
    (re.compile(r"process \d+"), "process 4242"),
    (re.compile(r"req_\w+"), "req_1"),
)

Exhibit = Callable[..., ClaudeControlError]


def provoked(function: Callable[[], object]) -> ClaudeControlError:
    """Return the error of ours that a call runs into."""
    try:
        function()
    except ClaudeControlError as error:
        return error
    raise AssertionError("nothing was raised")


def shown(error: ClaudeControlError, places: Mapping[str, str]) -> str:
    """Return what a stranger sees: the end of the traceback, and the fields that say something.

    `places` are paths of this machine, and what stands for them in the documentation.
    """
    lines = ["".join(traceback.format_exception_only(error)).strip()]
    lines += [f"{name} = {_value(value)}" for name, value in vars(error).items() if value not in (None, "", ())]
    text = "\n".join(lines)
    for place, usual in places.items():
        text = text.replace(place, usual)
    for pattern, usual in _VARYING:
        text = pattern.sub(usual, text)
    first, *fields = text.split("\n")
    wrapped = [_wrap(first, "")] + [_wrap(field, "    ") for field in fields]
    return "\n".join(wrapped) + "\n"


def blocks() -> dict[str, str]:
    """Return what the page shows, by the name of the exhibit."""
    return dict(_BLOCK.findall(PAGE.read_text(encoding="utf-8")))


def check_shown(name: str, text: str) -> None:
    """Compare an exhibit with the page, or write it there if that is asked for."""
    if os.environ.get(WRITE):
        page = PAGE.read_text(encoding="utf-8")
        page = _BLOCK.sub(lambda block: _block(name, text) if block[1] == name else block[0], page)
        PAGE.write_text(page, encoding="utf-8")
    assert blocks().get(name) == text


def check_carries(error: ClaudeControlError) -> None:
    """Check that an error keeps type, text and fields on its way to another process, and has a text."""
    back = pickle.loads(pickle.dumps(error))
    assert (type(back), str(back)) == (type(error), str(error))
    assert _comparable(back) == _comparable(error)
    assert len(str(error).split()) >= 6


def _block(name: str, text: str) -> str:
    return f"<!-- shown: {name} -->\n\n```text\n{text}```"


def _value(value: Any) -> str:
    if hasattr(value, "subtype"):
        return f"<{type(value).__name__} {value.subtype}>"
    said = repr(value)
    return said if len(said) <= MOST else said[:MOST] + "…"


def _wrap(line: str, indent: str) -> str:
    return textwrap.fill(
        line,
        WIDTH,
        initial_indent=indent,
        subsequent_indent=indent + "    ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def _comparable(error: ClaudeControlError) -> dict[str, Any]:
    fields = dict(vars(error))
    if isinstance(error, ResultError) and error.result is not None:
        fields["result"] = error.result.raw
    return fields
