"""File descriptors with one owner each: closed once, never under somebody who uses them, and in forked children."""

import contextlib
import os
import warnings
import weakref

from claude_control.process import forks

__all__ = ["Descriptor", "pipe"]


class Descriptor:
    """One file descriptor; `fd` is its number, -1 when it is closed."""

    __slots__ = ("__weakref__", "fd", "owner")

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self.owner = os.getpid()
        _open.by_number[fd] = weakref.ref(self)

    def close(self) -> None:
        """Close it; idempotent, and nothing in a forked child, where it has been closed already."""
        with forks.steady():
            if _open.by_number.pop(self.fd, None) is not None:  # first: closed, it may be somebody else's at once
                fd, self.fd = self.fd, -1
                os.close(fd)

    def __del__(self) -> None:
        # The safety net for an interruption between making and keeping; a program then sees the end of its input.
        if self.fd >= 0 and os.getpid() == self.owner:
            warnings.warn(f"descriptor {self.fd} was never closed", ResourceWarning, source=self, stacklevel=1)
            self.close()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {'closed' if self.fd < 0 else self.fd}>"


class _Open:
    """The descriptors that are open, for forked children: one entry here costs less than one there for each."""

    def __init__(self) -> None:
        # Weakly, because what nobody holds is closed; an entry goes with the close.
        self.by_number: dict[int, weakref.ref[Descriptor]] = {}
        forks.on_fork_in_child(self._abandon)

    def _abandon(self) -> None:
        # Runs in a forked child: no lock, and the parent's descriptors are not touched.
        inherited, self.by_number = self.by_number, {}
        for fd, reference in inherited.items():
            descriptor = reference()
            if descriptor is not None:  # else another thread was about to close it, who is not here
                descriptor.fd = -1
            with contextlib.suppress(OSError):
                os.close(fd)


_open = _Open()


def pipe() -> tuple[Descriptor, Descriptor]:
    """Open a pipe; returns its reading and its writing end, neither inherited by programs. Raises OSError."""
    with forks.steady():
        reading, writing = os.pipe()
        return Descriptor(reading), Descriptor(writing)
