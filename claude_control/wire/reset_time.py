"""When a limit is lifted, read from the sentence that the program makes of it.

2.0.75 and 2.1.7 tell the time in no other way: "You've hit your limit · resets 7:28am (Europe/Berlin)". The minutes are
left out when they are 0, the date when it is within 24 hours, the year when it is this one; the seconds are never told.
"""

import re
from datetime import datetime, timedelta, tzinfo

from claude_control import loading

__all__ = ["is_time", "read_reset_time"]

_NO_DATE = 253_402_300_800  # the begin of the year 10000, in Unix seconds

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_SENTENCE = (
    r"\bresets (?:(?P<month>[a-z]{3})[a-z]* (?P<day>\d{1,2})(?:, (?P<year>\d{4}))?(?:,| at) )?"
    r"(?P<hour>\d{1,2})(?::(?P<minute>\d\d))?\s?(?P<half>[ap])m \((?P<zone>[\w+/-]+)\)"
)


def is_time(value: object, *, unit: int = 1) -> bool:
    """Tell whether a value is a time since the epoch that a calendar has; `unit` is how many of it make a second."""
    return type(value) in (int, float) and 0 <= value < _NO_DATE * unit  # type: ignore[operator]


def read_reset_time(text: str, now: float) -> float | None:
    """Return the time that a text tells, in Unix seconds, or None if it tells none that can be understood.

    It is exact to the minute, rounded down. `now` is the time at which the text was written, in Unix seconds.
    """
    found = re.search(_SENTENCE, text, re.IGNORECASE)  # compiled by the first who needs it
    if found is None:
        return None
    zoneinfo = loading.import_module("zoneinfo")  # which few programs ever need, and is slow to load
    try:
        zone = zoneinfo.ZoneInfo(found["zone"])
        return _time(found, zone, datetime.fromtimestamp(now, zone)).timestamp()
    except (ValueError, OverflowError, OSError, zoneinfo.ZoneInfoNotFoundError):  # no such date, or no such zone here
        return None


def _time(found: re.Match[str], zone: tzinfo, now: datetime) -> datetime:
    hour = int(found["hour"]) % 12 + (12 if found["half"].lower() == "p" else 0)
    minute = int(found["minute"] or 0)
    if found["month"] is None:
        today = now.replace(hour=hour, minute=minute, second=0, microsecond=0)
        return today if today + timedelta(minutes=1) > now else today + timedelta(days=1)
    month, day = _MONTHS.index(found["month"].lower()) + 1, int(found["day"])
    if found["year"] is not None:
        return datetime(int(found["year"]), month, day, hour, minute, tzinfo=zone)
    return datetime(now.year, month, day, hour, minute, tzinfo=zone)
