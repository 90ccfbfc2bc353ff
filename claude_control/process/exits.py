"""How a process ended."""

import signal as signals

import attrs

__all__ = ["Exit"]


@attrs.frozen
class Exit:
    """How a process ended.

    `code` is what `subprocess` calls the return code: 0 or more is the exit code, below 0 the negative number of the
    signal that killed it. None: it ended, but somebody else in this process collected the status; never a success.
    """

    code: int | None

    @property
    def signal(self) -> int | None:
        """The number of the signal that killed it, or None."""
        return -self.code if self.code is not None and self.code < 0 else None

    def __str__(self) -> str:
        if self.code is None:
            return "ended, exit status unknown"
        if self.signal is None:
            return f"exited with code {self.code}"
        return f"was killed by {_signal_name(self.signal)}"


def _signal_name(number: int) -> str:
    try:
        return signals.Signals(number).name
    except ValueError:  # a real-time signal has no name
        return f"signal {number}"
