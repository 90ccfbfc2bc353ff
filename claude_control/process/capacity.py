"""How much a pipe holds before who writes has to wait for who reads, and what else long lines need of the system."""

import contextlib

__all__ = ["INPUT_BYTES", "OUTPUT_BYTES", "capacity", "enlarge", "keep_memory"]

OUTPUT_BYTES = 1024 * 1024
"""How much the pipe is made to hold in the middle of a long line: the program then waits for us less often. Short lines
come faster through a small one, which stays in a processor's cache (a tenth to a fifth of the time)."""

INPUT_BYTES = 256 * 1024
"""How much the program's input is made to hold when it is full: some 2,000 answers, for a program that asks many things
before it reads the answers. Behind a full pipe each takes a ticket of the writer's thread."""

_FREED_BYTES = 8 * 1024 * 1024
_F_SETPIPE_SZ, _F_GETPIPE_SZ = 1031, 1032  # Linux; fcntl lacks the names where Python was built on an old system
_USUAL_BYTES = 64 * 1024  # what a pipe holds where it cannot be asked


def enlarge(fd: int, size: int) -> None:
    """Let a pipe hold so many bytes, if the system allows it, which limits all pipes of a user together."""
    import fcntl

    with contextlib.suppress(OSError, ValueError):  # a signal handler may have closed it, which makes the number -1
        fcntl.fcntl(fd, _F_SETPIPE_SZ, size)


def capacity(fd: int) -> int:
    """Return how many bytes a pipe holds."""
    import fcntl

    try:
        return fcntl.fcntl(fd, _F_GETPIPE_SZ)
    except OSError:  # not Linux
        return _USUAL_BYTES


def keep_memory() -> None:
    """Have the C library keep some memory that is freed, up to 16 MiB in each of its heaps, for the next long line.

    glibc gives the end of a heap back to the system where that is more than twice the largest block ever freed that had
    pages of its own, and then gets it again, page by page: a seventh of the time of lines of 4 MiB.
    """
    with contextlib.suppress(MemoryError):
        bytes(_FREED_BYTES)  # freed at once, and never written to
