"""The sentence that tells when a limit is lifted."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claude_control.wire.reset_time import read_reset_time

NOW = datetime(2026, 11, 28, 6, 28, 37, tzinfo=UTC).timestamp()


def at(*date: int) -> float:
    """Return a time in Unix seconds, given in UTC."""
    return datetime(*date, tzinfo=UTC).timestamp()  # type: ignore[misc,arg-type]


TOLD = {
    # written by 2.0.75 and 2.1.7, and as text by 2.1.332
    "You've hit your limit · resets 7:28am (UTC)": at(2026, 11, 28, 7, 28),
    "You've hit your 5-hour limit · resets 7:28am (UTC)": at(2026, 11, 28, 7, 28),
    "You've hit your limit · resets Dec 1, 7:37am (Europe/Berlin)": at(2026, 12, 1, 6, 37),
    # the same forms at their edges
    "resets 7am (UTC)": at(2026, 11, 28, 7),
    "resets 12am (UTC)": at(2026, 11, 29, 0),
    "resets 12:30pm (UTC)": at(2026, 11, 28, 12, 30),
    "resets 6:28am (UTC)": at(2026, 11, 28, 6, 28),  # within this minute
    "resets 6:27am (UTC)": at(2026, 11, 29, 6, 27),
    "resets 1am (America/New_York)": at(2026, 11, 29, 6),
    "resets Jan 3, 2027, 5pm (UTC)": at(2027, 1, 3, 17),
    "resets Dec 1 at 7:37 AM (UTC)": at(2026, 12, 1, 7, 37),
    "resets 7:28\u202fam (UTC)": at(2026, 11, 28, 7, 28),
}


@pytest.mark.parametrize(("text", "seconds"), TOLD.items(), ids=TOLD)
def test_time_is_read(text: str, seconds: float) -> None:
    """A time of day is the next one of its zone, a date is this year's unless it names another."""
    assert read_reset_time(text, NOW) == seconds


@pytest.mark.parametrize(
    "text",
    [
        "",
        "You've hit your limit",
        "resets soon (UTC)",
        "resets 7:28am",
        "resets 7:28am (Nowhere/City)",
        "resets 7:99am (UTC)",
        "resets Feb 30, 5pm (UTC)",
        "resets Foo 1, 5pm (UTC)",
        "resets 7am (/etc/passwd)",
        "resets 7am (../UTC)",
    ],
)
def test_no_time_is_none(text: str) -> None:
    """What tells no time, or none that exists, is None and no error."""
    assert read_reset_time(text, NOW) is None


@given(text=st.from_regex(r"resets ([a-zA-Z]{3} \d{1,2}, )?(\d{4}, )?\d{1,2}(:\d\d)?[ap]m \([\w/+-]*\)") | st.text())
def test_any_text_can_be_read(text: str) -> None:
    """Whatever the program writes, reading it fails never."""
    read_reset_time(text, NOW)
