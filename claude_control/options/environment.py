"""Defaults that environment variables set for a whole process: how long things may take.

They are read when options are made, so that the value can be seen in them and goes along wherever they go.
"""

import os

from claude_control.errors import OptionsError
from claude_control.options.checks import is_seconds, shown
from claude_control.records import frozen

__all__ = ["SecondsFrom"]

_UNLIMITED = "none"


@frozen
class SecondsFrom:
    """The default of a timeout: what the variable says, `builtin` seconds where it is not set or empty.

    The variable is a number of seconds above 0, or "none" for no limit. A `bounded` one may be 0, but must end.
    """

    variable: str
    builtin: float | None
    bounded: bool = False

    def __call__(self) -> float | None:
        """Return the seconds; raises `OptionsError` that names the variable."""
        told = os.environ.get(self.variable, "").strip()
        if not told:
            return self.builtin
        if told.lower() == _UNLIMITED and not self.bounded:
            return None
        try:
            seconds = float(told)
        except ValueError:
            seconds = -1.0
        if not is_seconds(seconds, zero=self.bounded):
            needed = "a number of seconds, 0 or more" if self.bounded else "a positive number of seconds, or 'none'"
            raise OptionsError(
                f"the environment variable {self.variable} must be {needed}, not {shown(told)}", field=self.variable
            )
        return seconds
