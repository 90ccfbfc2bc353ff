"""How much a pipe holds before who writes has to wait for who reads."""

import contextlib

__all__ = ["PIPE_BYTES", "capacity", "enlarge"]

PIPE_BYTES = 1024 * 1024
"""How much a pipe is made to hold: for output in the middle of a long line, and for input that the program leaves
unread, so that who writes waits less often. Short lines come faster through a small one, which stays in a processor's
cache (a tenth to a fifth of the time)."""

_F_SETPIPE_SZ, _F_GETPIPE_SZ = 1031, 1032  # Linux; fcntl lacks the names where Python was built on an old system
_USUAL_BYTES = 64 * 1024  # what a pipe holds where it cannot be asked


def enlarge(fd: int) -> None:
    """Let a pipe hold more, if the system allows it, which limits all pipes of a user together."""
    import fcntl

    with contextlib.suppress(OSError):
        fcntl.fcntl(fd, _F_SETPIPE_SZ, PIPE_BYTES)


def capacity(fd: int) -> int:
    """Return how many bytes a pipe holds."""
    import fcntl

    try:
        return fcntl.fcntl(fd, _F_GETPIPE_SZ)
    except OSError:  # not Linux
        return _USUAL_BYTES
